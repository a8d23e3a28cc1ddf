"""Rows as a kernel compares them: x ↦ x ∘ s to unit length where features are sparse, (x − m) ∘ s where they are dense.

    sparse   s_f = idf_f^½,        idf_f = 1 + ln((1 + n) / (1 + n_f)),   n_f of n rows have feature f
    dense    s_f = 1 / (σ_f √d),   m_f the mean,                          σ_f the deviation of feature f

Features are sparse where fewer than half of the values are not zero, however they are kept. Either way rows have a
squared length of about 1, so that exp(−γ‖x − x'‖²) with γ = 1 is a kernel that suits most data.

``robust`` scaling cuts |x_f − m_f| at 3σ_f: a few very large values (lengths, prices, powers of a spectrum) would
otherwise be all that distances tell. And it takes sparse features as dense ones where one of them has values (their
root mean square) ten times as large as most: these are measurements in units of their own, of which some are zero.
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
DEVIATIONS = 3.0  # where a robust scale cuts
UNITS = 10.0  # sparse features whose sizes differ by more are measurements,
MOST_VALUES = 2**26  # where there is room for so many values


@dataclass(frozen=True)
class RowScale:
    """``scale`` s and, for dense features, ``center`` m; without a center rows get unit length. ``reach`` is 3σ.

    >>> RowScale.of(np.array([[1.0, 2.0], [3.0, 6.0]]))(np.array([[2.0, 8.0]])).round(3).tolist()
    [[0.0, 1.414]]
    >>> RowScale.of(np.array([[1.0], [3.0]]), robust=True)(np.array([[4.0], [9e9]])).tolist()
    [[2.0], [3.0]]
    """

    scale: NDArray[np.float64]
    center: NDArray[np.float64] | None = None
    reach: NDArray[np.float64] | None = None

    @classmethod
    def of(cls, X: Any, robust: bool = False, sample_weight: NDArray[Any] | None = None) -> Self:
        """Learn m and s of rows, sparse (``csr_array``) or dense; a dense row of weight 2 is that row twice."""
        n, d = X.shape
        stored = np.count_nonzero(X.data) if sp.issparse(X) else np.count_nonzero(X)
        if stored < SPARSE_SHARE * n * d:
            rows = _sparse(X)
            places, values = rows.indices[rows.data != 0], rows.data[rows.data != 0]
            holders = np.bincount(places, minlength=d)
            if not robust or n * d > MOST_VALUES or _alike(holders, places, values):
                return cls((1 + np.log((1 + n) / (1 + holders))) ** IDF_POWER)
        dense = np.asarray(X.toarray() if sp.issparse(X) else X, np.float64)
        center = np.average(dense, axis=0, weights=sample_weight)
        deviation = np.sqrt(np.average(np.square(dense - center), axis=0, weights=sample_weight))
        rounding = 100 * np.finfo(X.dtype).eps * np.abs(dense).max(axis=0, initial=0)
        deviation[deviation <= rounding] = np.inf  # constant features
        reach = np.where(np.isfinite(deviation), DEVIATIONS * deviation, 0) if robust else None
        return cls(1 / (deviation * np.sqrt(d)), center, reach)

    def weighted(self, weights: NDArray[Any]) -> Self:
        """The same with feature f times ``weights[f]``, the mean square of rows unchanged; as it is where all are 0."""
        weights = np.asarray(weights, np.float64)
        used = weights[self.scale > 0]
        size = float(np.sqrt(np.mean(used**2))) if len(used) else 0.0
        return replace(self, scale=self.scale * (weights / size)) if size else self

    def __call__(self, X: Any, dtype: Any = np.float64) -> Any:
        """Scaled rows: a ``csr_array`` of sparse features, an array of dense ones."""
        if self.center is not None:
            moved = np.asarray(X.toarray() if sp.issparse(X) else X, np.float64) - self.center
            if self.reach is not None:
                np.clip(moved, -self.reach, self.reach, out=moved)
            return (moved * self.scale).astype(dtype)
        rows = _sparse(X)
        values = rows.data * self.scale[rows.indices]
        scaled = sp.csr_array((values, rows.indices, rows.indptr), shape=rows.shape)
        return prepare_features(scaled, normalize=True, fit_intercept=False).astype(dtype)


def _alike(holders: NDArray[np.int64], places: NDArray[Any], values: NDArray[np.float64]) -> bool:
    """Whether no feature's values are much larger than those of most features."""
    largest = float(np.abs(values).max(initial=0))
    if not largest:
        return True
    squares = np.bincount(places, (values / largest) ** 2, len(holders))
    sizes = np.sqrt(squares[holders > 0] / holders[holders > 0])
    return bool(sizes.max() <= UNITS * np.median(sizes))


def _sparse(X: Any) -> sp.csr_array:
    rows = sp.csr_array(X)
    return rows if rows.dtype == np.float64 else rows.astype(np.float64)
