"""Raw features → X: named groups side by side, unit rows, a constant column.

Features are one matrix with a row per entity, or named groups of them, put side by side. They stay what they are,
sparse or dense; the same :class:`FeatureMap` prepares the training entities and those that come later. Columns of a
data frame are known by name: later ones may come in any order, and missing or new ones are refused.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.check import as_csr, dense_array
from everypair.features.named_columns import Seen, named_columns
from everypair.features.scaling import check_size, prepare_features
from everypair.features.table import TableFeatures

ONE_MATRIX = ""  # the group of features that have no groups


@dataclass(frozen=True)
class FeatureMap:
    """Raw features → X: groups side by side, rows to unit length (``normalize``), a constant 1 (``fit_intercept``).

    ``columns`` are the names of a group's columns where it was a data frame, ``encoders`` what made them of a table;
    the group of one matrix is ``""``.

    >>> FeatureMap.of({"a": np.eye(2), "b": [[3.0], [4.0]]}, "left_features")([[1, 0, 3]]).tolist()
    [[1.0, 0.0, 3.0]]
    """

    name: str
    widths: dict[str, int] | None
    width: int
    normalize: bool = False
    fit_intercept: bool = False
    columns: dict[str, tuple[str, ...]] = field(default_factory=dict)
    encoders: dict[str, TableFeatures] = field(default_factory=dict)

    @classmethod
    def of(cls, features: Any, name: str, normalize: bool = False, fit_intercept: bool = False) -> FeatureMap:
        """Learn the layout of training features."""
        groups = features if _are_groups(features) else {ONE_MATRIX: features}
        if not groups:
            raise ValueError(f"{name} is an empty dict: give at least one group of features, or None.")
        layouts = {
            str(group): _layout(part, name if groups is not features else f"{name}[{group!r}]")
            for group, part in groups.items()
        }
        if len(layouts) < len(groups):
            raise ValueError(f"{name} has two groups of the same name as text: {', '.join(map(repr, features))}.")
        widths = {group: width for group, (width, _) in layouts.items()}
        return cls(
            name,
            widths if groups is features else None,
            sum(widths.values()),
            normalize,
            fit_intercept,
            {group: seen.names for group, (_, seen) in layouts.items() if seen.names is not None},
            {group: seen.encoder for group, (_, seen) in layouts.items() if seen.encoder is not None},
        )

    def seen(self, group: str | None = None) -> Seen:
        """What training saw of a group, or of features without groups."""
        return Seen(self.columns.get(group or ONE_MATRIX), self.encoders.get(group or ONE_MATRIX))

    def names_of(self, columns: NDArray[Any]) -> NDArray[Any]:
        """The names of columns of X, or these columns where no group has names; a group without has numbers behind its.

        >>> FeatureMap("X", {"tags": 2, "age": 1}, 3, columns={"tags": ("new", "red")}).names_of(np.array([2, 1]))
        array(['age 0', 'red'], dtype=object)
        """
        if not self.columns:
            return columns
        names: list[str] = []
        for group, width in (self.widths or {ONE_MATRIX: self.width}).items():
            names += self.columns.get(group) or (f"{group} {place}" for place in range(width))
        return np.array([*names, "constant"], object)[columns]

    def __call__(self, features: Any, rows: int | None = None, dtype: Any = np.float64) -> Any:
        """Return X for these entities, checked to be like those of training (and ``rows`` many)."""
        if _are_groups(features) and ONE_MATRIX not in self.encoders:
            features = {str(group): part for group, part in features.items()}
            if self.widths is None or set(features) != set(self.widths):
                wanted = "one matrix" if self.widths is None else f"the groups {', '.join(self.widths)}"
                raise ValueError(f"{self.name} must be {wanted}, as in training; got the groups {', '.join(features)}.")
            parts = [self._columns(features[group], group) for group in self.widths]
            if len({part.shape[0] for part in parts}) > 1:
                raise ValueError(f"the groups of {self.name} must have one row per entity each, got {_shapes(parts)}.")
            matrix = sp.csr_array(sp.hstack(parts)) if any(map(sp.issparse, parts)) else np.hstack(parts)
        else:
            matrix = self._columns(features, ONE_MATRIX)
        if matrix.shape[1] != self.width:
            raise ValueError(f"{self.name} must have {self.width} columns, as in training, got shape {matrix.shape}.")
        if rows is not None and matrix.shape[0] != rows:
            raise ValueError(
                f"{self.name} must have one row per entity of that side ({rows}), got shape {matrix.shape}."
            )
        matrix = prepare_features(matrix, self.normalize, self.fit_intercept)
        check_size(matrix, self.name, dtype)
        return matrix.astype(dtype, copy=False)

    def _columns(self, features: Any, group: str) -> Any:
        """A group's matrix, its columns in the order of training."""
        seen = self.seen(group)
        name = self.name if group == ONE_MATRIX else f"{self.name}[{group!r}]"
        frame = named_columns(features, name, seen)
        if frame is None:
            matrix = checked_matrix(features, name)
        elif seen.names is not None:
            matrix = checked_matrix(frame.in_order(seen.names, name), name)
        elif frame.names is None:
            matrix = checked_matrix(frame.matrix, name)
        else:
            raise ValueError(
                f"{name} had no column names in training, so those of this frame cannot be matched: give an array with "
                "its columns in the order of training, or fit with a frame."
            )
        return matrix


def checked_matrix(features: Any, name: str) -> Any:
    """Return a finite numeric matrix, sparse (csr) or dense, or refuse it with a sentence."""
    if isinstance(features, str | os.PathLike):
        raise TypeError(f"{name} is a path: everypair.features.table_features(path, ids) reads the table of that file.")
    matrix = features if sp.issparse(features) else dense_array(features, name)
    if matrix.ndim != 2 or matrix.shape[1] == 0:
        raise ValueError(f"{name} must be a matrix with one row per entity, got shape {matrix.shape}.")
    if matrix.dtype.kind not in "buif":
        raise TypeError(
            f"{name} must hold numbers, got dtype {matrix.dtype}: encode names as columns of 0 and 1, as "
            "everypair.features.table_features does."
        )
    if sp.issparse(matrix):
        matrix, _ = as_csr(matrix, np.result_type(matrix.dtype, np.float32), name)
    if not _is_finite(matrix):
        raise ValueError(f"{name} has NaN or infinite values: drop or fill them.")
    return matrix


def _layout(features: Any, name: str) -> tuple[int, Seen]:
    """The number of columns of a group and, where it has some, their names and what made them."""
    frame = named_columns(features, name)
    if frame is None:
        return checked_matrix(features, name).shape[1], Seen()
    return checked_matrix(frame.matrix, name).shape[1], Seen(frame.names, frame.encoder)


def _are_groups(features: Any) -> bool:
    """Whether features are a mapping of named groups; scipy's DOK matrices are mappings too, of positions."""
    return isinstance(features, Mapping) and not sp.issparse(features)


def _is_finite(matrix: Any) -> bool:
    return bool(np.isfinite(matrix.data if sp.issparse(matrix) else matrix).all())


def _shapes(parts: list[Any]) -> str:
    return ", ".join(str(part.shape) for part in parts)
