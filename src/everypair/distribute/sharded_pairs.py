"""Stored pairs on a cluster: cut by left rows and by right rows, kept on workers, made again where one was lost.

They tell what needs no factors: how many there are, the ids of both sides, held-out pairs in the same order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.data.ids import Ids
from everypair.data.matching import IdPair, as_events, held_out_matrix
from everypair.data.pairs import Compressed, Pairs
from everypair.distribute.borders import ROW_WORK, shard_borders
from everypair.distribute.pieces import Piece
from everypair.distribute.tasks import Tasks
from everypair.metrics.patterns import positive_pattern
from everypair.parallel import Chunk
from everypair.problem.layout import LEFT, RIGHT

MOST_IN_TASKS = 2**29  # bytes of a matrix that may travel inside tasks
LARGE_GRAPH = "distributed.admin.large-graph-warning-threshold"


@dataclass(frozen=True)
class PairsOfSide:
    """Runs of one side's rows: their borders, the workers they belong to, and futures of their pieces."""

    borders: list[Chunk]
    places: list[str]
    pieces: list[Any]


@dataclass(frozen=True)
class ShardedPairs:
    """The stored pairs Ω on a cluster, and what the client knows of them: counts, and ids when it asks for them.

    ``left_counts`` and ``right_counts`` are positives, ``stored`` the stored pairs of every row of either side.
    ``id_runs`` are futures of runs of ids, in the order of rows and of columns; ``None`` of a matrix.
    """

    tasks: Tasks
    shape: tuple[int, int]
    sides: tuple[PairsOfSide, PairsOfSide]
    left_counts: NDArray[np.int64]
    right_counts: NDArray[np.int64]
    stored: tuple[NDArray[np.int64], NDArray[np.int64]]
    stored_weight: float
    id_runs: tuple[list[Any], list[Any]] | None = None

    @property
    def nnz(self) -> int:
        """Number of stored pairs."""
        return int(self.stored[LEFT].sum())

    @property
    def n_positives(self) -> int:
        """Number of positives."""
        return int(self.left_counts.sum())

    @property
    def n_active(self) -> int:
        """Users and items that have stored pairs."""
        return int(sum(np.count_nonzero(counts) for counts in self.stored))

    @cached_property
    def user_ids(self) -> Ids | None:
        """Names of the rows, here; ``None`` of a matrix."""
        return self._ids(LEFT)

    @cached_property
    def item_ids(self) -> Ids | None:
        """Names of the columns, here."""
        return self._ids(RIGHT)

    def ids(self, side: int) -> Ids | None:
        """Names of a side, here."""
        return self.item_ids if side else self.user_ids

    def all_ids(self, side: int) -> Any:
        """A future of all ids of a side, ``None`` of a matrix."""
        if self.id_runs is None:
            return None
        return self.tasks.start([self.tasks.task("all-ids", np.concatenate, self.id_runs[side])])[0]

    def held_out(self, held_out: Any, name: str) -> Any:
        """Held-out positives as a matrix in the order of these rows and columns, or a sentence."""
        events = as_events(held_out, name)
        if (events is None) != (self.id_runs is None):
            raise ValueError(
                f"{name} must be a matrix where interactions are one, and events with ids (a file or a data frame) "
                "where they are."
            )
        if events is not None:
            assert self.user_ids is not None
            assert self.item_ids is not None
            held_out = held_out_matrix(events, IdPair(self.user_ids, self.item_ids), name)
        positives = positive_pattern(held_out, name)
        if positives.shape != self.shape:
            raise ValueError(f"{name} has the shape {positives.shape}, it must be {self.shape} as in training.")
        if positives.nnz == 0:
            raise ValueError(f"{name} holds no positive (no value above 0): there is nothing to rank.")
        return positives

    def _ids(self, side: int) -> Ids | None:
        return None if self.id_runs is None else Ids._of_distinct(self.tasks.wait([self.all_ids(side)])[0])


def pairs_from_matrix(tasks: Tasks, pairs: Pairs, shards: tuple[int | None, int | None]) -> ShardedPairs:
    """Cut pairs that the client has. They travel inside the tasks, which can therefore be run again."""
    size = sum(part.nbytes for stored in (pairs.rows, pairs.columns) for part in (stored.indices, stored.weights))
    if size > MOST_IN_TASKS:
        raise ValueError(
            f"the matrix has {pairs.nnz:,} stored pairs, {size / 2**20:,.0f} MiB both ways, and at most "
            f"{MOST_IN_TASKS / 2**20:,.0f} MiB travel through the scheduler: write them to a folder of Parquet files "
            "that all workers see (columns user, item and perhaps weight), and give fit the folder."
        )
    disliked, targets = pairs.disliked, pairs.targets
    sides = []
    for side, stored in enumerate((pairs.rows, pairs.columns)):
        marks, explicit = disliked, targets
        if side == RIGHT:
            marks, explicit = (None if part is None else pairs.by_columns(part) for part in (disliked, targets))
        counts = np.diff(stored.indptr)
        borders = shard_borders(counts, shards[side])
        places = tasks.place([work_of(counts, chunk) for chunk in borders])
        with large_tasks():
            pieces = tasks.start(
                [
                    tasks.task("pairs", as_it_is, _piece(stored, marks, explicit, *chunk), place=place)
                    for chunk, place in zip(borders, places)
                ]
            )
        sides.append(PairsOfSide(borders, places, pieces))
    return ShardedPairs(
        tasks, pairs.shape, (sides[LEFT], sides[RIGHT]), pairs.left_counts, pairs.right_counts,
        (np.diff(pairs.rows.indptr), np.diff(pairs.columns.indptr)), weight_of(pairs.rows),
    )  # fmt: skip


def large_tasks() -> Any:
    """Let data travel inside tasks without a warning."""
    import dask

    return dask.config.set({LARGE_GRAPH: MOST_IN_TASKS})


def weight_of(stored: Compressed) -> float:
    """The sum of the weights of stored pairs, each its own or one for all."""
    total = float(stored.weights.sum(dtype=np.float64))
    return total if len(stored.weights) == len(stored.indices) else total * len(stored.indices)


def work_of(counts: NDArray[Any], chunk: Chunk) -> int:
    """What a run of rows costs, in pairs."""
    return int(counts[slice(*chunk)].sum()) + ROW_WORK * (chunk[1] - chunk[0])


def _piece(stored: Compressed, disliked: Any, targets: Any, start: int, stop: int) -> Piece:
    pairs = slice(int(stored.indptr[start]), int(stored.indptr[stop]))
    indptr = stored.indptr[start : stop + 1] - stored.indptr[start]
    return Piece(
        start,
        Compressed(indptr, stored.indices[pairs], stored.weights[pairs] if len(stored.weights) > 1 else stored.weights),
        None if disliked is None else disliked[pairs],
        None if targets is None else targets[pairs],
    )


def as_it_is(value: Any) -> Any:
    """A value that travels inside a task and is its result."""
    return value
