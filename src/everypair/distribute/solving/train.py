"""Train on a cluster: shards made of pairs, a solver whose factors stay there, the one loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from everypair.data.pairs import Pairs
from everypair.distribute.sharded_pairs import ShardedPairs
from everypair.distribute.solving import work
from everypair.distribute.solving.set_up import (
    ShardTerms,
    compiled_everywhere,
    make_sides,
    random_start,
    sharded_solver,
)
from everypair.distribute.solving.sides import Sides
from everypair.distribute.solving.space import ShardSpace
from everypair.problem.layout import RIGHT
from everypair.problem.losses import Loss
from everypair.problem.negatives import Negatives
from everypair.problem.objective import Objective
from everypair.problem.ridge import Ridge
from everypair.solvers.alternating import Alternating
from everypair.solvers.half_step import RowSteps
from everypair.solvers.loop import Outcome, StopRules
from everypair.solvers.momentum import Momentum
from everypair.solvers.state import Factors
from everypair.training.train import train
from everypair.training.warm_up import sweep_on_two_pairs


def train_on_cluster(
    pairs: ShardedPairs,
    terms: ShardTerms,
    steps: RowSteps,
    rules: StopRules,
    random: np.random.Generator,
    *,
    accelerate: bool,
    right: Any = None,
    validate: Callable[[Factors], dict[str, float]] | None,
    identity: tuple[Any, ...],
    **options: Any,
) -> tuple[Outcome[Factors], Sides]:
    """Return where training ended, its factors futures, and the sides; other options are those of ``train``.

    ``accelerate``: balance and momentum. ``right`` are right factors to begin with.
    """
    tasks, sides = pairs.tasks, make_sides(pairs, terms)
    begin = random_start(tasks, sides, terms, random)
    if right is not None:
        side = sides[RIGHT]
        starts = [
            tasks.task("begin-right", work.begin, shard, right[slice(*chunk)], place=place)
            for shard, chunk, place in zip(side.shards, side.borders, side.places)
        ]
        begin = replace(begin, right=tasks.start(starts))
    solver: Any = sharded_solver(pairs, sides, terms, steps, balance=accelerate)
    warm_up = partial(_warm_up, terms.loss, steps, terms.layout.columns, terms.dtype)
    if accelerate:
        solver = Momentum(solver, ShardSpace(tasks, sides))
    outcome = train(
        solver, begin, rules, warm_up=partial(compiled_everywhere, tasks, warm_up),
        validate=validate, identity=(*identity, pairs.shape, *pairs.stored, pairs.stored_weight), **options,
    )  # fmt: skip
    for side, rows in zip(sides, (outcome.state.left, outcome.state.right)):  # balance may still be under way
        tasks.get([tasks.task("end", work.end, one, place=place) for one, place in zip(rows, side.places)])
    return outcome, sides


def _warm_up(loss: Loss, steps: RowSteps, columns: int, dtype: Any) -> None:
    """A sweep over two pairs, on a worker."""
    pairs = Pairs.from_matrix(np.eye(2), dtype=dtype)
    tiny = Objective(pairs, loss, Negatives.from_scheme(pairs, 1.0), Ridge.checked(1.0, 0.0), dtype=dtype)
    sweep_on_two_pairs(lambda objective: Alternating(objective, steps), tiny, columns)()
