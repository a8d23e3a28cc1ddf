"""Generated interactions: power-law activity, power-law popularity, low-rank taste."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp


def generate(n_users: int = 69_878, n_items: int = 10_677, n_pairs: int = 4_500_000, seed: int = 0) -> Any:
    """Return a CSR matrix of ones with about ``n_pairs`` entries.

    Each user's activity is Pareto; his events are drawn from six times as many candidates by popularity, those that
    fit his taste (a 16-dimensional inner product) and luck (a Gumbel variable) best.
    """
    random = np.random.default_rng(seed)
    activity = random.pareto(1.2, n_users) + 0.3
    activity = np.minimum(activity / activity.sum() * n_pairs, n_items * 0.2)
    activity = np.maximum(5, activity * n_pairs / activity.sum()).astype(np.int64)
    popularity = np.arange(1, n_items + 1) ** -0.9
    cumulative = np.cumsum(random.permutation(popularity))
    left = 0.6 * random.standard_normal((n_users, 16))
    right = 0.6 * random.standard_normal((n_items, 16))
    columns = []
    for user, count in enumerate(activity):
        draws = np.searchsorted(cumulative, random.random(6 * count) * cumulative[-1])
        candidates = np.unique(draws)
        taste = right[candidates] @ left[user] + random.gumbel(size=len(candidates))
        columns.append(candidates[np.argsort(-taste)[:count]])
    indptr = np.concatenate([[0], np.cumsum([len(c) for c in columns])])
    indices = np.concatenate(columns)
    matrix = sp.csr_matrix((np.ones(len(indices), np.float32), indices, indptr), shape=(n_users, n_items))
    matrix.sort_indices()
    return matrix
