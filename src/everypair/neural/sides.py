"""From what a user gives of one side to its tower: features checked and mapped, ids, layers, start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from everypair.features.feature_map import FeatureMap, checked_matrix
from everypair.features.matrix import Features
from everypair.neural.functions import PureTower
from everypair.neural.inputs import Inputs
from everypair.neural.layers import Layers
from everypair.neural.linear_path import LinearPath, straight
from everypair.neural.towers import Perceptron, Tower
from everypair.neural.trees import Tree
from everypair.types import Array

SIDES = ("user", "item")


@dataclass(frozen=True)
class SidePlan:
    """How one side becomes a tower: the layers or the functions brought along, and what its entities are known by."""

    side: int
    layers: Layers
    function: PureTower | None
    own: bool
    feature_map: FeatureMap | None
    dtype: Any
    n_threads: int = 1
    linear_path: bool = False

    @classmethod
    def of(
        cls,
        side: int,
        layers: Layers,
        function: PureTower | None,
        own: bool,
        normalize: bool,
        features: Any,
        dtype: Any,
        n_threads: int,
        linear_path: bool = False,
    ) -> SidePlan:
        """Check what is said of a side."""
        feature_map = None
        if features is not None:
            feature_map = FeatureMap.of(features, f"{SIDES[side]}_features", normalize, fit_intercept=linear_path)
        elif not own:
            raise ValueError(
                f"own_vectors=False of {SIDES[side]}s needs {SIDES[side]}_features: nothing else is left to "
                "learn from. Give a (users, items) pair to switch off one side only."
            )
        return cls(side, layers, function, own, feature_map, np.dtype(dtype), n_threads, linear_path)

    def tower(self, count: int, features: Any, with_ids: bool = True) -> Tower:
        """The tower on ``count`` entities, those of training or later ones (which have no ids)."""
        matrix = None if self.feature_map is None else self.feature_map(features, count, self.dtype)
        if self.function is None:
            mapped = None if matrix is None else Features(matrix, self.dtype)
            inputs = Inputs(count, self.own and with_ids, mapped, n_threads=self.n_threads)
            if not self.linear_path:
                return Perceptron(inputs, self.layers, self.dtype)
            linear = straight(inputs, self.layers.rank, self.dtype)
            if mapped is None:
                return linear
            return LinearPath(linear, Perceptron(replace(inputs, ids=False), self.layers, self.dtype))
        parts = {} if self.feature_map is None else _groups(features, matrix, self.feature_map, self.dtype)
        from everypair.neural.differentiated import FunctionTower  # which needs jax

        return FunctionTower(self.function, parts, count, self.layers.rank, self.dtype, with_ids)

    def centers(self, theta: Tree, count: int, features: Any) -> Array:
        """To what a row of ids is added: what features say of the first product, or beside a linear path of factors."""
        if features is None:
            return np.zeros((count, self.layers.rank if self.linear_path else self.layers.first), self.dtype)
        tower = self.tower(count, features, with_ids=False)
        return tower.inputs.product(theta) if isinstance(tower, Perceptron) else tower.at(theta).factors


def _groups(features: Any, matrix: Any, feature_map: FeatureMap, dtype: Any) -> dict[str, Any]:
    """Features by the names of their groups; with unit rows, or without names, one matrix ``"features"``."""
    if not isinstance(features, Mapping) or sp.issparse(features) or feature_map.normalize:
        return {"features": matrix}
    return {str(name): checked_matrix(part, str(name)).astype(dtype) for name, part in features.items()}
