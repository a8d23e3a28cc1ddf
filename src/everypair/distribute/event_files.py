"""From files of events to shards of pairs, on the workers: ids are numbered by a shuffle and never come to the client.

    bucket of an id = hash(id) mod B;    its number = (ids in the buckets before) + (its rank among the bucket's ids)

Every file is read by :func:`everypair.data.read_events`. Its distinct ids go to their buckets, numbers come back, pairs
are coded and sent to the shards of their users and of their items. Order and borders follow from the data alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.data.event_pairs import EventRows, join_events
from everypair.data.events import read_events
from everypair.data.ids import Ids
from everypair.data.pairs import Compressed
from everypair.distribute.borders import shard_borders
from everypair.distribute.sharded_pairs import PairsOfSide, ShardedPairs, weight_of, work_of
from everypair.distribute.tasks import Tasks
from everypair.distribute.work import Piece, Sized
from everypair.problem.layout import LEFT, RIGHT

Array = NDArray[Any]
KINDS = ("user", "item")
MOST_BUCKETS = 256
JOINS = {"auto": "sum", "sum": "sum", "count": "sum", "max": "max"}  # how pairs of several files are joined


@dataclass(frozen=True)
class Part(Sized):
    """Events of one file: pairs in the file's own numbering."""

    place: str
    ids: tuple[Ids, Ids]
    pairs: EventRows
    columns: Mapping[str, Any]


def pairs_from_events(
    tasks: Tasks, sources: Sequence[Any], options: Mapping[str, Any], shards: tuple[int | None, int | None], dtype: Any
) -> ShardedPairs:
    """Read files (or futures of data frames) on the workers and cut their pairs both ways."""
    how = JOINS.get(str(options.get("duplicates", "auto")))
    if how is None or (options.get("threshold") is not None and options.get("duplicates", "auto") == "auto"):
        raise ValueError(
            'on a cluster events of one pair are joined file by file, where the "last" is not known: say '
            'duplicates="sum", "max" or "count" in read=.'
        )
    for name in ("min_user_events", "min_item_events"):
        if options.get(name, 1) != 1:
            raise ValueError(f"on a cluster {name} is not known file by file: leave it out of read=.")
    parts = _read_all(tasks, sources, options)
    n_events = sum(told["pairs"] for told in tasks.get([tasks.task("describe", _describe, part) for part in parts]))
    numbered = [_number(tasks, parts, side) for side in (LEFT, RIGHT)]
    shape = numbered[LEFT].size, numbered[RIGHT].size
    maps = zip(parts, numbered[LEFT].maps, numbered[RIGHT].maps)
    coded = tasks.start([tasks.task("code", _code, part, users, items) for part, users, items in maps])
    sides, counts = [], []
    for side, size in enumerate(shape):
        expected = np.full(size, n_events / size)
        borders = shard_borders(expected, shards[side])
        places = tasks.place([work_of(expected, chunk) for chunk in borders])
        pieces = [
            tasks.task(
                f"pairs-{('left', 'right')[side]}", _piece,
                [tasks.task("route", _route, one, side, *chunk) for one in coded], *chunk, how, dtype, place=place,
            )
            for chunk, place in zip(borders, places)
        ]  # fmt: skip
        pieces = tasks.start(pieces)
        sides.append(PairsOfSide(borders, places, pieces))
        counts.append(tasks.get([tasks.task("counts", _counts, piece) for piece in pieces]))
    positives, stored = (
        [np.concatenate([one[part] for one in of_side]) for of_side in counts] for part in ("positives", "stored")
    )
    if not positives[LEFT].any():
        raise ValueError("the events have no positive weight: there is nothing to learn from.")
    return ShardedPairs(
        shape, (sides[LEFT], sides[RIGHT]), positives[LEFT], positives[RIGHT], (stored[LEFT], stored[RIGHT]),
        sum(one["weight"] for one in counts[LEFT]), (numbered[LEFT].buckets, numbered[RIGHT].buckets),
    )  # fmt: skip


def _read_all(tasks: Tasks, sources: Sequence[Any], options: Mapping[str, Any]) -> list[Any]:
    """Read the first file with columns as they are found, and all others by these names."""
    (first,) = tasks.start([tasks.task("read", _read, sources[0], dict(options))])
    (told,) = tasks.get([tasks.task("describe", _describe, first)])
    chosen = {**options, **{role: told["columns"][role] for role in ("user", "item", "weight")}, "time": None}
    parts = [first, *tasks.start([tasks.task("read", _read, source, chosen) for source in sources[1:]])]
    for one in tasks.get([tasks.task("describe", _describe, part) for part in parts]):
        for kind, mine, others in zip(KINDS, one["strings"], told["strings"]):
            if mine != others:
                names = ("integers", "strings")
                raise ValueError(
                    f"{one['place']}column {told['columns'][kind]!r} holds {names[mine]}, but {names[others]} in "
                    f'{told["place"].rstrip(": ")}: say ids="string" in read=, or write the files alike.'
                )
    return parts


@dataclass(frozen=True)
class _Numbered:
    """The ids of one side: futures of buckets, how many there are in all, and every file's numbers."""

    buckets: list[Any]
    size: int
    maps: list[Any]


def _number(tasks: Tasks, parts: list[Any], side: int) -> _Numbered:
    count = min(len(parts), MOST_BUCKETS)
    split = tasks.start([tasks.task("split-ids", _split, part, side, count) for part in parts])
    mine = [tasks.start([tasks.task("ids-of-bucket", _take, one, number) for one in split]) for number in range(count)]
    buckets = tasks.start([tasks.task("bucket", _bucket, ids) for ids in mine])
    sizes = tasks.get([tasks.task("size", len, bucket) for bucket in buckets])
    offsets = np.concatenate([[0], np.cumsum(sizes)]).tolist()
    maps = []
    for number, one in enumerate(split):
        found = [
            tasks.task("number", _look_up, bucket, ids[number], offset)
            for bucket, ids, offset in zip(buckets, mine, offsets)
        ]
        maps.append(tasks.task("numbers", _joined, one, found))
    return _Numbered(buckets, offsets[-1], tasks.start(maps))


def _read(source: Any, options: dict[str, Any]) -> Part:
    """The events of one file."""
    place = f"{source}: " if isinstance(source, str) else ""
    try:
        events = read_events(source, verbose=False, **options)
    except (OSError, ValueError, TypeError) as failure:
        text = str(failure)
        raise ValueError(text if not place or str(source) in text else f"{place}{text}") from None
    matrix = events.matrix.tocoo()
    pairs = EventRows(matrix.row, matrix.col, matrix.data, None)
    return Part(place, (events.user_ids, events.item_ids), pairs, dict(events.columns))


def _describe(part: Part) -> dict[str, Any]:
    return {
        "place": part.place,
        "columns": part.columns,
        "strings": [ids.are_strings for ids in part.ids],
        "pairs": len(part.pairs.rows),
    }


def _split(part: Part, side: int, buckets: int) -> list[tuple[Array, Array]]:
    """Positions and ids of every bucket."""
    from pandas.util import hash_array

    values = part.ids[side].values
    belongs = hash_array(values, categorize=False) % np.uint64(buckets)
    chosen = [np.flatnonzero(belongs == number) for number in range(buckets)]
    return [(positions, values[positions]) for positions in chosen]


def _take(split: list[tuple[Array, Array]], number: int) -> Array:
    return split[number][1]


def _bucket(ids: list[Array]) -> Array:
    """The distinct ids of a bucket, ascending."""
    return np.unique(np.concatenate(ids))


def _look_up(bucket: Array, ids: Array, offset: int) -> NDArray[np.int64]:
    return offset + np.searchsorted(bucket, ids)


def _joined(split: list[tuple[Array, Array]], found: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Every id's number, in the file's order."""
    numbers = np.empty(sum(map(len, found)), np.int64)
    for (positions, _), mine in zip(split, found):
        numbers[positions] = mine
    return numbers


def _code(part: Part, users: NDArray[np.int64], items: NDArray[np.int64]) -> EventRows:
    return EventRows(users[part.pairs.rows], items[part.pairs.columns], part.pairs.weights, None)


def _route(coded: EventRows, side: int, start: int, stop: int) -> EventRows:
    """The pairs of a run of users, or of items with users in the place of columns."""
    mine, other = (coded.rows, coded.columns) if side == LEFT else (coded.columns, coded.rows)
    here = (mine >= start) & (mine < stop)
    return EventRows(mine[here] - start, other[here], coded.weights[here], None)


def _piece(routed: list[EventRows], start: int, stop: int, how: str, dtype: Any) -> Piece:
    """One piece of the pairs that all files have for it, joined in the files' order."""
    rows, columns, weights = (
        np.concatenate([getattr(part, name) for part in routed]) for name in ("rows", "columns", "weights")
    )
    if len(rows):
        joined = join_events(EventRows(rows, columns, weights, None), how)
        joined = joined.where(joined.weights.astype(dtype) != 0)
        rows, columns, weights = joined.rows, joined.columns, joined.weights
    signed = weights.astype(dtype)
    indptr = np.searchsorted(rows, np.arange(stop - start + 1)).astype(np.int64)
    disliked, size = signed < 0, np.ones(1, dtype) if np.all(signed == 1) else np.abs(signed)
    return Piece(start, Compressed(indptr, columns.astype(np.int32), size), disliked if disliked.any() else None)


def _counts(piece: Piece) -> dict[str, Any]:
    return {
        "positives": piece.counts,
        "stored": np.diff(piece.stored.indptr),
        "weight": weight_of(piece.stored),
    }
