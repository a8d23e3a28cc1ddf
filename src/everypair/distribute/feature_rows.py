"""Features of a side on a cluster: the rows that belong to every shard, as tasks or futures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from everypair.distribute.sharded_pairs import MOST_IN_TASKS, PairsOfSide, as_it_is
from everypair.distribute.tasks import Tasks
from everypair.problem.embedding import SideInformation
from everypair.problem.objective import BothSides


@dataclass(frozen=True)
class FeatureRows:
    """d, λ_f (``None``: by the rule), whether rows have own vectors too, mean ‖x‖², and what makes a shard's rows."""

    columns: int
    reg: float | None
    own: bool
    mean_square: float
    rows: Callable[[Tasks, PairsOfSide], list[Any]]


BothRows = tuple[FeatureRows | None, FeatureRows | None]


def rows_here(side_information: BothSides) -> BothRows:
    """Features that the client has, of both sides: they travel inside the tasks, as the pairs of a matrix do."""
    left, right = map(_of_matrix, side_information)
    return left, right


def _of_matrix(information: SideInformation | None) -> FeatureRows | None:
    if information is None or information.features is None:
        return None
    matrix = information.features.matrix
    size = matrix.nbytes if isinstance(matrix, np.ndarray) else matrix.data.nbytes + matrix.indices.nbytes
    if size > MOST_IN_TASKS:
        raise ValueError(
            f"the features take {size / 2**20:,.0f} MiB, and at most {MOST_IN_TASKS / 2**20:,.0f} MiB travel through "
            "the scheduler: keep fewer of them, or fit on one machine."
        )

    def rows(tasks: Tasks, mine: PairsOfSide) -> list[Any]:
        return [
            tasks.task("features", as_it_is, matrix[start:stop], place=place)
            for (start, stop), place in zip(mine.borders, mine.places)
        ]

    features = information.features
    return FeatureRows(features.shape[1], information.feature_reg, information.own, features.mean_square_norm(), rows)
