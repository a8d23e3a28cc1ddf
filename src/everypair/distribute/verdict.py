"""The verdict on a sweep, made of what the shards know of sums over all rows: F, whether balance pays, and how much."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from everypair.distribute.work import Nodes, Sums, gram_of, total
from everypair.parallel import single_threaded_blas
from everypair.problem.gram_square import GramSquare
from everypair.problem.layout import LEFT, RIGHT
from everypair.solvers.balance import LEAST, balancing, on_columns


@dataclass(frozen=True)
class Verdict:
    """What the client has to know of a sweep: F, how far rounding may take it, what is paid for both sides' factors,
    the matrices that balance them, where that pays, and ⟨begun − after, after − now⟩."""

    value: float
    rounding: float
    ridge: float
    balance: tuple[NDArray[np.float64], NDArray[np.float64]] | None
    against: float


def judge(
    sums: tuple[list[Sums], list[Sums]],
    ways: tuple[list[Nodes], list[Nodes]],
    blocks: tuple[int, int],
    square: GramSquare,
    columns: NDArray[np.bool_] | None,
) -> Verdict:
    """Look at both sides after a half-step of the right one. ``columns`` may be balanced; ``None``: nothing may."""
    grams = [gram_of(side, count) for side, count in zip(sums, blocks)]
    pairs = float(total([one.pairs for one in sums[RIGHT]], blocks[RIGHT]))
    ridge = ridge_of(sums, blocks)
    value = pairs + square(*grams) + ridge
    found = None
    if columns is not None and np.isfinite(value):
        wide = [total([one.ridge_gram for one in side], count) for side, count in zip(sums, blocks)]
        left, right = (matrix[np.ix_(columns, columns)] for matrix in wide)
        with single_threaded_blas():
            found = balancing(left, right, LEAST * abs(value))
        if found is not None:
            found = on_columns(found[LEFT], columns), on_columns(found[RIGHT], columns)
    return Verdict(value, square.rounding(*grams), ridge, found, way_of(ways, blocks))


def ridge_of(sums: tuple[list[Sums], list[Sums]], blocks: tuple[int, int]) -> float:
    """What is paid for both sides' factors."""
    left, right = (0.5 * float(total([one.penalty for one in side], count)) for side, count in zip(sums, blocks))
    return left + right


def way_of(ways: tuple[list[Nodes], list[Nodes]], blocks: tuple[int, int]) -> float:
    """⟨begun − after, after − now⟩ of both sides; 0 where nothing was begun."""
    return sum(float(total(side, count)) for side, count in zip(ways, blocks) if side)
