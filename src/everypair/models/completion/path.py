"""The regularisation by a path: from strong to weak with warm starts, judged at held-out observed entries.

Each regulariser runs over shares of the value from which on its part of the model is zero, so the grid needs no units;
a walk ends where quality has fallen twice.
One fifth of the observed entries is held out (never anything else), the best point is the one of the greatest AUC
where Y has two values, of the greatest r² otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from typing import Generic, Protocol, Self, TypeVar

from everypair.data.observed import Observed
from everypair.models.completion.data import fifth_held_out
from everypair.solvers.loop import Solver, Status, StopRules, run
from everypair.solvers.state import State

SHARES = {
    "nuclear_reg": (1.0, 0.5, 0.2, 0.08, 0.03, 0.01, 0.003),
    "l1_reg": (0.3, 0.1, 0.03, 0.01, 0.003),
    "reg": (0.01, 0.03, 0.08, 0.2, 0.5),  # not convex: factors that a strong one made vanish do not come back
}
USUAL = {"nuclear_reg": 0.5, "l1_reg": 0.03, "reg": 0.08}  # where too little is observed to hold anything out
WORSE = 2  # points in a row that are worse than the best before them end a walk
ITERATIONS = 60
TOLERANCE = 1e-3


class WarmState(State, Protocol):
    """A solver's state that another training can start from."""

    def fresh(self) -> Self:
        """The same place as a start."""
        ...


Iterate = TypeVar("Iterate", bound=WarmState)
Regularisation = dict[str, float]


@dataclass(frozen=True)
class PathPoint(Generic[Iterate]):
    """A prepared problem: where to start, its solver for a regularisation, and the quality of a state."""

    start: Iterate
    solver: Callable[[Regularisation], Solver[Iterate]]
    measure: Callable[[Iterate], dict[str, float]]


def search(
    observed: Observed,
    strongest: Regularisation,
    automatic: list[str],
    fixed: Regularisation,
    rules: StopRules,
    prepare: Callable[[Observed, Observed], PathPoint[Iterate]],
) -> tuple[Regularisation, list[dict[str, float]], Iterate | None]:
    """Return the best values of the ``automatic`` regularisers, every point tried, and the best point's state."""
    usual = {name: USUAL[name] * strongest[name] for name in automatic}
    automatic = [name for name in automatic if strongest[name] > 0]  # zero: there is nothing to regularise
    split = fifth_held_out(observed)
    if split is None or not automatic:
        return usual, [], None
    point = prepare(*split)
    monitor = "r2" if observed.levels is None else "auc"
    inner = StopRules(min(rules.max_iter, ITERATIONS), max(rules.tol, TOLERANCE), None, rules.time_limit)
    last = automatic[0]  # the innermost loop: warm starts run along it
    others = [name for name in automatic if name != last]
    tried: list[dict[str, float]] = []
    best: tuple[float, Regularisation, Iterate | None] = (-math.inf, usual, None)
    seconds = 0.0
    for outer in product(*(SHARES[name] for name in others)):
        state = point.start
        seen: list[float] = []
        for share in SHARES[last]:
            shares = {**dict(zip(others, outer)), last: share}
            values = {**usual, **{name: share * strongest[name] for name, share in shares.items()}}
            outcome = run(point.solver({**fixed, **values}), state, inner)
            if outcome.status is Status.INTERRUPTED:
                raise KeyboardInterrupt
            if outcome.status is Status.NOT_FINITE:
                break
            quality = point.measure(outcome.state)
            tried.append({**values, **quality})
            if quality[monitor] > best[0]:
                best = (quality[monitor], values, outcome.state)
            state = outcome.state.fresh()
            seen.append(quality[monitor])
            if rules.time_limit is not None:
                seconds += outcome.history[-1]["seconds"]
                if seconds > rules.time_limit / 2:
                    return best[1], tried, best[2]
                inner = replace(inner, time_limit=rules.time_limit / 2 - seconds)
            if len(seen) > WORSE and max(seen[-WORSE:]) < max(seen[:-WORSE]):
                break
    return best[1], tried, best[2]
