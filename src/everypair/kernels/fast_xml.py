"""FastXML's tree (Prabhu and Varma, KDD 2014): rows split so that each half agrees on a ranking of labels.

    a node      r± = labels by falling Σ_{i: δ_i = ±1} c_i N_i y_i,           N_i = 1 / Σ_{k ≤ |y_i|} 1/log₂(1 + k)
                δ_i = sign of  N_i Σ_{l ∈ y_i} 1/log₂(1 + r⁺_l) − 1/log₂(1 + r⁻_l)          until no δ changes
    its split   w = argmin ‖w‖₁ + C Σ_i c_i log(1 + e^{−δ_i w·x_i}),          rows go by the sign of w·x_i
    a leaf      the mean of its rows' y_i, its largest entries

w comes from coordinate descent with Newton steps and a line search (Yuan, Chang, Hsieh and Lin, 2010). A node is a leaf
where it has few rows, or where its rows cannot be split.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from everypair.kernels.bpr import random_number

NDCG_PASSES = 50
SHRINK = 0.5  # of a step, until the objective falls enough
DECREASE = 0.01
MOST_HALVINGS = 20
LARGEST_STEP = 10.0


@njit(nogil=True, cache=True)
def _rank(sums: Any, gain: Any) -> None:
    """gain[l] = 1/log₂(1 + rank of l by falling sum), ties by ascending label."""
    order = np.argsort(-sums, kind="mergesort")
    for place in range(len(order)):
        gain[order[place]] = 1 / np.log2(place + 2.0)


@njit(nogil=True, cache=True)
def split_by_ranking(
    rows: Any, Y_indptr: Any, Y_indices: Any, scale: Any, n_labels: int, state: Any, sides: Any
) -> bool:
    """Set δ of some rows, from a random start; False where all end on one side. ``scale`` are c_i N_i of all rows."""
    for t in range(len(rows)):
        sides[t] = 1.0 if random_number(state) < 0.5 else -1.0
    sums, gains = np.zeros((2, n_labels)), np.zeros((2, n_labels))
    for _ in range(NDCG_PASSES):
        sums[:] = 0
        for t in range(len(rows)):
            i = rows[t]
            side = 1 if sides[t] > 0 else 0
            for e in range(Y_indptr[i], Y_indptr[i + 1]):
                sums[side, Y_indices[e]] += scale[i]
        _rank(sums[0], gains[0])
        _rank(sums[1], gains[1])
        changed = 0
        for t in range(len(rows)):
            i, better = rows[t], 0.0
            for e in range(Y_indptr[i], Y_indptr[i + 1]):
                better += gains[1, Y_indices[e]] - gains[0, Y_indices[e]]
            if better * sides[t] < 0:
                sides[t] = -sides[t]
                changed += 1
        if changed == 0:
            break
    up = 0
    for t in range(len(rows)):
        up += sides[t] > 0
    return 0 < up < len(rows)


@njit(nogil=True, cache=True)
def sparse_logistic(
    indptr: Any, rows: Any, values: Any, sides: Any, costs: Any, passes: int, tol: float, w: Any, grown: Any
) -> None:
    """w, from 0, of the columns of a matrix by ``indptr``; ``costs`` are C c_i, ``grown`` ends as e^{δ_i w·x_i}."""
    grown[:] = 1.0
    first = 0.0
    for sweep in range(passes):
        violation = 0.0
        for j in range(len(indptr) - 1):
            slope, curvature = 0.0, 1e-12
            for e in range(indptr[j], indptr[j + 1]):
                i = rows[e]
                rest = 1 / (1 + grown[i])
                slope -= costs[i] * values[e] * sides[i] * rest
                curvature += costs[i] * values[e] * values[e] * rest * (1 - rest)
            if w[j] == 0 and -1 <= slope <= 1:
                continue
            if w[j] > 0:
                violation += abs(slope + 1)
            elif w[j] < 0:
                violation += abs(slope - 1)
            else:
                violation += abs(slope) - 1
            if slope + 1 <= curvature * w[j]:
                step = -(slope + 1) / curvature
            elif slope - 1 >= curvature * w[j]:
                step = -(slope - 1) / curvature
            else:
                step = -w[j]
            step = min(max(step, -LARGEST_STEP), LARGEST_STEP)
            wanted = DECREASE * (slope * step + abs(w[j] + step) - abs(w[j]))
            for _ in range(MOST_HALVINGS):
                change = abs(w[j] + step) - abs(w[j])
                for e in range(indptr[j], indptr[j + 1]):
                    i = rows[e]
                    after = grown[i] * np.exp(sides[i] * step * values[e])
                    change += costs[i] * np.log((1 + 1 / after) / (1 + 1 / grown[i]))
                if change <= wanted:
                    w[j] += step
                    for e in range(indptr[j], indptr[j + 1]):
                        i = rows[e]
                        grown[i] = max(grown[i] * np.exp(sides[i] * step * values[e]), 1e-300)
                    break
                step *= SHRINK
                wanted *= SHRINK
        if sweep == 0:
            first = violation
        if violation <= tol * first:
            break


@njit(nogil=True, cache=True)
def _columns(rows: Any, X_indptr: Any, X_indices: Any, X_data: Any, count: Any) -> Any:
    """The part of X that has some rows, column by column: features that occur, indptr, rows within the part, values."""
    stored = 0
    for t in range(len(rows)):
        for e in range(X_indptr[rows[t]], X_indptr[rows[t] + 1]):
            count[X_indices[e]] += 1
            stored += 1
    features = np.flatnonzero(count)
    indptr = np.zeros(len(features) + 1, np.int64)
    for j in range(len(features)):
        indptr[j + 1] = indptr[j] + count[features[j]]
        count[features[j]] = indptr[j]
    inside, values = np.empty(stored, np.int32), np.empty(stored)
    for t in range(len(rows)):
        for e in range(X_indptr[rows[t]], X_indptr[rows[t] + 1]):
            place = count[X_indices[e]]
            inside[place], values[place] = t, X_data[e]
            count[X_indices[e]] = place + 1
    count[features] = 0
    return features, indptr, inside, values


@njit(nogil=True, cache=True)
def _room(array: Any, used: int, wanted: int) -> Any:
    """The array, twice as long where it is too short."""
    if used + wanted <= len(array):
        return array
    larger = np.empty(2 * (used + wanted), array.dtype)
    larger[:used] = array[:used]
    return larger


@njit(nogil=True, cache=True)
def grow_tree(
    seed: int, X_indptr: Any, X_indices: Any, X_data: Any, n_features: int, Y_indptr: Any, Y_indices: Any,
    n_labels: int, weights: Any, scale: Any, largest_leaf: int, leaf_labels: int, cost: float, passes: int, tol: float,
) -> Any:  # fmt: skip
    """One tree of all rows: (children, indptr, indices, values).

    ``children[v]`` are the nodes of negative and positive w·x, −1 in a leaf; ``indptr`` tells which ``indices`` and
    ``values`` are a node's own: its w, or the labels of a leaf and their share.
    """
    n = len(X_indptr) - 1
    state = np.array([np.uint64(seed) * np.uint64(2654435761) + np.uint64(88172645463325252)])
    order = np.arange(n)
    children = np.full((2 * n + 1, 2), -1, np.int32)
    begins, ends = np.zeros(2 * n + 1, np.int64), np.zeros(2 * n + 1, np.int64)
    indptr = np.zeros(2 * n + 2, np.int64)
    indices, found = np.empty(1024, np.int32), np.empty(1024)
    count = np.zeros(n_features, np.int64)
    shares = np.zeros(n_labels)
    ends[0] = n
    nodes, node = 1, 0
    while node < nodes:
        rows = order[begins[node] : ends[node]].copy()
        used = indptr[node]
        split = False
        if len(rows) > largest_leaf:
            sides = np.empty(len(rows))
            if split_by_ranking(rows, Y_indptr, Y_indices, scale, n_labels, state, sides):
                features, columns, inside, values = _columns(rows, X_indptr, X_indices, X_data, count)
                w, grown = np.zeros(len(features)), np.empty(len(rows))
                sparse_logistic(columns, inside, values, sides, cost * weights[rows], passes, tol, w, grown)
                products = np.zeros(len(rows))  # summed up in the order in which a new row's is
                for j in range(len(features)):
                    if w[j] != 0:
                        for e in range(columns[j], columns[j + 1]):
                            products[inside[e]] += w[j] * values[e]
                left, right = 0, len(rows)
                for t in range(len(rows)):
                    if products[t] > 0:
                        right -= 1
                        order[begins[node] + right] = rows[t]
                    else:
                        order[begins[node] + left] = rows[t]
                        left += 1
                split = 0 < left < len(rows)
                if split:
                    own = np.flatnonzero(w)
                    indices, found = _room(indices, used, len(own)), _room(found, used, len(own))
                    indices[used : used + len(own)] = features[own]
                    found[used : used + len(own)] = w[own]
                    indptr[node + 1] = used + len(own)
                    for side in range(2):
                        children[node, side] = nodes
                        begins[nodes] = begins[node] + (left if side else 0)
                        ends[nodes] = ends[node] if side else begins[node] + left
                        nodes += 1
        if not split:
            total = 0.0
            for t in range(len(rows)):
                total += weights[rows[t]]
                for e in range(Y_indptr[rows[t]], Y_indptr[rows[t] + 1]):
                    shares[Y_indices[e]] += weights[rows[t]]
            best = np.argsort(-shares, kind="mergesort")[:leaf_labels]
            indices, found = _room(indices, used, len(best)), _room(found, used, len(best))
            for label in best:
                if shares[label] > 0:
                    indices[used], found[used] = label, shares[label] / total
                    used += 1
            shares[:] = 0
            indptr[node + 1] = used
        node += 1
    return children[:nodes], indptr[: nodes + 1], indices[: indptr[nodes]], found[: indptr[nodes]]


@njit(nogil=True, cache=True)
def tree_scores(
    X_indptr: Any, X_indices: Any, X_data: Any, n_features: int, roots: Any, children: Any, indptr: Any, indices: Any,
    values: Any, scores: Any,
) -> None:  # fmt: skip
    """Add up the shares of the leaves that rows reach, one for each tree whose root is given."""
    x = np.zeros(n_features)
    for i in range(len(X_indptr) - 1):
        for e in range(X_indptr[i], X_indptr[i + 1]):
            x[X_indices[e]] = X_data[e]
        for root in roots:
            node = root
            while children[node, 0] >= 0:
                product = 0.0
                for e in range(indptr[node], indptr[node + 1]):
                    product += values[e] * x[indices[e]]
                node = children[node, 1] if product > 0 else children[node, 0]
            for e in range(indptr[node], indptr[node + 1]):
                scores[i, indices[e]] += values[e]
        for e in range(X_indptr[i], X_indptr[i + 1]):
            x[X_indices[e]] = 0.0
