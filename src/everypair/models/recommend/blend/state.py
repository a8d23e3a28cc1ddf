"""A fitted blend: s_u = Σ_p w_p z_p(u) over fitted recommenders, ranked exactly."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.data.rows import StoredRows
from everypair.features.feature_map import FeatureMap, checked_matrix
from everypair.features.named_columns import Seen, named_columns
from everypair.kernels.score_rows import add_scaled
from everypair.models.codec import storable
from everypair.models.recommend.blend.foreign import value_of
from everypair.models.recommend.blend.scale import ROWS_AT_ONCE, scale_gram, scales_of
from everypair.models.recommend.explanation import Explanation
from everypair.models.recommend.factorization import OneClassState
from everypair.models.recommend.factors import FactorState
from everypair.models.recommend.fitted import (
    Answer,
    ComparesItems,
    Explains,
    Fitted,
    Grows,
    NamedValue,
    Newcomers,
    Prepares,
    ReadsFeatures,
    Refreshes,
)
from everypair.models.recommend.growth import appended, new_events
from everypair.models.recommend.pair_scores import scores_of_pairs
from everypair.models.recommend.positions import stored_rows
from everypair.models.serve_only import TRAINING_ONLY
from everypair.models.state_checks import check_array, check_matrix
from everypair.parallel import even_chunks
from everypair.problem.layout import LEFT
from everypair.retrieve import Scores
from everypair.retrieve.index import Index
from everypair.retrieve.similar import UnitVectors
from everypair.types import Array

Weight = float | NDArray[np.float64]  # of a member, or of a member for every row


@storable
@dataclass(frozen=True, kw_only=True)
class BlendState(NamedValue):
    """The fitted members; of each its weight and zero, [V, 1]ᵀ[V, 1] where it has factors, and what features it reads.

    ``reads`` are pairs of (users, items). ``newcomer_weights`` are those for users who are known by features alone,
    where they are others.
    """

    models: tuple[Any, ...]
    weights: tuple[float, ...]
    zeros: tuple[float, ...]
    grams: tuple[Array | None, ...]
    reads: tuple[tuple[bool, bool], ...]
    interactions: Any
    search: list[dict[str, Any]] | None = field(metadata=TRAINING_ONLY)
    newcomer_weights: tuple[float, ...] | None = None

    def check(self) -> None:
        """Refuse members of other users and items, and what there is not one of for every member."""
        check_matrix("interactions", self.interactions, self.interactions.shape)
        lists = (self.weights, self.zeros, self.grams, self.reads)
        if any(len(entries) != len(self.models) for entries in (*lists, self.newcomer_weights or self.weights)):
            raise ValueError("a blend has a weight, a zero and a Gram matrix for every model.")
        for model, value, gram_matrix in zip(self.models, self.values, self.grams):
            if value.shape != self.shape:
                raise ValueError(f"the {type(model).__name__} of this blend knows other users and items.")
            if isinstance(value, FactorState):
                check_array("grams", gram_matrix, *2 * [value.item_factors.shape[1] + 1])

    @property
    def shape(self) -> tuple[int, int]:
        """Number of users and of items."""
        rows, columns = self.interactions.shape
        return rows, columns

    @property
    def rank(self) -> int | None:
        """Number of factors of the first member that is a factorization."""
        return next((value.rank for value in self.values if isinstance(value, OneClassState)), None)

    @property
    def values(self) -> list[Fitted]:
        """The fitted values of the members."""
        return [value_of(model, self.interactions) for model in self.models]

    def known(self, users: NDArray[Any] | None) -> Answer:
        """Scores of users by position."""
        seen = StoredRows.taken(self.interactions, users)
        weights = self._weights_of(seen)
        answers = [value.known(users).scores if np.any(weight) else None for value, weight in zip(self.values, weights)]
        return Answer(self._sum(answers, seen.shape[0], weights), seen)

    def described(self, users: Newcomers, n_threads: int) -> Answer:
        """Scores of new users; a model that does not read features says nothing about who has nothing else."""
        if users.features is not None and not any(reads[LEFT] for reads in self.reads):
            raise ValueError("no model of this blend was fitted with user_features: describe users by interactions.")
        if users.targets is not None:
            raise ValueError("a blend knows no targets: describe new users by interactions or features.")
        if users.events is None:
            count = count_described(users.features)
            seen = StoredRows.empty(count, self.shape[1], self.interactions.dtype)
        else:
            seen = stored_rows(users.events, self.shape[1], self.interactions.dtype)
        answers: list[Scores | None] = []
        weights = self._weights_of(seen)
        for value, weight, reads in zip(self.values, weights, self.reads):
            own = replace(users, features=users.features if reads[LEFT] else None)
            silent = not np.any(weight) or (own.events is None and own.features is None)
            answers.append(None if silent else value.described(own, n_threads).scores)
        return Answer(self._sum(answers, seen.shape[0], weights), seen)

    def pair_scores(self, users: NDArray[Any], items: NDArray[Any], n_threads: int) -> Array:
        """Scores of the pairs (users[t], items[t]).

        Of members with factors these alone; the scale of others is a mean over all items, which they score once a user.
        """
        return scores_of_pairs(self, users, items, n_threads)

    def check_numbers(self) -> None:
        """Refuse NaN and infinite factors of the members."""
        for value in self.values:
            if isinstance(value, FactorState):
                value.check_numbers()

    def prepare(self, n_threads: int) -> None:
        """Make what the members need, and the factors of several side by side."""
        for value in self.values:
            if isinstance(value, Prepares):
                value.prepare(n_threads)
        self.known(np.zeros(1, np.int64))

    def explain(self, user: int, item: int, n: int | None) -> Explanation:
        """Contributions of the user's stored pairs, added over the members; what one cannot explain is in the base."""
        total, base = 0.0, 0.0
        shares = np.zeros(self.shape[1])
        weights = self._weights_of(StoredRows.taken(self.interactions, np.array([user])))
        for value, weight, zero, gram_matrix in zip(self.values, weights, self.zeros, self.grams):
            scores = value.known(np.array([user])).scores
            if gram_matrix is not None and scores.left is not None:
                scale = scales_of(scores.left, gram_matrix, zero, weight).item()
                gap = float(scores.pairs(np.zeros(1, np.int64), np.array([item]), 1)[0]) - zero
            else:
                gaps = scores.dense(1)[0].astype(np.float64) - zero
                length = np.sqrt(np.mean(gaps**2))
                scale, gap = (np.divide(weight, length).item() if length > 0 else 0.0), float(gaps[item])
            total += scale * gap
            if isinstance(value, Explains):
                why = value.explain(user, item, None)
                shares[why.items] += scale * why.contributions
                base += scale * (why.base - zero)
            else:
                base += scale * gap
        items = np.flatnonzero(shares)
        items = items[np.argsort(-np.abs(shares[items]), kind="stable")][:n]
        return Explanation(total, base, items.astype(np.int64), shares[items])

    def item_vectors(self) -> UnitVectors:
        """The members' unit vectors, weighed as in the blend; those that do not compare items have no say."""
        vectors: UnitVectors = []
        for value, weight in zip(self.values, self.weights):
            if weight and isinstance(value, ComparesItems):
                own = value.item_vectors()
                total = sum(share for share, _ in own)
                vectors += [(weight * share / total, unit) for share, unit in own]
        if not vectors:
            raise ValueError("none of the models of this blend that have a weight compares items.")
        return vectors

    def feature_map(self, side: int) -> FeatureMap | None:
        """How features of a side are read, by the first member that reads some."""
        maps = (
            value.feature_map(side)
            for value, reads in zip(self.values, self.reads)
            if reads[side] and isinstance(value, ReadsFeatures)
        )
        return next(maps, None)

    def grown(self, side: int, newcomers: Newcomers, n_threads: int) -> BlendState:
        """The same with new users or items in every member.

        A model that does not read features takes what is described by them alone as something without events.
        """
        values = self.values
        unable = [type(model).__name__ for model, value in zip(self.models, values) if not isinstance(value, Grows)]
        if unable:
            kind = "users" if side == LEFT else "items"
            raise ValueError(f"{' and '.join(unable)} cannot add {kind}: fit the blend again.")
        if newcomers.events is None and newcomers.features is None:
            raise ValueError("give the interactions of new entities, their features, or both.")
        if newcomers.targets is not None:
            raise ValueError("a blend knows no targets: describe what is new by interactions or features.")
        if newcomers.features is not None and not any(reads[side] for reads in self.reads):
            raise ValueError("no model of this blend was fitted with features of that side: give interactions.")
        count = 0 if newcomers.events is not None else count_described(newcomers.features)
        events = new_events(self.interactions, side, newcomers.events, count)
        models = []
        for model, value, reads in zip(self.models, values, self.reads):
            assert isinstance(value, Grows)
            own = newcomers if reads[side] and newcomers.features is not None else Newcomers(events)
            longer = copy.copy(model)
            longer.state_ = value.grown(side, own, n_threads)
            models.append(longer)
        return replace(
            self,
            models=tuple(models),
            interactions=appended(self.interactions, side, events),
            grams=tuple(scale_gram(model.state_, n_threads) for model in models),
        )

    def with_events(self, users: NDArray[Any], rows: Any, n_threads: int) -> Answer:
        """Scores of known users if they had these events."""
        seen = StoredRows.of(rows)
        weights = self._weights_of(seen)
        answers = [
            value.with_events(users, rows, n_threads).scores if np.any(weight) else None
            for value, weight in zip(self._refreshing(), weights)
        ]
        return Answer(self._sum(answers, rows.shape[0], weights), seen)

    def refreshed(self, interactions: Any, users: NDArray[Any], n_threads: int) -> BlendState:
        """The same with further events of users, in every member."""
        models = []
        for model, value in zip(self.models, self._refreshing()):
            fresh = copy.copy(model)
            fresh.state_ = value.refreshed(interactions, users, n_threads)
            models.append(fresh)
        return replace(self, models=tuple(models), interactions=interactions)

    def _refreshing(self) -> list[Refreshes]:
        """The members' values, all of which must take in further events of known users."""
        values = self.values
        unable = [type(model).__name__ for model, value in zip(self.models, values) if not isinstance(value, Refreshes)]
        if unable:
            raise ValueError(
                f"{' and '.join(unable)} cannot take in further events of known users: leave them out "
                '(known="ignore"), or fit the blend again.'
            )
        return [value for value in values if isinstance(value, Refreshes)]

    def _weights_of(self, seen: StoredRows) -> Sequence[Weight]:
        """The weights of the members, or for every row those of users who have something or nothing."""
        alone = np.diff(seen.indptr) == 0
        if self.newcomer_weights is None or not alone.any():
            return self.weights
        return [np.where(alone, new, weight) for new, weight in zip(self.newcomer_weights, self.weights)]

    def _sum(self, answers: list[Scores | None], rows: int, weights: Sequence[Weight]) -> Scores:
        """One factorization of the members with factors, scaled by Gram matrices, and all other members."""
        lefts: dict[int, Array] = {}
        others, constant = [], np.zeros(rows)
        scaling = zip(answers, self.grams, weights, self.zeros)
        for member, (scores, gram_matrix, weight, zero) in enumerate(scaling):
            if scores is None:
                continue
            if gram_matrix is None:
                others.append((scores, zero, np.broadcast_to(weight, rows)))
                continue
            assert scores.left is not None
            scale = scales_of(scores.left, gram_matrix, zero, weight)
            constant -= zero * scale
            lefts[member] = scores.left * scale[:, None].astype(scores.left.dtype)
        n_items = self.shape[1]
        types = [left.dtype for left in lefts.values()] + [one.dtype for one, _, _ in others]
        dtype = np.result_type(np.float32, *types)

        def fill(start: int, stop: int, out: Array) -> None:
            out[:] = constant[start:stop, None]
            for scores, zero, weight in others:
                room = np.empty((ROWS_AT_ONCE, out.shape[1]), scores.dtype)
                for first, beyond in even_chunks(stop - start, ROWS_AT_ONCE):
                    scores.write(start + first, start + beyond, room[: beyond - first], apart=True)
                    for row, own in enumerate(weight[start + first : start + beyond].tolist()):
                        if own:
                            add_scaled(row, row + 1, room, room.dtype.type(zero), own, out[first:beyond])

        if not lefts:
            return Scores(rows, n_items, dtype, fill)
        left = np.concatenate([*lefts.values()], axis=1, dtype=dtype)
        return Scores(rows, n_items, dtype, fill, left, self._index_of(tuple(lefts), dtype))

    def _index_of(self, members: tuple[int, ...], dtype: Any) -> Index:
        """The items' factors of some members side by side, made once; those of one are its own."""
        if (members, dtype) not in self._indices:
            parts = [value.index for value in map(self.values.__getitem__, members) if isinstance(value, FactorState)]
            joined = parts[0]
            if len(parts) > 1:
                joined = Index.of_finite(np.concatenate([part.factors for part in parts], axis=1, dtype=dtype))
            self._indices[members, dtype] = joined.as_type(dtype)
        return self._indices[members, dtype]

    @cached_property
    def _indices(self) -> dict[tuple[tuple[int, ...], Any], Index]:
        return {}


def count_described(features: Any) -> int:
    """Number of entities that features, a matrix or a dict of named matrices, describe."""
    group = next(iter(features.values()), None) if isinstance(features, Mapping) else features
    frame = named_columns(group, "features", Seen())
    return int(checked_matrix(group if frame is None else frame.matrix, "features").shape[0])
