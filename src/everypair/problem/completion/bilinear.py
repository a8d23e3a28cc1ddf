"""What side information says about a matrix: X = A N Cᵀ, with A (n × a), C (m × c) and weights N (a × c).

A side without features has the identity: X = N Cᵀ with N n × c, or X = A N with N a × m. With ``centred`` the columns
of X are compared, not their values: X = A N CᵀΠ with Π = I − 11ᵀ/m, that is C less its mean row. X is never formed; it
is the product of two thin factors.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg

from everypair.data.observed import Observed
from everypair.problem.completion.low_rank import entries_of, sparse_adjoint, sparse_product
from everypair.types import Array64


@dataclass(frozen=True)
class Bilinear:
    """The map N → A N Cᵀ (Π) and its adjoint; ``None`` for A or C is the identity, for both there is no such map.

    >>> side = Bilinear((3, 2), np.array([[1.0], [2.0], [0.0]]), None)
    >>> side.weights_shape, side.dense(np.array([[1.0, -1.0]])).tolist()
    ((1, 2), [[1.0, -1.0], [2.0, -2.0], [0.0, 0.0]])
    """

    shape: tuple[int, int]
    left: Array64 | None
    features: Array64 | None
    centred: bool = False

    @cached_property
    def right(self) -> Array64 | None:
        """C, less its mean row where only differences of columns count."""
        if self.features is None or not self.centred:
            return self.features
        return np.asarray(self.features - self.features.mean(axis=0))

    @property
    def absent(self) -> bool:
        """Whether neither side has features."""
        return self.left is None and self.features is None

    @property
    def weights_shape(self) -> tuple[int, int]:
        """(a, c)."""
        a = self.shape[0] if self.left is None else self.left.shape[1]
        return a, self.shape[1] if self.features is None else self.features.shape[1]

    def factors(self, weights: Array64) -> tuple[Array64, Array64]:
        """P (n × k), Q (m × k) with A N Cᵀ(Π) = P Qᵀ, k the smaller number of features."""
        if self.right is None:
            assert self.left is not None
            return self.left, self._centre(weights).T
        if self.left is None:
            return weights, self.right
        if weights.shape[1] <= weights.shape[0]:
            return self.left @ weights, self.right
        return self.left, self.right @ weights.T

    def dense(self, weights: Array64) -> Array64:
        """A N Cᵀ(Π), n × m numbers."""
        P, Q = self.factors(weights)
        return np.asarray(P @ Q.T)

    def entries(self, pattern: Observed, weights: Array64, n_threads: int = 1) -> Array64:
        """(A N Cᵀ)_ij at the entries of ``pattern``."""
        return entries_of(pattern, *self.factors(weights), n_threads)

    def project(self, left: Array64, right: Array64) -> Array64:
        """Aᵀ (left rightᵀ) (Π) C of a matrix in factors."""
        p = left if self.left is None else self.left.T @ left
        q = right if self.right is None else self.right.T @ right
        return self._centred_result(p @ q.T)

    def project_dense(self, matrix: Array64) -> Array64:
        """AᵀG(Π)C."""
        inner = matrix if self.right is None else matrix @ self.right
        return self._centred_result(inner if self.left is None else self.left.T @ inner)

    def project_sparse(self, pattern: Observed, values: Array64, n_threads: int = 1) -> Array64:
        """AᵀS(Π)C of a matrix stored at the entries of ``pattern``: O(|Ω| min(a, c))."""
        if self.right is None or (self.left is not None and self.left.shape[1] <= self.right.shape[1]):
            assert self.left is not None
            inner = sparse_adjoint(pattern, values, self.left, n_threads).T
            return self._centred_result(inner if self.right is None else inner @ self.right)
        inner = sparse_product(pattern, values, self.right, n_threads)
        return inner if self.left is None else np.asarray(self.left.T @ inner)

    def curve(self, weights: Array64) -> Array64:
        """AᵀA N Cᵀ(Π)C."""
        out = weights if self._left_gram is None else self._left_gram @ weights
        return self._centred_result(out if self._right_gram is None else out @ self._right_gram)

    @cached_property
    def curvature(self) -> float:
        """‖AᵀA‖₂ ‖Cᵀ(Π)C‖₂, the Lipschitz constant of ½‖A N Cᵀ(Π) − T‖² in N."""
        return _norm(self._left_gram) * _norm(self._right_gram)

    @property
    def longest_step(self) -> float:
        """The length of a gradient step of N that is the best of its model."""
        return 1.0 if self.absent else 1 / self.curvature

    @cached_property
    def lengths(self) -> tuple[Array64, Array64]:
        """Lengths of the columns of A and C(Π); 1 where a side has none, or a column is zero."""
        sizes = zip((self._left_gram, self._right_gram), self.weights_shape)
        left, right = (np.ones(size) if gram is None else _lengths(gram) for gram, size in sizes)
        return left, right

    @cached_property
    def unit_curvature(self) -> float:
        """The :attr:`curvature` for columns of unit length."""
        left, right = (
            None if gram is None else gram / np.outer(lengths, lengths)
            for gram, lengths in zip((self._left_gram, self._right_gram), self.lengths)
        )
        return _norm(left) * _norm(right)

    @cached_property
    def _left_gram(self) -> Array64 | None:
        return None if self.left is None else np.asarray(self.left.T @ self.left)

    @cached_property
    def _right_gram(self) -> Array64 | None:
        return None if self.right is None else np.asarray(self.right.T @ self.right)

    def _centre(self, weights: Array64) -> Array64:
        return weights - weights.mean(axis=1, keepdims=True) if self.centred else weights

    def _centred_result(self, projected: Array64) -> Array64:
        """Π on the right of a result whose columns are the matrix's own; elsewhere C holds it already."""
        return np.asarray(self._centre(projected) if self.right is None else projected)


def _norm(gram: Array64 | None) -> float:
    """The largest eigenvalue; of the identity (and of Π) it is 1."""
    if gram is None:
        return 1.0
    last = len(gram) - 1
    value: Any = scipy.linalg.eigvalsh(gram, subset_by_index=(last, last), check_finite=False)[0]
    return float(max(value, np.finfo(float).tiny))


def _lengths(gram: Array64) -> Array64:
    squares = np.diag(gram)
    return np.sqrt(np.where(squares > 0, squares, 1.0))
