"""What users say about a side besides its pairs, checked and made ready: features, graph, and their ridges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from everypair.check import is_number
from everypair.features.feature_map import FeatureMap
from everypair.features.laplacian import Laplacian
from everypair.features.matrix import Features
from everypair.problem.embedding import SideInformation

SIDES = ("left", "right")


def pair_of(name: str, value: Any) -> tuple[Any, Any]:
    """One value for both sides, or a (left, right) pair."""
    if isinstance(value, tuple | list):
        if len(value) != 2:
            raise ValueError(f"{name} must be one value or a (left, right) pair, got {value!r}.")
        return value[0], value[1]
    return value, value


@dataclass(frozen=True)
class SideOptions:
    """The parameters of side information of one side, checked."""

    feature_reg: float | str
    graph_reg: float
    own_vectors: bool
    normalize: bool
    fit_intercept: bool
    normalize_graph: bool

    @classmethod
    def both(cls, model: Any) -> tuple[SideOptions, SideOptions]:
        """Read and check the parameters of a model, for the left and the right side."""
        names = ("feature_reg", "graph_reg", "own_vectors", "normalize", "fit_intercept", "normalize_graph")
        values = {name: pair_of(name, getattr(model, name)) for name in names}
        for side in (0, 1):
            reg, graph = values["feature_reg"][side], values["graph_reg"][side]
            if not (isinstance(reg, str) and reg == "auto") and not (is_number(reg) and 0 <= reg < np.inf):
                raise ValueError(
                    f'feature_reg must be a finite number ≥ 0, "auto" or a (left, right) pair, got {reg!r}.'
                )
            if not (is_number(graph) and 0 <= graph < np.inf):
                raise ValueError(f"graph_reg must be a finite number ≥ 0 or a (left, right) pair, got {graph!r}.")
            for name in names[2:]:
                if not isinstance(values[name][side], bool | np.bool_):
                    raise ValueError(f"{name} must be True, False or a (left, right) pair, got {values[name][side]!r}.")
        left, right = ({name: value[side] for name, value in values.items()} for side in (0, 1))
        return cls(**left), cls(**right)

    def informed(
        self, side: int, features: Any, graph: Any, entities: int, dtype: Any
    ) -> tuple[SideInformation | None, FeatureMap | None]:
        """Check what is known of a side and return it with the map for later features."""
        feature_map, matrix, laplacian = None, None, None
        if features is not None:
            feature_map = FeatureMap.of(features, f"{SIDES[side]}_features", self.normalize, self.fit_intercept)
            matrix = Features(feature_map(features, entities, dtype), dtype)
        elif not self.own_vectors:
            raise ValueError(
                f"own_vectors=False on the {SIDES[side]} side needs {SIDES[side]}_features: nothing else is left to "
                "learn from. Give a (left, right) pair to switch off one side only."
            )
        if graph is not None:
            name = f"{SIDES[side]}_graph"
            laplacian = Laplacian.from_similarity(graph, normalized=self.normalize_graph, dtype=dtype, name=name)
            if laplacian.matrix.shape[0] != entities:
                raise ValueError(
                    f"{name} must be {entities} × {entities}, one row per entity, got {laplacian.matrix.shape}."
                )
        if matrix is None and laplacian is None:
            return None, None
        reg = None if isinstance(self.feature_reg, str) else float(self.feature_reg)
        return SideInformation(matrix, reg, bool(self.own_vectors), laplacian, float(self.graph_reg)), feature_map


def informed_sides(
    options: tuple[SideOptions, SideOptions],
    shape: tuple[int, int],
    left_features: Any,
    right_features: Any,
    left_graph: Any,
    right_graph: Any,
    dtype: Any,
) -> tuple[tuple[SideInformation | None, SideInformation | None], tuple[FeatureMap | None, FeatureMap | None]]:
    """Check what is known of both sides; returns it and the maps of later features."""
    given = ((left_features, left_graph), (right_features, right_graph))
    left, right = (options[side].informed(side, *given[side], shape[side], dtype) for side in (0, 1))
    return (left[0], right[0]), (left[1], right[1])
