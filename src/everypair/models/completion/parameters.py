"""Parameters that several completion models share; each has one declaration."""

from __future__ import annotations

from everypair import check
from everypair.models.parameters import estimator, number, one_of, or_auto, parameter
from everypair.solvers.completion.shrinkage import METHODS

AUTO = '``"auto"``: chosen at a fifth of the observed entries by a path with warm starts (``path_``)'


@estimator
class NuclearNorm:
    """What every completion model of low rank has."""

    nuclear_reg: float | str = parameter("auto", f"weight of the nuclear norm, or {AUTO}.", or_auto(number(above=0)))


@estimator
class SparseWeights:
    """What every completion model has whose weights of features are sparse."""

    l1_reg: float | str = parameter("auto", "λ2, weight of ‖N‖₁, chosen likewise.", or_auto(number(least=0)))


@estimator
class SingularValues:
    """What every completion model has that shrinks singular values of "sparse + low rank" matrices."""

    svd: str = parameter(
        "auto",
        '``"exact"``, ``"truncated"`` or ``"auto"`` by size (truncated where both sides exceed 500).',
        one_of(*METHODS),
    )


@estimator
class FeatureOptions:
    """What every completion model has that learns from features."""

    orthonormal: bool = parameter(
        False,
        "make the columns of each side's features orthonormal by QR, which takes fewer iterations but gives every"
        " direction the same weight; features that add nothing are left out.",
        check.flag,
    )
