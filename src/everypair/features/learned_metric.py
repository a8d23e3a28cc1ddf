"""A supervised diagonal metric: features that predict the targets count more when rows are compared.

    W = (AᵀA + μI)⁻¹ AᵀT,      x_f ← a_f ‖W_f‖^e,      rows to unit length again (dense features: the same mean square)

A are the rows scaled by :class:`~everypair.features.row_scale.RowScale`, T their targets: labels of a row, or factors
of an item. ‖W_f‖² is the diagonal of the gradient outer product of the linear model, Σ_l (∂s_l / ∂a_f)²; μ is chosen by
leaving each row out, in closed form. Exponent 1 suits labels, ½ factors of items, 0 is the scaling alone.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from everypair import check
from everypair.features.ridge_weights import choose_ridge, feature_norms
from everypair.features.row_scale import RowScale
from everypair.features.scaling import prepare_features


def learned_scale(
    plain: RowScale, A: Any, T: Any, ridge: float, exponent: float, sample_weight: NDArray[Any] | None = None
) -> RowScale:
    """The metric of rows A, which ``plain`` has scaled, and their targets.

    >>> X, T = np.array([[1.0, 2.0], [2.0, 1.0], [3.0, 3.0]]), np.array([[1.0], [2.0], [3.0]])
    >>> plain = RowScale.of(X)
    >>> learned_scale(plain, plain(X), T, ridge=0.1, exponent=1.0).scale.round(1).tolist()  # the first tells all
    [1.2, 0.0]
    """
    if exponent == 0:
        return plain
    return plain.weighted(feature_norms(A, T, ridge, sample_weight) ** exponent)


class LearnedMetric(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Rows scaled so that their distances tell what a ridge regression of targets on features has learnt.

    Parameters
    ----------
    exponent : e, how much of the learned weight a feature has; 0 keeps the scaling alone.
    ridge : μ, or ``"auto"`` for that of the least leave-one-out error on at most 2,000 rows.
    dtype : numbers of the rows and of the ridge regression, "float32" or "float64".

    Attributes: ``scale_``, the :class:`~everypair.features.row_scale.RowScale` that ``transform`` applies (its
    ``scale`` has one number per feature); ``ridge_``; ``n_features_in_``.

    Sparse features give a CSR matrix of unit rows, dense ones an array; what is sparse is told by the share of zeros.

    >>> X = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])  # the third says nothing
    >>> labels = np.array([[1, 0], [0, 1], [1, 0], [0, 1]])
    >>> rows = LearnedMetric().fit_transform(X, labels)
    >>> (rows @ rows.T).round(2).tolist()
    [[1.0, -1.0, 1.0, -1.0], [-1.0, 1.0, -1.0, 1.0], [1.0, -1.0, 1.0, -1.0], [-1.0, 1.0, -1.0, 1.0]]
    """

    def __init__(self, exponent: float = 1.0, ridge: float | str = "auto", dtype: str = "float32") -> None:
        self.exponent = exponent
        self.ridge = ridge
        self.dtype = dtype

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the metric from rows and their targets ``y`` (n × k, sparse or dense), labels or factors.

        >>> LearnedMetric(ridge=1.0).fit([[0.0, 1.0], [1.0, 1.0]], [[1.0], [0.0]]).scale_.scale.round(3).tolist()
        [1.414, 0.0]
        """
        exponent = check.number("exponent", self.exponent, least=0)
        dtype = check.float_dtype(self.dtype)
        X = self._rows(X, reset=True)
        T = _targets(y, X.shape[0], dtype)
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype)
        plain = RowScale.of(X)
        A = plain(X, dtype)
        automatic = isinstance(self.ridge, str) and self.ridge == "auto"
        ridge = choose_ridge(A, T, weights) if automatic else check.number("ridge", self.ridge, above=0)
        self.ridge_ = float(ridge)
        self.scale_ = learned_scale(plain, A, T, self.ridge_, exponent, weights)
        return self

    def transform(self, X: Any) -> Any:
        """Return the scaled rows.

        >>> LearnedMetric(ridge=1.0).fit([[0.0, 1.0], [1.0, 1.0]], [[1.0], [0.0]]).transform([[1.0, 5.0]]).tolist()
        [[0.7071067690849304, 0.0]]
        """
        check_is_fitted(self)
        return self.scale_(self._rows(X, reset=False), check.float_dtype(self.dtype))

    def _rows(self, X: Any, reset: bool) -> Any:
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=reset)
        return prepare_features(X, normalize=False, fit_intercept=False)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that sparse input is welcome and targets are needed."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


def _targets(y: Any, n: int, dtype: Any) -> Any:
    if y is None:
        raise ValueError("y must hold targets, one row of labels or factors per row of X; without any use RowScale.")
    T = sp.csr_array(y, dtype=dtype) if sp.issparse(y) else np.asarray(y, dtype)
    T = T[:, None] if T.ndim == 1 else T
    if T.ndim != 2 or T.shape[0] != n or not T.shape[1]:
        raise ValueError(f"y must have one row of targets for each of the {n} rows of X, got shape {T.shape}.")
    if not np.isfinite(T.data if sp.issparse(T) else T).all():
        raise ValueError("y has NaN or infinite values: drop or fill them.")
    return T
