"""Features from a similarity (or any wide matrix): its leading singular vectors, up to a share of the spectrum.

    S = U Σ Vᵀ,   A = U_r Σ_r^power = S V_r Σ_r^(power − 1),   r the fewest with σ_1 + … + σ_r ≥ share · Σ σ

The rows of A describe the entities whose rows S has. With power ½ their inner products are the similarities, AAᵀ ≈ S,
so that what many entities share weighs more; with power 0 the columns are orthonormal and every direction weighs the
same.
A new entity with similarities s (a row against the same columns) gets s V_r Σ_r^(power − 1).
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from everypair.check import is_number
from everypair.features.feature_map import checked_matrix
from everypair.parallel import single_threaded_blas


class SpectralFeatures(TransformerMixin, BaseEstimator):
    """Features U_rΣ_r^power of a similarity matrix S, and of new rows of it.

    Parameters
    ----------
    share : of the sum of all singular values that the features keep, in (0, 1].
    power : of the singular values by which the features are scaled.
    symmetrize : replace S by (S + Sᵀ)/2 first; needs a square matrix.

    Attributes: ``singular_values_`` (those kept), ``components_`` (V_rΣ_r^(power − 1), columns of S × r). S is made
    dense: one SVD of its size.

    >>> S = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 0.1]])
    >>> features = SpectralFeatures(share=0.9).fit(S)
    >>> features.transform(S).shape
    (3, 1)
    >>> np.allclose(np.abs(features.transform([[0.95, 0.95, 0.0]])), np.sqrt(0.95))
    True
    """

    def __init__(self, share: float = 0.9, power: float = 0.5, symmetrize: bool = False) -> None:
        self.share = share
        self.power = power
        self.symmetrize = symmetrize

    def fit(self, S: Any, y: Any = None) -> Self:
        """Decompose ``S``; ``y`` is not used."""
        if not is_number(self.share) or not 0 < self.share <= 1:
            raise ValueError(f"share must be a number in (0, 1], got {self.share!r}.")
        if not is_number(self.power) or not 0 <= self.power <= 1:
            raise ValueError(f"power must be a number from 0 to 1, got {self.power!r}.")
        dense = _dense(checked_matrix(S, "S"))
        if self.symmetrize:
            if dense.shape[0] != dense.shape[1]:
                raise ValueError(f"symmetrize needs a square similarity matrix, got shape {dense.shape}.")
            dense = (dense + dense.T) / 2
        if not dense.any():
            raise ValueError("S is zero everywhere: it says nothing about anybody.")
        with single_threaded_blas():
            _, values, right = scipy.linalg.svd(dense, full_matrices=False, check_finite=False)
        values = values[values > max(dense.shape) * np.finfo(float).eps * values[0]]
        sums = np.cumsum(values)
        rank = min(len(values), int(np.searchsorted(sums, self.share * sums[-1] * (1 - 1e-12))) + 1)
        self.singular_values_ = values[:rank]
        self.components_ = right[:rank].T * values[:rank] ** (self.power - 1)
        self.n_features_in_ = dense.shape[1]
        return self

    def transform(self, S: Any) -> NDArray[np.float64]:
        """Return the features of rows of similarities, (rows, r)."""
        check_is_fitted(self)
        dense = _dense(checked_matrix(S, "S"))
        if dense.shape[1] != self.n_features_in_:
            raise ValueError(f"S must have {self.n_features_in_} columns, as in fit, got shape {dense.shape}.")
        with single_threaded_blas():
            return np.asarray(dense @ self.components_)

    def fit_transform(self, S: Any, y: Any = None, **fit_params: Any) -> NDArray[np.float64]:
        """Return U_rΣ_r^power."""
        self.fit(S)
        dense = _dense(checked_matrix(S, "S"))
        return self.transform((dense + dense.T) / 2 if self.symmetrize else dense)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return component0, component1, …"""
        check_is_fitted(self)
        return np.array([f"component{t}" for t in range(len(self.singular_values_))], dtype=object)


def _dense(matrix: Any) -> NDArray[np.float64]:
    return np.asarray(matrix.toarray() if sp.issparse(matrix) else matrix, np.float64)
