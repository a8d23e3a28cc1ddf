"""The two proximal operators of completion, exact.

    S_t(X) = argmin_N  t‖N‖₁ + ½‖N − X‖²      = sign(X) max(|X| − t, 0), entry by entry
    D_t(E) = argmin_M  t‖M‖_* + ½‖M − E‖²     = U max(Σ − t, 0) Vᵀ,  E = U Σ Vᵀ

D_t needs only the singular triplets above t. For a threshold that is not tiny they come from the eigenvectors of the
smaller of EᵀE and EEᵀ with eigenvalues above t², which squares the condition number: at t ≥ 1e-4 ‖E‖ a singular value
is still exact to 1e-12 ‖E‖. Below that the whole decomposition is computed.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from everypair.problem.completion.low_rank import LowRank
from everypair.types import Array64

BY_GRAM = 1e-4  # least threshold, as a share of ‖E‖, for which eigenvectors of a Gram matrix do


def soft_threshold(X: Array64, threshold: float | Array64) -> Array64:
    """S_t(X), by one threshold or one for each entry.

    >>> soft_threshold(np.array([3.0, -0.5, -2.0]), 1.0).tolist()
    [2.0, 0.0, -1.0]
    """
    return np.asarray(X - np.clip(X, -threshold, threshold))


def shrink_exact(E: Array64, threshold: float) -> LowRank:
    """D_t(E) of a dense matrix.

    >>> shrink_exact(np.diag([3.0, 2.0, 0.5]), 1.0).values.round(12).tolist()
    [2.0, 1.0]
    """
    if threshold > BY_GRAM * scipy.linalg.norm(E, check_finite=False):
        return _by_gram(E, threshold)
    left, values, right = scipy.linalg.svd(E, full_matrices=False, check_finite=False)
    kept = values > threshold
    return LowRank(left[:, kept], values[kept] - threshold, right[kept].T)


def _by_gram(E: Array64, threshold: float) -> LowRank:
    wide = E.shape[0] < E.shape[1]
    short = E if wide else E.T
    squares, vectors = scipy.linalg.eigh(
        short @ short.T, subset_by_value=(threshold**2, np.inf), overwrite_a=True, check_finite=False, driver="evr"
    )
    values, vectors = np.sqrt(squares[::-1]), vectors[:, ::-1]
    others = (short.T @ vectors) / values
    left, right = (vectors, others) if wide else (others, vectors)
    return LowRank(np.ascontiguousarray(left), values - threshold, np.ascontiguousarray(right))
