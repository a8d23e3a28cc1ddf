"""One sweep on two pairs: every kernel that a training will call is compiled or loaded before the clock starts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from everypair.data.pairs import Pairs
from everypair.features.laplacian import Laplacian
from everypair.features.matrix import Features
from everypair.problem.embedding import SideInformation
from everypair.problem.negatives import Negatives
from everypair.problem.objective import Objective
from everypair.problem.ridge import Ridge
from everypair.solvers.loop import Solver
from everypair.solvers.state import Factors


def sweep_on_two_pairs(
    make_solver: Callable[[Objective], Solver[Factors]], objective: Objective, columns: int
) -> Callable[[], object]:
    """Return the function that takes one step of such a solver on the smallest objective of the same kind."""

    def warm_up() -> object:
        dtype = objective.dtype
        pairs = Pairs.from_matrix(np.eye(2), dtype=dtype)
        value, (left, right) = objective.negatives.value, objective.side_information
        tiny_value = (np.ones((2, 1)), np.ones((2, 1))) if isinstance(value, tuple) else 0.0
        tiny = Objective(
            pairs,
            objective.loss,
            Negatives.from_scheme(pairs, 1.0, "uniform", tiny_value),
            Ridge.checked(1.0, 0.0),
            dtype=dtype,
            side_information=(_on_two_entities(left, dtype), _on_two_entities(right, dtype)),
            negative_loss=objective.negative_loss,
        )
        theta = [np.ones((len(embedding.ridge), columns), dtype) for embedding in tiny.embeddings]
        ones = np.ones((2, columns), dtype)
        return make_solver(tiny).step(Factors(ones, ones, left_parameters=theta[0], right_parameters=theta[1]))

    return warm_up


def _on_two_entities(information: SideInformation | None, dtype: Any) -> SideInformation | None:
    """Return side information of the same kinds about two entities."""
    if information is None:
        return None
    features = graph = None
    if information.features is not None:
        features = Features(
            np.eye(2) if information.features.dense is not None else sp.eye_array(2, format="csr"), dtype
        )
    if information.graph is not None:
        graph = Laplacian.from_similarity(np.ones((2, 2)), dtype=dtype)
    return SideInformation(features, 1.0, information.own, graph, 1.0)
