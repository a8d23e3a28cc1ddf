"""What may be recommended to whom: ``exclude``, ``allow`` and ``block`` checked and brought into one form.

An item list holds for every row: integer indices, or a boolean array with one entry per item. A mask holds
row by row: a sparse (or boolean) matrix of rows × items whose nonzero entries are the items meant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.data.rows import StoredRows
from everypair.kernels.hide import hide_listed, keep_listed

_EVERY_COLUMN = np.empty(0, dtype=np.int32)
FEW_ROWS = 64  # to which a short list of hidden items is shown, rather than to leave these out of what is scored
SHORT = 8  # such a list is at most this share of all items


@dataclass(frozen=True)
class Pattern:
    """The stored entries of a csr matrix: row i lists ``indices[begins[i]:indptr[i + 1]]``, ascending."""

    begins: NDArray[np.int64]
    indptr: NDArray[np.int64]
    indices: NDArray[Any]

    @classmethod
    def of_rows(cls, indptr: NDArray[np.int64], indices: NDArray[Any]) -> Pattern:
        """Rows one after the other."""
        return cls(indptr[:-1], indptr, indices)


@dataclass(frozen=True)
class Filters:
    """``columns``: the items that are scored at all (None: every one); then what each row may see of them.

    ``blocked`` has a flag per item, for those that no row may see; it is None where ``columns`` leaves them out.
    """

    columns: NDArray[np.int32] | None
    hidden: tuple[Pattern, ...]
    allowed: Pattern | None
    blocked: NDArray[np.bool_] | None = None

    def cursors(self, start: int, stop: int) -> list[NDArray[np.int64]]:
        """Return the reading positions of rows [start, stop) in every pattern, all at the beginning."""
        patterns = [*self.hidden, *([] if self.allowed is None else [self.allowed])]
        return [pattern.begins[start:stop].copy() for pattern in patterns]

    def apply(self, tile: NDArray[Any], first: int, start: int, cursors: list[NDArray[np.int64]]) -> None:
        """Set to −inf what rows start, start + 1, … may not see in a tile that begins at column ``first``."""
        names = _EVERY_COLUMN if self.columns is None else self.columns[first : first + tile.shape[1]]
        for pattern, cursor in zip(self.hidden, cursors):
            hide_listed(tile, first, names, pattern.indptr, pattern.indices, start, cursor)
        if self.allowed is not None:
            keep_listed(tile, first, names, self.allowed.indptr, self.allowed.indices, start, cursors[-1])
        if self.blocked is not None:
            tile[:, self.blocked[first : first + tile.shape[1]]] = -np.inf


def make_filters(rows: int, n_items: int, exclude: Any, allow: Any, block: Any) -> Filters:
    """Check the three filters of :func:`everypair.retrieve.top_k` and combine them.

    >>> make_filters(2, 4, None, allow=[3, 1], block=[1]).columns
    array([3], dtype=int32)
    """
    hidden, blocked = [], None
    if exclude is not None:
        if not isinstance(exclude, StoredRows) and not sp.issparse(exclude):
            raise TypeError(
                "exclude must be a scipy sparse matrix of rows × items whose stored entries are hidden from "
                "their row; to hide the same items from every row use block."
            )
        hidden.append(_pattern(exclude, "exclude", rows, n_items, zeros_count=True))
    columns = allowed = None
    if allow is not None:
        if _is_mask(allow):
            allowed = _pattern(allow, "allow", rows, n_items)
        else:
            columns = _item_list(allow, "allow", n_items)
    if block is not None:
        if _is_mask(block):
            hidden.append(_pattern(block, "block", rows, n_items))
        else:
            flags = _item_flags(block, "block", n_items)
            if columns is not None:
                columns = columns[~flags[columns]]
            elif rows <= FEW_ROWS and SHORT * int(np.count_nonzero(flags)) <= n_items:
                blocked = flags
            else:
                columns = np.flatnonzero(~flags).astype(np.int32)
    return Filters(columns, tuple(hidden), allowed, blocked)


def _is_mask(value: Any) -> bool:
    return sp.issparse(value) or np.ndim(value) == 2


def _pattern(mask: Any, name: str, rows: int, n_items: int, zeros_count: bool = False) -> Pattern:
    if not isinstance(mask, StoredRows) and not sp.issparse(mask):
        mask = np.asarray(mask)
    if isinstance(mask, np.ndarray) and mask.dtype != bool:
        raise TypeError(
            f"{name} as a dense matrix must be boolean, got {mask.dtype}: pass a sparse matrix of rows × items, or one "
            "flat list of item indices for every row."
        )
    if mask.shape != (rows, n_items):
        turned = " It is the other way round: pass its transpose." if mask.shape == (n_items, rows) else ""
        raise ValueError(
            f"{name} must have one row per left row and one column per item, {rows} × {n_items}, "
            f"but has shape {mask.shape[0]} × {mask.shape[1]}.{turned}"
        )
    if isinstance(mask, StoredRows):
        return Pattern.of_rows(mask.indptr, mask.indices)
    csr = sp.csr_array(mask)
    if not zeros_count and not np.all(csr.data):
        csr = csr.copy()
        csr.eliminate_zeros()
    if not csr.has_sorted_indices:
        csr = csr.sorted_indices()
    return Pattern.of_rows(csr.indptr.astype(np.int64), csr.indices)


def _item_list(items: Any, name: str, n_items: int) -> NDArray[np.int32]:
    """Listed items, ascending and once each."""
    listed = _listed(items, name, n_items)
    return (np.flatnonzero(listed) if listed.dtype == bool else np.unique(listed)).astype(np.int32)


def _item_flags(items: Any, name: str, n_items: int) -> NDArray[np.bool_]:
    """Listed items as a flag for every item."""
    listed = _listed(items, name, n_items)
    if listed.dtype == bool:
        return listed
    flags = np.zeros(n_items, dtype=bool)
    flags[listed] = True
    return flags


def _listed(items: Any, name: str, n_items: int) -> NDArray[Any]:
    """Check items: a flag for each, or indices of some."""
    listed = np.asarray(items)
    if listed.ndim != 1:
        raise ValueError(
            f"{name} must be a list of item indices, a boolean array with one entry per item, or a sparse "
            f"matrix of rows × items; got an array of {listed.ndim} dimensions."
        )
    if listed.dtype == bool:
        if len(listed) != n_items:
            raise ValueError(f"{name} as a boolean array needs one entry per item, {n_items}, but has {len(listed)}.")
        return listed
    if len(listed) == 0:
        return np.empty(0, dtype=np.int32)
    if not np.issubdtype(listed.dtype, np.integer):
        raise TypeError(
            f"{name} must hold integer item indices or booleans, got {listed.dtype}; "
            "look ids up first to get their indices."
        )
    if listed.min() < 0 or listed.max() >= n_items:
        outside = listed[(listed < 0) | (listed >= n_items)]
        raise ValueError(
            f"{name} names item {outside[0]}, but there are {n_items} items: indices go from 0 to {n_items - 1}."
        )
    return listed
