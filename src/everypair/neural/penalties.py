"""The ridges of one side's parameters, by what they are: ½ λ ‖·‖² with a λ for each kind, none on biases."""

from __future__ import annotations

from typing import NamedTuple

from everypair.types import Array

Reg = float | Array  # one number, or a column with one for every row


class Penalties(NamedTuple):
    """λ of the rows of ids, of the weights of features, of the layers' matrices, and of biases.

    ``own`` and ``linear`` are those of the rows of ids and of the weights of features that a linear path has.

    >>> Penalties.same(0.5)
    Penalties(ids=0.5, features=0.5, matrices=0.5, biases=0.0, own=0.0, linear=0.0)
    """

    ids: Reg
    features: Reg
    matrices: Reg
    biases: Reg = 0.0
    own: Reg = 0.0
    linear: Reg = 0.0

    def of_linear(self) -> Penalties:
        """Those of a linear path.

        >>> Penalties(0.1, 0.2, 0.3, own=0.4, linear=0.5).of_linear()[:2]
        (0.4, 0.5)
        """
        return Penalties(self.own, self.linear, 0.0)

    @classmethod
    def same(cls, reg: float) -> Penalties:
        """One λ for all but biases."""
        return cls(reg, reg, reg)
