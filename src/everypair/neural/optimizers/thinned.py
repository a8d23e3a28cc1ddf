"""Id dropout around any optimiser: a sweep sees towers without the ids of a random share of the entities.

Random numbers depend on the seed and the number of steps alone. L is that of the whole towers, and need not fall.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from everypair.neural.objective import TowerObjective
from everypair.neural.optimizers.state import evaluated
from everypair.neural.trees import Both


class Thinned:
    """The optimiser that ``make`` returns, on another thinned objective in every sweep."""

    descends = False

    def __init__(
        self, make: Callable[[TowerObjective], Any], objective: TowerObjective, share: float, seed: int
    ) -> None:
        self.make, self.objective, self.share, self.seed = make, objective, share, seed

    def fresh(self, theta: Both) -> Any:
        """Before the first step."""
        return self.make(self.objective).fresh(theta)

    def step(self, state: Any) -> Any:
        """One sweep."""
        thin = self.objective.thinned(self.share, np.random.default_rng([self.seed, state.steps]))
        after = self.make(thin).step(state)
        return replace(after, **evaluated(self.objective.at(after.theta), after.steps))
