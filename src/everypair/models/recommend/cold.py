"""Factors of users or items that have no events, in closed form from what is known of them.

    v(x) = v̄ + aW,          W = (AᵀA + λI)⁻¹ Aᵀ(V − v̄)                              linear
    v(x) = v̄ + k(a)ᵀ C,     C = (K + λI)⁻¹ (V − v̄),   K_ij = exp(−‖a_i − a_j‖²)      kernel

V are the factors that training found for those who have events, v̄ their mean, a = a(x) features as
:class:`~everypair.features.row_scale.RowScale` scales them, for the kernel in a metric that V has taught
(:mod:`everypair.features.learned_metric`, exponent ½). Who says nothing new is like the mean, not like the zero vector,
whose score of 0 stands far above the −1 that unknown pairs are pulled to. Ridges have the least leave-one-out error of
scores, which is that of (V − v̄)G^½ with G = UᵀU of the other side; the kernel's own is fixed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.features.row_scale import RowScale
from everypair.models.codec import storable
from everypair.models.state_checks import check_array
from everypair.parallel import even_chunks, run_chunks
from everypair.problem.gram import gram
from everypair.problem.rotation import row_products
from everypair.solvers.kernel_ridge.points import Points
from everypair.types import Array

KINDS = ("linear", "kernel", "weights")
EXPONENT = 0.5  # of the learned metric
KERNEL_RIDGE = 0.3
CHOICE_ROWS = 1000  # that the ridge is chosen on, at most
KERNEL_ROWS = 20_000  # entities with events, beyond which a kernel matrix is refused
ROWS_AT_ONCE = 128
FEWEST = 2  # entities with events, below which nothing can be learnt of them

storable(RowScale)


@storable
@dataclass(frozen=True, kw_only=True)
class ColdFactors:
    """``scale`` makes a of x, ``mean`` is v̄, ``weights`` are W, or C where there are ``rows`` a_i to compare with."""

    scale: RowScale
    mean: Array
    weights: Array
    rows: Any = None

    @classmethod
    def of(cls, features: Any, factors: Array, other: Array, kind: str, n_threads: int) -> Self:
        """Learn from the ``factors`` of entities that have events; ``other`` are those of the other side.

        >>> X, V = np.array([[1.0], [2.0], [3.0]]), np.array([[2.0], [4.0], [6.0]])
        >>> cold = ColdFactors.of(X, V, np.ones((2, 1)), "linear", n_threads=1)
        >>> cold(np.array([[2.0]]), n_threads=1).tolist()  # the mean
        [[4.0]]
        """
        if kind == "kernel" and len(factors) > KERNEL_ROWS:
            raise ValueError(
                f'Side(cold="kernel") compares every two that have events, and there are {len(factors):,}: up to '
                f'{KERNEL_ROWS:,} are allowed; use cold="linear".'
            )
        from everypair.features.ridge_weights import choose_ridge, ridge_weights  # scipy.linalg is slow to import, and
        from everypair.solvers.kernel_ridge.exact import KernelRidge  # answers do without

        dtype = factors.dtype
        mean = factors.mean(axis=0, dtype=np.float64).astype(dtype)
        targets = factors - mean
        told = targets @ _root(gram(other, np.ones(len(other)), n_threads=n_threads).matrix).astype(dtype)
        scale = RowScale.of(features)
        rows = scale(features, dtype)
        chosen = np.sort(np.random.default_rng(0).permutation(len(factors))[:CHOICE_ROWS])
        ridge = choose_ridge(rows[chosen], told[chosen])
        if kind == "linear":
            return cls(scale=scale, mean=mean, weights=ridge_weights(rows, targets, ridge))
        from everypair.features.learned_metric import learned_scale  # with scikit-learn, which answers do not need

        scale = learned_scale(scale, rows, told, ridge, EXPONENT)
        points = Points.of(scale(features, dtype))
        system = KernelRidge.of(
            lambda some, others: points[some].rbf(points[others], 1.0),
            np.full(len(points), KERNEL_RIDGE, dtype),
            n_threads,
        )
        return cls(scale=scale, mean=mean, weights=system.coefficients(targets), rows=points.rows)

    def check(self, width: int, columns: int) -> None:
        """Refuse what does not fit ``width`` features and ``columns`` of factors."""
        check_array("scale", self.scale.scale, width)
        check_array("mean", self.mean, columns)
        check_array("weights", self.weights, width if self.rows is None else self.rows.shape[0], columns)

    def __call__(self, features: Any, n_threads: int) -> Array:
        """v(x) of every row, whose bits do not depend on its company."""
        dtype, count = self.mean.dtype, features.shape[0]
        rows = self.scale(features, dtype)
        points = None if self.rows is None else Points.of(self.rows)
        out = np.empty((count, len(self.mean)), dtype)

        def work(chunk: tuple[int, int], worker: int) -> None:
            values = rows[slice(*chunk)]
            if points is not None:
                values = _points_like(points, values).rbf(points, 1.0, apart=True)
            if sp.issparse(values):
                out[slice(*chunk)] = values @ self.weights
            else:
                out[slice(*chunk)] = row_products(values, np.arange(len(values)), self.weights)

        run_chunks(work, even_chunks(count, ROWS_AT_ONCE), n_threads)
        out += self.mean
        return out


def learnt_newcomers(state: Any, sides: Any, n_threads: int) -> Any:
    """A state of a factorization that knows by their features newcomers, and those who were there without events."""
    cold: list[ColdFactors | None] = [None, None]
    changes: dict[str, Any] = {}
    for side, known in enumerate(sides):
        if known.cold == "weights" or known.features is None or not known.own:
            continue
        events = np.bincount(np.asarray(state.interactions.nonzero()[side]), minlength=state.shape[side]) > 0
        factors, other = (state.user_factors, state.item_factors)[:: 1 - 2 * side]
        features = known.features.matrix
        if np.count_nonzero(events) < FEWEST:
            continue
        found = ColdFactors.of(features[events], factors[events], other, known.cold, n_threads)
        cold[side] = found
        if not events.all() and (known.information is None or known.information.graph is None):
            filled = np.array(factors)
            filled[~events] = found(features[~events], n_threads)
            changes[("user_factors", "item_factors")[side]] = filled
    if sides[0].joint:
        changes["user_centers"] = sides[0].features.product(state.feature_weights[0], n_threads)
    elif sides[0].features is not None:
        changes["user_centers"] = np.zeros_like(state.user_factors)
    return replace(state, cold=tuple(cold), **changes)


def _points_like(points: Points, rows: Any) -> Points:
    """Rows, sparse or dense as ``points`` are."""
    if sp.issparse(points.rows):
        return Points(rows, np.asarray(rows.multiply(rows).sum(axis=1)).ravel().astype(rows.dtype))
    return Points.of(rows.toarray() if sp.issparse(rows) else rows)


def _root(square: NDArray[np.float64]) -> NDArray[np.float64]:
    """G^½."""
    import scipy.linalg

    values, vectors = scipy.linalg.eigh(square, check_finite=False)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T)
