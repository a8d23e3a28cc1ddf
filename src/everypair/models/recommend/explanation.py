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

from everypair.data.ids import Ids
from everypair.models.output import column_table
from everypair.problem.rows import RowProblem
from everypair.solvers.fold_in import FixedSide
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


def explain_pair(problem: RowProblem, user: Array, fixed: FixedSide, column: int, n: int | None) -> Explanation:
    """Explain the score of an item for the single row of ``problem``, whose factors are ``user``.

    In the axes of the fixed side A is the diagonal p Σ + λ, and a direction where it is nothing has no say.
    """
    items = problem.indices.astype(np.int64)
    rows, one, user = (part.astype(np.float64) for part in (fixed.factors[items], fixed.factors[column], user))
    p, q = float(problem.this_weights[0]), problem.other_weights[items].astype(np.float64)
    scores = rows @ user
    slopes = problem.weights * problem.loss.slope(problem.targets, scores) - p * q * (scores - problem.values)
    sigma, basis, free = fixed.axes.sigma, fixed.axes.basis, fixed.axes.free
    diagonal = np.where(free, p * sigma + float(problem.ridge[0]), 0)
    least = np.finfo(np.float64).eps * len(diagonal) * diagonal.max(initial=0)
    inside = np.divide(one @ basis, diagonal, out=np.zeros(len(diagonal)), where=diagonal > least)
    shares = -slopes * (rows @ (basis @ inside))
    score = float(one @ user)
    order = np.argsort(-np.abs(shares), kind="stable")[:n]
    return Explanation(score, score - float(shares.sum()), items[order], shares[order])


def explained_table(form: str, asked: tuple[Any, Any], why: Explanation, ids: Ids | None) -> Any:
    """Return a line per contribution and a last one for the base, which nothing the user has is the reason of.

    >>> why = Explanation(2.0, 0.5, np.array([1]), np.array([1.5]))
    >>> explained_table("pandas", ("ann", "iron"), why, Ids(["iron", "rain"]))
      user  item because  contribution
    0  ann  iron    rain           1.5
    1  ann  iron     NaN           0.5
    """
    reasons = np.append(why.items, -1)
    columns = {
        "user": np.full(len(reasons), asked[0]),
        "item": np.full(len(reasons), asked[1]),
        "because": reasons if ids is None else ids.names(reasons),
        "contribution": np.append(why.contributions, why.base),
    }
    return column_table(form, columns)
