"""A search that needs nothing: one parameter at a time first, then steps around the best so far that grow shorter.

Every fifth proposal of the second part looks anywhere in the box. Proposal t depends on the seed, on t and on what was
heard before, so a number of trials gives the same search again; nothing is proposed twice.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.tuning.space import Options, Space
from everypair.tuning.trial import Trial

STRIDE = 1 / 6  # of the box, one parameter at a time: 2.5 times as much or as little in the usual one
ANYWHERE = 5  # every so many proposals
LONGEST, SHORTEST = 0.2, 0.04  # standard deviation of a step, in shares of the box
HALVING = 16  # proposals after which a step is half as long
DRAWS = 20  # to find something that was not tried


class PlainSearch:
    """Proposes parameters; ``tell`` takes a finished trial."""

    def __init__(self, space: Space, usual: dict[str, Any], seed: int) -> None:
        self.space, self.seed = space, seed
        self.best = np.array([dimension.place(usual[name]) for name, dimension in space.items()])
        self.best_mean = -math.inf
        self.proposals = 0
        self.history: list[dict[str, Any]] = []
        self.earlier_trials: list[Trial] = []  # of another run: none

    def propose(self) -> dict[str, Any]:
        """The next parameters."""
        self.proposals += 1
        random = np.random.default_rng([self.seed, self.proposals])
        parameters: dict[str, Any] = {}
        for draw in range(DRAWS):
            parameters = self._values(self._places(random, first=draw == 0))
            if parameters not in self.history:
                break
        self.history.append(parameters)
        return parameters

    def tell(self, trial: Trial) -> None:
        """Learn from a finished trial."""
        self.history.append(trial.parameters)
        if trial.means.all > self.best_mean:
            self.best_mean = trial.means.all
            self.best = np.array([self.space[name].place(trial.parameters[name]) for name in self.space])

    def _places(self, random: np.random.Generator, first: bool) -> NDArray[np.float64]:
        d = len(self.space)
        late = self.proposals - 2 * d
        if late <= 0 and first:
            number, up = divmod(self.proposals - 1, 2)
            dimension = list(self.space.values())[number]
            stride = 1 / len(dimension.values) if isinstance(dimension, Options) else STRIDE
            places = self.best.copy()
            places[number] = np.clip(places[number] + (stride if up else -stride), 0, 1)
            return places
        if late > 0 and late % ANYWHERE == 0:
            return random.random(d)
        moved = random.random(d) < 0.5
        moved[random.integers(d)] = True
        length = max(LONGEST * 0.5 ** (max(late, 0) / HALVING), SHORTEST)
        strides = [
            max(length, 1 / len(one.values)) if isinstance(one, Options) else length for one in self.space.values()
        ]
        places = self.best + moved * np.array(strides) * random.standard_normal(d)
        return 1 - np.abs(1 - np.abs(places) % 2)  # reflected at the ends

    def _values(self, places: NDArray[np.float64]) -> dict[str, Any]:
        return {name: dimension.at(float(place)) for (name, dimension), place in zip(self.space.items(), places)}
