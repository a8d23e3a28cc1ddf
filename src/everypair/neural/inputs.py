"""What a tower reads of its entities, and the first layer, which is linear and therefore ours: Z = E + XW.

    ids        one-hot rows: E is the table itself, nothing is multiplied
    features   X sparse or dense, never densified: XW forward and XᵀG back at O(nnz(X)·width)

``kept`` marks the entities whose id counts (id dropout leaves some out, so that features learn to stand alone).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from everypair.features.matrix import Features
from everypair.neural.trees import Tree
from everypair.types import Array

EVERY_ROW = slice(None)


@dataclass(frozen=True)
class Inputs:
    """The entities of one side: how many, whether each has an id of its own, and their features X.

    >>> import scipy.sparse as sp
    >>> inputs = Inputs(2, ids=True, features=Features(sp.csr_array([[0.0, 1.0], [1.0, 0.0]])))
    >>> theta = {"ids": np.zeros((2, 1)), "features": np.array([[1.0], [2.0]])}
    >>> inputs.product(theta).ravel().tolist()
    [2.0, 1.0]
    >>> inputs.adjoint(np.array([[1.0], [10.0]]), theta)["features"].ravel().tolist()
    [10.0, 1.0]
    """

    n_rows: int
    ids: bool = True
    features: Features | None = None
    kept: Array | None = None
    n_threads: int = 1

    def without_ids(self, kept: Array) -> Inputs:
        """The same entities with the ids of those that are not ``kept`` left out."""
        return replace(self, kept=kept)

    def start(
        self, width: int, scales: tuple[float, float], random: np.random.Generator, dtype: Any
    ) -> dict[str, Array]:
        """Random weights: E, and XW as far as lengths of rows of X tell, have entries of these two deviations."""
        theta = {}
        if self.ids:
            theta["ids"] = (scales[0] * random.standard_normal((self.n_rows, width))).astype(dtype)
        if self.features is not None:
            share = scales[1] / np.sqrt(self.features.mean_square_norm() or 1.0)
            theta["features"] = (share * random.standard_normal((self.features.shape[1], width))).astype(dtype)
        return theta

    def product(self, theta: Tree, rows: Any = None) -> Array:
        """Z of all entities or of some."""
        chosen = EVERY_ROW if rows is None else rows
        total = None
        if self.ids:
            total = theta["ids"][chosen]
            if self.kept is not None:
                total = self.kept[chosen, None] * total
        if self.features is not None:
            said = self._features_of(rows).product(theta["features"], self.n_threads)
            total = said if total is None else said + total
        return np.asarray(total)

    def adjoint(self, gradient: Array, theta: Tree, rows: Any = None) -> dict[str, Array]:
        """The transpose: what a gradient by Z says of the weights ``theta``, whose shapes it takes."""
        found = {}
        if self.ids:
            own = gradient if self.kept is None else self.kept[EVERY_ROW if rows is None else rows, None] * gradient
            if rows is not None:
                own, some = np.zeros_like(theta["ids"]), own
                own[rows] = some  # the rows are distinct
            found["ids"] = own
        if self.features is not None:
            found["features"] = self._features_of(rows).adjoint(gradient, self.n_threads)
        return found

    def _features_of(self, rows: Any) -> Features:
        assert self.features is not None
        return self.features if rows is None else Features(self.features.matrix[rows], self.features.dtype)
