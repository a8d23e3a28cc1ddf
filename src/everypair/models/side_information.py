"""What users say about a side besides its pairs, checked and made ready: features, graph, and their ridges.

Features are one matrix with a row per entity, or named groups of them, put side by side. They stay what they are,
sparse or dense; the same :class:`FeatureMap` prepares the training entities and those that come later.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from everypair.data.pairs import Pairs, as_csr
from everypair.data.scaling import prepare_features
from everypair.models.parameters import is_number
from everypair.problem.embedding import SideInformation
from everypair.problem.features import Features
from everypair.problem.laplacian import Laplacian
from everypair.problem.negatives import Negatives
from everypair.problem.objective import total_weights
from everypair.problem.ridge import Ridge

SIDES = ("left", "right")
FEATURE_SHARE = 4.0  # auto feature ridge: so many times mean ‖x‖² times the mean ridge of own vectors


@dataclass(frozen=True)
class FeatureMap:
    """Raw features → X: groups side by side, rows to unit length (``normalize``), a constant 1 (``fit_intercept``).

    >>> FeatureMap.of({"a": np.eye(2), "b": [[3.0], [4.0]]}, "left_features")([[1, 0, 3]]).tolist()
    [[1.0, 0.0, 3.0]]
    """

    name: str
    widths: dict[str, int] | None
    width: int
    normalize: bool = False
    fit_intercept: bool = False

    @classmethod
    def of(cls, features: Any, name: str, normalize: bool = False, fit_intercept: bool = False) -> FeatureMap:
        """Learn the layout of training features."""
        if isinstance(features, Mapping):
            if not features:
                raise ValueError(f"{name} is an empty dict: give at least one group of features, or None.")
            widths = {
                str(group): checked_matrix(part, f"{name}[{group!r}]").shape[1] for group, part in features.items()
            }
            if len(widths) < len(features):
                raise ValueError(f"{name} has two groups of the same name as text: {', '.join(map(repr, features))}.")
            return cls(name, widths, sum(widths.values()), normalize, fit_intercept)
        return cls(name, None, checked_matrix(features, name).shape[1], normalize, fit_intercept)

    def __call__(self, features: Any, rows: int | None = None, dtype: Any = np.float64) -> Any:
        """Return X for these entities, checked to be like those of training (and ``rows`` many)."""
        if isinstance(features, Mapping):
            features = {str(group): part for group, part in features.items()}
            if self.widths is None or set(features) != set(self.widths):
                wanted = "one matrix" if self.widths is None else f"the groups {', '.join(self.widths)}"
                raise ValueError(f"{self.name} must be {wanted}, as in training; got the groups {', '.join(features)}.")
            parts = [checked_matrix(features[group], f"{self.name}[{group!r}]") for group in self.widths]
            if len({part.shape[0] for part in parts}) > 1:
                raise ValueError(f"the groups of {self.name} must have one row per entity each, got {_shapes(parts)}.")
            matrix = sp.csr_array(sp.hstack(parts)) if any(map(sp.issparse, parts)) else np.hstack(parts)
        else:
            matrix = checked_matrix(features, self.name)
        if matrix.shape[1] != self.width:
            raise ValueError(f"{self.name} must have {self.width} columns, as in training, got shape {matrix.shape}.")
        if rows is not None and matrix.shape[0] != rows:
            raise ValueError(
                f"{self.name} must have one row per entity of that side ({rows}), got shape {matrix.shape}."
            )
        with np.errstate(over="ignore"):  # infinite values are refused with a sentence
            matrix = matrix.astype(dtype, copy=False)
        largest = float(abs(matrix).max()) if min(matrix.shape) else 0.0
        if not largest**2 * max(matrix.shape) < float(np.finfo(matrix.dtype).max):
            raise ValueError(f"{self.name} has values too large for {matrix.dtype}: rescale them.")
        return prepare_features(matrix, self.normalize, self.fit_intercept)


def checked_matrix(features: Any, name: str) -> Any:
    """Return a finite numeric matrix, sparse (csr) or dense, or refuse it with a sentence."""
    matrix = features if sp.issparse(features) else np.asarray(features)
    if matrix.ndim != 2 or matrix.shape[1] == 0:
        raise ValueError(f"{name} must be a matrix with one row per entity, got shape {matrix.shape}.")
    if matrix.dtype.kind not in "buif":
        raise TypeError(f"{name} must hold numbers, got dtype {matrix.dtype}: encode names as columns of 0 and 1.")
    if sp.issparse(matrix):
        matrix, _ = as_csr(matrix, np.result_type(matrix.dtype, np.float32), name)
    if not _is_finite(matrix):
        raise ValueError(f"{name} has NaN or infinite values: drop or fill them.")
    return matrix


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

    def known(
        self, side: int, features: Any, graph: Any, entities: int, own_ridge: Any, dtype: Any
    ) -> tuple[SideInformation | None, FeatureMap | None]:
        """Check what is known of a side and return it with the map for later features; ``own_ridge`` are its λ_i."""
        feature_map, matrix, laplacian, reg = None, None, None, 0.0
        if features is not None:
            feature_map = FeatureMap.of(features, f"{SIDES[side]}_features", self.normalize, self.fit_intercept)
            matrix = Features(feature_map(features, entities, dtype), dtype)
            reg = self._reg(matrix, own_ridge)
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
        return SideInformation(matrix, reg, bool(self.own_vectors), laplacian, float(self.graph_reg)), feature_map

    def _reg(self, features: Features, own_ridge: Any) -> float:
        if not isinstance(self.feature_reg, str):
            return float(self.feature_reg)
        return FEATURE_SHARE * features.mean_square_norm() * float(np.mean(own_ridge))


def known_sides(
    options: tuple[SideOptions, SideOptions],
    pairs: Pairs,
    negatives: Negatives,
    ridge: Ridge,
    left_features: Any,
    right_features: Any,
    left_graph: Any,
    right_graph: Any,
    dtype: Any,
) -> tuple[tuple[SideInformation | None, SideInformation | None], tuple[FeatureMap | None, FeatureMap | None]]:
    """Check what is known of both sides; returns it and the maps of later features."""
    p, q = negatives.left, negatives.right
    own = (
        ridge.rows(0, total_weights(pairs.rows, p, q), pairs.left_counts),
        ridge.rows(1, total_weights(pairs.columns, q, p), pairs.right_counts),
    )
    given = ((left_features, left_graph), (right_features, right_graph))
    left, right = (options[side].known(side, *given[side], pairs.shape[side], own[side], dtype) for side in (0, 1))
    return (left[0], right[0]), (left[1], right[1])


def _is_finite(matrix: Any) -> bool:
    return bool(np.isfinite(matrix.data if sp.issparse(matrix) else matrix).all())


def _shapes(parts: list[Any]) -> str:
    return ", ".join(str(part.shape) for part in parts)
