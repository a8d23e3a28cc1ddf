"""What content has in common, taken out: ridge regression of events on content, every item predicted without itself.

    b_u = argmin_b Σ_j (y_uj − x_j·b)² + λ‖b‖²            over the items j that have events
    s_uj = x_j·b_u without j = (x_jᵀ M p_u − h_j y_uj) / (1 − h_j),     p_u = Σ_i y_ui x_i,   h_j = x_jᵀ M x_j
    M = (XᵀX + λI)⁻¹ ≈ (I − GGᵀ) / (λ + τ),     G = F D,     D = ((S² − τ) / (S² (S² + λ)))^½

FFᵀ are the r leading directions of XᵀX and S² = FᵀF their eigenvalues; τ is the mean of all the others, which stands
for each of them. With r = min(n, d) it is the ridge regression itself, and as λ grows it becomes the sum of cosines
p_u·x_j, over λ. y is 0 for every pair that is not stored, and a prediction without the item itself treats items that
training saw and those that come later alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.features.matrix import Features
from everypair.metrics.held_out import HeldOut
from everypair.metrics.per_row import ndcg
from everypair.models.codec import storable
from everypair.models.state_checks import check_array
from everypair.parallel import single_threaded_blas
from everypair.solvers.preconditioner import low_rank_factor
from everypair.types import Array

LEADING = 256  # directions that are shrunk; the others are weighed alike
RIDGES = (1.0, 3.0, 10.0, 30.0, 100.0)
HELD_OUT_SHARE = 7  # one item in so many is held out to choose λ
MOST_USERS = 2000  # by whose lists λ is chosen
LENGTH = 10  # of the lists whose nDCG decides
CLOSEST = 0.999  # a leverage is at most: the row is then all but alone with its features


@storable
@dataclass(frozen=True)
class ContentRidge:
    """λ, λ + τ, G (d × r), and 1 / (1 − h) of every row; of one that was not regressed on it is 1."""

    reg: float
    rest: float
    factor: Array
    freed: Array

    @classmethod
    def of(cls, content: Any, known: NDArray[np.bool_], reg: float, n_threads: int) -> ContentRidge:
        """Learn from the rows of ``content`` (csr or dense) that are ``known`` by events.

        >>> X = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
        >>> ridge = ContentRidge.of(X, np.array([True, True, False]), 1.0, n_threads=1)
        >>> (ridge.projected(X, 1) ** 2).sum(axis=1).round(3).tolist()  # the first feature is common among them
        [0.667, 0.667, 0.0]
        >>> ridge.freed.round(3).tolist()
        [1.5, 1.5, 1.0]
        """
        rows = content[np.flatnonzero(known)]
        features = Features(rows, content.dtype)
        leading, squares, others = leading_directions(features, n_threads)
        factor = np.ascontiguousarray(leading * np.sqrt(shrinkage(squares, others, reg)), content.dtype)
        freed = np.ones(content.shape[0], content.dtype)
        there = features.product(factor, n_threads)
        leverage = (squared_lengths(rows) - squared_lengths(there)) / (reg + others)
        freed[known] = 1 / (1 - np.clip(leverage, 0, CLOSEST))
        return cls(float(reg), float(reg + others), factor, freed)

    def check(self, rows: int, width: int) -> None:
        """Refuse what does not fit ``rows`` of ``width`` features."""
        check_array("factor", self.factor, width, None)
        check_array("freed", self.freed, rows)

    def longer(self, count: int) -> ContentRidge:
        """The same with ``count`` rows that it has not learnt from."""
        return replace(self, freed=np.concatenate([self.freed, np.ones(count, self.freed.dtype)]))

    def projected(self, content: Any, n_threads: int) -> Array:
        """XG (rows × r)."""
        with single_threaded_blas():
            return Features(content, content.dtype).product(self.factor, n_threads)


def squared_lengths(rows: Any) -> NDArray[np.float64]:
    """Return ‖x‖² of every row, sparse or dense."""
    if sp.issparse(rows):
        return np.asarray(rows.multiply(rows).sum(axis=1), np.float64).ravel()
    return np.einsum("ij,ij->i", rows, rows, dtype=np.float64)


def leading_directions(features: Features, n_threads: int) -> tuple[Array, NDArray[np.float64], float]:
    """Return F, S² and τ of a content matrix."""
    with single_threaded_blas():
        leading = low_rank_factor(features, np.ones(features.shape[0]), n_threads, LEADING)
    squares = np.square(leading, dtype=np.float64).sum(axis=0)
    left = min(features.shape) - len(squares)
    matrix = features.matrix
    total = float(squared_lengths(matrix).sum())
    return leading, squares, max(total - float(squares.sum()), 0.0) / left if left else 0.0


def shrinkage(squares: NDArray[np.float64], others: float, reg: float) -> NDArray[np.float64]:
    """Return D², 0 for a direction in which there is nothing."""
    there = squares > max(squares.max(initial=0) * np.finfo(np.float32).eps, others)
    return np.divide(squares - others, squares * (squares + reg), out=np.zeros_like(squares), where=there)


def choose_reg(content: Any, likes: Any, n_threads: int, seed: int = 0) -> float | None:
    """λ by the lists of held-out items, by nDCG@10 of at most 2,000 users; None where the sum of cosines is best.

    ``likes`` (csr, users × items) are signs. One item in seven of those with events is held out. Of equal means the
    largest λ is kept.
    """
    random = np.random.default_rng(seed)
    fresh, known = held_out_columns(likes, random)
    truth, given = sp.csr_array(likes[:, fresh]), sp.csr_array(likes[:, known])
    able = np.flatnonzero((np.diff(sp.csr_array(truth > 0).indptr) > 0) & (np.diff(given.indptr) > 0))
    users = np.sort(random.permutation(able)[:MOST_USERS])
    truth, given, rows, new = truth[users], given[users], content[known], content[fresh]
    leading = leading_directions(Features(rows, content.dtype), n_threads)
    with single_threaded_blas():
        plain = dense(given @ (rows @ new.T))
        left, right = given @ (rows @ leading[0]), new @ leading[0]
    return _best_reg(truth, lambda some: plain[some], left, right, leading, seed, n_threads)


def choose_user_reg(content: Any, likes: Any, n_threads: int, seed: int = 0) -> float | None:
    """The same for users: λ by the lists of held-out users, one in seven and at most 2,000."""
    random = np.random.default_rng(seed)
    fresh, known = held_out_columns(sp.csr_array(likes.T), random)
    truth, given = sp.csr_array(likes[fresh]), sp.csr_array(likes[known])
    users = np.sort(random.permutation(np.flatnonzero(np.diff(sp.csr_array(truth > 0).indptr)))[:MOST_USERS])
    truth, rows, new = truth[users], content[known], content[fresh][users]
    leading = leading_directions(Features(rows, content.dtype), n_threads)
    with single_threaded_blas():
        profiles = rows.T @ given
        left, right = new @ leading[0], given.T @ (rows @ leading[0])
    return _best_reg(truth, lambda some: dense(new[some] @ profiles), left, right, leading, seed, n_threads)


def held_out_columns(likes: Any, random: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """One in seven of the columns that have entries, and the others."""
    busy = random.permutation(np.flatnonzero(np.bincount(likes.indices, minlength=likes.shape[1])))
    count = len(busy) // HELD_OUT_SHARE
    return np.sort(busy[:count]), np.sort(busy[count:])


def _best_reg(
    truth: Any, plain: Callable[[NDArray[np.int64]], Array], left: Array, right: Array,
    leading: tuple[Array, NDArray[np.float64], float], seed: int, n_threads: int,
) -> float | None:  # fmt: skip
    """The λ whose scores rank ``truth`` best: sums of cosines without their common part, times λ + τ."""
    if not truth.shape[0]:
        return None
    _, squares, others = leading
    held_out = HeldOut(sp.csr_array(truth.shape), truth, random_state=seed, n_threads=n_threads)

    def candidates(some: NDArray[np.int64]) -> Any:
        sums = plain(some)
        yield sums
        for reg in RIDGES[::-1]:
            yield sums - (left[some] * shrinkage(squares, others, reg)).astype(sums.dtype) @ right.T

    means = [float(ndcg(ranking, LENGTH).mean()) for ranking in held_out.rankings(candidates, 1 + len(RIDGES))]
    return (None, *RIDGES[::-1])[int(np.argmax(means))]


def dense(matrix: Any) -> Array:
    """A sparse or dense matrix as an array."""
    return np.asarray(matrix.toarray() if sp.issparse(matrix) else matrix)
