"""Where two towers start: at random, or as a model whose scores they reproduce, fitted before or linear."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from everypair.data.pairs import Pairs
from everypair.models.recommend.two_tower_state import TwoTowerState
from everypair.neural.functions import PureTower
from everypair.neural.layers import Layers
from everypair.neural.lift import lifted, obstacle
from everypair.neural.linear_path import LinearPath
from everypair.neural.objective import TowerObjective
from everypair.neural.penalties import Penalties
from everypair.neural.towers import Perceptron, Tower
from everypair.neural.trees import Both, Tree, leafwise
from everypair.problem.embedding import SideInformation
from everypair.problem.layout import LEFT, RIGHT, Layout
from everypair.problem.losses import Loss
from everypair.problem.negatives import Negatives
from everypair.problem.objective import Objective
from everypair.problem.ridge import Ridge
from everypair.solvers.choose import solver_maker
from everypair.solvers.loop import Status, StopRules
from everypair.training.start import random_start
from everypair.training.train import train
from everypair.training.warm_up import sweep_on_two_pairs
from everypair.types import Array

LINEAR_SWEEPS, LINEAR_TOL = 50, 3e-4  # OneClassMF's own
CARRIED = 1e-4  # of the largest factor: what weights of features may leave of a factor
Kinds = tuple[Layers, tuple[PureTower | None, PureTower | None]]


class Linear(NamedTuple):
    """The factors of a linear model, and the weights of features that a side of it may have."""

    user_factors_: Array
    item_factors_: Array
    feature_weights: tuple[Array | None, Array | None] = (None, None)


def linear_objective(
    pairs: Pairs,
    loss: Loss,
    negatives: Negatives,
    ridge: Ridge,
    towers: tuple[Tower, Tower],
    layout: Layout,
    feature_reg: tuple[float | None, float | None],
    dtype: Any,
    n_threads: int,
) -> Objective:
    """What the linear model of the same pairs minimises; features count where towers have a linear path."""
    left, right = (
        SideInformation(tower.linear.inputs.features, reg, tower.linear.inputs.ids)
        if isinstance(tower, LinearPath)
        else None
        for tower, reg in zip(towers, feature_reg)
    )
    return Objective(
        pairs, loss, negatives, ridge, layout=layout, dtype=dtype, n_threads=n_threads,
        side_information=(left, right),
    )  # fmt: skip


def with_linear_path(weights: tuple[Penalties, Penalties], linear: Objective) -> tuple[Penalties, Penalties]:
    """The ridges of towers with a linear path, whose linear part has those of the linear model.

    The weights of features that a network reads have the ridge of its matrices.
    """
    found = []
    for reg, embedding in zip(weights, linear.embeddings):
        own = embedding.own_part(embedding.ridge)[:, None]
        both = reg._replace(features=reg.matrices, own=own, linear=embedding.feature_reg or 0.0)
        found.append(both if embedding.features is not None else both.of_linear())
    return found[LEFT], found[RIGHT]


def may_start_linear(towers: tuple[Tower, Tower]) -> bool:
    """Whether towers can carry a linear model: beside a network, or of the rank of the narrowest layer above ids."""
    if any(isinstance(tower, LinearPath) for tower in towers):
        return True
    return all(
        isinstance(tower, Perceptron)
        and tower.inputs.ids
        and tower.inputs.features is None
        and obstacle(tower.layers, min(tower.layers.outs)) is None
        for tower in towers
    )


def linear_start(
    linear: Objective, layout: Layout, rules: StopRules, random: np.random.Generator, verbose: bool
) -> Linear:
    """The linear model, by OneClassMF's sweeps."""
    make_solver = solver_maker("auto", layout.columns, int(random.integers(2**31)))
    outcome = train(
        make_solver(linear), random_start(linear, layout, random),
        replace(rules, max_iter=LINEAR_SWEEPS, tol=LINEAR_TOL, patience=None),
        warm_up=sweep_on_two_pairs(make_solver, linear, layout.columns), verbose=verbose,
    )  # fmt: skip
    if outcome.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    state = outcome.state
    left, right = (
        None if embedding.features is None else embedding.feature_part(state.parameters(side))
        for side, embedding in enumerate(linear.embeddings)
    )
    return Linear(state.left, state.right, (left, right))


def starting_parameters(objective: TowerObjective, start: Any, kinds: Kinds, random: np.random.Generator) -> Both:
    """Random parameters, ids without a stored pair at zero; or those whose scores are the ones of ``start``.

    A fitted TwoTower of the same towers gives its parameters; the factors of any other model become rows of ids, and
    weights of features where the towers have a linear path.
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
    if (len(users), len(items)) != (one.n_rows, other.n_rows):
        raise ValueError(
            f"start was fitted on {len(users)} × {len(items)} entities, interactions have {one.n_rows} × "
            f"{other.n_rows}: a start needs the same users and items."
        )
    if isinstance(one, LinearPath) or isinstance(other, LinearPath):
        weights = (
            start.feature_weights if isinstance(start, Linear) else getattr(learnt, "feature_weights", (None, None))
        )
        for tower, theta, factors, W in zip((one, other), (left, right), (users, items), weights):
            _put(tower, theta, np.asarray(factors, objective.dtype), W)
        return left, right
    ours = isinstance(one, Perceptron) and isinstance(other, Perceptron) and one.inputs.ids and other.inputs.ids
    if not ours:
        raise ValueError(
            "start is written into the rows of ids, which both sides need (own_vectors=True, no towers of your own)."
        )
    pair: Any = one, other
    return lifted(pair, np.asarray(users), np.asarray(items), random)


def _put(tower: Tower, theta: Tree, factors: Array, weights: Array | None) -> None:
    """Write factors, and weights of features that made them, into a tower's linear part."""
    linear, part = (tower.linear, theta["linear"]) if isinstance(tower, LinearPath) else (tower, theta)
    assert isinstance(linear, Perceptron)
    width = factors.shape[1]
    if width > linear.layers.rank:
        raise ValueError(f"start has rank {width}, the towers {linear.layers.rank}: give them at least that rank.")
    if linear.inputs.features is not None:
        part["features"][:] = 0
        count = 0 if weights is None else len(weights)
        if len(part["features"]) - count in (0, 1):  # with or without a constant feature, the last one
            part["features"][:count, :width] = weights
            factors = factors - linear.inputs.features.product(part["features"], linear.inputs.n_threads)[:, :width]
    if linear.inputs.ids:
        part["ids"][:] = 0
        part["ids"][:, :width] = factors
    elif np.abs(factors).max() > CARRIED * max(1.0, np.abs(part["features"]).max()):
        raise ValueError(
            "start has factors that the features cannot make: fit it with the same features and without own vectors, "
            "or leave own_vectors of that side at True."
        )


def _same(learnt: TwoTowerState, kinds: Kinds, theta: Both) -> bool:
    """Whether a fitted value has parameters of the same towers, on as many entities and features."""
    if (Layers(*learnt.layers), learnt.pure_towers) != kinds:
        return False
    return bool(leafwise(np.shape, learnt.theta) == leafwise(np.shape, theta))
