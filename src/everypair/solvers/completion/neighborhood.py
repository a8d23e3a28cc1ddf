"""NRLMF (Liu et al., 2016) with a mask: logistic factors of tested pairs, smooth over nearest neighbours.

    F = Σ_Ω w_ij (log(1 + e^{s_ij}) − y_ij s_ij) + ½ λ (‖U‖² + ‖V‖²) + ½ α (tr UᵀL_rU + tr VᵀL_cV)

    s_ij = u_i · v_j,   y ∈ {0, 1},   w = c where y = 1, else 1
    L = D − N − Nᵀ      N_ij: the similarity of i with each of its k nearest, D the row sums of N + Nᵀ

AdaGrad, U and V in turn: U ← U − θ G / √(Σ G²). A step costs O(|Ω|k); what is not in Ω costs nothing (in the paper it
is a negative of weight 1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from everypair.data.observed import Observed
from everypair.features.laplacian import Laplacian
from everypair.parallel import single_threaded_blas
from everypair.problem.completion.low_rank import entries_of, sparse_adjoint, sparse_product
from everypair.types import Array64

LEAST = 1e-9  # of a sum of squares


@dataclass(frozen=True)
class NeighborhoodProblem:
    """Tested pairs (``values`` 0 or 1), the weight c of positives, and what smooths each side, if anything."""

    observed: Observed
    positive_weight: float
    reg: float
    graph_reg: float
    graphs: tuple[Laplacian | None, Laplacian | None]
    n_threads: int = 1

    @property
    def weights(self) -> Array64:
        """w."""
        return 1 + (self.positive_weight - 1) * self.observed.values

    def scores(self, U: Array64, V: Array64) -> Array64:
        """s at Ω."""
        return entries_of(self.observed, U, V, self.n_threads)

    def errors(self, U: Array64, V: Array64) -> Array64:
        """∂F/∂s at Ω: w (σ(s) − y)."""
        return np.asarray(self.weights * (probability(self.scores(U, V)) - self.observed.values))

    def value(self, U: Array64, V: Array64) -> float:
        """F."""
        s = self.scores(U, V)
        loss = float(self.weights @ (np.logaddexp(0, s) - self.observed.values * s))
        for factors, graph in zip((U, V), self.graphs):
            loss += 0.5 * self.reg * float(np.sum(factors * factors))
            if graph is not None:
                loss += 0.5 * self.graph_reg * float(np.sum(factors * graph.product(factors, self.n_threads)))
        return loss

    def slope(self, side: int, U: Array64, V: Array64) -> Array64:
        """∂F/∂U (side 0) or ∂F/∂V."""
        errors = self.errors(U, V)
        product, other = ((sparse_product, V), (sparse_adjoint, U))[side]
        own, graph = (U, V)[side], self.graphs[side]
        slope = product(self.observed, errors, other, self.n_threads) + self.reg * own
        return slope if graph is None else slope + self.graph_reg * graph.product(own, self.n_threads)


@dataclass(frozen=True)
class NeighborhoodState:
    """U, V, the sums of their squared slopes, and F there."""

    left: Array64
    right: Array64
    left_squares: Array64
    right_squares: Array64
    objective: float | None = None

    @classmethod
    def drawn(cls, shape: tuple[int, int], rank: int, random: np.random.Generator) -> NeighborhoodState:
        """Normal numbers of variance 1/rank."""
        U, V = (random.standard_normal((size, rank)) / np.sqrt(rank) for size in shape)
        return cls(U, V, np.zeros_like(U), np.zeros_like(V))


class AdaptiveSteps:
    """AdaGrad steps of length θ (``length``), one of U and one of V at a time."""

    descends = False

    def __init__(self, problem: NeighborhoodProblem, length: float) -> None:
        self.problem, self.length = problem, length

    def step(self, state: NeighborhoodState) -> NeighborhoodState:
        """One step of each side."""
        U, V = state.left, state.right
        with single_threaded_blas():
            slope = self.problem.slope(0, U, V)
            left_squares = state.left_squares + slope * slope
            U = U - self.length * slope / np.sqrt(left_squares + LEAST)
            slope = self.problem.slope(1, U, V)
            right_squares = state.right_squares + slope * slope
            V = V - self.length * slope / np.sqrt(right_squares + LEAST)
            return NeighborhoodState(U, V, left_squares, right_squares, self.problem.value(U, V))


def probability(scores: Array64) -> Array64:
    """σ(s), free of overflow.

    >>> probability(np.array([-1e4, 0.0])).tolist()
    [0.0, 0.5]
    """
    return np.asarray(0.5 + 0.5 * np.tanh(0.5 * scores))
