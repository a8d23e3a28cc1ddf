"""Where training starts: zero for the left side, which is solved first, small random numbers for the right one."""

from __future__ import annotations

import numpy as np

from everypair.problem.layout import LEFT, RIGHT, Layout
from everypair.problem.objective import Objective
from everypair.solvers.state import Factors

START_SCALE = 0.1  # standard deviation of the random start, times 1/√k


def random_start(objective: Objective, layout: Layout, random: np.random.Generator) -> Factors:
    """Return the parameters of both sides and the factors there.

    Feature weights are divided by the length of an average row of features, so that factors are as small.
    """
    parameters = []
    for side, embedding in enumerate(objective.embeddings):
        theta = np.zeros((len(embedding.ridge), layout.columns), objective.dtype)
        if side == RIGHT:
            theta[:] = random.standard_normal(theta.shape)
            theta *= START_SCALE / np.sqrt(layout.rank)
            if embedding.features is not None:
                embedding.feature_part(theta)[:] /= np.sqrt(embedding.features.mean_square_norm() or 1.0)
        constant = layout.constant(side)
        if constant is not None:
            theta[:, layout.rank :] = 0
            if embedding.features is None:
                theta[:, constant] = 1
        parameters.append(theta)
    left, right = (objective.factors(side, theta) for side, theta in enumerate(parameters))
    return Factors(left, right, left_parameters=parameters[LEFT], right_parameters=parameters[RIGHT])
