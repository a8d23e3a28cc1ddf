"""The ridges of one side's parameters, by what they are: ½ λ ‖·‖² with a λ for each kind, none on biases."""

from __future__ import annotations

from typing import NamedTuple


class Penalties(NamedTuple):
    """λ of the rows of ids, of the weights of features, of the layers' matrices, and of biases.

    >>> Penalties.same(0.5)
    Penalties(ids=0.5, features=0.5, matrices=0.5, biases=0.0)
    """

    ids: float
    features: float
    matrices: float
    biases: float = 0.0

    @classmethod
    def same(cls, reg: float) -> Penalties:
        """One λ for all but biases."""
        return cls(reg, reg, reg)
