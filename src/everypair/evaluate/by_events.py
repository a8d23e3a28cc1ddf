"""Recall by the number of events that an item has in training: where side information pays, and where it costs.

recall@n of a group = test entries of its items that are among their user's n best / test entries of its items
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair import check
from everypair.evaluate.by_id import without_ids
from everypair.metrics.patterns import positive_pattern
from everypair.metrics.per_row import rows_error

EDGES = (0, 1, 2, 6)  # where groups begin
LENGTH = 20


class ItemGroup(NamedTuple):
    """Test entries of items with ``low`` to ``high`` training events (None: or more), their recall and its error."""

    low: int
    high: int | None
    entries: int
    recall: float
    error: float

    @property
    def name(self) -> str:
        """The number of events in words.

        >>> ItemGroup(2, 5, 10, 0.5, 0.1).name, ItemGroup(6, None, 10, 0.5, 0.1).name, ItemGroup(1, 1, 3, 0.5, 0.1).name
        ('2–5', '6 or more', '1')
        """
        if self.high is None:
            return f"{self.low} or more"
        return str(self.low) if self.low == self.high else f"{self.low}–{self.high}"


def recall_by_events(model: Any, train: Any, test: Any, n: int = LENGTH) -> list[ItemGroup]:
    """Return the share of test entries that are among their user's ``n`` best, by training events of the item.

    Groups are items with 0, 1, 2 to 5 and 6 or more events; those without a test entry are left out. Standard errors
    take entries as independent.

    >>> from everypair import Popularity
    >>> train = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 0]])
    >>> test = np.array([[0, 0, 1, 0], [0, 1, 0, 0], [0, 1, 0, 1]])
    >>> for group in recall_by_events(Popularity().fit(train), train, test, n=1):
    ...     print(group.name, group.entries, round(group.recall, 2))
    0 1 0.0
    1 3 1.0
    """
    check.integer("n", n)
    model, train, test, _ = without_ids(model, train, test)
    liked, positives = positive_pattern(train, "train"), positive_pattern(test, "test")
    users = np.flatnonzero(np.diff(positives.indptr))
    lists, _ = model.recommend(users, n=n)
    events = np.bincount(liked.indices, minlength=liked.shape[1])
    return grouped_by_events(events[positives[users].indices], hits(lists, positives[users]))


def grouped_by_events(events: NDArray[Any], found: NDArray[np.bool_]) -> list[ItemGroup]:
    """Recall of test entries by the ``events`` of their items; ``found`` says which are in their lists.

    >>> [tuple(group)[:4] for group in grouped_by_events(np.array([0, 3, 9, 9]), np.array([False, True, True, False]))]
    [(0, 0, 1, 0.0), (2, 5, 1, 1.0), (6, None, 2, 0.5)]
    """
    groups, part = [], np.searchsorted(EDGES, events, side="right") - 1
    for number, low in enumerate(EDGES):
        own = found[part == number].astype(np.float64)
        if len(own):
            high = EDGES[number + 1] - 1 if number + 1 < len(EDGES) else None
            groups.append(ItemGroup(low, high, len(own), float(own.mean()), rows_error(own)))
    return groups


def hits(lists: NDArray[Any], positives: Any) -> NDArray[np.bool_]:
    """Whether each positive, in row-major order, is in its row's list.

    >>> import scipy.sparse as sp
    >>> hits(np.array([[2, 0], [1, -1]]), sp.csr_array([[1, 1, 0], [0, 1, 1]])).tolist()
    [True, False, True, False]
    """
    owner = np.repeat(np.arange(len(lists)), np.diff(positives.indptr))
    return np.asarray((lists[owner] == positives.indices[:, None]).any(axis=1))
