"""Alternating minimisation whose factors never leave the workers.

A sweep is one graph of tasks: the right side's Gram matrix is summed up and decomposed, its rows are rotated where they
live, the rows that the left shards need travel to them, these improve; then the same the other way round. Only a
verdict comes back to the client. A side with features takes several graphs. Bytes that travel in a sweep: (rows of the
other side that the shards of a worker need and that live elsewhere) × rank × bytes of a number, both ways, and some
k × k matrices of every shard to every worker.

The verdict takes a while to come and the next graph to go. Meanwhile the workers prepare the next sweep as it will be
if this one went well: they move the right side on, sum it up and rotate it. What was prepared is read if the next sweep
does begin there, and forgotten otherwise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from everypair.distribute.solving import through_features, work
from everypair.distribute.solving.feature_step import FeatureStep, added
from everypair.distribute.solving.sides import SIDES, Sides
from everypair.distribute.solving.space import SweepOrigin, Swept
from everypair.distribute.solving.verdict import Verdict, judge, weight_sums
from everypair.distribute.tasks import Tasks
from everypair.problem.gram_square import GramSquare
from everypair.problem.layout import LEFT, RIGHT, Layout
from everypair.solvers.half_step import RowSteps
from everypair.solvers.momentum import grown
from everypair.solvers.side import SideSteps
from everypair.solvers.state import Factors


@dataclass(frozen=True)
class Ahead:
    """The right side turned for a sweep that begins ``beta`` times the way from ``before`` further along than ``now``.

    All three are futures of its shards.
    """

    now: list[Any]
    before: list[Any]
    beta: float
    turned: list[Any]

    def fits(self, origin: SweepOrigin) -> bool:
        """Whether that sweep is the one which begins."""
        return self.now is origin.now.right and self.before is origin.before.right and self.beta == origin.beta


class ShardedAlternating:
    """Sweeps over both sides on a cluster.

    Without features they are those of :class:`~everypair.solvers.alternating.Alternating` to the bit. W of a side with
    features moves by sums over shards, so its bits depend on where the shards begin, never on the workers.
    """

    descends = True
    quadratic_only, structured = False, False

    def __init__(
        self,
        tasks: Tasks,
        sides: Sides,
        square: GramSquare,
        layout: Layout,
        steps: RowSteps,
        balance: bool,
    ) -> None:
        self.tasks, self.sides, self.square, self.steps, self.balance = tasks, sides, square, steps, balance
        self._free = tuple(_free_columns(layout, side) for side in (LEFT, RIGHT))
        self._balanced_columns = self._free[LEFT] & self._free[RIGHT] if balance else None
        self._blocks = sides[LEFT].blocks, sides[RIGHT].blocks
        self._constants = layout.constant(LEFT), layout.constant(RIGHT)
        self._ahead: Ahead | None = None

    def step(self, state: Factors) -> Swept:
        """One sweep over both sides, and balance where it pays."""
        left, left_weights = self._improve(LEFT, state, *self._first_turned(state))
        left_sums = self._sums(LEFT, left)
        right, right_weights = self._improve(RIGHT, state, self._turned(LEFT, left, left_sums), left_sums)
        both, weights = (left_sums, self._sums(RIGHT, right)), (left_weights, right_weights)
        judged = self.tasks.task(
            "judge", judge, both, self._weight_sums(weights), self._ways(state, (left, right)),
            self._blocks, self.square, self._balanced_columns,
        )  # fmt: skip
        held, futures = self._held(state, left, right, weights, [judged])
        self.tasks.notice()  # while the workers work
        verdict: Verdict = self.tasks.wait(futures)[0]
        swept = Swept(**held, objective=verdict.value, rounding=verdict.rounding, against=verdict.against)
        return swept if verdict.balance is None else self._balanced(state, swept, verdict)

    def _ways(self, origin: Factors, after: tuple[list[Any], list[Any]]) -> tuple[list[Any], list[Any]]:
        """Tasks that compare rows of sides with features with where they began, if that was further along.

        Without features the half-step compares them.
        """
        if not isinstance(origin, SweepOrigin):
            return [], []
        left, right = (
            [
                self.tasks.task(f"turned-back-{name}", work.against, *parts, place=place)
                for *parts, place in zip(
                    side.shards, getattr(origin.now, name), getattr(origin, name), rows, side.places
                )
                if side.features is not None
            ]
            for name, side, rows in zip(SIDES, self.sides, after)
        )
        return left, right

    def _balanced(self, origin: Factors, swept: Swept, verdict: Verdict) -> Swept:
        """Balance both sides, as :class:`~everypair.solvers.balance.Balance` does; nobody waits for it."""
        assert verdict.balance is not None
        parameters = swept.left_parameters, swept.right_parameters
        weights = tuple(
            side.at_home(self.tasks, "balance-weights", work.times, theta, matrix)
            for side, theta, matrix in zip(self.sides, parameters, verdict.balance)
        )
        left, right = (
            [
                self.tasks.task(f"balance-{name}", work.change, shard, rows, matrix, place=place)
                for shard, rows, place in zip(side.shards, getattr(swept, name), side.places)
            ]
            for name, side, matrix in zip(SIDES, self.sides, verdict.balance)
        )
        return replace(swept, **self._held(origin, left, right, weights)[0])

    def _sums(self, number: int, rows: Any) -> list[Any]:
        """What all machines have to know of a side."""
        places = self.sides[number].places
        return [
            self.tasks.task(f"sums-{SIDES[number]}", work.sums_of, one, place=place) for one, place in zip(rows, places)
        ]

    def _turned(self, number: int, rows: list[Any], sums: list[Any]) -> list[Any]:
        """A side's rows in the axes of the other side's half-step; ``sums`` are its own."""
        side, free = self.sides[number], self._free[1 - number]
        return [
            self.tasks.task(f"turn-{SIDES[number]}", work.turn, *one, sums, side.blocks, free, place=place)
            for *one, place in zip(rows, side.shards, side.places)
        ]

    def _turned_beyond(
        self, now: list[Any], before: list[Any], beta: float, late: bool = False
    ) -> tuple[list[Any], list[Any]]:
        """The same of the right side where it moves on along its last way, and its sums there."""
        side = self.sides[RIGHT]
        sums = [
            self.tasks.task("moved-sums", work.moved_sums, *parts, beta, place=place, late=late)
            for *parts, place in zip(side.shards, now, before, side.places)
        ]
        last = sums, side.blocks, self._free[LEFT]
        turned = [
            self.tasks.task("turn-right", work.turn_beyond, *ways, beta, shard, *last, place=place, late=late)
            for *ways, shard, place in zip(now, before, side.shards, side.places)
        ]
        return turned, sums

    def _first_turned(self, state: Factors) -> tuple[list[Any], list[Any]]:
        """The right side in the axes of a sweep's first half-step, and its sums unless all was prepared."""
        ahead, self._ahead = self._ahead, None
        if not self._moves(state, RIGHT):
            sums = self._sums(RIGHT, state.right)
            return self._turned(RIGHT, state.right, sums), sums
        if ahead is not None and ahead.fits(state):
            return ahead.turned, []
        return self._turned_beyond(state.now.right, state.before.right, state.beta)

    def _moves(self, state: Factors, number: int) -> TypeGuard[SweepOrigin]:
        """Whether tasks that read a side's rows move them on themselves."""
        return isinstance(state, SweepOrigin) and self.sides[number].features is None

    def _improve(self, number: int, state: Factors, turned: list[Any], sums: list[Any]) -> tuple[list[Any], Any]:
        """The half-step of all shards of a side, and of its W; ``turned`` and ``sums`` are the other side's."""
        this, weights = (state.left, state.left_parameters) if number == LEFT else (state.right, state.right_parameters)
        side, opposite = self.sides[number], self.sides[1 - number]
        name, task, free = SIDES[number], self.tasks.task, self._free[number]
        gathered = self._gathered(number, turned)

        def half_steps(*last: Any) -> list[Any]:
            return [
                task(f"half-step-{name}", work.improve, *mine, opposite.blocks, self.steps, *last, place=place)
                for *mine, place in zip(side.shards, this, gathered, side.places)
            ]

        if self._moves(state, number):
            return self._improve_beyond(number, state, gathered), None
        if side.features is None:
            return half_steps(self.balance), None
        if side.features.own:
            this = half_steps(False, weights)
        if side.features.regression is not None:
            this = self.tasks.start(this)
            parts = [
                task(f"explained-{name}", through_features.explained, *mine, place=place)
                for *mine, place in zip(side.shards, this, side.places)
            ]
            whole = added(self.tasks, parts, side.places)
            weights = side.at_home(
                self.tasks, "regress", through_features.regressed, side.features.regression, whole, free,
                side.features.dtype,
            )  # fmt: skip
            weights = self.tasks.start([weights])[0]
        opened = [
            task(f"open-{name}", through_features.open_side, shard, rows, weights, near, opposite.blocks, place=place)
            for shard, rows, near, place in zip(side.shards, this, gathered, side.places)
        ]
        entered = side.at_home(self.tasks, "enter", through_features.enter, weights, sums, opposite.blocks, free)
        steps = SideSteps(steps=1) if side.features.own else SideSteps()
        opened, entered = FeatureStep(self.tasks, name, side.features, side.places, steps)(opened, entered)
        weights = side.at_home(self.tasks, "leave", through_features.leave, entered)
        closed = [
            task(f"close-{name}", through_features.close_side, shard, one, weights, self.balance, place=place)
            for shard, one, place in zip(side.shards, opened, side.places)
        ]
        return closed, weights

    def _improve_beyond(self, number: int, origin: SweepOrigin, gathered: list[list[Any]]) -> list[Any]:
        """The half-step of shards that begin further along: they move there in the same task."""
        side, name = self.sides[number], SIDES[number]
        last = (self.sides[1 - number].blocks, self.steps, self.balance)
        return [
            self.tasks.task(
                f"half-step-{name}", work.improve_beyond, shard, now, before, origin.beta, near, *last, place=place
            )
            for shard, now, before, near, place in zip(
                side.shards, getattr(origin.now, name), getattr(origin.before, name), gathered, side.places
            )
        ]

    def _gathered(self, number: int, turned: list[Any]) -> list[list[Any]]:
        """What every shard of a side needs of the other one; several on a worker that need all of it share that."""
        side, opposite, name = self.sides[number], self.sides[1 - number], SIDES[1 - number]
        everything = [all(rows is None for rows in picked) for picked in side.picked]
        readers = Counter(place for place, all_of_it in zip(side.places, everything) if all_of_it)
        shared = {
            place: [self.tasks.task(f"join-{name}", work.join, turned, place=place)]
            for place, count in readers.items()
            if count > 1
        }
        return [
            shared[place]
            if all_of_it and place in shared
            else [
                whole if rows is None else self.tasks.task(f"pick-{name}", work.pick, whole, rows, place=home)
                for whole, rows, home in zip(turned, picked, opposite.places)
            ]
            for picked, place, all_of_it in zip(side.picked, side.places, everything)
        ]

    def _weight_sums(self, weights: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(
            None if side.features is None
            else side.at_home(self.tasks, "weight-sums", weight_sums, W, side.features.ridge, constant)
            for side, W, constant in zip(self.sides, weights, self._constants)
        )  # fmt: skip

    def _held(
        self,
        origin: Factors,
        left: list[Any],
        right: list[Any],
        weights: tuple[Any, ...],
        others: Sequence[Any] = (),
    ) -> tuple[dict[str, Any], list[Any]]:
        """Start everything in one graph: futures of both sides' rows and weights, by name, and of the others.

        So is the beginning of the next sweep, where no side has features.
        """
        there = [W for W in weights if W is not None]
        ahead: list[Any] = []
        if self._moves(origin, LEFT) and self._moves(origin, RIGHT):
            ahead, _ = self._turned_beyond(right, origin.now.right, grown(origin.beta), late=True)
        futures = iter(self.tasks.start([*left, *right, *there, *others, *ahead]))
        held: dict[str, Any] = {name: [next(futures) for _ in side] for name, side in zip(SIDES, (left, right))}
        for name, W in zip(SIDES, weights):
            held[f"{name}_parameters"] = None if W is None else next(futures)
        rest = [next(futures) for _ in others]
        if self._moves(origin, LEFT) and self._moves(origin, RIGHT):
            self._ahead = Ahead(held["right"], origin.now.right, grown(origin.beta), list(futures))
        return held, rest


def _free_columns(layout: Layout, side: int) -> NDArray[np.bool_]:
    free = np.ones(layout.columns, bool)
    constant = layout.constant(side)
    if constant is not None:
        free[constant] = False
    return free
