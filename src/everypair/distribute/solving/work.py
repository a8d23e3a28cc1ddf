"""What workers do: pure functions of shards, which a scheduler may run anywhere and run again where a worker was lost.

A shard of one side holds a run of its rows. In a half-step it needs, of the other side, the rows that its own pairs
name, rotated where they live, and two small things of all rows together: the Gram matrix, and sums over blocks in the
one tree that all machines share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.distribute.pieces import Piece, Sized
from everypair.features.matrix import Features
from everypair.kernels.extrapolate import extrapolate
from everypair.parallel import BLOCK_ROWS, Chunk, block_parts, single_threaded_blas, tree_nodes, tree_total
from everypair.problem.gram import Gram, gram_of_sum, gram_parts, norm_parts
from everypair.problem.layout import RIGHT
from everypair.problem.losses import Loss
from everypair.problem.ridge import Ridge
from everypair.problem.rotation import Axes, column_sizes, rotate
from everypair.problem.rows import RowProblem, check_stored_slopes
from everypair.solvers.balance import ridge_gram_parts
from everypair.solvers.half_step import RowSteps, rotated_half_step
from everypair.solvers.momentum import turned_back_parts
from everypair.types import Array

Nodes = dict[tuple[int, int], Any]
MOST_PICKED = (
    0.5  # share of a shard's rows up to which they are picked; above it the whole shard travels, once a worker
)


@dataclass(frozen=True)
class SideTerms(Sized):
    """What the sub-problems of one side's rows need besides their pairs: weights and values of *all* entities."""

    side: int
    loss: Loss
    ridge: Ridge
    this_weights: Array
    other_weights: Array
    value: float | tuple[Array, Array]  # ỹ, or (this side's, the other side's) matrices
    constant: int | None
    dtype: Any
    other_borders: list[Chunk]
    own: bool = True
    least_saved: float = 0.0  # rows that must be left behind in a shard of the other side, or it travels whole


@dataclass(frozen=True)
class Shard(Sized):
    """Rows [start, …) of one side as a problem of their own, whose pairs count in the rows that are gathered for it.

    ``sources`` says which rows of every shard of the other side are gathered, ``None`` for all of them. ``features``
    are those of its rows.
    """

    side: int
    start: int
    problem: RowProblem
    sources: list[NDArray[np.int32] | None] = field(repr=False)
    features: Features | None = None
    own: bool = True  # whether its rows have vectors of their own

    @property
    def first_block(self) -> int:
        """Number of its first block of rows."""
        return self.start // BLOCK_ROWS


@dataclass(frozen=True)
class Sums(Sized):
    """What all machines have to know of a shard's rows: parts of the tree of sums over blocks."""

    penalty: Nodes | None = None
    gram: Nodes | None = None
    pairs: Nodes | None = None
    ridge_gram: Nodes | None = None
    way: Nodes | None = None  # ⟨origin − after, after − now⟩ of a sweep that began further along


@dataclass(frozen=True)
class Rows(Sized):
    """Factors of a shard and their sums."""

    factors: Array
    sums: Sums


@dataclass(frozen=True)
class Turned(Sized):
    """Factors of a shard (or some of its rows) in the axes of the next half-step, and the sizes of their columns.

    ``gram`` and ``axes`` are those of all shards of the side.
    """

    factors: Array
    sizes: Nodes
    gram: Gram
    axes: Axes


def worker_threads() -> int:
    """Threads of the worker that runs this task."""
    from distributed import get_worker

    return int(get_worker().state.nthreads)


def make_shard(piece: Piece, terms: SideTerms, features: Any = None) -> Shard:
    """The sub-problems of a piece's rows, its pairs numbered by the rows that will be gathered."""
    stored, start = piece.stored, piece.start
    rows = slice(start, start + len(stored.indptr) - 1)
    targets = piece.targets
    if targets is None:
        targets = np.ones(1, terms.dtype)
        if piece.disliked is not None:
            targets = np.where(piece.disliked, terms.loss.dislike_target, 1.0).astype(terms.dtype)
    value = terms.value
    problem = RowProblem.of(
        terms.side, stored, piece.counts, targets, terms.loss, terms.ridge,
        (terms.this_weights[rows], terms.other_weights),
        (value[0][rows], value[1]) if isinstance(value, tuple) else value,
        dtype=terms.dtype, constant=terms.constant,
    )  # fmt: skip
    sources, gathered = _sources(problem.indices, len(terms.other_weights), terms)
    position = np.zeros(len(terms.other_weights), np.int32)
    position[gathered] = np.arange(len(gathered), dtype=np.int32)
    local = replace(
        problem,
        indices=position[problem.indices],
        other_weights=problem.other_weights[gathered],
        other_values=None if problem.other_values is None else problem.other_values[gathered],
    )
    prepared = None if features is None else Features(features, terms.dtype)
    return Shard(terms.side, start, local, sources, prepared, terms.own)


def _sources(indices: Array, size: int, terms: SideTerms) -> tuple[list[NDArray[np.int32] | None], Array]:
    """Which rows of every shard of the other side are needed, and all of these rows one after the other."""
    named = np.zeros(size, bool)
    named[indices] = True
    sources: list[NDArray[np.int32] | None] = []
    gathered = []
    for start, stop in terms.other_borders:
        rows = np.flatnonzero(named[start:stop]).astype(np.int32)
        whole = len(rows) > MOST_PICKED * (stop - start) or stop - start - len(rows) < terms.least_saved
        sources.append(None if whole else rows)
        gathered.append(np.arange(start, stop) if whole else start + rows)
    return sources, np.concatenate(gathered)


def wanted(shard: Shard) -> list[int | None]:
    """How many rows of every shard of the other side are picked for this one; ``None``: it travels as a whole."""
    return [None if rows is None else len(rows) for rows in shard.sources]


def source(shard: Shard, number: int) -> NDArray[np.int32]:
    """The rows that are picked from a shard of the other side."""
    rows = shard.sources[number]
    assert rows is not None
    return rows


def gram_nodes(shard: Shard, factors: Array) -> Nodes:
    """Gram matrices of a shard's rows, as far as they are nodes of the tree."""
    problem = shard.problem
    return tree_nodes(
        gram_parts(factors, problem.this_weights, problem.this_values, worker_threads()), shard.first_block
    )


def own_sums(
    shard: Shard, factors: Array, weights: Array | None, ridge_gram: bool = False
) -> tuple[Nodes | None, Nodes | None]:
    """What is paid for a shard's own vectors, T = U − XW, and TᵀΛT if asked for; ``None`` where it has none."""
    if not shard.own:
        return None, None
    problem, threads, own = shard.problem, worker_threads(), factors
    if shard.features is not None:
        assert weights is not None
        own = factors - shard.features.product(weights, threads)
    penalty = tree_nodes(norm_parts(own, problem.ridge, problem.constant, threads), shard.first_block)
    gram = tree_nodes(ridge_gram_parts(own, problem.ridge, threads), shard.first_block) if ridge_gram else None
    return penalty, gram


def begin(shard: Shard, factors: Array, weights: Array | None = None) -> Rows:
    """The start of a shard's rows, to which XW is added where there are ``weights``."""
    if weights is not None:
        assert shard.features is not None
        factors = factors + shard.features.product(weights, worker_threads())
    return Rows(factors, Sums(gram=gram_nodes(shard, factors)))


def move(shard: Shard, now: Rows, before: Rows, beta: float) -> Rows:
    """Where a sweep begins that goes on along the way of the last one: x + β(x − x_before)."""
    out = beyond(now.factors, before.factors, beta)
    gram = gram_nodes(shard, out) if shard.side == RIGHT and shard.features is not None else None
    return Rows(out, Sums(gram=gram))  # others have it from moved_sums


def moved_sums(shard: Shard, now: Rows, before: Rows, beta: float) -> Sums:
    """What all machines have to know of rows that move on along their last way."""
    return Sums(gram=gram_nodes(shard, beyond(now.factors, before.factors, beta)))


def beyond(now: Array, before: Array, beta: float) -> Array:
    """x + β(x − x_before)."""
    out = np.empty_like(now)
    extrapolate(0, len(out), now, before, out.dtype.type(beta), out)
    return out


def against(shard: Shard, now: Rows, origin: Rows, after: Rows) -> Nodes:
    """⟨origin − after, after − now⟩: whether a sweep went against the way it began on."""
    parts = turned_back_parts(now.factors, origin.factors, after.factors, worker_threads())
    return tree_nodes(parts, shard.first_block)


def change(shard: Shard, rows: Rows, matrix: NDArray[np.float64]) -> Rows:
    """Rows times a matrix."""
    factors = times(rows.factors, matrix)
    return Rows(factors, Sums(gram=gram_nodes(shard, factors) if shard.side == RIGHT else None))


def times(factors: Array, matrix: NDArray[np.float64]) -> Array:
    """Factors times a matrix, in fixed blocks."""
    with single_threaded_blas():
        return rotate(factors, matrix.astype(factors.dtype), worker_threads())


def sums_of(rows: Rows) -> Sums:
    """The small part of a result, which travels."""
    return rows.sums


def end(rows: Rows) -> None:
    """Nothing: it is there when the rows are."""


def gram_of(shards: Sequence[Sums], blocks: int) -> Gram:
    """A side's Gram matrices, from the sums of all its shards."""
    return gram_of_sum(total([sums.gram for sums in shards], blocks))


def total(parts: Sequence[Nodes | None], blocks: int) -> Any:
    """A sum over all blocks of a side, from what its shards know of the tree."""
    nodes: Nodes = {}
    for part in parts:
        assert part is not None
        nodes |= part
    return tree_total(nodes, blocks)


def turn(rows: Rows, shard: Shard, sums: Sequence[Sums], blocks: int, free: NDArray[np.bool_]) -> Turned:
    """A shard's rows in the axes of the other side's half-step, block by block; ``sums`` are those of all shards."""
    gram = gram_of(sums, blocks)
    with single_threaded_blas():
        axes = Axes.of(gram, free)
        rotated = axes.rotate(rows.factors, worker_threads())
        return Turned(rotated, tree_nodes(column_sizes(rotated), shard.first_block), gram, axes)


def turn_beyond(now: Rows, before: Rows, beta: float, *others: Any) -> Turned:
    """The same of rows that move on along their last way first."""
    return turn(Rows(beyond(now.factors, before.factors, beta), Sums()), *others)


def pick(turned: Turned, rows: NDArray[np.int32]) -> Turned:
    """Some rows only."""
    return replace(turned, factors=turned.factors[rows])


def join(others: list[Turned]) -> Turned:
    """What was gathered from every shard of the other side, put together for several shards of a worker."""
    sizes: Nodes = {}
    for other in others:
        sizes |= other.sizes
    return replace(others[0], factors=joined(others), sizes=sizes)


def joined(others: list[Turned]) -> Array:
    """All rows that were gathered, one shard after the other."""
    return others[0].factors if len(others) == 1 else np.concatenate([other.factors for other in others])


def improve_beyond(
    shard: Shard,
    now: Rows,
    before: Rows,
    beta: float,
    others: list[Turned],
    blocks: int,
    steps: RowSteps,
    balance: bool,
) -> Rows:
    """The half-step of rows that move on along their last way first."""
    origin = Rows(beyond(now.factors, before.factors, beta), Sums())
    return improve(shard, origin, others, blocks, steps, balance, now=now)


def improve(
    shard: Shard,
    this: Rows,
    others: list[Turned],
    blocks: int,
    steps: RowSteps,
    ridge_gram: bool,
    weights: Array | None = None,
    now: Rows | None = None,
) -> Rows:
    """The half-step of a shard's rows; ``others`` are what was gathered from every shard of the other side.

    With the ``weights`` of its features rows are drawn to XW, and their sums are left to the step of these weights.
    ``now`` is where rows were that begin further along.
    """
    threads, gram, axes = worker_threads(), others[0].gram, others[0].axes
    rotated, sizes = joined(others), total([other.sizes for other in others], blocks)
    problem = shard.problem
    if weights is not None:
        assert shard.features is not None
        problem = replace(problem, centers=shard.features.product(weights, threads))
    with single_threaded_blas():
        new, values = rotated_half_step(problem, this.factors, rotated, sizes, gram, axes, steps, threads)
        if problem.loss.custom is not None:
            turned = new @ axes.basis.astype(new.dtype)
            check_stored_slopes(problem, turned, rotated, threads)
        if weights is not None:
            return Rows(new, Sums())
        penalty, ridge = own_sums(shard, new, None, ridge_gram)
        pairs = tree_nodes(block_parts(values), shard.first_block)
        way = None if now is None else against(shard, now, this, Rows(new, Sums()))
        return Rows(new, Sums(penalty, gram_nodes(shard, new), pairs, ridge, way))
