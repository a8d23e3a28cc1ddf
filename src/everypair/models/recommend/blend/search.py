"""Members of a blend, fitted on a part of the events, weighed and compared by what was held out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from everypair.models.recommend.blend.scale import scaled, zero_of
from everypair.models.recommend.blend.weights import LENGTH, LONG, Weights, search_weights


class MemberSearch:
    """Fitted ``values`` and what they are measured by: held-out entries, or ``newcomers`` ranked among themselves."""

    def __init__(
        self, values: list[Any], train: Any, test: Any, seed: int, n_threads: int, content: bool, newcomers: bool
    ) -> None:
        self.values, self.seed, self.n_threads, self.content = values, seed, n_threads, content
        self.ranked: Any = np.unique(test.indices) if newcomers else slice(None)
        self.train, self.test = train[:, self.ranked], test[:, self.ranked]

    def __call__(
        self, members: Sequence[int], weights: Weights, searched: Sequence[int]
    ) -> tuple[Weights, list[dict[str, Any]]]:
        """The best weights of some of the values, those at ``searched`` to be found, and what was tried."""
        chosen = [self.values[member] for member in members]
        return search_weights(
            lambda users: [
                scaled(value.known(users).scores.dense(self.n_threads), zero_of(value), self.n_threads)[:, self.ranked]
                for value in chosen
            ],
            self.train, self.test, weights, self.seed, self.n_threads, searched, long_lists=self.content,
        )  # fmt: skip

    def quality(self, members: Sequence[int], weights: Weights) -> float:
        """What decides, at these weights."""
        row = self(members, weights, ())[1][0]
        return float(np.mean([row[name] for name in (f"ndcg@{LENGTH}", f"recall@{LONG}") if name in row]))
