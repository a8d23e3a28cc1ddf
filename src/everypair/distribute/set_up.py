"""A training on a cluster: shards made of pairs, sweeps by the one loop, factors that stay where they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.distribute import work
from everypair.distribute.sharded_pairs import PairsOfSide, ShardedPairs
from everypair.distribute.solver import SIDES, ShardedAlternating, ShardedSide
from everypair.distribute.tasks import Tasks
from everypair.problem.gram_square import GramSquare
from everypair.problem.layout import LEFT, RIGHT, Layout
from everypair.problem.losses import Loss
from everypair.problem.negatives import Negatives
from everypair.problem.ridge import Ridge
from everypair.solvers.half_step import RowSteps
from everypair.solvers.state import Factors
from everypair.training.start import start_rows

Array = NDArray[Any]


@dataclass(frozen=True)
class Terms:
    """What is minimised: everything of the objective but its pairs."""

    loss: Loss
    negatives: Negatives
    ridge: Ridge
    layout: Layout
    dtype: Any


def make_sides(tasks: Tasks, pairs: ShardedPairs, terms: Terms) -> tuple[ShardedSide, ShardedSide]:
    """Turn both sides' pieces into shards, and find out which rows have to travel where."""
    negatives, both = terms.negatives, (terms.negatives.left, terms.negatives.right)
    sides = []
    for side, mine in enumerate(pairs.sides):
        opposite = pairs.sides[1 - side]
        value = negatives.value
        shared = work.SideTerms(
            side, terms.loss, terms.ridge, both[side], both[1 - side],
            (value[side], value[1 - side]) if isinstance(value, tuple) else value,
            terms.layout.constant(side), terms.dtype, opposite.borders,
        )  # fmt: skip
        told = tasks.task(f"terms-{SIDES[side]}", _same, shared)
        shards = tasks.start(
            [
                tasks.task(f"shard-{SIDES[side]}", work.make_shard, piece, told, place=place)
                for piece, place in zip(mine.pieces, mine.places)
            ]
        )
        sides.append((mine, shards))
    left, right = (
        _side(tasks, mine, shards, pairs.sides[1 - side].places) for side, (mine, shards) in enumerate(sides)
    )
    return left, right


def _side(tasks: Tasks, mine: PairsOfSide, shards: list[Any], homes: list[str]) -> ShardedSide:
    """A side whose shards know which rows they need; row numbers are kept where the rows live."""
    wanted = tasks.get([tasks.task("wanted", work.wanted, shard) for shard in shards])
    some = [
        (number, source) for number, row in enumerate(wanted) for source, count in enumerate(row) if count is not None
    ]
    futures = tasks.start([tasks.task("source", work.source, shards[one], two, place=homes[two]) for one, two in some])
    picked: list[list[Any]] = [[None] * len(homes) for _ in shards]
    for (number, source), rows in zip(some, futures):
        picked[number][source] = rows
    return ShardedSide(mine.borders, mine.places, shards, wanted, picked)


def random_start(
    tasks: Tasks, sides: tuple[ShardedSide, ShardedSide], terms: Terms, random: np.random.Generator
) -> Factors:
    """The start of one machine, drawn on the workers: the generator's state goes from shard to shard."""
    rows: list[list[Any]] = [[], []]
    state: Any = random.bit_generator.state
    for number in (LEFT, RIGHT):
        side = sides[number]
        for (start, stop), shard, place in zip(side.borders, side.shards, side.places):
            drawn = tasks.task(
                f"start-{SIDES[number]}", _draw, number, stop - start, terms.layout, terms.dtype, state, place=place
            )
            rows[number].append(tasks.task(f"begin-{SIDES[number]}", _begin, shard, drawn, place=place))
            if number == RIGHT:
                state = tasks.task("random-state", _state, drawn, place=place)
    futures = tasks.start(rows[LEFT] + rows[RIGHT])
    return Factors(futures[: len(rows[LEFT])], futures[len(rows[LEFT]) :])


def sharded_solver(
    tasks: Tasks,
    pairs: ShardedPairs,
    sides: tuple[ShardedSide, ShardedSide],
    terms: Terms,
    steps: RowSteps,
    balance: bool,
) -> ShardedAlternating:
    """The solver of these sides."""
    square = GramSquare.of(terms.negatives, pairs.stored_weight, terms.dtype)
    return ShardedAlternating(tasks, sides, square, terms.layout, steps, balance)


def compiled_everywhere(tasks: Tasks, warm_up: Callable[[], object]) -> None:
    """Have every worker compile or load its kernels before the clock starts."""
    tasks.get([tasks.task("compile", _run, warm_up, place=worker) for worker in tasks.workers])


def _same(value: Any) -> Any:
    return value


def _run(warm_up: Callable[[], object]) -> None:
    warm_up()


def _draw(side: int, count: int, layout: Layout, dtype: Any, state: Any) -> tuple[Array, Any]:
    random = np.random.Generator(getattr(np.random, state["bit_generator"])())
    random.bit_generator.state = state
    return start_rows(side, count, layout, dtype, random), random.bit_generator.state


def _begin(shard: work.Shard, drawn: tuple[Array, Any]) -> work.Rows:
    return work.begin(shard, drawn[0])


def _state(drawn: tuple[Array, Any]) -> Any:
    return drawn[1]
