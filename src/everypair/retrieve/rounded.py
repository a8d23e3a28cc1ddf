"""Factors of items in bytes: scores that are read at a quarter of the cost, with a bound that no score exceeds.

    u · v_j ≤ rough_j + ‖u‖ lost_j + ‖u − û‖ ‖v̂_j‖,    rough_j = û · v̂_j

where v̂_j is v_j rounded to bytes and û is u rounded to 16 bits. Items whose bound is below the n-th best so far cannot
be among the n best; the others are scored exactly, so that lists have the items and the bits of a search that scored
all of them. On yelp2018's items at rank 256 (39 MB) some 100 of 38,048 are left to be scored.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair.kernels.byte_rows import MOST, bound_tile, round_rows
from everypair.types import Array

WORD = np.iinfo(np.int16).max


class Words(NamedTuple):
    """Rows in 16 bits with their units, their lengths ‖u_i‖, and ‖u_i − û_i‖."""

    words: NDArray[np.int16]
    units: NDArray[np.float64]
    sizes: NDArray[np.float64]
    lost: NDArray[np.float64]

    @classmethod
    def of(cls, left: Array) -> Words:
        """Round rows, so that sums of their products with bytes fit 32 bits.

        >>> Words.of(np.array([[1.0, -0.5]])).words.tolist()
        [[32767, -16384]]
        """
        exact = left.astype(np.float64)
        most = min(WORD, np.iinfo(np.int32).max // (MOST * left.shape[1]))
        peaks = np.abs(exact).max(axis=1)
        units = np.where(peaks > 0, peaks / most, 1.0)
        rounded = np.rint(exact / units[:, None])
        gaps = exact - rounded * units[:, None]
        sizes, lost = (np.sqrt(np.einsum("ij,ij->i", part, part)) for part in (exact, gaps))
        return cls(rounded.astype(np.int16), units, sizes, lost)


class RoundedFactors(NamedTuple):
    """v̂_j as ``bytes`` times ``units``, ``lost`` ≥ ‖v_j − v̂_j‖, and ``reach`` ≥ scale_j (‖v_j‖ + lost_j) for all j."""

    bytes: NDArray[np.int8]
    units: Array
    lost: Array
    reach: float

    @classmethod
    def of(cls, factors: Array, lengths: Array) -> RoundedFactors | None:
        """Round factors with these ``lengths``; None where numbers are too large for a bound.

        >>> rounded = RoundedFactors.of(np.array([[3.0, 4.0]]), np.array([5.0]))
        >>> rounded.bytes.tolist(), bool(0 < rounded.lost[0] < 0.02), bool(5 <= rounded.reach < 5.02)
        ([[95, 127]], True, True)
        """
        count, dtype = len(factors), factors.dtype
        out, units, lost = np.empty(factors.shape, np.int8), np.empty(count, dtype), np.empty(count, dtype)
        round_rows(factors, out, units, lost)
        return cls(out, units, lost, 0.0).reaching(lengths, None)

    def reaching(self, lengths: Array, scale: Array | None) -> RoundedFactors | None:
        """The same of factors with a ``scale`` ≥ 0 each, by which whoever asks multiplies the bounds."""
        farthest = lengths.astype(np.float64) + self.lost
        reach = float((farthest if scale is None else farthest * scale).max(initial=0))
        return self._replace(reach=reach) if np.isfinite(reach) else None

    def bounds(self, rows: Words, first: int, beyond: int, tile: Array) -> None:
        """Write rough_j + ‖u_i‖ lost_j of items first ≤ j < beyond."""
        bound_tile(rows.words, rows.units, rows.sizes, self.bytes, self.units, self.lost, first, beyond, tile)
