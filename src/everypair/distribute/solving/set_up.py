"""Shards made of pairs and features, where training starts on them, and the solver of both sides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from everypair.distribute.feature_rows import BothRows, FeatureRows
from everypair.distribute.pieces import Piece
from everypair.distribute.sharded_pairs import PairsOfSide, ShardedPairs, as_it_is, large_tasks
from everypair.distribute.solving import through_features, work
from everypair.distribute.solving.feature_step import SideFeatures, added
from everypair.distribute.solving.sides import SIDES, ShardedSide, Sides
from everypair.distribute.solving.solver import ShardedAlternating
from everypair.distribute.tasks import Tasks
from everypair.problem.embedding import auto_feature_reg
from everypair.problem.gram_square import GramSquare
from everypair.problem.layout import LEFT, RIGHT, Layout
from everypair.problem.losses import Loss
from everypair.problem.negatives import Negatives
from everypair.problem.ridge import Ridge
from everypair.solvers.half_step import RowSteps
from everypair.solvers.preconditioner import EXACT_FEATURES
from everypair.solvers.state import Factors
from everypair.training.start import start_rows
from everypair.types import Array

PICK_BYTES = 2**18  # for every shard that asks: what the network carries while the scheduler handles one task


@dataclass(frozen=True)
class ShardTerms:
    """What is minimised: everything of the objective but its pairs."""

    loss: Loss
    negatives: Negatives
    ridge: Ridge
    layout: Layout
    dtype: Any
    features: BothRows = (None, None)


def make_sides(pairs: ShardedPairs, terms: ShardTerms) -> Sides:
    """Turn both sides' pieces into shards, and find out which rows have to travel where."""
    tasks, negatives = pairs.tasks, terms.negatives
    both = (terms.negatives.left, terms.negatives.right)
    sides = []
    for side, mine in enumerate(pairs.sides):
        opposite = pairs.sides[1 - side]
        value = negatives.value
        shared = work.SideTerms(
            side, terms.loss, terms.ridge, _short(both[side]), _short(both[1 - side]),
            (value[side], value[1 - side]) if isinstance(value, tuple) else value,
            terms.layout.constant(side), terms.dtype, opposite.borders, _own(terms.features[side]),
            PICK_BYTES * len(mine.borders) / (terms.layout.columns * np.dtype(terms.dtype).itemsize),
        )  # fmt: skip
        terms_task = tasks.task(f"terms-{SIDES[side]}", as_it_is, shared)
        sizes = len(both[side]), len(both[1 - side])
        with large_tasks():
            rows = terms.features[side]
            features = [None] * len(mine.borders) if rows is None else rows.rows(tasks, mine)
            shards = tasks.start(
                [
                    tasks.task(f"shard-{SIDES[side]}", _shard, piece, terms_task, sizes, one, place=place)
                    for piece, one, place in zip(mine.pieces, features, mine.places)
                ]
            )
        sides.append((mine, shards))
    left, right = (
        _side(tasks, mine, shards, pairs.sides[1 - side].places, side_features(tasks, mine, shards, terms, side))
        for side, (mine, shards) in enumerate(sides)
    )
    pairs.sides[RIGHT].pieces.clear()  # nobody else asks for them, and their shards hold the same pairs
    return left, right


def side_features(
    tasks: Tasks, mine: PairsOfSide, shards: list[Any], terms: ShardTerms, side: int
) -> SideFeatures | None:
    """Sum up and decompose XᵀPX of a side with features, where W will live."""
    rows = terms.features[side]
    if rows is None:
        return None
    weights = (terms.negatives.left, terms.negatives.right)[side]
    counted = bool(np.any(weights))
    ridge = rows.reg
    if ridge is None:
        own = sum(tasks.get([tasks.task("ridge", _ridge_sum, shard) for shard in shards])) / mine.borders[-1][1]
        ridge = auto_feature_reg(rows.mean_square, own)
    home = mine.places[0]
    grams = [
        tasks.task("feature-gram", through_features.feature_gram, shard, counted, place=place)
        for shard, place in zip(shards, mine.places)
    ]
    whole = added(tasks, grams, mine.places)
    prepared = tasks.task("prepare", through_features.prepare, whole, ridge, terms.dtype, place=home)
    regression = None
    if rows.own and rows.columns <= EXACT_FEATURES:
        forms = [
            tasks.task("ridge-form", through_features.ridge_form, shard, place=place)
            for shard, place in zip(shards, mine.places)
        ]
        form = added(tasks, forms, mine.places)
        regression = tasks.start([tasks.task("regression", through_features.factorised, form, ridge, place=home)])[0]
    return SideFeatures(
        home, ridge, float(np.sum(weights)) if counted else float(len(weights)), tasks.start([prepared])[0],
        rows.own, rows.columns, np.dtype(terms.dtype), regression,
    )  # fmt: skip


def _own(features: FeatureRows | None) -> bool:
    return features is None or features.own


def _ridge_sum(shard: work.Shard) -> float:
    return float(shard.problem.ridge.sum(dtype=np.float64))


def _side(
    tasks: Tasks, mine: PairsOfSide, shards: list[Any], homes: list[str], features: SideFeatures | None
) -> ShardedSide:
    """A side whose shards know which rows they need; row numbers are kept where the rows live."""
    wanted = tasks.get([tasks.task("wanted", work.wanted, shard) for shard in shards])
    some = [
        (number, source) for number, row in enumerate(wanted) for source, count in enumerate(row) if count is not None
    ]
    futures = tasks.start([tasks.task("source", work.source, shards[one], two, place=homes[two]) for one, two in some])
    picked: list[list[Any]] = [[None] * len(homes) for _ in shards]
    for (number, source), rows in zip(some, futures):
        picked[number][source] = rows
    return ShardedSide(mine.borders, mine.places, shards, wanted, picked, features)


def random_start(tasks: Tasks, sides: Sides, terms: ShardTerms, random: np.random.Generator) -> Factors:
    """The start of one machine, drawn on the workers: the generator's state goes from shard to shard.

    Weights of features begin at zero, but for the right side's without own vectors, which begin as small as those.
    """
    rows: list[list[Any]] = [[], []]
    weights: list[Any] = [None, None]
    state: Any = random.bit_generator.state
    for number in (LEFT, RIGHT):
        side = sides[number]
        alone = side.features is not None and not side.features.own
        if side.features is not None:
            layout, scale = terms.layout, 0.0
            if number == RIGHT and alone:
                features = terms.features[number]
                assert features is not None
                scale = 1 / np.sqrt(features.mean_square or 1.0)
            weights[number] = tasks.task(
                "start-weights", _draw_weights, number, side.features.columns, layout, terms.dtype, random.spawn(1)[0],
                scale, place=side.features.home,
            )  # fmt: skip
        for (start, stop), shard, place in zip(side.borders, side.shards, side.places):
            drawn = tasks.task(
                f"start-{SIDES[number]}", _draw, number, stop - start, terms.layout, terms.dtype, state, place=place
            )
            rows[number].append(
                tasks.task(
                    f"begin-{SIDES[number]}", _begin, shard, drawn, weights[number] if alone else None, place=place
                )
            )
            if number == RIGHT:
                state = tasks.task("random-state", _state, drawn, place=place)
    futures = tasks.start(rows[LEFT] + rows[RIGHT])
    weights = [None if W is None else tasks.start([W])[0] for W in weights]
    return Factors(
        futures[: len(rows[LEFT])], futures[len(rows[LEFT]) :], left_parameters=weights[LEFT],
        right_parameters=weights[RIGHT],
    )  # fmt: skip


def sharded_solver(
    pairs: ShardedPairs, sides: Sides, terms: ShardTerms, steps: RowSteps, balance: bool
) -> ShardedAlternating:
    """The solver of these sides."""
    square = GramSquare.of(terms.negatives, pairs.stored_weight, terms.dtype)
    return ShardedAlternating(pairs.tasks, sides, square, terms.layout, steps, balance)


def compiled_everywhere(tasks: Tasks, warm_up: Callable[[], object]) -> None:
    """Have every worker compile or load its kernels before the clock starts."""
    tasks.get([tasks.task("compile", _run, warm_up, place=worker) for worker in tasks.workers])


def _short(weights: Array) -> Array:
    """Weights of negatives as they travel: one number where all are equal, as those of most schemes are."""
    return weights[:1] if len(weights) > 1 and bool((weights == weights[0]).all()) else weights


def _shard(piece: Piece, terms: work.SideTerms, sizes: tuple[int, int], features: Any) -> work.Shard:
    this, other = (np.broadcast_to(part, size) for part, size in zip((terms.this_weights, terms.other_weights), sizes))
    return work.make_shard(piece, replace(terms, this_weights=this, other_weights=other), features)


def _run(warm_up: Callable[[], object]) -> None:
    warm_up()


def _draw(side: int, count: int, layout: Layout, dtype: Any, state: Any) -> tuple[Array, Any]:
    random = np.random.Generator(getattr(np.random, state["bit_generator"])())
    random.bit_generator.state = state
    return start_rows(side, count, layout, dtype, random), random.bit_generator.state


def _draw_weights(
    side: int, count: int, layout: Layout, dtype: Any, random: np.random.Generator, scale: float
) -> Array:
    weights = start_rows(side, count, layout, dtype, random) * np.dtype(dtype).type(scale)
    weights[:, layout.rank :] = 0
    return weights


def _begin(shard: work.Shard, drawn: tuple[Array, Any], weights: Array | None) -> work.Rows:
    factors = drawn[0]
    if weights is not None:  # no vectors of their own: nothing but the constant column is left of them
        factors = np.zeros_like(factors)
        if shard.problem.constant is not None:
            factors[:, shard.problem.constant] = 1
    return work.begin(shard, factors, weights)


def _state(drawn: tuple[Array, Any]) -> Any:
    return drawn[1]
