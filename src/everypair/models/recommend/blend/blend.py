"""Blend: several recommenders as one, their scores brought to one scale for every user and added."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from everypair import check
from everypair.data.pairs import Pairs
from everypair.data.splits import hold_out
from everypair.features.feature_map import FeatureMap
from everypair.kernels.score_rows import add_scaled
from everypair.models.codec import Arrays, Parts, decode, storable
from everypair.models.estimator import FittedAttribute, decoded_state
from everypair.models.recommend.base import FactorModel, checked_positions, checked_rows
from everypair.models.recommend.blend.parts import read_members, written_blend
from everypair.models.recommend.blend.scale import ROWS_AT_ONCE, rows_of, scale_gram, scaled, scales_of, zero_of
from everypair.models.recommend.blend.weights import search_weights
from everypair.models.recommend.defaults import auto_rank, auto_weighting
from everypair.models.recommend.explanation import Explanation
from everypair.models.recommend.item_item import ItemItem
from everypair.models.recommend.naming import asks, fits, grows
from everypair.models.recommend.one_class import OneClassMF
from everypair.models.recommend.scored import ScoredModel, count_described
from everypair.models.recommend.similar_items import most_similar_on_average
from everypair.models.recommend.state import NamedState
from everypair.models.serve_only import TRAINING_ONLY
from everypair.models.state_checks import check_array, check_matrix
from everypair.parallel import even_chunks, resolve_threads
from everypair.problem.layout import LEFT, RIGHT
from everypair.retrieve import ScoredRows
from everypair.training.interruption import inner_fits, warn_interrupted, was_interrupted
from everypair.types import Array

ITEM_ITEM_WEIGHT = 0.3  # of an ItemItem beside the 1 of every other part


@storable
@dataclass(frozen=True)
class BlendState(NamedState):
    """The fitted parts; of each its weight and zero, [V, 1]ᵀ[V, 1] where it has factors, and what features it reads."""

    models: tuple[Any, ...]
    weights: tuple[float, ...]
    zeros: tuple[float, ...]
    grams: tuple[Array | None, ...]
    reads_left: tuple[bool, ...]
    reads_right: tuple[bool, ...]
    interactions: Any
    search: list[dict[str, Any]] | None = field(metadata=TRAINING_ONLY)

    def check(self) -> None:
        """Refuse models of other users and items, and what there is not one of for every model."""
        check_matrix("interactions", self.interactions, self.interactions.shape)
        lists = (self.weights, self.zeros, self.grams, self.reads_left, self.reads_right)
        if any(len(entries) != len(self.models) for entries in lists):
            raise ValueError("a blend has a weight, a zero and a Gram matrix for every model.")
        for model, gram_matrix in zip(self.models, self.grams):
            if model.interactions_.shape != self.interactions.shape:
                raise ValueError(f"the {type(model).__name__} of this blend knows other users and items.")
            if isinstance(model, FactorModel):
                check_array("grams", gram_matrix, *2 * [model.right_factors_.shape[1] + 1])


class Blend(ScoredModel):
    """Add the scores of several recommenders: s_u = Σ_p w_p z_p(u), z dividing by the user's root mean square.

        z_p(u)_j = (s_p(u, j) − zero_p) / √((1/n) Σ_j (s_p(u, j) − zero_p)²)

    The mean is over all items and ``zero`` is the score that a part pulls unknown pairs to. ``Blend()`` is a
    :class:`~everypair.OneClassMF`, which sees what all users have in common, and an :class:`~everypair.ItemItem`, which
    sees what stands side by side, with fixed weights: the model to start with. It took 1.1 to 2.7 times the time of the
    factors alone, and 4 to 5 times where those take less than half a second. Top lists are exact and never need the
    scores of all users at once.

    Parameters
    ----------
    models : recommenders to blend, fitted anew; ``None`` is ``OneClassMF`` (its rank and ``weighting`` by the number of
        users and items) and ``ItemItem()``. Anything with ``fit`` and ``score_users(users=…, interactions=…)`` will do.
    weights : one number ≥ 0 per model; ``None`` is 0.3 for an ``ItemItem`` and 1 for every other model; ``"auto"``
        finds them on held-out entries: all models are fitted twice.
    held_out : what ``"auto"`` holds out, like what the model is for: ``"random"`` entries, every user's ``"last"`` one,
        or the latest tenth by ``"time"``; the latter two need ``fit(…, times=…)``.
    random_state : seed of the models that have none of their own.
    n_threads : threads to use, all cores by default.

    Attributes
    ----------
    models_, weights_ : the fitted models and their weights.
    search_ : what ``"auto"`` tried, a dict each: ``"weights"``, ``"ndcg@10"`` on held-out entries and its
        ``"standard_error"``, ``"gain"`` over the fixed weights and ``"gain_standard_error"``.

    Examples
    --------
    >>> import numpy as np
    >>> blocks = np.kron(np.eye(2), np.ones((6, 5)))  # two groups of users, two of items
    >>> blocks[0, 0] = 0                              # one event was not observed
    >>> model = Blend(random_state=0).fit(blocks)
    >>> items, scores = model.recommend([0], n=1)
    >>> int(items[0, 0]), model.weights_
    (0, (1.0, 0.3))
    """

    models_ = FittedAttribute()
    weights_ = FittedAttribute()
    search_ = FittedAttribute()
    state_: BlendState

    def __init__(
        self,
        models: Sequence[Any] | None = None,
        weights: Sequence[float] | str | None = None,
        held_out: str = "random",
        random_state: Any = None,
        n_threads: int | None = None,
    ) -> None:
        self.models = models
        self.weights = weights
        self.held_out = held_out
        self.random_state = random_state
        self.n_threads = n_threads

    @fits
    def fit(
        self, interactions: Any, left_features: Any = None, right_features: Any = None, *, times: Any = None
    ) -> Self:
        """Fit every model on interactions, events or a matrix as :meth:`OneClassMF.fit` takes.

        Features go to those that read them. ``times`` (which events have) has a time for every stored pair (a sparse
        matrix, or an array in row-major order) and is used to hold out late entries with ``weights="auto"`` alone.
        Ctrl-C keeps the models fitted so far, the last as far as it came, and warns.
        """
        threads = resolve_threads(self.n_threads)
        random = check.generator(self.random_state)
        matrix = Pairs.from_matrix(interactions).to_csr()
        models = self._chosen(matrix, random)
        weights = self._checked_weights(models)
        zeros = tuple(map(zero_of, models))
        features = {"left_features": left_features, "right_features": right_features}
        reads = {
            name: tuple(given is not None and _takes(model.fit, name) for model in models)
            for name, given in features.items()
        }
        for name, given in features.items():
            if given is not None and not any(reads[name]):
                raise ValueError(f"none of the models reads {name}.")

        def fitted(training: Any) -> tuple[tuple[Any, ...], bool]:
            done: list[Any] = []
            for number, model in enumerate(models):
                known = {name: features[name] for name in features if reads[name][number]}
                try:
                    with inner_fits():
                        done.append(clone(model).fit(training, **known))
                except KeyboardInterrupt:
                    if not done:
                        raise
                    return tuple(done), True
                if was_interrupted(done[-1]):
                    return tuple(done), True
            return tuple(done), False

        search, interrupted = None, False
        if weights is None:
            seed = int(random.integers(2**31))
            train, test = hold_out(matrix, self.held_out, times, seed)
            final, interrupted = fitted(train)
            weights = _fixed_weights(models)
            if not interrupted:
                tried = final
                weights, search = search_weights(
                    lambda users: [
                        scaled(model.score_users(users), zero, threads) for model, zero in zip(tried, zeros)
                    ],
                    train, test, weights, seed, threads,
                )  # fmt: skip
        if not interrupted:
            final, interrupted = fitted(matrix)
        count = len(final)
        self.state_ = BlendState(
            final, weights[:count], zeros[:count], tuple(scale_gram(model, threads) for model in final),
            reads["left_features"][:count], reads["right_features"][:count], matrix, search,
        )  # fmt: skip
        if interrupted:
            warn_interrupted(f"the blend is {count} of {len(models)} models.")
        return self

    def scored_rows(self, users: ArrayLike | None, interactions: Any, features: Any) -> tuple[ScoredRows, Any]:
        """Σ_p w_p z_p: one factorization of the parts with factors, scaled by Gram matrices, and all other parts.

        A model that does not read features says nothing about users who are described by them alone.
        """
        state = self.state_
        if features is not None and not any(state.reads_left):
            raise ValueError("no model of this blend was fitted with left_features: describe users by interactions.")
        seen = self._seen(users, interactions, features)
        factors, others, constant = [], [], np.zeros(seen.shape[0])
        for number, (model, weight, zero) in enumerate(zip(state.models, state.weights, state.zeros)):
            known = features if state.reads_left[number] else None
            if weight == 0 or (features is not None and interactions is None and known is None):
                continue
            if isinstance(model, FactorModel):
                left, _ = model._left_rows(users, interactions, known, None)
                scale = scales_of(left, state.grams[number], zero, weight)
                constant -= zero * scale
                factors.append((left * scale[:, None].astype(left.dtype), model.right_factors_))
            else:
                others.append((rows_of(model, users, interactions, known, seen.shape), zero, weight))
        dtype = np.result_type(np.float32, *(pair[0] for pair in factors), *(rows.dtype for rows, _, _ in others))

        def fill(start: int, stop: int, out: Array) -> None:
            out[:] = constant[start:stop, None]
            for rows, zero, weight in others:
                room = np.empty((ROWS_AT_ONCE, out.shape[1]), rows.dtype)
                for first, beyond in even_chunks(stop - start, ROWS_AT_ONCE):
                    rows.write(start + first, start + beyond, room[: beyond - first])
                    add_scaled(0, beyond - first, room, room.dtype.type(zero), weight, out[first:beyond])

        rows, n_items = seen.shape
        if not factors:
            return ScoredRows(rows, n_items, dtype, fill), seen
        left, right = (
            side[0].astype(dtype, copy=False) if len(side) == 1 else np.concatenate(side, axis=1, dtype=dtype)
            for side in zip(*factors)
        )
        return ScoredRows(rows, n_items, dtype, fill, left, right), seen

    @asks(answer="why")
    def explain(self, user: Any, item: Any, n: int | None = None) -> Explanation:
        """Split the score of a pair into contributions of the user's stored pairs, added over the models, and a base.

        What a model cannot explain is in the base. ``n`` keeps only the largest contributions.
        """
        check_is_fitted(self)
        n_users, n_items = self.interactions_.shape
        (row,) = checked_positions(user, n_users, "user")
        (column,) = checked_positions(item, n_items, "item")
        if n is not None:
            check.integer("n", n)
        total, base = 0.0, 0.0
        shares = np.zeros(n_items)
        for model, weight, zero in zip(self.models_, self.weights_, self.state_.zeros):
            gaps = model.score_users(users=[row])[0].astype(np.float64) - zero
            length = np.sqrt(np.mean(gaps**2))
            scale = weight / length if length > 0 else 0.0
            total += scale * float(gaps[column])
            if hasattr(model, "explain"):
                why = model.explain(int(row), int(column))
                shares[why.items] += scale * why.contributions
                base += scale * (why.base - zero)
            else:
                base += scale * float(gaps[column])
        items = np.flatnonzero(shares)
        items = items[np.argsort(-np.abs(shares[items]), kind="stable")][:n]
        return Explanation(total, base, items.astype(np.int64), shares[items])

    @asks(RIGHT, answer="item")
    def similar_items(self, items: ArrayLike, n: int = 10) -> tuple[NDArray[np.int32], Array]:
        """Return the ``n`` items nearest to each of ``items``, itself left out, by the mean of the models' cosines.

        The mean has the weights of the blend; models that do not compare items, such as ``Popularity``, have no say.
        """
        check_is_fitted(self)
        rows = checked_positions(items, self.interactions_.shape[1], "item")
        return most_similar_on_average(self.models_, self.weights_, rows, check.integer("n", n))

    @grows(LEFT)
    def add_users(self, *, interactions: Any = None, features: Any = None, ids: Any = None) -> NDArray[Any]:
        """Append users by ``interactions``, ``features`` or both, as :meth:`OneClassMF.add_users`."""
        check_is_fitted(self)
        return self._grow("add_users", 0, self.state_.reads_left, interactions, features)

    @grows(RIGHT)
    def add_items(self, *, interactions: Any = None, features: Any = None, ids: Any = None) -> NDArray[Any]:
        """Append items by ``interactions``, ``features`` or both, as :meth:`OneClassMF.add_items`.

        A model that does not read features takes an item that is described by them alone as one without events.
        """
        check_is_fitted(self)
        return self._grow("add_items", 1, self.state_.reads_right, interactions, features)

    def to_parts(self, *, serve_only: bool = False) -> Parts:
        """Return the fitted blend, its models included, as JSON-able values and named arrays."""
        check_is_fitted(self)
        return written_blend(self, serve_only)

    @classmethod
    def from_parts(cls, values: dict[str, Any], arrays: Arrays) -> Self:
        """Return the blend that :meth:`to_parts` wrote down."""
        given, members = read_members(cls.__name__, values, arrays)
        model = cls(models=given, **decode({"dict": values["parameters"]}, arrays))
        model.state_ = replace(decoded_state(cls, values["state"], arrays), models=members)
        model.state_.check()
        return model

    def _feature_map(self, side: int) -> FeatureMap | None:
        reads = (self.state_.reads_left, self.state_.reads_right)[side]
        maps = (
            model._feature_map(side)
            for model, able in zip(self.models_, reads)
            if able and hasattr(model, "_feature_map")
        )
        return next(maps, None)

    def _seen(self, users: ArrayLike | None, interactions: Any, features: Any) -> Any:
        """What the users that are asked for have."""
        stored = self.interactions_
        if interactions is not None:
            return checked_rows(interactions, stored.shape[1], stored.dtype)
        if features is not None:
            return sp.csr_array((count_described(features), stored.shape[1]), dtype=stored.dtype)
        return stored if users is None else stored[checked_positions(users, stored.shape[0], "user")]

    def _chosen(self, matrix: Any, random: np.random.Generator) -> list[Any]:
        """Unfitted models with this blend's seed and threads where they have none of their own."""
        chosen: list[Any]
        if self.models is None:
            chosen = [OneClassMF(rank=auto_rank(matrix), weighting=auto_weighting(matrix)), ItemItem()]
        else:
            if not isinstance(self.models, Sequence) or isinstance(self.models, str) or not self.models:
                raise ValueError("models must be a list of recommenders, or None for OneClassMF and ItemItem.")
            for model in self.models:
                able = all(hasattr(model, name) for name in ("fit", "score_users", "get_params"))
                if isinstance(model, type) or not able:
                    raise TypeError(f"models must hold recommenders with fit and score_users, got {model!r}.")
            chosen = [clone(model) for model in self.models]
        for model in chosen:
            own = model.get_params(deep=False)
            if self.random_state is not None and own.get("random_state", 0) is None:
                model.set_params(random_state=int(random.integers(2**31)))
            if self.n_threads is not None and own.get("n_threads", 0) is None:
                model.set_params(n_threads=self.n_threads)
        return chosen

    def _checked_weights(self, models: list[Any]) -> tuple[float, ...] | None:
        """One number per model, or None where they have to be found."""
        if self.weights is None:
            return _fixed_weights(models)
        if isinstance(self.weights, str):
            if self.weights != "auto":
                raise ValueError(f'weights must be numbers, None for fixed ones or "auto", got {self.weights!r}.')
            return None
        given = np.asarray(self.weights, np.float64)
        if given.shape != (len(models),) or not np.isfinite(given).all() or given.min() < 0 or given.max() == 0:
            raise ValueError(
                f"weights must be {len(models)} finite numbers ≥ 0, one per model and not all 0, got {self.weights!r}."
            )
        return tuple(given.tolist())

    def _grow(
        self, method: str, side: int, reads: tuple[bool, ...], interactions: Any, features: Any
    ) -> NDArray[np.int64]:
        state = self.state_
        unable = [type(model).__name__ for model in state.models if not hasattr(model, method)]
        if unable:
            raise ValueError(f"{' and '.join(unable)} cannot {method.replace('_', ' ')}: fit the blend again.")
        if interactions is None and features is None:
            raise ValueError("give the interactions of new entities, their features, or both.")
        if features is not None and not any(reads):
            raise ValueError("no model of this blend was fitted with features of that side: give interactions.")
        events = interactions
        if events is None:
            shape = [*self.interactions_.shape]
            shape[side] = count_described(features)
            events = sp.csr_array(tuple(shape), dtype=self.interactions_.dtype)
        grown = tuple(copy.copy(model) for model in state.models)
        for model, able in zip(grown, reads):
            if able and features is not None:
                positions = getattr(model, method)(interactions=interactions, features=features)
            else:
                positions = getattr(model, method)(interactions=events)
        stack = sp.vstack if side == 0 else sp.hstack
        new, _ = check.as_csr(events, self.interactions_.dtype, "interactions")
        wider = sp.csr_array(stack([self.interactions_, new], format="csr"))
        threads = resolve_threads(self.n_threads)
        self.state_ = replace(
            state, models=grown, interactions=wider, grams=tuple(scale_gram(model, threads) for model in grown)
        )
        return np.asarray(positions)


def _fixed_weights(models: list[Any]) -> tuple[float, ...]:
    return tuple(ITEM_ITEM_WEIGHT if isinstance(model, ItemItem) else 1.0 for model in models)


def _takes(function: Any, name: str) -> bool:
    return name in inspect.signature(function).parameters
