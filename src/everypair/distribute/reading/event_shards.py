"""Coded events → shards of pairs, by users and by items: events of one pair, whatever files they were in, are joined.

Borders follow from the events alone: how many fall into every block of 1024 rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import getitem
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.data.event_pairs import EventRows, join_events
from everypair.data.pairs import Compressed
from everypair.distribute.borders import shard_borders
from everypair.distribute.pieces import Piece
from everypair.distribute.sharded_pairs import PairsOfSide, ShardedPairs, as_it_is, large_tasks, weight_of, work_of
from everypair.distribute.tasks import Tasks
from everypair.parallel import BLOCK_ROWS
from everypair.problem.layout import LEFT, RIGHT

IdRuns = tuple[list[Any], list[Any]]


@dataclass(frozen=True)
class Cut:
    """How coded events are cut: into how many shards, joined how, weights of which type."""

    shards: tuple[int | None, int | None]
    how: str
    dtype: Any

    def __call__(self, tasks: Tasks, coded: list[Any], shape: tuple[int, int], ids: IdRuns) -> ShardedPairs:
        """The pairs of events, ``coded`` futures of which have positions in a matrix of that shape."""
        events = tasks.get([tasks.task("count-events", _events_of_blocks, one, shape) for one in coded])
        sides, counts = [], []
        for side, size in enumerate(shape):
            blocks = np.sum([one[side] for one in events], axis=0)
            expected = np.repeat(blocks / BLOCK_ROWS, BLOCK_ROWS)[:size]
            borders = shard_borders(expected, self.shards[side])
            places = tasks.place([work_of(expected, chunk) for chunk in borders])
            starts = np.array([start for start, _ in borders])
            routed = [tasks.task("route", _route, one, side, starts) for one in coded]
            pieces = tasks.start([
                tasks.task(
                    f"pairs-{('left', 'right')[side]}", _piece,
                    [tasks.task("routed", getitem, one, number) for one in routed], *chunk, self.how, self.dtype,
                    place=place,
                )
                for number, (chunk, place) in enumerate(zip(borders, places))
            ])  # fmt: skip
            sides.append(PairsOfSide(borders, places, pieces))
            counts.append(tasks.get([tasks.task("counts", _counts, piece) for piece in pieces]))
        positives, stored = (
            [np.concatenate([one[part] for one in of_side]) for of_side in counts] for part in ("positives", "stored")
        )
        return ShardedPairs(
            tasks, shape, (sides[LEFT], sides[RIGHT]), positives[LEFT], positives[RIGHT], (stored[LEFT], stored[RIGHT]),
            sum(one["weight"] for one in counts[LEFT]), ids,
        )  # fmt: skip


def only_used(coded: list[Any], pairs: ShardedPairs) -> tuple[list[Any], tuple[int, int], IdRuns]:
    """The same events, shape and ids without the rows and columns that store no pair."""
    assert pairs.id_runs is not None
    tasks, used = pairs.tasks, [stored > 0 for stored in pairs.stored]
    maps = tasks.task("new-numbers", as_it_is, [np.where(one, np.cumsum(one) - 1, -1).astype(np.int32) for one in used])
    with large_tasks():
        coded = tasks.start([tasks.task("renumber", _renumbered, one, maps) for one in coded])
    ids: list[list[Any]] = []
    for runs, one in zip(pairs.id_runs, used):
        lengths = tasks.get([tasks.task("size", len, run) for run in runs])
        marks = np.split(one, np.cumsum(lengths)[:-1])
        ids.append(tasks.start([tasks.task("used-ids", getitem, *both) for both in zip(runs, marks)]))
    return coded, (int(used[LEFT].sum()), int(used[RIGHT].sum())), (ids[LEFT], ids[RIGHT])


def _events_of_blocks(coded: EventRows, shape: tuple[int, int]) -> list[NDArray[np.int64]]:
    """How many events every block of users has, and every block of items."""
    return [
        np.bincount(positions // BLOCK_ROWS, minlength=-(-size // BLOCK_ROWS))
        for positions, size in zip((coded.rows, coded.columns), shape)
    ]


def _route(coded: EventRows, side: int, starts: NDArray[np.int64]) -> list[EventRows]:
    """Events by the shards of users, or of items with users in the place of columns, in their order."""
    mine, other = (coded.rows, coded.columns) if side == LEFT else (coded.columns, coded.rows)
    shard = np.searchsorted(starts, mine, side="right") - 1
    order = np.argsort(shard, kind="stable")
    ends = np.searchsorted(shard[order], np.arange(1, len(starts)))
    return [
        EventRows(mine[one] - start, other[one], coded.weights[one], None if coded.times is None else coded.times[one])
        for start, one in zip(starts, np.split(order, ends))
    ]


def _piece(routed: list[EventRows], start: int, stop: int, how: str, dtype: Any) -> Piece:
    """One piece of the pairs that all files have for it, joined in the files' order."""
    rows, columns, weights = (
        np.concatenate([getattr(part, name) for part in routed]) for name in ("rows", "columns", "weights")
    )
    if len(rows):
        timed = [part.times for part in routed if part.times is not None]
        joined = join_events(EventRows(rows, columns, weights, np.concatenate(timed) if timed else None), how)
        if np.abs(joined.weights).max() > np.finfo(np.float32).max:
            raise ValueError("the weights of a pair add up beyond the range of float32 over all files: rescale them.")
        joined = joined.where(joined.weights.astype(np.float32) != 0)
        rows, columns, weights = joined.rows, joined.columns, joined.weights
    signed = weights.astype(np.float32).astype(dtype)  # as read_events has them
    indptr = np.searchsorted(rows, np.arange(stop - start + 1)).astype(np.int64)
    disliked, size = signed < 0, np.ones(1, dtype) if np.all(signed == 1) else np.abs(signed)
    return Piece(start, Compressed(indptr, columns.astype(np.int32), size), disliked if disliked.any() else None)


def _counts(piece: Piece) -> dict[str, Any]:
    return {
        "positives": piece.counts,
        "stored": np.diff(piece.stored.indptr),
        "weight": weight_of(piece.stored),
    }


def _renumbered(coded: EventRows, maps: list[NDArray[np.int32]]) -> EventRows:
    rows, columns = maps[LEFT][coded.rows], maps[RIGHT][coded.columns]
    return EventRows(rows, columns, coded.weights, coded.times).where((rows >= 0) & (columns >= 0))
