"""Where two towers start: at random, or as a model whose scores they reproduce, fitted before or linear."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from everypair.models.recommend.two_tower_state import TwoTowerState
from everypair.neural.functions import PureTower
from everypair.neural.layers import Layers
from everypair.neural.lift import lifted, obstacle
from everypair.neural.objective import TowerObjective
from everypair.neural.towers import Perceptron, Tower
from everypair.neural.trees import Both, leafwise
from everypair.problem.layout import Layout
from everypair.problem.objective import Objective
from everypair.solvers.choose import solver_maker
from everypair.solvers.loop import Status, StopRules
from everypair.training.start import random_start
from everypair.training.train import train
from everypair.training.warm_up import sweep_on_two_pairs
from everypair.types import Array

LINEAR_SWEEPS, LINEAR_TOL = 50, 3e-4  # OneClassMF's own

Kinds = tuple[Layers, tuple[PureTower | None, PureTower | None]]


class Linear(NamedTuple):
    """The factors of a linear model."""

    user_factors_: Array
    item_factors_: Array


def may_start_linear(towers: tuple[Tower, Tower]) -> bool:
    """Whether towers on ids can carry a linear model: of the rank of their narrowest layer, if of any."""
    return all(
        isinstance(tower, Perceptron) and tower.inputs.ids and obstacle(tower.layers, min(tower.layers.outs)) is None
        for tower in towers
    )


def linear_start(objective: TowerObjective, rules: StopRules, random: np.random.Generator, verbose: bool) -> Linear:
    """The linear model of the same pairs and the same ridge of the embeddings, by OneClassMF's sweeps."""
    (tower, _) = objective.towers
    assert isinstance(tower, Perceptron)
    layout = Layout(min(tower.layers.outs))
    linear = Objective(
        objective.stored, objective.loss, objective.negatives, objective.ridge, layout=layout, dtype=objective.dtype,
        n_threads=objective.n_threads,
    )  # fmt: skip
    make_solver = solver_maker("auto", layout.columns, int(random.integers(2**31)))
    outcome = train(
        make_solver(linear), random_start(linear, layout, random),
        replace(rules, max_iter=LINEAR_SWEEPS, tol=LINEAR_TOL, patience=None),
        warm_up=sweep_on_two_pairs(make_solver, linear, layout.columns), verbose=verbose,
    )  # fmt: skip
    if outcome.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return Linear(outcome.state.left, outcome.state.right)


def starting_parameters(objective: TowerObjective, start: Any, kinds: Kinds, random: np.random.Generator) -> Both:
    """Random parameters, ids without a stored pair at zero; or those whose scores are the ones of ``start``.

    A fitted TwoTower of the same towers gives its parameters, any other model with factors is written into the ids.
    """
    left, right = (tower.start(random) for tower in objective.towers)
    if start is None:
        for tower, theta, rows in zip(objective.towers, (left, right), objective.factor_space.rows):
            if isinstance(tower, Perceptron) and tower.inputs.ids:
                theta["ids"][np.diff(rows.indptr) == 0] = 0
        return left, right
    learnt = getattr(start, "state_", None)
    if isinstance(learnt, TwoTowerState) and _same(learnt, kinds, (left, right)):
        copied: Both = leafwise(lambda leaf: np.array(leaf, objective.dtype), learnt.theta)
        return copied
    users, items = (getattr(start, name, None) for name in ("user_factors_", "item_factors_"))
    if users is None or items is None:
        raise TypeError(f"start must be a fitted model with factors, got {type(start).__name__}.")
    one, other = objective.towers
    if (
        not isinstance(one, Perceptron)
        or not isinstance(other, Perceptron)
        or not (one.inputs.ids and other.inputs.ids)
    ):
        raise ValueError(
            "start is written into the rows of ids, which both sides need (own_vectors=True, no towers of your own)."
        )
    if (len(users), len(items)) != (one.n_rows, other.n_rows):
        raise ValueError(
            f"start was fitted on {len(users)} × {len(items)} entities, interactions have {one.n_rows} × "
            f"{other.n_rows}: a start needs the same users and items."
        )
    return lifted((one, other), np.asarray(users), np.asarray(items), random)


def _same(learnt: TwoTowerState, kinds: Kinds, theta: Both) -> bool:
    """Whether a fitted value has parameters of the same towers, on as many entities and features."""
    if (Layers(*learnt.layers), learnt.pure_towers) != kinds:
        return False
    return bool(leafwise(np.shape, learnt.theta) == leafwise(np.shape, theta))
