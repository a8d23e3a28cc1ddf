"""A matrix in a data frame: rows named by its index, columns by their names, and others brought into the same order."""

from __future__ import annotations

from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from everypair.check import as_frame
from everypair.data.ids import Ids


class NamedMatrix(NamedTuple):
    """Values, and the names of rows and columns; rows without an index are numbered."""

    values: NDArray[Any]
    rows: Ids
    columns: Ids

    def like(self, other: Any, name: str) -> Any:
        """Return another frame's values in the order of this one's rows and columns; arrays stay as they are.

        >>> import pandas as pd
        >>> first = named_matrix(pd.DataFrame({"a": [1, 2], "b": [3, 4]}, index=["x", "y"]), "Y")
        >>> first.like(pd.DataFrame({"b": [0, 1], "a": [1, 1]}, index=["y", "x"]), "mask").tolist()
        [[1, 1], [1, 0]]
        """
        named = named_matrix(other, name)
        if named is None:
            return other
        places = []
        for mine, theirs, kind in ((self.rows, named.rows, "rows"), (self.columns, named.columns, "columns")):
            if len(mine) != len(theirs) or (len(mine) and mine.are_strings != theirs.are_strings):
                raise ValueError(f"{name} must have the {kind} of Y, {mine!r}, got {theirs!r}.")
            places.append(theirs.index(mine, kind.removesuffix("s")))
        return named.values[np.ix_(*places)]


def named_matrix(source: Any, name: str) -> NamedMatrix | None:
    """Return a data frame whose columns have names as a named matrix; None for anything else."""
    frame = as_frame(source, name)
    if frame is None or not all(isinstance(column, str) for column in frame.columns):
        return None
    index = row_index(frame)
    try:
        rows = Ids(np.arange(len(frame)) if index is None else index.to_numpy())
    except (TypeError, ValueError) as failure:
        raise type(failure)(f"the index of {name}: {failure}") from None
    values = np.column_stack([column.to_numpy() for column in frame.iter_columns()])
    return NamedMatrix(values, rows, Ids(frame.columns))


def row_index(frame: nw.DataFrame[Any]) -> Any:
    """Return the index of a pandas frame, None of frames that have none or number their rows."""
    index = nw.maybe_get_index(frame)
    return None if type(index).__name__ == "RangeIndex" else index
