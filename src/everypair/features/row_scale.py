"""Rows as a kernel compares them: x ↦ x ∘ s to unit length where features are sparse, (x − m) ∘ s where they are dense.

    sparse   s_f = idf_f^½,        idf_f = 1 + ln((1 + n) / (1 + n_f)),   n_f of n rows have feature f
    dense    s_f = 1 / (σ_f √d),   m_f the mean,                          σ_f the deviation of feature f

Features are sparse where fewer than half of the values are not zero, however they are kept. Either way rows have a
squared length of about 1, so that exp(−γ‖x − x'‖²) with γ = 1 is a kernel that suits most data.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.features.scaling import prepare_features

SPARSE_SHARE = 0.5  # of values that are not zero, below which features are sparse
IDF_POWER = 0.5


@dataclass(frozen=True)
class RowScale:
    """``scale`` s and, for dense features, ``center`` m; without a center rows get unit length.

    >>> RowScale.of(np.array([[1.0, 2.0], [3.0, 6.0]]))(np.array([[2.0, 8.0]])).round(3).tolist()
    [[0.0, 1.414]]
    """

    scale: NDArray[np.float64]
    center: NDArray[np.float64] | None = None

    @classmethod
    def of(cls, X: Any) -> Self:
        """Learn m and s of rows, sparse (``csr_array``) or dense."""
        n, d = X.shape
        stored = np.count_nonzero(X.data) if sp.issparse(X) else np.count_nonzero(X)
        if stored < SPARSE_SHARE * n * d:
            rows = _sparse(X)
            holders = np.bincount(rows.indices[rows.data != 0], minlength=d)
            return cls((1 + np.log((1 + n) / (1 + holders))) ** IDF_POWER)
        dense = np.asarray(X.toarray() if sp.issparse(X) else X, np.float64)
        deviation = dense.std(axis=0)
        rounding = 100 * np.finfo(X.dtype).eps * np.abs(dense).max(axis=0, initial=0)
        deviation[deviation <= rounding] = np.inf  # constant features
        return cls(1 / (deviation * np.sqrt(d)), dense.mean(axis=0))

    def weighted(self, weights: NDArray[Any]) -> Self:
        """The same with feature f times ``weights[f]``, the mean square of rows unchanged; as it is where all are 0."""
        weights = np.asarray(weights, np.float64)
        used = weights[self.scale > 0]
        size = float(np.sqrt(np.mean(used**2))) if len(used) else 0.0
        return replace(self, scale=self.scale * (weights / size)) if size else self

    def __call__(self, X: Any, dtype: Any = np.float64) -> Any:
        """Scaled rows: a ``csr_array`` of sparse features, an array of dense ones."""
        if self.center is not None:
            dense = np.asarray(X.toarray() if sp.issparse(X) else X, np.float64)
            return ((dense - self.center) * self.scale).astype(dtype)
        rows = _sparse(X)
        values = rows.data * self.scale[rows.indices]
        scaled = sp.csr_array((values, rows.indices, rows.indptr), shape=rows.shape)
        return prepare_features(scaled, normalize=True, fit_intercept=False).astype(dtype)


def _sparse(X: Any) -> sp.csr_array:
    rows = sp.csr_array(X)
    return rows if rows.dtype == np.float64 else rows.astype(np.float64)
