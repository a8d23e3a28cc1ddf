"""Labels by name: the columns of a data frame, or lists of strings, as a matrix of zeros and ones and its names.

[["war", "love"], ["war"]]  →  [[1, 1], [0, 1]],  love, war
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp

from everypair.check import as_frame
from everypair.data.ids import Ids, number_ids
from everypair.words import is_or_are


def named_labels(y: Any, known: Ids | None = None, name: str = "Y") -> tuple[Any, Ids | None]:
    """Return labels as a matrix, and their names where they have some; anything without names stays as it is.

    ``known`` are the names seen in training: columns come in their order, and labels that are missing or new are
    refused. Otherwise columns of a frame stay in their order, and labels in lists are in ascending order.

    >>> matrix, names = named_labels([["war", "love"], ["war"], []])
    >>> matrix.toarray().tolist(), names
    ([[1, 1], [0, 1], [0, 0]], Ids(2: 'love', 'war'))
    """
    series = nw.from_native(y, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        y = series.to_list()
    if _are_lists(y):
        return _from_lists(y, known, name)
    frame = as_frame(y, name)
    if frame is None or not all(isinstance(column, str) for column in frame.columns):
        return y, None
    columns = dict(zip(frame.columns, (column.to_numpy() for column in frame.iter_columns())))
    if known is None:
        known = Ids(frame.columns)
    elif set(known) != set(columns):
        missing, extra = [one for one in known if one not in columns], [one for one in columns if one not in known]
        faults = [f"{is_or_are(these)} {why}" for these, why in ((missing, "missing"), (extra, "new")) if these]
        raise ValueError(f"{name} must have the labels of training as its columns: {' and '.join(faults)}.")
    return np.column_stack([columns[label] for label in known]), known


def check_rows_together(X: Any, y: Any) -> None:
    """Refuse two frames with the same index in another order: row i of one would be taken for row i of the other."""
    features, labels = as_frame(X, "X"), as_frame(y, "Y")
    if features is None or labels is None:
        return
    first, second = nw.maybe_get_index(features), nw.maybe_get_index(labels)
    if first is None or second is None or len(first) != len(second) or (first == second).all():
        return
    if set(first) == set(second):
        raise ValueError("X and Y have the same index in another order: use Y.loc[X.index].")


def _are_lists(y: Any) -> bool:
    """Whether each row is a list, and one of them has a name."""
    if not isinstance(y, list | tuple) and not (isinstance(y, np.ndarray) and y.dtype == object and y.ndim == 1):
        return False
    rows = list(y)
    if not all(isinstance(row, list | tuple | set | frozenset | np.ndarray) for row in rows):
        return False
    return any(isinstance(one, str) for row in rows for one in row)


def _from_lists(rows: Iterable[Any], known: Ids | None, name: str) -> tuple[Any, Ids]:
    listed = [_distinct(row, f"{name}[{number}]") for number, row in enumerate(rows)]
    flat = [label for row in listed for label in row]
    if known is None:
        known, columns = number_ids(flat, f"the labels of {name}")
    else:
        columns = known.index(flat, "label")
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in listed])])
    matrix = sp.csr_array((np.ones(len(flat), np.int64), columns, indptr), shape=(len(listed), len(known)))
    matrix.sort_indices()
    return matrix, known


def _distinct(row: Any, place: str) -> list[str]:
    """The labels of a row, each once, in ascending order."""
    odd = [one for one in row if not isinstance(one, str)]
    if odd:
        raise ValueError(f"{place} has {odd[0]!r} among its labels, which are names: leave it out or make it text.")
    return sorted(set(row))
