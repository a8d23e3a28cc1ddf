"""The verdict on a sweep, made of what the shards know of sums over all rows: F, whether balance pays, and how much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.distribute.solving.work import Nodes, Sums, gram_of, total
from everypair.parallel import single_threaded_blas
from everypair.problem.gram_square import GramSquare
from everypair.problem.layout import RIGHT
from everypair.solvers.balance import LEAST, balancing, on_columns


@dataclass(frozen=True)
class Verdict:
    """What the client has to know of a sweep: F, how far rounding may take it, the matrices that balance both sides,
    where that pays (F is then what it will be), and ⟨origin − after, after − now⟩ before that."""

    value: float
    rounding: float
    balance: tuple[NDArray[np.float64], NDArray[np.float64]] | None
    against: float


@dataclass(frozen=True)
class WeightSums:
    """What is paid for W of a side with features, ½ λ_f ‖W‖², and λ_f WᵀW."""

    penalty: float
    gram: NDArray[np.float64]


def weight_sums(weights: NDArray[Any], ridge: float, constant: int | None) -> WeightSums:
    """The sums of W; a constant column is zero there and costs nothing."""
    wide = weights.astype(np.float64)
    if constant is not None:
        wide[:, constant] = 0
    with single_threaded_blas():
        gram = ridge * (wide.T @ wide)
    return WeightSums(0.5 * float(np.trace(gram)), gram)


Both = tuple[list[Sums], list[Sums]]
OfWeights = tuple[WeightSums | None, WeightSums | None]


def judge(
    sums: Both,
    weights: OfWeights,
    ways: tuple[list[Nodes], list[Nodes]],
    blocks: tuple[int, int],
    square: GramSquare,
    columns: NDArray[np.bool_] | None,
) -> Verdict:
    """Look at both sides after a half-step of the right one. ``columns`` may be balanced; ``None``: nothing may."""
    grams = [gram_of(side, count) for side, count in zip(sums, blocks)]
    pairs = float(total([one.pairs for one in sums[RIGHT]], blocks[RIGHT]))
    value = pairs + square(*grams) + sum(_penalty(*parts) for parts in zip(sums, weights, blocks, strict=True))
    balance = None
    if columns is not None and np.isfinite(value):
        left, right = (
            _ridge_gram(*parts)[np.ix_(columns, columns)] for parts in zip(sums, weights, blocks, strict=True)
        )
        with single_threaded_blas():
            balanced = balancing(left, right, LEAST * abs(value))
        if balanced is not None:
            value -= balanced.gain
            balance = on_columns(balanced.matrix, columns), on_columns(balanced.inverse, columns)
    half_steps = tuple([one.way for one in side if one.way is not None] for side in sums)
    return Verdict(value, square.rounding(*grams), balance, _way(half_steps, blocks) + _way(ways, blocks))


def _way(ways: tuple[list[Nodes], ...], blocks: tuple[int, int]) -> float:
    """⟨origin − after, after − now⟩ of both sides; 0 where nothing was begun."""
    return sum(float(total(side, count)) for side, count in zip(ways, blocks) if side)


def _penalty(sums: list[Sums], weights: WeightSums | None, blocks: int) -> float:
    own = 0.0 if sums[0].penalty is None else 0.5 * float(total([one.penalty for one in sums], blocks))
    return own if weights is None else own + weights.penalty


def _ridge_gram(sums: list[Sums], weights: WeightSums | None, blocks: int) -> NDArray[np.float64]:
    own = 0.0 if sums[0].ridge_gram is None else total([one.ridge_gram for one in sums], blocks)
    return np.asarray(own if weights is None else own + weights.gram)
