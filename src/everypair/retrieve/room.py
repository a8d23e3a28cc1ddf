"""Scratch memory of one thread, and how it scores: exactly, or roughly first.

Few rows are scored by a compiled loop over items, many by products of BLAS, which are quicker then but round a row
otherwise when it stands beside others. So these are rough scores, and what may be among a row's n best by them is
scored once more by the compiled loop: a row's list has the same bits at any number of rows. Two orders of adding up
the k products of u · v are at most k ε ‖u‖ ‖v‖ apart, ε being the distance of 1 and the next number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from everypair.kernels.bounded_search import CAUTION
from everypair.kernels.finish import finish_tile
from everypair.kernels.product_rows import score_tile
from everypair.kernels.select import push_tile
from everypair.retrieve.bounded import NO_OFFSETS, NO_SCALE
from everypair.retrieve.tiles import Tiles
from everypair.types import Array

if TYPE_CHECKING:
    from everypair.retrieve.scores import Scores

EXACT_ROWS = 32  # above it rough scores by BLAS and some exact ones are less work than exact ones alone
SPARING = 8  # rough scores are of use where lists are at most this share of all items


class Room:
    """A tile of scores, gathered item factors, the offsets of a chunk's rows."""

    def __init__(self, scores: Scores, tiles: Tiles, columns: NDArray[np.int32] | None, rough: bool) -> None:
        self.scores, self.columns = scores, columns
        self.rough = rough and scores.index is not None
        self.flat = np.empty(tiles.rows * tiles.width, scores.dtype)
        self.offsets = NO_OFFSETS[scores.dtype]
        if scores.fill is not None:
            self.offsets = np.empty((tiles.rows, scores.n_items), scores.dtype)
        gathers = self.rough and columns is not None
        rank = 0 if scores.index is None else scores.index.shape[1]
        self.gathered = np.empty((tiles.width if gathers else 0, rank), scores.dtype)
        self.margins = np.empty(0)

    def fill(self, start: int, stop: int) -> None:
        """Make ready for rows [start, stop): write their offsets."""
        if self.scores.fill is not None:
            self.scores.fill(start, stop, self.offsets[: stop - start])
        if self.rough and self.scores.index is not None:
            self.margins = self._margins(start, stop, self.scores.index.reach)

    def tile(self, start: int, stop: int, first: int, beyond: int) -> Array:
        """Scores of rows [start, stop) for items first ≤ t < beyond, of all or of those that are listed."""
        left, index = self.scores.left, self.scores.index
        columns = self.columns
        tile = self.flat[: (stop - start) * (beyond - first)].reshape(stop - start, beyond - first)
        items = slice(first, beyond) if columns is None else columns[first:beyond]
        if left is None or index is None:
            tile[:] = self.offsets[: stop - start, items]
            return tile
        if self.rough:
            if columns is None:
                factors = index.factors[first:beyond]
            else:
                factors = self.gathered[: beyond - first]
                np.take(index.factors, columns[first:beyond], axis=0, out=factors, mode="clip")
            np.matmul(left[start:stop], factors.T, out=tile)
        else:
            named = index.every_item if columns is None else columns
            score_tile(left, start, stop, index.factors, named, first, beyond, tile)
        if index.scale is not None:
            tile *= index.scale[items]
        if self.scores.fill is not None:
            tile += self.offsets[: stop - start, items]
        return tile

    def push(self, tile: Array, first: int, items: NDArray[np.int32], scores: Array, start: int, stop: int) -> None:
        """Offer a filtered tile to the n best of rows [start, stop)."""
        index, left = self.scores.index, self.scores.left
        if not self.rough or index is None or left is None:
            push_tile(tile, first, items, scores, start, stop)
            return
        columns = index.every_item if self.columns is None else self.columns
        scale = NO_SCALE[scores.dtype] if index.scale is None else index.scale
        finish_tile(
            tile, first, items, scores, start, stop, self.margins, left, index.factors, columns, scale, self.offsets
        )

    def _margins(self, start: int, stop: int, reach: float) -> NDArray[np.float64]:
        """How far the scores of rows [start, stop) may be from one another if they are added up in other orders."""
        index, left = self.scores.index, self.scores.left
        assert index is not None
        assert left is not None
        numbers = np.finfo(self.scores.dtype)
        lengths = np.linalg.norm(left[start:stop].astype(np.float64), axis=1)
        size = (index.shape[1] + CAUTION) * lengths * reach
        if self.scores.fill is not None:
            size += CAUTION * np.abs(self.offsets[: stop - start]).max(axis=1, initial=0)
        return np.asarray(1.01 * (float(numbers.eps) * size + index.shape[1] * float(numbers.tiny)))
