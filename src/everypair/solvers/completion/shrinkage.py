"""Singular value thresholding of "sparse + low rank" matrices, D_t(E), exact or truncated.

The truncated form finds the singular triplets above t by a restarted block Krylov method: from a block X of right
vectors, the span of E X, (EEᵀ) E X, (EEᵀ)² E X holds the leading left vectors ever better, and the best of them start
the next cycle. Three things keep it cheap within an iteration: the block starts from the last iterate's vectors, its
width is their number and a few more, and it grows while the smallest triplet found is still above t.

A cycle costs O(6|Ω|b + 6(n + m)kb + 9(n + m)b²) for block width b and k columns of the low-rank part; memory is about
6(n + m)b numbers. A cycle ends the search when ‖E v − σ u‖ ≤ tol σ₁ for every triplet above t, and σ + ‖E v − σ u‖ ≤ t
for the next one. Where the block is wider than a tenth of the shorter side, all of a matrix that is not too large to be
formed is decomposed instead: matrix products run at several times the speed of the factorisations of a cycle.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from everypair.problem.completion.low_rank import LowRank, SparsePlusLowRank
from everypair.solvers.completion.proximal import shrink_exact
from everypair.types import Array64

METHODS = ("auto", "exact", "truncated")
EXACT_SIDE = 500  # shorter side up to which "auto" is exact
EXTRA = 8  # triplets beyond those predicted
KRYLOV = 3  # blocks of a cycle
CYCLES = 40
FRUITLESS = 8  # cycles after which a matrix without a gap at t is decomposed as a whole,
WIDE = 10  # or where the block has more than one column in so many of the shorter side: that is cheaper by then,
DENSE_ENTRIES = 2**25  # both if it has no more entries than this
TOLERANCE = 1e-5


@dataclass(frozen=True)
class Shrinkage:
    """D_t(E), by the method that suits the size of E unless one is named.

    >>> from everypair.data.observed import Observed
    >>> pattern = Observed.from_matrix(np.diag([3.0, 2.0, 0.5]))
    >>> E = SparsePlusLowRank(pattern, pattern.values, np.zeros((3, 0)), np.zeros((3, 0)))
    >>> Shrinkage("exact")(E, 1.0, LowRank.zero((3, 3))).values.round(9).tolist()
    [2.0, 1.0]
    """

    method: str = "auto"
    tol: float = TOLERANCE

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise ValueError(f'svd must be "auto", "exact" or "truncated", got {self.method!r}.')

    def __call__(self, E: SparsePlusLowRank, threshold: float, guess: LowRank) -> LowRank:
        """Return D_t(E); ``guess`` is a nearby result whose vectors and rank predict this one's."""
        if self.method == "exact" or (self.method == "auto" and min(E.shape) <= EXACT_SIDE):
            return shrink_exact(E.dense(), threshold)
        return shrink_truncated(E, threshold, guess, self.tol)


def shrink_truncated(E: SparsePlusLowRank, threshold: float, guess: LowRank, tol: float = TOLERANCE) -> LowRank:
    """D_t(E) from the leading triplets alone."""
    shorter = min(E.shape)
    small = E.shape[0] * E.shape[1] <= DENSE_ENTRIES
    random = np.random.default_rng(0)  # padding of the block: any directions do, the same ones every time
    width = min(shorter, guess.rank + EXTRA)
    image = E.product(_padded(guess.right, width, random))
    for cycle in range(CYCLES):
        if small and (WIDE * width > shorter or cycle == FRUITLESS):
            return shrink_exact(E.dense(), threshold)
        # leading triplets of E in the Krylov span of the block
        blocks = 1 if cycle == 0 and guess.rank else KRYLOV  # a good guess may need no more than a look
        left, values, right = _best_in_span(E, image, blocks)
        # a wider block while the smallest triplet is still above t
        wanted = int(np.count_nonzero(values > threshold))
        if wanted + EXTRA // 2 > width < shorter:
            width = min(shorter, max(wanted + EXTRA, 2 * width))
        # ‖E v − σ u‖ tells which of them are settled; the product begins the next cycle
        right = _padded(right, width, random)
        image = E.product(right)
        count = min(width, len(values))
        gaps = np.linalg.norm(image[:, :count] - left[:, :count] * values[:count], axis=0)
        if _settled(values[:count], gaps, wanted, threshold, tol):
            break
    wanted = min(wanted, width)
    return LowRank(
        np.ascontiguousarray(left[:, :wanted]), values[:wanted] - threshold, np.ascontiguousarray(right[:, :wanted])
    )


def _settled(values: Array64, gaps: Array64, wanted: int, threshold: float, tol: float) -> bool:
    """Whether the triplets above t are found and the next one is seen to be below."""
    if wanted > len(values) or (gaps[:wanted] > tol * values[0]).any():
        return False
    if wanted == len(values):
        return True
    return bool(values[wanted] + gaps[wanted] <= threshold or gaps[wanted] <= tol * values[0])


def _padded(block: Array64, width: int, random: np.random.Generator) -> Array64:
    """``width`` columns: the block's first ones, and random ones where it has too few."""
    missing = width - block.shape[1]
    if missing <= 0:
        return np.ascontiguousarray(block[:, :width])
    return np.hstack([block, random.standard_normal((len(block), missing)) / np.sqrt(len(block))])


def _best_in_span(E: SparsePlusLowRank, image: Array64, blocks: int) -> tuple[Array64, Array64, Array64]:
    """Singular triplets of E restricted to left vectors in the Krylov span of ``image``, greatest first."""
    width = image.shape[1]
    basis = _orthonormal(image)
    adjoint = E.adjoint(basis)
    while basis.shape[1] + width <= min(E.shape[0], blocks * width):
        further = _orthonormal(np.hstack([basis, E.product(adjoint[:, -width:])]))[:, basis.shape[1] :]
        basis = np.hstack([basis, further])
        adjoint = np.hstack([adjoint, E.adjoint(further)])
    right, values, turn = scipy.linalg.svd(adjoint, full_matrices=False, check_finite=False)
    return basis @ turn.T, values, right


def _orthonormal(block: Array64) -> Array64:
    basis: Array64 = scipy.linalg.qr(block, mode="economic", check_finite=False)[0]
    return basis
