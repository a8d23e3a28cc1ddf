"""Sizes of the tiles of exact top-k: they follow from the problem and ``memory_mb`` alone, never from the threads.

So every number of threads multiplies the same blocks and gives the same bits. Scratch memory of one thread, with R
rows, n items, W items per tile and rank k:

    factors alone      itemsize · W · (R + k) + 24 · R
    with offsets a_i   itemsize · (R · n + W · (R + k)) + 24 · R

(the scores, the tile's item factors where they have to be gathered, and three reading positions per row). Where
``threads · bytes`` would exceed the budget, fewer threads work. BLAS's own workspace is not counted, nor what the
function that writes the a_i needs.
"""

from __future__ import annotations

from typing import NamedTuple

FACTORS_MB, OFFSETS_MB = 64.0, 128.0

# Measured at rank 64 in float32: flat within a few percent from 256 × 256 to 256 × 2048, slower outside. Fewer rows
# at a time, or narrower tiles of few rows, cost more by the calls than by the scores.
_MOST_ROWS, _FEWEST_ROWS, _PIECES = 256, 32, 16
_TILE_SCORES, _MOST_WIDTH, _FEWEST_WIDTH = 256 * 1024, 32 * 1024, 64
_MOST_FILLED_ROWS, _MOST_FILLED_WIDTH = 128, 8192


class Tiles(NamedTuple):
    """Rows of a chunk, items of a tile, and the scratch memory of one thread in bytes."""

    rows: int
    width: int
    bytes: int

    def threads(self, n_threads: int, memory_mb: float) -> int:
        """How many threads the memory has room for."""
        return max(1, min(n_threads, int(memory_mb * 2**20 / self.bytes)))


def tiles_of_factors(rows: int, rank: int, itemsize: int, memory_mb: float = FACTORS_MB) -> Tiles:
    """Tiles of scores that are products of factors.

    >>> tiles_of_factors(70_000, rank=64, itemsize=4)
    Tiles(rows=256, width=1024, bytes=1316864)
    >>> tiles_of_factors(1, rank=64, itemsize=4)[:2]
    (1, 32768)
    """
    check_memory(memory_mb)

    def needed(size: int, width: int) -> int:
        return itemsize * width * (size + rank) + 24 * size

    size = min(max(-(-rows // _PIECES), _FEWEST_ROWS), _MOST_ROWS, max(rows, 1))
    width = min(_TILE_SCORES // size, _MOST_WIDTH)
    while needed(size, width) > memory_mb * 2**20:
        if width > _FEWEST_WIDTH:
            width //= 2
        elif size > 1:
            size //= 2
        else:
            least = needed(size, width) / 2**20
            raise ValueError(f"memory_mb={memory_mb} is too small: one row at a time needs {least:.4f}.")
    return Tiles(size, width, needed(size, width))


def tiles_with_offsets(rows: int, n_items: int, rank: int, itemsize: int, memory_mb: float = OFFSETS_MB) -> Tiles:
    """Tiles of scores whose rows are written over all items first.

    >>> tiles_with_offsets(70_000, 38_048, rank=64, itemsize=4)
    Tiles(rows=128, width=2048, bytes=21056512)
    >>> tiles_with_offsets(64, 38_048, rank=64, itemsize=4)[:2]
    (32, 8192)
    """
    check_memory(memory_mb)

    def width(size: int) -> int:
        return min(_TILE_SCORES // size, _MOST_FILLED_WIDTH)

    def needed(size: int) -> int:
        return itemsize * (size * n_items + width(size) * (size + rank)) + 24 * size

    size = min(max(-(-rows // _PIECES), _FEWEST_ROWS), _MOST_FILLED_ROWS, max(rows, 1))
    while size > 1 and needed(size) > memory_mb * 2**19:
        size //= 2
    return Tiles(size, width(size), needed(size))


def check_memory(memory_mb: float) -> None:
    """Refuse what is no amount of memory."""
    if not memory_mb > 0:
        raise ValueError(f"memory_mb must be a positive number, got {memory_mb!r}.")
