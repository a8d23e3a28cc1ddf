"""The n best of a few rows in one compiled pass over factors in bytes, see :mod:`everypair.kernels.bounded_search`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from everypair.kernels.bounded_search import search_rows
from everypair.kernels.writable import writable_view
from everypair.parallel import Chunk
from everypair.retrieve.filters import Filters, Pattern
from everypair.retrieve.rounded import RoundedFactors
from everypair.types import Array

if TYPE_CHECKING:
    from everypair.retrieve.scores import Scores

NO_SCALE, NO_OFFSETS = ({np.dtype(d): np.empty(shape, d) for d in (np.float32, np.float64)} for shape in (0, (0, 0)))
NO_FLAGS, NO_ENDS, NO_ITEMS = np.empty(0, bool), np.empty(0, np.int64), np.empty(0, np.int32)
NO_PATTERN = NO_ENDS, NO_ENDS, NO_ITEMS


def search_by_bounds(
    scores: Scores, rounded: RoundedFactors, filters: Filters, chunk: Chunk, items: NDArray[np.int32], best: Array
) -> bool:
    """Write the lists of rows; False if this is not for them: for several lists of hidden items, or no finite bound."""
    if len(filters.hidden) > 1:
        return False
    assert scores.left is not None
    assert scores.index is not None
    start, stop = chunk
    index, offsets, most = scores.index, NO_OFFSETS[scores.dtype], NO_SCALE[scores.dtype]
    if scores.fill is not None:
        offsets = np.empty((stop - start, scores.n_items), scores.dtype)
        scores.fill(start, stop, offsets)
        most = np.maximum(offsets.max(axis=1), -offsets.min(axis=1))
    found = search_rows(
        scores.left, start, index.factors, index.every_item, rounded.bytes, rounded.units, rounded.lost, rounded.reach,
        NO_SCALE[scores.dtype] if index.scale is None else index.scale, offsets, most,
        NO_FLAGS if filters.blocked is None else filters.blocked,
        *(_parts(filters.hidden[0]) if filters.hidden else NO_PATTERN),
        *(NO_PATTERN if filters.allowed is None else _parts(filters.allowed)),
        items, best, np.empty(stop - start, np.int64),
    )  # fmt: skip
    return bool(found)


def _parts(pattern: Pattern) -> tuple[NDArray[np.int64], NDArray[np.int64], Array]:
    return pattern.begins, pattern.indptr, writable_view(pattern.indices.astype(np.int32, copy=False))
