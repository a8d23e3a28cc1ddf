"""Features in a data frame: rows belong to ids, columns to names, and neither to positions.

The ids of the rows are in a column of a usual name (``item``, ``movie_id``, ``id``, …) or in the frame's index; every
other column is a feature. What :func:`~everypair.features.table_features` made has ids and names too, and tables that
come later are encoded as it learnt to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp

from everypair.check import as_frame
from everypair.column_names import find_role
from everypair.data.ids import Ids
from everypair.data.matching import find_alike
from everypair.features.table import FeatureTable, TableFeatures

INDEX = "its index"


@dataclass(frozen=True)
class NamedColumns:
    """Numbers with a name per column, ``None`` where the frame had numbers for names, and perhaps an id per row.

    ``encoder`` is what made the columns of a table's, where they were not numbers already.
    """

    matrix: Any
    names: tuple[str, ...] | None
    ids: Ids | None = None
    encoder: TableFeatures | None = None

    def in_order(self, names: tuple[str, ...], what: str) -> Any:
        """Return the columns in the order of ``names``; those that are missing or too many are refused by name.

        >>> NamedColumns(np.array([[1, 2]]), ("b", "a")).in_order(("a", "b"), "X").tolist()
        [[2, 1]]
        """
        if self.names is None:
            raise ValueError(f"{what} must name its columns as in training: {_listed(names)}.")
        place = {name: position for position, name in enumerate(self.names)}
        if len(place) < len(self.names):
            raise ValueError(f"{what} has columns of the same name: give them different names.")
        wanted = set(names)
        missing, extra = [name for name in names if name not in place], [name for name in place if name not in wanted]
        if missing or extra:
            parts = [
                f"{_listed(these)} {'is' if len(these) == 1 else 'are'} {why}"
                for these, why in ((missing, "missing"), (extra, "new"))
                if these
            ]
            raise ValueError(f"{what} must have the columns it had in training: {' and '.join(parts)}.")
        return self.matrix[:, [place[name] for name in names]]


@dataclass(frozen=True)
class Seen:
    """What training saw of a group of features: the names of its columns and what encoded them, None without any."""

    names: tuple[str, ...] | None = None
    encoder: TableFeatures | None = None


def named_columns(features: Any, what: str, seen: Seen | None = None) -> NamedColumns | None:
    """Return a data frame as numbers and names; None for anything else.

    With what was ``seen`` in training another column may hold the ids of the rows, and is no feature.
    """
    if isinstance(features, NamedColumns):
        return features
    if isinstance(features, FeatureTable):
        return NamedColumns(features.matrix, features.names, features.ids, features.encoder)
    if seen is not None and seen.encoder is not None and _is_table(features, what):
        return NamedColumns(seen.encoder.transform(features), seen.encoder.names)
    frame = as_frame(features, what)
    if frame is None:
        return None
    owners = [] if seen is None else [name for name in _id_columns(frame.columns) if name not in (seen.names or ())]
    return _numbers(frame, owners[0] if owners else INDEX, what)


def aligned_rows(features: Any, ids: Ids, side: int, what: str) -> Any:
    """Return features with a row per id: those of a data frame matched by id, everything else as it is.

    The columns of a frame come in ascending order of their names, so that the order they had makes no difference.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [30, 20]}, index=["bob", "ann"])
    >>> aligned_rows(frame, Ids(["ann", "bob"]), 0, "user_features").matrix.tolist()
    [[20], [30]]
    """
    if isinstance(features, Mapping) and not sp.issparse(features):
        return {group: aligned_rows(part, ids, side, f"{what}[{group!r}]") for group, part in features.items()}
    if isinstance(features, NamedColumns | FeatureTable):
        columns = named_columns(features, what)
        assert columns is not None
        return columns if columns.ids is None else _matched(columns, ids, what)
    frame = as_frame(features, what)
    if frame is None:
        return features
    choices = list(_owners(frame, side, what))
    if not choices:
        if len(frame) == len(ids) and np.array_equal(ids.values, np.arange(len(ids))):
            return _numbers(frame, INDEX, what)
        raise ValueError(
            f"{what} is a frame without ids: make them its index (set_index), add a column 'id', or give an array in "
            f"the order of {('user_ids', 'item_ids')[side]}."
        )
    found = [int((find_alike(ids, owner) >= 0).sum()) if _comparable(ids, owner) else 0 for _, owner in choices]
    column, owner = choices[int(np.argmax(found))]
    if not max(found):
        where = " or ".join(name if name == INDEX else f"column {name!r}" for name, _ in choices)
        raise ValueError(f"{what}: no id in {where} is a known one, such as {_listed(ids[:3])}.")
    return _matched(replace(_numbers(frame, column, what), ids=owner), ids, what)


def described_rows(features: Any, seen: Callable[[str | None], Seen], side: int, what: str) -> Any:
    """Return features of entities that are new, with their ids where a table has them.

    ``seen(group)`` is what training saw of a group, and of features without groups for None.
    """
    if isinstance(features, Mapping) and not sp.issparse(features) and seen(None).encoder is None:
        return {
            group: _described(part, seen(str(group)), side, f"{what}[{group!r}]") for group, part in features.items()
        }
    return _described(features, seen(None), side, what)


def ids_of(features: Any) -> Ids | None:
    """Return the ids of described rows, None where there are none."""
    parts = features.values() if isinstance(features, Mapping) and not sp.issparse(features) else [features]
    return next((part.ids for part in parts if isinstance(part, NamedColumns) and part.ids is not None), None)


def _described(features: Any, seen: Seen, side: int, what: str) -> Any:
    if isinstance(features, NamedColumns | FeatureTable):
        return named_columns(features, what)
    encoder = seen.encoder if seen.encoder is not None and _is_table(features, what) else None
    known = {feature.column for feature in encoder.features} if encoder is not None else {*(seen.names or ())}
    frame = as_frame(features, what)
    if frame is None and encoder is None:
        return features
    if frame is None:
        columns = _id_columns([name for name in features if name not in known], (side,))
        owners = [(name, Ids(features[name])) for name in columns]
    else:
        owners = [(name, ids) for name, ids in _owners(frame, side, what) if name not in known]
    column, ids = owners[0] if owners else (INDEX, None)
    if encoder is not None:
        return NamedColumns(encoder.transform(features), encoder.names, ids)
    assert frame is not None
    return replace(_numbers(frame, column, what), ids=ids)


def _is_table(features: Any, what: str) -> bool:
    """Whether features are a table to encode, not a matrix that has been encoded."""
    return (isinstance(features, Mapping) and not sp.issparse(features)) or as_frame(features, what) is not None


def _matched(features: NamedColumns, ids: Ids, what: str) -> NamedColumns:
    """The rows in the order of ``ids``."""
    assert features.ids is not None
    known = find_alike(ids, features.ids)
    strangers = features.ids.values[known < 0]
    places = np.full(len(ids), -1, np.int64)
    places[known[known >= 0]] = np.flatnonzero(known >= 0)
    absent = ids.values[places < 0]
    if len(strangers) or len(absent):
        parts = [
            f"{len(these)} {text}: {_listed(these.tolist())}"
            for these, text in ((absent, "ids have no row"), (strangers, "rows are of unknown ids"))
            if len(these)
        ]
        raise ValueError(f"{what} must have one row for every id and no other; {'; '.join(parts)}.")
    if features.names is None:
        return NamedColumns(features.matrix[places], None)
    names = tuple(sorted(features.names))
    return NamedColumns(features.in_order(names, what)[places], names, encoder=features.encoder)


def _owners(frame: nw.DataFrame[Any], side: int, what: str) -> Iterator[tuple[str, Ids]]:
    """What may name the rows, the likeliest first: columns of usual names, then the index."""
    for name in _id_columns(frame.columns, (side,)):
        values = frame[name].to_numpy()
        if values.dtype.kind in "iuOU":
            try:
                yield name, Ids(values)
            except (TypeError, ValueError):  # repeated, missing or mixed: a feature, or refused as text
                continue
    index = nw.maybe_get_index(frame)
    if index is not None and type(index).__name__ != "RangeIndex":
        try:
            yield INDEX, Ids(index.to_numpy())
        except (TypeError, ValueError) as failure:
            raise type(failure)(f"the index of {what}: {failure}") from None


def _id_columns(names: list[str], sides: tuple[int, ...] = (0, 1)) -> list[str]:
    found = [name for side in sides for name in find_role(names, ("user", "item")[side])]
    return [*found, *(name for name in names if isinstance(name, str) and name.casefold() == "id")]


def _comparable(ids: Ids, other: Ids) -> bool:
    return ids.are_strings or not other.are_strings


def _numbers(frame: nw.DataFrame[Any], owner: str, what: str) -> NamedColumns:
    """Every column but the owner's."""
    columns = {name: column for name, column in zip(frame.columns, frame.iter_columns()) if name != owner}
    if not columns:
        raise ValueError(f"{what} has no column besides the ids: there are no features in it.")
    for name, column in columns.items():
        if not (column.dtype.is_numeric() or column.dtype == nw.Boolean):
            raise TypeError(
                f"{what} must hold numbers, but its column {name!r} is {column.dtype}: "
                "everypair.features.table_features encodes categories, lists, text and dates."
            )
    named = [isinstance(name, str) for name in columns]
    if any(named) and not all(named):
        raise TypeError(f"{what} has columns of which only some are named by text: name all of them.")
    matrix = np.column_stack([column.to_numpy() for column in columns.values()])
    return NamedColumns(matrix, tuple(columns) if all(named) else None)


def _listed(names: Any) -> str:
    shown = list(names)
    return ", ".join(map(repr, shown[:5])) + (f" and {len(shown) - 5} more" if len(shown) > 5 else "")
