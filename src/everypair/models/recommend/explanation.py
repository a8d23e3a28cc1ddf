"""Why a user has a score for an item, as a sum over what the user did.

At the optimum of a row's sub-problem, 0 = Σ_Ω r_j v_j + A u − p Σ_j q_j ỹ_j v_j with A = p VᵀQV + λ I, so the score
of an item with factors v is

    uᵀv = Σ_Ω (−r_j vᵀA⁻¹v_j) + base

for every loss: r_j is the slope of the loss at the pair, less the negative it replaces.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair.problem.rows import RowProblem
from everypair.types import Array


class Explanation(NamedTuple):
    """``base`` + Σ ``contributions`` = ``score``; contributions of ``items``, the largest (in size) first.

    A model that compares by features splits the same sum once more, into ``feature_contributions`` of ``features``
    (their names, or their columns where they have none); others have None there.

    >>> from everypair import OneClassMF
    >>> events = [("ann", "rain"), ("ann", "iron"), ("bob", "rain"), ("bob", "blue"), ("cem", "iron")]
    >>> why = OneClassMF(rank=2, random_state=0).fit(events).explain("ann", "blue")
    >>> sorted(why.items), bool(abs(why.base + why.contributions.sum() - why.score) < 1e-4)
    (['iron', 'rain'], True)
    """

    score: float
    base: float
    items: NDArray[np.int64]
    contributions: Array
    features: NDArray[Any] | None = None
    feature_contributions: Array | None = None


def explain_pair(problem: RowProblem, user: Array, others: Array, column: int, n: int | None) -> Explanation:
    """Explain the score of ``others[column]`` for the single row of ``problem``, whose factors are ``user``."""
    factors, user = others.astype(np.float64), user.astype(np.float64)
    items = problem.indices.astype(np.int64)
    p, q = float(problem.this_weights[0]), problem.other_weights[items].astype(np.float64)
    scores = factors[items] @ user
    slopes = problem.weights * problem.loss.slope(problem.targets, scores) - p * q * (scores - problem.values)
    free = problem.free_columns(factors.shape[1])
    gram = problem.gram_of(others).matrix[np.ix_(free, free)]
    system = p * gram + float(problem.ridge[0]) * np.eye(len(gram))
    influence = np.linalg.lstsq(system, factors[column, free], rcond=None)[0]
    shares = -slopes * (factors[items][:, free] @ influence)
    score = float(factors[column] @ user)
    order = np.argsort(-np.abs(shares), kind="stable")[:n]
    return Explanation(score, score - float(shares.sum()), items[order], shares[order])
