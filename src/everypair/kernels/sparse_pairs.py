"""Scores of single pairs from the items that a user has, s_ij = base_j + Σ_l x_il B_lj, by looking j up in each row."""

from __future__ import annotations

from typing import Any

from numba import njit


@njit(nogil=True, cache=True)
def sparse_pair_scores(
    users: Any, wanted: Any, x_start: Any, x_items: Any, x_values: Any, b_start: Any, b_items: Any, b_values: Any,
    base: Any, out: Any,
) -> None:  # fmt: skip
    """out_t is the score of user users[t] and item wanted[t]: the bits of ``sparse_scores``.

    x_il = ±1 is the sign of a stored pair; rows of B have an item once, in any order.
    """
    for t in range(len(users)):
        j = wanted[t]
        total = base[j]
        for s in range(x_start[users[t]], x_start[users[t] + 1]):
            l = x_items[s]
            for place in range(b_start[l], b_start[l + 1]):
                if b_items[place] == j:
                    if x_values[s] > 0:
                        total += b_values[place]
                    else:
                        total -= b_values[place]
                    break
        out[t] = total
