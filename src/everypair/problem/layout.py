"""Columns of the factors. With biases, s = w·h + b_i + b̄_j is an inner product too:

    U = [W, b, 1],   V = [H, 1, b̄]

The constant columns are neither learnt nor penalised.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

LEFT, RIGHT = 0, 1


@dataclass(frozen=True)
class Layout:
    """Which column of which side means what.

    >>> Layout(8, biases=True).columns, Layout(8, biases=True).constant(LEFT), Layout(8).constant(LEFT)
    (10, 9, None)
    """

    rank: int
    biases: bool = False

    @property
    def columns(self) -> int:
        """Number of columns of either side."""
        return self.rank + 2 * self.biases

    def constant(self, side: int) -> int | None:
        """The column of a side that is 1 throughout and carries the other side's bias."""
        if not self.biases:
            return None
        return self.rank + 1 if side == LEFT else self.rank

    def vectors(self, factors: NDArray[Any]) -> NDArray[Any]:
        """W or H: the columns that are neither bias nor constant."""
        return factors[:, : self.rank]
