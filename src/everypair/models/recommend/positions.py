"""Positions of users and items, and matrices of the events of new ones: checked before they are used."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from everypair.check import as_csr, as_dtype
from everypair.data.rows import StoredRows

KINDS = ("user", "item")


def checked_positions(values: ArrayLike, size: int, kind: str) -> NDArray[np.int64]:
    """Return positions as a 1-D array, or refuse what is not one of 0..size − 1.

    >>> checked_positions(3, 5, "user")
    array([3])
    """
    array = np.atleast_1d(np.asarray(values))
    if array.size == 0:
        return np.empty(0, np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise TypeError(
            f"{kind}s must be integer positions (one or a 1-D array), got dtype {array.dtype} with {array.ndim} "
            "dimensions: this model was fitted on a matrix; one that is fitted on events is asked by id."
        )
    if array.min() < 0 or array.max() >= size:
        bad = array[(array < 0) | (array >= size)][0]
        raise ValueError(
            f"{kind} {bad} is unknown: the model was fitted on {size} {kind}s (0 to {size - 1}); "
            f"new ones need their interactions."
        )
    return array.astype(np.int64)


def stored_rows(interactions: Any, width: int, dtype: Any, what: str = "interactions") -> StoredRows:
    """Check the rows of new users (c × n): like training data, but rows may all be empty."""
    mine = isinstance(interactions, StoredRows)
    if mine and interactions.sound and interactions.width == width and interactions.dtype == dtype:
        return interactions
    if mine and len(interactions.indptr) > 1:
        rows: Any = interactions.with_data(as_dtype(interactions.data, dtype))
    else:
        rows, _ = as_csr(interactions, dtype, what)
    if rows.shape[1] != width:
        raise ValueError(
            f"{what} must have one column per training item ({width}), got shape {rows.shape}; new entities are rows."
        )
    if rows.nnz and not np.isfinite(rows.data).all():
        raise ValueError(f"{what} has NaN or infinite values.")
    if not rows.data.all():
        raise ValueError(f"{what} stores explicit zeros: call eliminate_zeros() first.")
    stored = rows if isinstance(rows, StoredRows) else StoredRows.of(rows)
    return StoredRows(stored.indptr, stored.indices, stored.data, stored.width, sound=True)


def checked_rows(interactions: Any, width: int, dtype: Any, what: str = "interactions") -> Any:
    """The same as a matrix."""
    return stored_rows(interactions, width, dtype, what).tocsr()


def checked_columns(interactions: Any, height: int, dtype: Any, what: str = "columns") -> Any:
    """Check the columns of new items (m × c) and return them as rows (c × m), a matrix."""
    columns, _ = as_csr(interactions, dtype, what)
    if columns.shape[0] != height:
        raise ValueError(
            f"{what} must have one row per training user ({height}), got shape {columns.shape}: new items are columns."
        )
    return checked_rows(columns.T, height, dtype, what)
