"""Where training starts: zero for the left side, which is solved first, small random numbers for the right one.

A warm start takes the right side from factors that were learnt before, in their principal axes: with
U = Q_u R_u, V = Q_v R_v and R_u R_vᵀ = A S Bᵀ, the columns of Q_v B √S in descending order of S, as many as there are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from everypair.parallel import single_threaded_blas
from everypair.problem.layout import LEFT, RIGHT, Layout
from everypair.problem.objective import Objective
from everypair.solvers.state import Factors
from everypair.types import Array

START_SCALE = 0.1  # standard deviation of the random start, times 1/√k


def random_start(objective: Objective, layout: Layout, random: np.random.Generator) -> Factors:
    """Return the parameters of both sides and the factors there.

    Feature weights are divided by the length of an average row of features, so that factors are as small.
    """
    parameters = []
    for side, embedding in enumerate(objective.embeddings):
        theta = start_rows(side, len(embedding.ridge), layout, objective.dtype, random)
        if embedding.features is not None:
            if side == RIGHT:
                embedding.feature_part(theta)[:] /= np.sqrt(embedding.features.mean_square_norm() or 1.0)
            theta[:, layout.rank :] = 0
        parameters.append(theta)
    left, right = (objective.factors(side, theta) for side, theta in enumerate(parameters))
    return Factors(left, right, left_parameters=parameters[LEFT], right_parameters=parameters[RIGHT])


def start_rows(side: int, count: int, layout: Layout, dtype: Any, random: np.random.Generator) -> Array:
    """The next ``count`` rows of a side's start."""
    theta = np.zeros((count, layout.columns), dtype)
    if side == RIGHT:
        theta[:] = random.standard_normal(theta.shape)
        theta *= START_SCALE / np.sqrt(layout.rank)
    constant = layout.constant(side)
    if constant is not None:
        theta[:, layout.rank :] = 0
        theta[:, constant] = 1
    return theta


def warm_start(
    objective: Objective, layout: Layout, random: np.random.Generator, model: Any, places: Array | None = None
) -> Factors:
    """A random start whose right factors are those of a fitted ``model`` of any rank, as far as they go.

    A side with features keeps its random start: its factors follow from weights. ``places`` says which of the model's
    right entities each one is, −1 for those that it does not know: they begin at random. Without it all are the same.
    """
    start = random_start(objective, layout, random)
    if model is None:
        return start
    left, right = getattr(model, "user_factors_", None), getattr(model, "item_factors_", None)
    if left is None or right is None:
        raise TypeError(f"start must be a fitted model with factors, got {type(model).__name__}.")
    if places is None and (len(left), len(right)) != (len(start.left), len(start.right)):
        raise ValueError(
            f"start was fitted on {len(left)} × {len(right)} entities, interactions have {len(start.left)} × "
            f"{len(start.right)}: without ids a start needs the same users and items."
        )
    if objective.embeddings[RIGHT].features is not None:
        return start
    strongest = principal_axes(left, right)[:, : layout.rank]
    known = np.arange(len(strongest)) if places is None else np.flatnonzero(places >= 0)
    taken = strongest if places is None else strongest[places[known]]
    start.right[known, : taken.shape[1]] = taken
    if start.right_parameters is not None:
        start.right_parameters[known, : taken.shape[1]] = taken
    return start


def principal_axes(left: Array, right: Array) -> Array:
    """V rotated so that its columns carry UVᵀ in descending order, each side with half of every singular value.

    >>> V = principal_axes(np.array([[0.0, 2.0], [1.0, 0.0]]), np.eye(2))
    >>> np.abs(V).round(4).tolist()
    [[0.0, 1.0], [1.4142, 0.0]]
    """
    with single_threaded_blas():
        Ru = np.linalg.qr(left.astype(np.float64), mode="r")
        Qv, Rv = np.linalg.qr(right.astype(np.float64))
        _, S, Bt = np.linalg.svd(Ru @ Rv.T)
        return Qv @ (Bt[: len(S)].T * np.sqrt(S))
