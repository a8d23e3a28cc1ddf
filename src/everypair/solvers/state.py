"""Where a solver stands. The loop reads nothing of it but the objective; the rest is between solver and estimator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from everypair.problem.gram import Gram
from everypair.types import Array


class State(Protocol):
    """What every solver's state tells: F there, ``None`` before the first step."""

    @property
    def objective(self) -> float | None:
        """F."""
        ...


@runtime_checkable
class Rounded(Protocol):
    """A state whose F is a difference of large terms: how far rounding may take it."""

    @property
    def rounding(self) -> float:
        """Of F."""
        ...


@runtime_checkable
class Solvable(Protocol):
    """A state of a solver that knows itself when it has arrived."""

    @property
    def solved(self) -> bool:
        """Whether it has."""
        ...


@dataclass(frozen=True)
class Factors:
    """Where a solver stands: both sides' factors and F there (``None`` before the first sweep).

    ``left_parameters`` and ``right_parameters`` are θ of a side with features, from which its factors follow; ``None``
    where θ is the factors. ``rounding`` is how far rounding may take F. A solver whose factors are on other machines
    has something of its own in the place of arrays.
    """

    left: Any
    right: Any
    objective: float | None = None
    right_gram: Gram | None = None
    left_parameters: Array | None = None
    right_parameters: Array | None = None
    rounding: float = 0.0

    def parameters(self, side: int) -> Array:
        """θ of a side."""
        factors, theta = ((self.left, self.left_parameters), (self.right, self.right_parameters))[side]
        return factors if theta is None else theta
