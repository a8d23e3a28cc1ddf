"""Where two towers start: at random, or as a fitted model whose scores they reproduce."""

from __future__ import annotations

from typing import Any

import numpy as np

from everypair.models.recommend.two_tower_state import TwoTowerState
from everypair.neural.functions import PureTower
from everypair.neural.layers import Layers
from everypair.neural.lift import lifted
from everypair.neural.objective import TowerObjective
from everypair.neural.towers import Perceptron
from everypair.neural.trees import Both, leafwise

Kinds = tuple[Layers, tuple[PureTower | None, PureTower | None]]


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
