"""Held-out positives of users, by which models are measured and compared user by user.

    value_i of every user i   →   mean v̄,  standard error s/√users,  and the same of differences between two models

Differences user by user are much surer than the difference of two means: what a user is like cancels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.metrics.patterns import Matrix, positive_pattern, stored_pattern
from everypair.metrics.per_row import user_metric
from everypair.metrics.ranking import Ranking, check_truth
from everypair.metrics.stream import MEMORY_MB, ScoreRows, rank_candidates
from everypair.parallel import resolve_threads
from everypair.types import Array64

MOST_USERS = 10_000  # are measured, drawn at random where there are more


class HeldOut:
    """Held-out positives of ``users``: by default of all who have one, or of 10,000 of them drawn at random.

    ``train`` and ``test`` are users × items; pairs stored in ``train`` are not ranked.

    >>> scores = np.array([[0.9, 0.5, 0.1], [0.2, 0.3, 0.4]])
    >>> held_out = HeldOut([[1, 0, 0], [0, 0, 1]], [[0, 1, 0], [1, 0, 0]])
    >>> held_out.users.tolist(), held_out.values("hit_rate@1", lambda users: scores[users]).tolist()
    ([0, 1], [1.0, 0.0])
    """

    def __init__(
        self, train: Matrix, test: Matrix, users: Any = None, *, random_state: Any = 0, n_threads: int | None = None
    ) -> None:
        seen, positives = stored_pattern(train, "train"), positive_pattern(test, "held-out entries")
        check_truth(seen, positives, "train", "held-out entries")
        if users is None:
            users = np.flatnonzero(np.diff(positives.indptr))
            if len(users) > MOST_USERS:
                users = np.sort(np.random.default_rng(random_state).choice(users, MOST_USERS, replace=False))
        self.users: NDArray[np.int64] = np.asarray(users)
        self.seen, self.positives = seen[self.users], positives[self.users]
        self.n_threads = resolve_threads(n_threads)

    def ranking(self, score_users: ScoreRows) -> Ranking:
        """Where the positives stand by ``score_users(users)``, which returns a row of scores for each user."""
        return self.rankings(lambda users: [score_users(users)], 1)[0]

    def rankings(self, score_users: Callable[[NDArray[np.int64]], Iterable[Any]], count: int) -> list[Ranking]:
        """The same for ``count`` models at once, whose scores ``score_users(users)`` gives one after the other."""
        return rank_candidates(
            lambda rows: score_users(self.users[rows]), count, self.seen, self.positives, 0, MEMORY_MB, self.n_threads
        )

    def values(self, metric: str, score_users: ScoreRows) -> Array64:
        """One value per user by a metric's name, such as ``"ndcg@10"``; NaN where it is not defined."""
        return checked_metric(metric)(self.ranking(score_users))


def checked_metric(name: Any) -> Callable[[Ranking], Array64]:
    """The metric of a ranking by its name, one value per user.

    >>> checked_metric("coverage@10")
    Traceback (most recent call last):
        ...
    ValueError: coverage@10 is a metric of all users together, and no user has it alone: name another.
    """
    metric = user_metric(name)
    if metric is None:
        raise ValueError(f"{name} is a metric of all users together, and no user has it alone: name another.")
    return metric


def users_with_positives(test: Matrix) -> NDArray[np.int64]:
    """Return the rows that have a positive.

    >>> users_with_positives([[0, 0], [0, 2]]).tolist()
    [1]
    """
    return np.flatnonzero(np.diff(positive_pattern(test, "held-out entries").indptr))
