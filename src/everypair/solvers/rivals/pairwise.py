"""Ranking by sampled pairs of items: Bayesian personalised ranking.

minimise Σ_i Σ_{j∈Ω_i⁺, l∉Ω_i⁺} a_ij [log(1 + e^{−(s_ij − s_il)}) + ridge]      by steps on random triples (i, j, l)

A positive (i, j) is drawn in proportion to its weight, one of its user's |Ω̄_i| other items uniformly: weights c_ij make
a_ij = c_ij/|Ω̄_i|, weights c_ij |Ω̄_i| make a_ij = c_ij.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from everypair.data.pairs import kept_pointers
from everypair.kernels.bpr import draw_triples, epoch
from everypair.kernels.warp import warp_epoch
from everypair.solvers.state import Factors
from everypair.types import Array

START_SQUARES = 1e-3  # what AdaGrad's sums of squares start from: it bounds the first steps
MEASURED_TRIPLES = 100_000  # the most triples of the objective's estimate


class Positives:
    """The positives of CSR rows: ``indptr``, ``indices``, ``owners`` (row of each) and ``sums`` of weights before each.

    With ``equal_triples`` a weight is multiplied by the number of the row's other items.

    >>> import scipy.sparse as sp
    >>> positives = Positives(sp.csr_array([[2.0, 0.0, -1.0], [0.0, 1.0, 3.0]]))
    >>> positives.indptr.tolist(), positives.indices.tolist(), positives.owners.tolist(), positives.sums.tolist()
    ([0, 1, 3], [0, 1, 2], [0, 1, 1], [0.0, 2.0, 3.0, 6.0])
    """

    def __init__(self, rows: Any, equal_triples: bool = False) -> None:
        liked = rows.data > 0
        self.indptr: Array = kept_pointers(rows.indptr, liked).astype(np.int64)
        self.indices: Array = rows.indices[liked].astype(np.int32)
        self.owners: Array = np.repeat(np.arange(rows.shape[0], dtype=np.int32), np.diff(self.indptr))
        weights = rows.data[liked].astype(np.float64)
        if equal_triples:
            weights *= (rows.shape[1] - np.diff(self.indptr))[self.owners]
        self.sums: Array = np.concatenate([[0.0], np.cumsum(weights)])


class StochasticRanking:
    """One epoch of stochastic gradient per step; AdaGrad's sums and the random numbers live here."""

    descends = False  # its objective is an estimate, which may rise

    def __init__(
        self, positives: Positives, shape: tuple[int, int], rate: float, reg: float, seeds: Any, dtype: Any
    ) -> None:
        self.positives = positives
        self.rate, self.reg = dtype.type(rate), dtype.type(reg)
        self.squares = tuple(np.full(size, START_SQUARES, dtype) for size in shape)
        self.state = np.array(seeds[:1], np.uint64)
        triples = np.empty((3, min(MEASURED_TRIPLES, 10 * len(positives.indices))), np.int64)
        draw_triples(
            positives.indptr, positives.indices, positives.owners, positives.sums, shape[1], triples,
            np.array(seeds[1:], np.uint64),
        )  # fmt: skip
        self.triples = triples[:, triples[2] >= 0]

    def step(self, state: Factors) -> Factors:
        """One epoch."""
        left, right = state.left.copy(), state.right.copy()
        p = self.positives
        epoch(len(p.indices), p.indptr, p.indices, p.owners, p.sums, self.rate, self.reg, left, right, *self.squares,
              self.state)  # fmt: skip
        return Factors(left, right, self.value(left, right))

    def memory(self) -> dict[str, Any]:
        """The sums of squares and the random numbers."""
        return {"squares": self.squares, "state": self.state}

    def recall(self, memory: dict[str, Any], state: Factors) -> None:
        """Go on from what :meth:`memory` said."""
        self.squares, self.state = memory["squares"], memory["state"]

    def value(self, left: Array, right: Array) -> float:
        """Mean of log(1 + e^{−s}) + λ/2 (‖w_i‖² + ‖v_j‖² + ‖v_l‖²) over the fixed triples, 0 where there are none."""
        users, positives, negatives = self.triples
        scores = np.einsum("tf,tf->t", left[users], right[positives] - right[negatives], dtype=np.float64)
        ridge = np.einsum("if,if->i", left[:, :-1], left[:, :-1], dtype=np.float64)[users]
        squares = np.einsum("if,if->i", right, right, dtype=np.float64)
        ridge = ridge + squares[positives] + squares[negatives]
        return float(np.sum(np.logaddexp(0, -scores) + 0.5 * float(self.reg) * ridge) / max(1, len(users)))


class WarpRanking:
    """One pass of WARP steps over features X and labels per step of the loop; the random numbers live here.

    ``everything`` says that every label is known; otherwise negatives come from the matrix ``negatives``.
    """

    descends = False  # its objective is the mean loss of the steps, which may rise

    def __init__(
        self,
        X: Any,
        positives: Any,
        negatives: Any,
        everything: bool,
        row_weights: Array | None,
        margin: float,
        rate: float,
        max_norm: float,
        seed: Array,
    ) -> None:
        self.X, self.positives, self.negatives, self.everything = X, positives, negatives, everything
        self.owners = np.repeat(np.arange(positives.shape[0]), np.diff(positives.indptr))
        self.sums = np.zeros(positives.nnz + 1)
        np.cumsum(np.ones(positives.nnz) if row_weights is None else row_weights[self.owners], out=self.sums[1:])
        self.harmonic = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, positives.shape[1] + 1))])
        self.margin, self.rate, self.max_norm, self.random = margin, rate, max_norm, seed

    def step(self, state: Factors) -> Factors:
        """One pass; ``left`` of the state is W, ``right`` is V."""
        W, V = state.left.copy(), state.right.copy()
        X, positives, negatives = self.X, self.positives, self.negatives
        objective = warp_epoch(
            positives.nnz, X.indptr, X.indices, X.data, positives.indptr, positives.indices, self.owners, self.sums,
            self.everything, negatives.indptr, negatives.indices, self.harmonic, self.margin, self.rate, self.max_norm,
            W, V, self.random,
        )  # fmt: skip
        return Factors(W, V, float(objective))

    def memory(self) -> dict[str, Any]:
        """The random numbers."""
        return {"random": self.random}

    def recall(self, memory: dict[str, Any], state: Factors) -> None:
        """Go on from what :meth:`memory` said."""
        self.random = memory["random"]
