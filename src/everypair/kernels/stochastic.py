"""Stochastic gradient, one pair at a time: the terms F is a sum of, and random steps along their gradients.

REFORM (NegSel (3.20)): |Ω| + m·n terms, and no need to know whether a pair is stored:
    stored e = (i, j):  c ℓ(y, s) − ½ p_i q_j (ỹ − s)² + ridge,      any (i, j):  ½ p_i q_j (ỹ − s)² + ridge
    ridge = ½ λ_i ‖u_i‖² / (n + |Ω_i|) + ½ λ̄_j ‖v_j‖² / (m + |Ω_j|)
BSEARCH and DENSE (NegSel (3.19)): m·n terms, c ℓ(y, s) where (i, j) is stored and ½ p_i q_j (ỹ − s)² elsewhere, with
    ridge = ½ λ_i ‖u_i‖² / n + ½ λ̄_j ‖v_j‖² / m; they differ in how the pair is looked up.

Terms are numbered, stored pairs first, so that drawing one is drawing an integer. The gradient of the number's term is
(g v_j + ridge share · u_i, g u_i + ridge share · v_j) with g = ∂term/∂s.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from everypair.kernels.indexed import FAST
from everypair.kernels.losses import loss_terms

REFORM, BSEARCH, DENSE = 0, 1, 2
OPTIONS = {"nogil": True, "cache": True, "error_model": "numpy", "fastmath": FAST}

# SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014
_STRIDE = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


class SampledTerms(NamedTuple):
    """What the terms are made of: stored pairs by rows, weights, values ỹ = constant + ũ_i · ṽ_j and ridge shares.

    ``rows`` is the row of every stored pair (REFORM); ``positions`` is 1 + the position of every stored pair in an
    m × n array that is 0 elsewhere (DENSE); either is empty where it is not used.
    """

    rows: NDArray[Any]
    positions: NDArray[Any]
    indptr: NDArray[Any]
    indices: NDArray[Any]
    c: NDArray[Any]
    y: NDArray[Any]
    p: NDArray[Any]
    q: NDArray[Any]
    constant: float
    left_values: NDArray[Any]
    right_values: NDArray[Any]
    left_ridge: NDArray[Any]
    right_ridge: NDArray[Any]
    left_free: NDArray[Any]
    right_free: NDArray[Any]


@njit(**OPTIONS)
def mixed(counter: Any) -> Any:
    """64 random bits from a counter that advances by a fixed stride."""
    x = (counter ^ (counter >> np.uint64(30))) * _FIRST
    x = (x ^ (x >> np.uint64(27))) * _SECOND
    return x ^ (x >> np.uint64(31))


@njit(**OPTIONS)
def stored_position(indptr: Any, indices: Any, i: Any, j: Any) -> Any:
    """Position of the stored pair (i, j), or −1, by binary search among the row's sorted indices."""
    low, high = indptr[i], indptr[i + 1]
    while low < high:
        middle = (low + high) // 2
        if indices[middle] < j:
            low = middle + 1
        else:
            high = middle
    return low if low < indptr[i + 1] and indices[low] == j else np.int64(-1)


@njit(**OPTIONS)
def term_gradient(variant: Any, loss_code: Any, terms: Any, number: Any, U: Any, V: Any, gu: Any, gv: Any) -> Any:
    """Fill the term's gradient in u_i and v_j, zero in columns that are not free, and return (i, j)."""
    e = np.int64(-1)
    if variant == REFORM and number < len(terms.indices):
        e = np.int64(number)
        i, j = np.int64(terms.rows[e]), np.int64(terms.indices[e])
    else:
        pair = number - len(terms.indices) if variant == REFORM else number
        i, j = pair // len(V), pair % len(V)
        if variant == BSEARCH:
            e = stored_position(terms.indptr, terms.indices, i, j)
        elif variant == DENSE:
            e = np.int64(terms.positions[i, j]) - 1
    s = 0.0
    for l in range(U.shape[1]):
        s += U[i, l] * V[j, l]
    g = 0.0
    if e < 0 or variant == REFORM:
        value = terms.constant
        for l in range(terms.left_values.shape[1]):
            value += terms.left_values[i, l] * terms.right_values[j, l]
        g = np.float64(terms.p[i]) * terms.q[j] * (s - value)
    if e >= 0:
        _, slope, _ = loss_terms(loss_code, np.float64(terms.y[e]), s)
        g = np.float64(terms.c[e]) * slope - g
    for l in range(U.shape[1]):
        gu[l] = (g * V[j, l] + terms.left_ridge[i] * U[i, l]) * terms.left_free[l]
        gv[l] = (g * U[i, l] + terms.right_ridge[j] * V[j, l]) * terms.right_free[l]
    return i, j


@njit(**OPTIONS)
def descend(
    row: Any, learner: Any, first: Any, last: Any, learning_rate: Any, gradient: Any, sums: Any, factors: Any
) -> None:
    """x_l ← x_l − η g_l, first ≤ l < last, with η = learning_rate / √G.

    G is the learner's sum of mean squared gradients of the row, this one included.
    """
    if first == last:
        return
    square = 0.0
    for l in range(first, last):
        square += gradient[l] * gradient[l]
    sums[row, learner] += square / (last - first)
    if sums[row, learner] > 0.0:
        eta = learning_rate / np.sqrt(sums[row, learner])
        for l in range(first, last):
            factors[row, l] -= eta * gradient[l]


@njit(**OPTIONS)
def random_updates(
    variant: Any, loss_code: Any, terms: Any, n_terms: Any, updates: Any, learning_rate: Any, slow: Any, wait: Any,
    counter: Any, U: Any, V: Any, left_sums: Any, right_sums: Any,
) -> Any:  # fmt: skip
    """Take ``updates`` random steps on U and V in place and return the counter to go on from.

    The first ``slow`` columns have one learner, the others a second one, which ``wait``s for so many updates.
    """
    gu, gv, rank = np.empty(U.shape[1]), np.empty(U.shape[1]), U.shape[1]
    for update in range(updates):
        counter += _STRIDE
        number = np.int64(mixed(counter) % np.uint64(n_terms))
        i, j = term_gradient(variant, loss_code, terms, number, U, V, gu, gv)
        descend(i, 0, 0, slow, learning_rate, gu, left_sums, U)
        descend(j, 0, 0, slow, learning_rate, gv, right_sums, V)
        if update >= wait:
            descend(i, 1, slow, rank, learning_rate, gu, left_sums, U)
            descend(j, 1, slow, rank, learning_rate, gv, right_sums, V)
    return counter


@njit(**OPTIONS)
def row_gradient(
    loss_code: Any, i: Any, e: Any, share: Any, indices: Any, c: Any, y: Any, values: Any, p: Any, q: Any, V: Any,
    sigma: Any, pulled: Any, ridge: Any, free: Any, u: Any, g: Any,
) -> None:  # fmt: skip
    """Fill g with r_e v_j + share · (p_i σ ∘ u − pulled_i + λ_i u): of row i's pairs one, of the rest a share."""
    j = indices[e]
    s = 0.0
    for l in range(len(u)):
        s += u[l] * V[j, l]
    _, slope, _ = loss_terms(loss_code, np.float64(y[e]), s)
    r = np.float64(c[e]) * slope - np.float64(p[i]) * q[j] * (s - values[e])
    for l in range(len(u)):
        g[l] = (r * V[j, l] + share * (p[i] * sigma[l] * u[l] - pulled[i, l] + ridge[i] * u[l])) * free[l]


@njit(**OPTIONS)
def row_updates(
    start: Any, stop: Any, loss_code: Any, indptr: Any, indices: Any, c: Any, y: Any, values: Any, p: Any, q: Any,
    V: Any, sigma: Any, pulled: Any, ridge: Any, free: Any, learning_rate: Any, seed: Any, U: Any, sums: Any,
) -> None:  # fmt: skip
    """Take |Ω_i| random steps on every row of [start, stop), the other side fixed; one without pairs is solved.

    A row's random numbers depend on the seed and its position alone.
    """
    g = np.empty(U.shape[1])
    for i in range(start, stop):
        stored = indptr[i + 1] - indptr[i]
        if stored == 0:
            for l in range(U.shape[1]):
                curvature = np.float64(p[i]) * sigma[l] + ridge[i]
                if free[l] and curvature > 0:
                    U[i, l] = pulled[i, l] / curvature
        counter = mixed(seed + np.uint64(i) * _STRIDE)
        for _ in range(stored):
            counter += _STRIDE
            e = indptr[i] + np.int64(mixed(counter) % np.uint64(stored))
            row_gradient(
                loss_code, i, e, 1.0 / stored, indices, c, y, values, p, q, V, sigma, pulled, ridge, free, U[i], g
            )
            descend(i, 1, 0, U.shape[1], learning_rate, g, sums, U)
