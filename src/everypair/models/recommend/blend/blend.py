"""Blend: several recommenders as one, their scores brought to one scale for every user and added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from everypair import check
from everypair.data.pairs import Pairs
from everypair.data.splits import HELD_OUT, hold_out, split_cold_items
from everypair.features.feature_map import FeatureMap
from everypair.metrics.patterns import positive_pattern
from everypair.models.estimator import FittedAttribute
from everypair.models.parameters import Iterating, Threads, checked, estimator, parameter
from everypair.models.recommend.blend.foreign import value_of
from everypair.models.recommend.blend.members import check_members, reads_features
from everypair.models.recommend.blend.scale import scale_gram, zero_of
from everypair.models.recommend.blend.search import MemberSearch
from everypair.models.recommend.blend.state import BlendState
from everypair.models.recommend.content_items import ContentItems
from everypair.models.recommend.content_users import ContentUsers
from everypair.models.recommend.defaults import auto_weighting, checked_rank
from everypair.models.recommend.item_item import ItemItem
from everypair.models.recommend.one_class import OneClassMF
from everypair.models.recommend.positions import KINDS
from everypair.models.recommend.recommender import Recommender
from everypair.models.recommend.training_data import TrainingData, training_data
from everypair.progress import part_of, stage
from everypair.solvers.loop import Sweep
from everypair.training.interruption import inner_fits, warn_interrupted, was_interrupted

LESSER_WEIGHT = 0.3  # of an ItemItem and of content beside the 1 of every other member
LARGEST_PROFILES = 2**26  # numbers of a ContentUsers that nobody has asked for
NEWCOMERS = "items"  # held out whole, and ranked among themselves
NEW_SHARE = 1 / 7  # of the items with events


@estimator
class Blend(Threads, Recommender):
    """Add the scores of several recommenders: s_u = Σ_p w_p z_p(u), z dividing by the user's root mean square.

        z_p(u)_j = (s_p(u, j) − zero_p) / √((1/n) Σ_j (s_p(u, j) − zero_p)²)

    The mean is over all items and ``zero`` is the score that a part pulls unknown pairs to. ``Blend()`` is a
    :class:`~everypair.OneClassMF`, which sees what all users have in common, and an :class:`~everypair.ItemItem`, which
    sees what stands side by side, with fixed weights: the model to start with. Training takes 1.1 to 4.3 times as long
    as that of the factors alone (4.3 where both are a fraction of a second). Top lists are exact and never need the
    scores of all users at once.

    With ``item_features`` a :class:`~everypair.ContentItems` is the third. What content is worth differs more from data
    to data than anything else, so its weight is found on held-out entries, and so is whether the factors are trained
    with features or on events alone (``Side(joint=False)``); where no user has two events there is
    nothing to hold out and nothing that users have in common, and content speaks alone. With ``user_features``
    a :class:`~everypair.ContentUsers` is one more. Who has events is known better by these, so that its weight is 0;
    for users who are known by features alone it is 0.3.

    Attributes
    ----------
    models_, weights_ : the fitted models and their weights.
    rank_ : number of factors of the first of them that is a factorization, or None.
    search_ : what was tried on held-out entries, a dict each: ``"weights"``, ``"ndcg@10"`` (with content
        ``"recall@100"`` as well, and the mean of both decides), its ``"standard_error"``, ``"gain"`` over the fixed
        weights and ``"gain_standard_error"``.

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

    models: Sequence[Any] | None = parameter(
        None,
        "recommenders to blend, fitted anew; None is OneClassMF (its weighting by the number of users and items), "
        "ItemItem(), with item_features ContentItems(), with user_features ContentUsers(reg='auto'). Anything with fit "
        "and score_users(users=…, interactions=…) will do.",
    )
    rank: int | str = parameter(
        "auto",
        'number of factors of the OneClassMF that is there where models is None; "auto" is the power of 2 at or below '
        "√(users + items), from 16 to 256.",
        lambda name, value: checked_rank(value),
    )
    weights: Sequence[float] | str | None = parameter(
        None,
        "one number ≥ 0 per model; None is 0.3 for an ItemItem, found on held-out entries for a ContentItems, 0 for a "
        'ContentUsers (0.3 for users known by features alone), 1 for every other model; "auto" finds them all on '
        "held-out entries. Where entries are held out all models are fitted twice.",
    )
    held_out: str = parameter(
        "random",
        'what is held out to find weights, like what the model is for: "random" entries, every user\'s "last" one, or '
        'the latest tenth by "time" (both need fit(…, times=…)), or whole "items", one in seven, ranked among '
        "themselves by their features.",
        lambda name, value: check.one_of(name, value, (*HELD_OUT, NEWCOMERS)),
    )
    random_state: Any = parameter(None, "seed of the models that have none of their own.")

    fitted_class: ClassVar[type] = BlendState
    reads_features: ClassVar[tuple[bool, bool]] = (True, True)
    models_ = FittedAttribute()
    weights_ = FittedAttribute()
    rank_ = FittedAttribute()
    search_ = FittedAttribute()

    def fit(
        self, interactions: Any, *, user_features: Any = None, item_features: Any = None, times: Any = None
    ) -> Self:
        """Fit every model on interactions, events or a matrix as :meth:`OneClassMF.fit` takes.

        Features go to those that read them. ``times`` (which events have) has a time for every stored pair (a sparse
        matrix, or an array in row-major order) and is used to hold out late entries where weights are found, alone.
        Ctrl-C keeps the models fitted so far, the last as far as it came, and warns.
        """
        threads = checked(self).n_threads
        random = check.generator(self.random_state)
        data = training_data(interactions, features=(user_features, item_features), times=times)
        matrix = Pairs.from_matrix(data.matrix).to_csr()
        models = self._chosen(matrix, data.features, random)
        weights, searched = self._checked_weights(models, matrix)
        reads = _reads(models, data)
        search, interrupted = None, False
        if searched:
            seed = int(random.integers(2**31))
            train, test = self._parts(matrix, data, seed)
            if self.weights is None and not positive_pattern(test, "held-out entries").nnz:
                searched = ()  # so few entries that none is held out
        if searched:
            alone = [_of_events_alone(models[0])] if self.models is None and any(reads[0]) else []
            with part_of("on a part, to weigh them"):
                final, interrupted = _fitted([*models, *alone], [*reads, *reads[:1]], train, data)
            if interrupted:
                final = final[: len(models)]
            else:
                values = [value_of(model, train) for model in final]
                content = any(map(_is_content, models))
                search_of = MemberSearch(values, train, test, seed, threads, content, self.held_out == NEWCOMERS)
                members = list(range(len(models)))
                if alone and search_of.quality([len(models), *members[1:]], weights) > search_of.quality(
                    members, weights
                ):
                    models, members = [*alone, *models[1:]], [len(models), *members[1:]]
                weights, search = search_of(members, weights, searched)
        if not interrupted:
            final, interrupted = _fitted(models, reads, matrix, data)
        count = len(final)
        values = [value_of(model, matrix) for model in final]
        self.state_ = data.named(
            BlendState(
                models=final, weights=weights[:count], zeros=tuple(map(zero_of, values)),
                grams=tuple(scale_gram(value, threads) for value in values), reads=reads[:count],
                interactions=matrix, search=search, newcomer_weights=self._newcomer_weights(models[:count], weights),
            )
        )  # fmt: skip
        if interrupted:
            warn_interrupted(f"the blend is {count} of {len(models)} models.")
        return self

    def _chosen(self, matrix: Any, features: tuple[Any, Any], random: np.random.Generator) -> list[Any]:
        """Unfitted models with this blend's seed and threads where they have none of their own."""
        chosen: list[Any]
        if self.models is None:
            chosen = [OneClassMF(rank=self.rank, weighting=auto_weighting(matrix)), ItemItem()]
            chosen += [] if features[1] is None else [ContentItems()]
            chosen += [ContentUsers(reg="auto")] if _have_profiles(features[0], matrix) else []
        else:
            if self.rank != "auto":
                raise ValueError(f"rank={self.rank!r} is that of the models that None stands for: give it to your own.")
            check_members(self.models)
            chosen = [clone(model) for model in self.models]
        for model in chosen:
            own = model.get_params(deep=False)
            if self.random_state is not None and own.get("random_state", 0) is None:
                model.set_params(random_state=int(random.integers(2**31)))
            if self.n_threads is not None and own.get("n_threads", 0) is None:
                model.set_params(n_threads=self.n_threads)
        return chosen

    def _newcomer_weights(self, models: list[Any], weights: tuple[float, ...]) -> tuple[float, ...] | None:
        """Weights for users who are known by features alone, where content of users has one of its own."""
        if not (self.weights is None or isinstance(self.weights, str)):
            return None
        content = [isinstance(model, ContentUsers) for model in models]
        if not any(content) or all(content):
            return None
        return tuple(LESSER_WEIGHT if own else weight for own, weight in zip(content, weights))

    def _parts(self, matrix: Any, data: TrainingData, seed: int) -> tuple[Any, Any]:
        """Entries to learn from and those that are held out to find weights."""
        if self.held_out != NEWCOMERS:
            return hold_out(matrix, self.held_out, data.times, seed)
        if data.features[1] is None:
            raise ValueError(
                'held_out="items" ranks items by their features: give fit(…, item_features=X), or hold out entries.'
            )
        return split_cold_items(matrix, NEW_SHARE, seed)

    def _checked_weights(self, models: list[Any], matrix: Any) -> tuple[tuple[float, ...], Sequence[int]]:
        """One number per model, and the models whose numbers have to be found on held-out entries."""
        content = [number for number, model in enumerate(models) if _is_content(model)]
        fixed = tuple(
            LESSER_WEIGHT if isinstance(model, ItemItem | ContentItems) else float(not isinstance(model, ContentUsers))
            for model in models
        )
        fixed = fixed if any(fixed) else (1.0,) * len(models)
        if self.weights is None or isinstance(self.weights, str):
            if self.weights not in (None, "auto"):
                raise ValueError(f'weights must be numbers, None for fixed ones or "auto", got {self.weights!r}.')
            if content and np.diff(positive_pattern(matrix, "interactions").indptr).max(initial=0) < 2:
                return tuple(float(number in content) for number in range(len(models))), ()
            if self.weights is None:
                return fixed, content if len(content) < len(models) else ()
            return fixed, range(1, len(models))
        given = np.asarray(self.weights, np.float64)
        if given.shape != (len(models),) or not np.isfinite(given).all() or given.min() < 0 or given.max() == 0:
            raise ValueError(
                f"weights must be {len(models)} finite numbers ≥ 0, one per model and not all 0, got {self.weights!r}."
            )
        return tuple(given.tolist()), ()


def _have_profiles(features: Any, matrix: Any) -> bool:
    """Whether users have features, and what items add up of them is no large matrix."""
    if features is None:
        return False
    rows = FeatureMap.of(features, "user_features")(features, matrix.shape[0])
    numbers = rows.shape[1] * matrix.shape[1]
    if sp.issparse(rows):
        numbers = min(numbers, int(np.diff(rows.indptr).astype(np.int64) @ np.diff(matrix.indptr)))
    return bool(numbers <= LARGEST_PROFILES)


def _of_events_alone(model: OneClassMF) -> OneClassMF:
    """The same whose training does not see features, which say who newcomers are."""
    sides = {name: replace(getattr(model, name), joint=False) for name in ("users", "items")}
    return clone(model).set_params(**sides)


def _is_content(model: Any) -> bool:
    return isinstance(model, ContentItems)


def _reads(models: list[Any], data: TrainingData) -> tuple[tuple[bool, bool], ...]:
    """Which model is given which features; those that none of them reads are refused."""
    able = [reads_features(model) for model in models]
    reads = tuple(
        (data.features[0] is not None and users, data.features[1] is not None and items) for users, items in able
    )
    for side, kind in enumerate(KINDS):
        if data.features[side] is not None and not any(one[side] for one in reads):
            raise ValueError(f"none of the models reads {kind}_features.")
    return reads


def _fitted(
    models: list[Any], reads: Sequence[tuple[bool, bool]], training: Any, data: TrainingData
) -> tuple[tuple[Any, ...], bool]:
    """The models fitted one after the other, and whether that was interrupted."""
    done: list[Any] = []
    for model, able in zip(models, reads):
        features = {f"{kind}_features": data.features[side] for side, kind in enumerate(KINDS) if able[side]}
        try:
            name = type(model).__name__
            fresh: Any = clone(model)
            if isinstance(fresh, Iterating):
                features["callbacks"] = [said_sweep]
            with inner_fits(), part_of(f"{name} ({len(done) + 1} of {len(models)})"):
                stage("begins")
                done.append(fresh.fit(training, **features))
        except KeyboardInterrupt:
            if not done:
                raise
            return tuple(done), True
        if was_interrupted(done[-1]):
            return tuple(done), True
    return tuple(done), False


def said_sweep(sweep: Sweep) -> None:
    """Say which sweep of a member has ended."""
    stage(f"sweep {sweep.iteration}")
