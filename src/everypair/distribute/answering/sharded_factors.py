"""Answers of factors that are on a cluster: top lists, lists of everybody as Parquet, metrics, the factors here.

Item factors travel to every worker once, n × k numbers; users' factors and pairs stay where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.check import integer
from everypair.distribute.output import absolute, check_folder, write_lists
from everypair.distribute.pieces import Piece
from everypair.distribute.sharded_pairs import ShardedPairs
from everypair.distribute.solving.work import Rows, worker_threads
from everypair.distribute.tasks import Tasks
from everypair.metrics.means import Metrics
from everypair.metrics.patterns import stored_pattern, without
from everypair.metrics.ranking import Ranking
from everypair.metrics.stream import KS, MEMORY_MB, check_lengths, rank_rows, summarise
from everypair.parallel import Chunk, blocked_product
from everypair.problem.layout import LEFT, RIGHT
from everypair.retrieve import top_k
from everypair.types import Array

SCORED_ROWS = 256


@dataclass(frozen=True)
class ShardedFactors:
    """U and V on a cluster: ``left`` and ``right`` are futures of shards, ``pairs`` those they were learnt from."""

    pairs: ShardedPairs
    left: list[Any]
    right: list[Any]

    @cached_property
    def items(self) -> Any:
        """A future of all items' factors."""
        tasks = self.pairs.tasks
        parts = [tasks.task("item-factors", _factors, rows) for rows in self.right]
        return tasks.start([tasks.task("all-item-factors", np.concatenate, parts)])[0]

    def scores(self, users: NDArray[Any]) -> ShardedScores:
        """Scores of users by position."""
        return ShardedScores(self, users)

    def write_lists(self, folder: Any, n: int, exclude_seen: bool, allow: Any, block: Any) -> list[str]:
        """Write the n best items of every user to a folder of Parquet files, a file per shard; return their paths.

        Columns are user, item, score and rank. The folder is any that the workers see (an fsspec path); its files are
        written under another name and renamed when they are whole.
        """
        tasks, n = self.pairs.tasks, integer("n", n)
        folder = absolute(folder)
        check_folder(folder)
        ids = self.pairs.all_ids(LEFT), self.pairs.all_ids(RIGHT)
        paths: list[str] = tasks.get([
            tasks.task(
                "recommend-all", _write_top, f"{folder}/part-{number:05d}.parquet", chunk, *ids,
                rows, piece, self.items, self.pairs.shape[RIGHT], n, exclude_seen, allow, block, place=place,
            )
            for number, (chunk, rows, piece, place) in enumerate(self.shards())
        ])  # fmt: skip
        return paths

    def ranked(self, positives: Any, ks: Sequence[int] = KS, average: str = "test") -> Metrics:
        """Ranking metrics of positives (:meth:`ShardedPairs.held_out`), ranked shard by shard."""
        tasks, lengths = self.pairs.tasks, check_lengths(ks)
        rankings = tasks.get([
            tasks.task("rank", _rank, rows, piece, positives[slice(*chunk)], self.items, lengths, place=place)
            for chunk, rows, piece, place in self.shards()
        ])  # fmt: skip
        return summarise(_one_ranking(rankings), lengths, average)

    def gathered(self) -> tuple[Array, Array]:
        """Both sides' factors, here."""
        return gathered_rows(self.pairs.tasks, self.left), gathered_rows(self.pairs.tasks, self.right)

    def shards(self) -> list[tuple[Chunk, Any, Any, str]]:
        """Users' shards: borders, factors, pairs and the worker they belong to."""
        side = self.pairs.sides[LEFT]
        return list(zip(side.borders, self.left, side.pieces, side.places))


@dataclass(frozen=True)
class ShardedScores:
    """Scores of some users for all items, made where the users are, as :class:`~everypair.retrieve.Scores` makes them.

    ``exclude`` are the sharded pairs themselves, or None.
    """

    factors: ShardedFactors
    users: NDArray[Any]

    def top_k(
        self, n: int, *, exclude: ShardedPairs | None = None, allow: Any = None, block: Any = None, **options: Any
    ) -> tuple[NDArray[np.int32], Array]:
        """The n items with the greatest scores for every user; threads are the workers' own."""
        n = integer("n", n)
        answers = self._by_shard(
            "recommend", _top, self.factors.pairs.shape[RIGHT], n, exclude is not None, allow, block
        )
        items, scores = np.empty((len(self.users), n), np.int32), np.empty((len(self.users), n), np.float64)
        for mine, (best, values) in answers:
            items[mine], scores[mine] = best, values
        return items, scores.astype(answers[0][1][1].dtype) if answers else scores

    def dense(self, n_threads: int) -> Array:
        """All scores, users × items."""
        answers = self._by_shard("scores", _scores)
        scores = np.empty((len(self.users), self.factors.pairs.shape[RIGHT]))
        for mine, values in answers:
            scores[mine] = values
        return scores.astype(answers[0][1].dtype) if answers else scores

    def _by_shard(self, name: str, function: Callable[..., Any], *arguments: Any) -> list[tuple[Array, Any]]:
        """What a function makes of every shard that has some of the users, and which of them."""
        tasks, places, planned = self.factors.pairs.tasks, [], []
        for (start, stop), rows, piece, place in self.factors.shards():
            mine = np.flatnonzero((self.users >= start) & (self.users < stop))
            if len(mine):
                users = self.users[mine] - start
                places.append(mine)
                planned.append(
                    tasks.task(name, function, rows, piece, users, self.factors.items, *arguments, place=place)
                )
        return list(zip(places, tasks.get(planned)))


def gathered_rows(tasks: Tasks, rows: list[Any]) -> Array:
    """The factors of all shards of a side, here."""
    return np.concatenate(tasks.get([tasks.task("factors", _factors, one) for one in rows]))


def gathered_interactions(pairs: ShardedPairs) -> Any:
    """The stored pairs, here: a csr array of signed weights."""
    tasks, columns = pairs.tasks, pairs.shape[RIGHT]
    parts = tasks.get([tasks.task("pairs", _matrix, piece, columns) for piece in pairs.sides[LEFT].pieces])
    return sp.csr_array(sp.vstack(parts, format="csr"))


def _factors(rows: Rows) -> Array:
    return rows.factors


def _matrix(piece: Piece, columns: int) -> Any:
    """A piece as rows of signed weights."""
    stored = piece.stored
    data = np.broadcast_to(stored.weights, len(stored.indices))
    if piece.disliked is not None:
        data = np.where(piece.disliked, -data, data)
    indptr = stored.indptr.astype(stored.indices.dtype)
    return sp.csr_array((data, stored.indices, indptr), shape=(len(indptr) - 1, columns))


def _top(
    rows: Rows, piece: Piece, users: Any, items: Array, columns: int, n: int, exclude_seen: bool, allow: Any, block: Any
) -> tuple[NDArray[np.int32], Array]:
    seen = _matrix(piece, columns)[users] if exclude_seen else None
    return top_k(rows.factors[users], items, n, exclude=seen, allow=allow, block=block, n_threads=worker_threads())


def _scores(rows: Rows, piece: Piece, users: Any, items: Array) -> Array:
    return blocked_product(rows.factors[users], items.T, SCORED_ROWS, worker_threads())


def _write_top(
    path: str, chunk: Chunk, user_ids: Any, item_ids: Any, rows: Rows, piece: Piece, items: Array, *options: Any
) -> str:
    """Write a shard's lists."""
    best, scores = _top(rows, piece, slice(None), items, *options)
    users = np.arange(*chunk) if user_ids is None else user_ids[slice(*chunk)]
    write_lists(path, users, best, scores, item_ids)
    return path


def _rank(rows: Rows, piece: Piece, positives: Any, items: Array, lengths: list[int]) -> Ranking:
    seen = stored_pattern(_matrix(piece, positives.shape[1]), "interactions")
    threads = worker_threads()
    positives = without(positives, seen)

    def score_rows(wanted: Array) -> Array:
        return blocked_product(rows.factors[wanted], items.T, SCORED_ROWS, threads)

    return rank_rows(score_rows, seen, positives, lengths, MEMORY_MB, threads)


def _one_ranking(parts: list[Ranking]) -> Ranking:
    """The ranking of all shards' rows."""
    indptr = np.concatenate([[0], np.cumsum(np.concatenate([part.n_positives for part in parts]))])
    return Ranking(
        indptr.astype(np.int64),
        np.concatenate([part.ranks for part in parts]),
        np.concatenate([part.n_candidates for part in parts]),
        np.concatenate([part.correct_pairs for part in parts]),
        np.minimum.reduce([part.best_place for part in parts]),
    )
