"""Side information of one side as a completion model uses it: A, and how features of new entities become rows of A."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.features.feature_map import ONE_MATRIX, FeatureMap
from everypair.models.codec import storable
from everypair.parallel import single_threaded_blas
from everypair.types import Array64


@storable
@dataclass(frozen=True)
class CompletionSide:
    """A (one row per entity, dense), the reader of raw features, and the map from those to A's columns, if any."""

    matrix: Array64
    reader: FeatureMap
    map: Array64 | None
    names: tuple[str, ...]

    @classmethod
    def of(cls, features: Any, name: str, rows: int, orthonormal: bool) -> CompletionSide:
        """Read the features of the ``rows`` entities of one side."""
        reader = FeatureMap.of(features, name)
        raw = _dense(reader(features, rows))
        names = _names(features, reader)
        if not raw.any():
            raise ValueError(f"{name} is zero everywhere: leave it out.")
        if not orthonormal:
            return cls(raw, reader, None, tuple(names))
        to_columns, kept = orthonormal_map(raw)
        return cls(raw @ to_columns, reader, to_columns, tuple(names[position] for position in kept))

    def read(self, features: Any) -> Array64:
        """Rows of A for new entities."""
        raw = _dense(self.reader(features))
        return raw if self.map is None else raw @ self.map


def orthonormal_map(X: Array64) -> tuple[Array64, NDArray[np.int64]]:
    """Return T (d × r) with X T = Q, QᵀQ = I, by QR, and the positions of the r features that are kept.

    Column j of Q is what feature j adds to the features before it, so it keeps the feature's name; features that add
    nothing (dependent ones, or more than there are rows) are left out.

    >>> T, kept = orthonormal_map(np.array([[2.0, 1.0, 0.0], [0.0, 0.0, 3.0]]))
    >>> kept.tolist(), (np.array([[2.0, 1.0, 0.0], [0.0, 0.0, 3.0]]) @ T).round(12).tolist()
    ([0, 2], [[1.0, 0.0], [0.0, 1.0]])
    """
    with single_threaded_blas():
        triangle, order = scipy.linalg.qr(X, mode="r", pivoting=True, check_finite=False)
        sizes = np.abs(np.diag(triangle))
        rank = int(np.count_nonzero(sizes > max(X.shape) * np.finfo(float).eps * sizes[0])) if sizes[0] > 0 else 0
        kept = np.sort(order[:rank])
        (R,) = scipy.linalg.qr(X[:, kept], mode="r", check_finite=False)
        R = R[:rank] * np.where(np.diag(R) < 0, -1, 1)[:, None]
        T = np.zeros((X.shape[1], rank))
        T[kept] = scipy.linalg.solve_triangular(R, np.eye(rank), check_finite=False)
    return T, kept.astype(np.int64)


def _names(features: Any, reader: FeatureMap) -> list[str]:
    if reader.widths is not None:
        return [f"{group}{position}" for group, width in reader.widths.items() for position in range(width)]
    columns = reader.columns.get(ONE_MATRIX, getattr(features, "columns", None))
    if columns is not None and len(columns) == reader.width:
        return [str(column) for column in columns]
    return [f"feature{position}" for position in range(reader.width)]


def _dense(matrix: Any) -> Array64:
    """A copy: later changes of the caller's features are not the model's."""
    return np.array(matrix.toarray() if sp.issparse(matrix) else matrix, np.float64)
