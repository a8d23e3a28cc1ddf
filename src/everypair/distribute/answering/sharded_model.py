"""Answers of a model whose factors are on a cluster: top lists, lists of everybody as Parquet, metrics, the model here.

Item factors travel to every worker once, n × k numbers; users' factors and pairs stay where they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.check import integer
from everypair.data.ids import Ids, named_filter
from everypair.data.matching import IdPair, as_events, held_out_matrix
from everypair.distribute.answering.output import absolute, check_folder, write_lists
from everypair.distribute.sharded_pairs import ShardedPairs
from everypair.distribute.solving.solver import ShardedSide
from everypair.distribute.solving.work import Piece, Rows, worker_threads
from everypair.distribute.tasks import Tasks
from everypair.metrics.means import Metrics
from everypair.metrics.patterns import positive_pattern, stored_pattern
from everypair.metrics.ranking import Ranking, check_truth
from everypair.metrics.stream import KS, MEMORY_MB, check_lengths, rank_rows, summarise
from everypair.parallel import Chunk, blocked_product
from everypair.problem.layout import LEFT, RIGHT
from everypair.retrieve import top_k
from everypair.types import Array

SCORED_ROWS = 256


@dataclass(frozen=True)
class ShardedModel:
    """Factors on a cluster: ``left`` and ``right`` are futures of shards, ``learnt`` is what else training decided."""

    tasks: Tasks
    pairs: ShardedPairs
    left: list[Any]
    right: list[Any]
    sides: tuple[ShardedSide, ...]
    learnt: Mapping[str, Any] = field(default_factory=dict, repr=False)
    weights: tuple[Any, Any] = (None, None)  # futures of W of the sides with features

    def __repr__(self) -> str:
        users, items = self.pairs.shape
        return f"ShardedModel({users:,} users × {items:,} items in {len(self.left)} and {len(self.right)} shards)"

    def attribute(self, name: str) -> Any:
        """What a fitted model tells as ``name_`` and is small; the rest is on the cluster."""
        if name in ("user_ids", "item_ids"):
            return getattr(self, name)
        if name in ("left_feature_weights", "right_feature_weights"):
            return self.feature_weights()[name == "right_feature_weights"]
        known = {
            **self.learnt, "n_iter": len(self.learnt["history"]), "reg": self.learnt["ridge"].reg,
            "biases": self.learnt["layout"].biases,
        }  # fmt: skip
        if name not in known or (name == "interactions" and known[name] is None):
            raise AttributeError(f"{name}_ is on the cluster: gather() brings the model here.")
        return known[name]

    @cached_property
    def items(self) -> Any:
        """A future of all items' factors."""
        parts = [self.tasks.task("item-factors", _factors, rows) for rows in self.right]
        return self.tasks.start([self.tasks.task("all-item-factors", _stacked, parts)])[0]

    @cached_property
    def user_ids(self) -> Ids | None:
        """Names of the rows, here; ``None`` of a model fitted on a matrix."""
        return self._ids(LEFT)

    @cached_property
    def item_ids(self) -> Ids | None:
        """Names of the columns, here."""
        return self._ids(RIGHT)

    def recommend(
        self, users: Any, n: int = 10, exclude_seen: bool = True, allow: Any = None, block: Any = None
    ) -> tuple[Array, Array]:
        """The n best items of users and their scores, by id or position, as one machine would answer."""
        n = integer("n", n)
        allow, block = self._filters(allow, block)
        known = self.user_ids
        users = np.atleast_1d(np.asarray(users)) if known is None else known.index(users, "user")
        if users.dtype.kind not in "iu" or (len(users) and not 0 <= users.min() <= users.max() < self.pairs.shape[0]):
            raise ValueError(f"users must be positions from 0 to {self.pairs.shape[0] - 1}.")
        places, answers = [], []
        for (start, stop), rows, piece, place in self._left_shards():
            mine = np.flatnonzero((users >= start) & (users < stop))
            if len(mine):
                places.append(mine)
                answers.append(
                    self.tasks.task(
                        "recommend", _top, rows, piece, users[mine] - start, self.items, self.pairs.shape[1], n,
                        exclude_seen, allow, block, place=place,
                    )
                )  # fmt: skip
        found = self.tasks.get(answers)
        items, scores = np.empty((len(users), n), np.int32), np.empty((len(users), n), np.float64)
        for mine, (best, values) in zip(places, found):
            items[mine], scores[mine] = best, values
        named = items if self.item_ids is None else self.item_ids.names(items)
        return named, scores.astype(found[0][1].dtype) if found else scores

    def recommend_all(
        self, folder: Any, n: int = 10, *, exclude_seen: bool = True, allow: Any = None, block: Any = None
    ) -> list[str]:
        """Write the n best items of every user to a folder of Parquet files, a file per shard; return their paths.

        Columns are user, item, score and rank. The folder is any that the workers see (an fsspec path); its files are
        written under another name and renamed when they are whole.
        """
        n = integer("n", n)
        folder = absolute(folder)
        check_folder(folder)
        allow, block = self._filters(allow, block)
        names = [None, None] if self.pairs.ids is None else [self._all_ids(LEFT), self._all_ids(RIGHT)]
        futures = [
            self.tasks.task(
                "recommend-all", _write_top, f"{folder}/part-{number:05d}.parquet", chunk, *names,
                rows, piece, self.items, self.pairs.shape[1], n, exclude_seen, allow, block, place=place,
            )
            for number, (chunk, rows, piece, place) in enumerate(self._left_shards())
        ]  # fmt: skip
        return list(self.tasks.get(futures))

    def metrics(self, test: Any, ks: Sequence[int] = KS, average: str = "test") -> Metrics:
        """Ranking metrics of held-out positives, ranked shard by shard.

        They are events with ids where the model was fitted on files, else a matrix of the same shape.
        """
        return self.ranked(self.held_out(test, "test"), ks, average)

    def ranked(self, positives: Any, ks: Sequence[int] = KS, average: str = "test") -> Metrics:
        """The same of what :meth:`held_out` returned."""
        lengths = check_lengths(ks)
        futures = [
            self.tasks.task("rank", _rank, rows, piece, positives[slice(*chunk)], self.items, lengths, place=place)
            for chunk, rows, piece, place in self._left_shards()
        ]
        return summarise(_one_ranking(self.tasks.get(futures)), lengths, average)

    def held_out(self, held_out: Any, name: str) -> Any:
        """Held-out positives as a matrix in the order of rows and columns there, or a sentence."""
        events = as_events(held_out, name)
        if (events is None) != (self.pairs.ids is None):
            raise ValueError(
                f"{name} must be a matrix where interactions are one, and events with ids (a file or a data frame) "
                "where they are."
            )
        if events is not None:
            assert self.user_ids is not None
            assert self.item_ids is not None
            held_out = held_out_matrix(events, IdPair(self.user_ids, self.item_ids), name)
        return held_out_positives(held_out, self.pairs.shape, name)

    def gather(self) -> tuple[Array, Array]:
        """Both sides' factors, here."""
        return gathered_rows(self.tasks, self.left), gathered_rows(self.tasks, self.right)

    def feature_weights(self) -> tuple[Array | None, Array | None]:
        """W of both sides, here; ``None`` of a side without features."""
        left, right = (None if W is None else self.tasks.wait([W])[0] for W in self.weights)
        return left, right

    def interactions(self) -> Any:
        """The stored pairs, here: a csr array of signed weights."""
        pieces = self.pairs.sides[LEFT].pieces
        parts = self.tasks.get([self.tasks.task("pairs", _matrix, piece, self.pairs.shape[1]) for piece in pieces])
        return sp.csr_array(sp.vstack(parts, format="csr"))

    def _filters(self, allow: Any, block: Any) -> tuple[Any, Any]:
        if self.pairs.ids is None or (allow is None and block is None):
            return allow, block
        assert self.item_ids is not None
        return named_filter(allow, self.item_ids, "item"), named_filter(block, self.item_ids, "item")

    def _left_shards(self) -> list[tuple[Chunk, Any, Any, str]]:
        side = self.pairs.sides[LEFT]
        return list(zip(side.borders, self.left, side.pieces, side.places))

    def _all_ids(self, side: int) -> Any:
        assert self.pairs.ids is not None
        return self.tasks.start([self.tasks.task("all-ids", _stacked, self.pairs.ids[side])])[0]

    def _ids(self, side: int) -> Ids | None:
        return None if self.pairs.ids is None else Ids._of_distinct(self.tasks.wait([self._all_ids(side)])[0])


def held_out_positives(held_out: Any, shape: tuple[int, int], name: str) -> Any:
    """The positives of a matrix of that shape, or a sentence."""
    positives = positive_pattern(held_out, name)
    if positives.shape != shape:
        raise ValueError(f"{name} has the shape {positives.shape}, it must be {shape} as in training.")
    if positives.nnz == 0:
        raise ValueError(f"{name} holds no positive (no value above 0): there is nothing to rank.")
    return positives


def gathered_rows(tasks: Tasks, rows: list[Any]) -> Array:
    """The factors of all shards of a side, here."""
    return np.concatenate(tasks.get([tasks.task("factors", _factors, one) for one in rows]))


def _factors(rows: Rows) -> Array:
    return rows.factors


def _stacked(parts: list[Array]) -> Array:
    return np.concatenate(parts)


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


def _write_top(path: str, chunk: Chunk, user_ids: Any, item_ids: Any, rows: Rows, piece: Piece, *asked: Any) -> str:
    """Write a shard's lists."""
    found, scores = _top(rows, piece, slice(None), *asked)
    users = np.arange(*chunk) if user_ids is None else user_ids[slice(*chunk)]
    write_lists(path, users, found, scores, item_ids)
    return path


def _rank(rows: Rows, piece: Piece, positives: Any, items: Array, lengths: list[int]) -> Ranking:
    seen = stored_pattern(_matrix(piece, positives.shape[1]), "interactions")
    threads = worker_threads()
    if positives.nnz:
        check_truth(seen, positives, "interactions", "test")

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
