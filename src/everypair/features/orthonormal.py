"""Orthonormal columns that span what features span, X T = Q with QᵀQ = I, by QR.

Column j of Q is what feature j adds to the features before it, so it keeps the feature's name; features that add
nothing (dependent ones, or more than there are rows) are left out. T takes the features of new entities as well.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from everypair.parallel import single_threaded_blas
from everypair.types import Array64


def orthonormal_map(X: Array64) -> tuple[Array64, NDArray[np.int64]]:
    """Return T (d × r) and the positions of the r features that are kept.

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
