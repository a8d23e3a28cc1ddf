"""What a model's top lists are like beside being right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from everypair.evaluate.by_id import without_ids
from everypair.metrics.lists import KS, beyond_accuracy
from everypair.metrics.means import Metrics
from everypair.metrics.patterns import Matrix, positive_pattern
from everypair.metrics.stream import check_lengths


def list_metrics(
    model: Any, train: Matrix, test: Matrix | None = None, ks: Sequence[int] = KS, *, features: Any = None
) -> Metrics:
    """Recommend to the users with a test positive (to all without ``test``) and measure the lists.

    Returns ``novelty@k``, ``diversity@k``, ``serendipity@k`` (with ``test``), ``coverage@k`` and ``popularity@k`` of
    :func:`everypair.metrics.beyond_accuracy`, with standard errors; ``features`` say what items are like.

    >>> from everypair import Popularity
    >>> train = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0]])
    >>> found = list_metrics(Popularity().fit(train), train, ks=[2])
    >>> found["popularity@2"].__round__(3), found["coverage@2"]
    (0.222, 0.75)
    """
    lengths = check_lengths(ks)
    model, train, test, _ = without_ids(model, train, test)
    users = None
    if test is not None:
        users = np.flatnonzero(np.diff(positive_pattern(test, "test").indptr))
    lists, _ = model.recommend(users, n=max(lengths, default=1))
    return beyond_accuracy(lists, train, test, lengths, users=users, features=features)
