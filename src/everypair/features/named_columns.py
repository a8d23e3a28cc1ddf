"""Features in a data frame: rows belong to ids, columns to names, and neither to positions.

The ids of the rows are in a column of a usual name (``item``, ``movie_id``, ``id``, …) or in the frame's index; every
other column is a feature. What :func:`~everypair.features.table_features` made has ids and names too, and tables that
come later are encoded as it learnt to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp

from everypair.check import as_frame
from everypair.data.ids import Ids
from everypair.features.matching import best_match, candidate_ids, id_columns, rows_by_id
from everypair.features.table import FeatureTable, TableFeatures
from everypair.words import is_or_are, listed


@dataclass(frozen=True)
class NamedColumns:
    """Numbers with a name per column, ``None`` where the frame had numbers for names, and perhaps an id per row.

    ``encoder`` is what made the columns of a table's, where they were not numbers already.
    """

    matrix: Any
    names: tuple[str, ...] | None
    ids: Ids | None = None
    encoder: TableFeatures | None = None

    def in_order(self, names: tuple[str, ...], name: str) -> Any:
        """Return the columns in the order of ``names``; those that are missing or too many are refused by name.

        >>> NamedColumns(np.array([[1, 2]]), ("b", "a")).in_order(("a", "b"), "X").tolist()
        [[2, 1]]
        """
        if self.names is None:
            raise ValueError(f"{name} must name its columns as in training: {listed(names)}.")
        place = {column: position for position, column in enumerate(self.names)}
        if len(place) < len(self.names):
            raise ValueError(f"{name} has columns of the same name: give them different names.")
        wanted = set(names)
        missing = [column for column in names if column not in place]
        extra = [column for column in place if column not in wanted]
        if missing or extra:
            parts = [f"{is_or_are(these)} {why}" for these, why in ((missing, "missing"), (extra, "new")) if these]
            raise ValueError(f"{name} must have the columns it had in training: {' and '.join(parts)}.")
        return self.matrix[:, [place[column] for column in names]]


@dataclass(frozen=True)
class Seen:
    """What training saw of a group of features: the names of its columns and what encoded them, None without any."""

    names: tuple[str, ...] | None = None
    encoder: TableFeatures | None = None


def named_columns(features: Any, name: str, seen: Seen | None = None) -> NamedColumns | None:
    """Return a data frame as numbers and names; None for anything else.

    With what was ``seen`` in training another column may hold the ids of the rows, and is no feature.
    """
    if isinstance(features, NamedColumns):
        return features
    if isinstance(features, FeatureTable):
        return NamedColumns(features.matrix, features.names, features.ids, features.encoder)
    if seen is not None and seen.encoder is not None and _is_table(features, name):
        return NamedColumns(seen.encoder.transform(features), seen.encoder.names)
    frame = as_frame(features, name)
    if frame is None:
        return None
    roles, plain = id_columns(frame.columns)
    of_rows = [] if seen is None else [column for column in (*roles, *plain) if column not in (seen.names or ())]
    return _numbers(frame, name, *of_rows[:1])


def aligned_rows(features: Any, ids: Ids, side: int, name: str) -> Any:
    """Return features with a row per id: those of a data frame matched by id, everything else as it is.

    The columns of a frame come in ascending order of their names, so that the order they had makes no difference.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [30, 20]}, index=["bob", "ann"])
    >>> aligned_rows(frame, Ids(["ann", "bob"]), 0, "user_features").matrix.tolist()
    [[20], [30]]
    """
    if isinstance(features, Mapping) and not sp.issparse(features):
        return {group: aligned_rows(part, ids, side, f"{name}[{group!r}]") for group, part in features.items()}
    if isinstance(features, NamedColumns | FeatureTable):
        columns = named_columns(features, name)
        assert columns is not None
        return columns if columns.ids is None else _in_order_of(columns, columns.ids, ids, name)
    frame = as_frame(features, name)
    if frame is None:
        return features
    candidates = list(candidate_ids(frame, side, name))
    if candidates:
        column, own = best_match(candidates, ids, name)
        return _in_order_of(_numbers(frame, name, column), own, ids, name)
    if len(frame) == len(ids) and np.array_equal(ids.values, np.arange(len(ids))):
        return _numbers(frame, name)
    raise ValueError(
        f"{name} is a frame without ids: make them its index (set_index), add a column 'id', or give an array in "
        f"the order of {('user_ids', 'item_ids')[side]}."
    )


def described_rows(features: Any, seen: Callable[[str | None], Seen], side: int, name: str) -> Any:
    """Return features of entities that are new, with their ids where a table has them.

    ``seen(group)`` is what training saw of a group, and of features without groups for None.
    """
    if isinstance(features, Mapping) and not sp.issparse(features) and seen(None).encoder is None:
        return {
            group: _described(part, seen(str(group)), side, f"{name}[{group!r}]") for group, part in features.items()
        }
    return _described(features, seen(None), side, name)


def ids_of(features: Any) -> Ids | None:
    """Return the ids of described rows, None where there are none."""
    parts = features.values() if isinstance(features, Mapping) and not sp.issparse(features) else [features]
    return next((part.ids for part in parts if isinstance(part, NamedColumns) and part.ids is not None), None)


def _described(features: Any, own: Seen, side: int, name: str) -> Any:
    columns = named_columns(features, name, own)
    if columns is None or isinstance(features, NamedColumns | FeatureTable):
        return features if columns is None else columns
    trained = own.names if own.encoder is None else [feature.column for feature in own.encoder.features]
    ids = (ids for column, ids in candidate_ids(features, side, name) if column not in (trained or ()))
    return replace(columns, ids=next(ids, None))


def _is_table(features: Any, name: str) -> bool:
    """Whether features are a table to encode, not a matrix that has been encoded."""
    return (isinstance(features, Mapping) and not sp.issparse(features)) or as_frame(features, name) is not None


def _in_order_of(columns: NamedColumns, row_ids: Ids, ids: Ids, name: str) -> NamedColumns:
    """The rows in the order of ``ids``, the columns in that of their names."""
    rows = rows_by_id(row_ids, ids, name)
    if columns.names is None:
        return NamedColumns(columns.matrix[rows], None)
    names = tuple(sorted(columns.names))
    return NamedColumns(columns.in_order(names, name)[rows], names, encoder=columns.encoder)


def _numbers(frame: nw.DataFrame[Any], name: str, id_column: Any = None) -> NamedColumns:
    """Every column but that of the ids."""
    columns = {column: cells for column, cells in zip(frame.columns, frame.iter_columns()) if column != id_column}
    if not columns:
        raise ValueError(f"{name} has no column besides the ids: there are no features in it.")
    for column, cells in columns.items():
        if not (cells.dtype.is_numeric() or cells.dtype == nw.Boolean):
            raise TypeError(
                f"{name} must hold numbers, but its column {column!r} is {cells.dtype}: "
                "everypair.features.table_features encodes categories, lists, text and dates."
            )
    named = [isinstance(column, str) for column in columns]
    if any(named) and not all(named):
        raise TypeError(f"{name} has columns of which only some are named by text: name all of them.")
    matrix = np.column_stack([cells.to_numpy() for cells in columns.values()])
    return NamedColumns(matrix, tuple(columns) if all(named) else None)
