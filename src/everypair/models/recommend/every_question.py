"""Every question that a recommender answers, asked once: kernels are compiled, or read from numba's cache.

A kernel is compiled for the types that it meets, so the model itself is asked, about few and about many users at once.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from everypair.data.rows import StoredRows
from everypair.models.recommend.fitted import ComparesItems, ComparesUsers, Explains
from everypair.retrieve.room import EXACT_ROWS

SIZES = (1, 2, EXACT_ROWS + 1)  # of which each is another way through
ITEMS = 3  # of somebody new


def ask_everything(model: Any) -> None:
    """Ask a recommender in positions for lists, neighbours, scores, reasons and factors of new users.

    What a model refuses, as one with explicit targets refuses events without them, needs no kernel.
    """
    n_users, n_items = model.state_.shape
    width = min(ITEMS, n_items)
    few = np.arange(width)
    for size in SIZES:
        users = np.arange(min(size, n_users))
        new = StoredRows.of_lists([width] * size, np.tile(few, size), np.ones(width * size), n_items)
        model.recommend(users, n=1)
        model.recommend(users, n=n_items)  # too long for rough scores
        model.recommend(users, n=1, allow=few)
        model.recommend(users, n=1, block=few)
        with suppress(ValueError):
            model.recommend(interactions=new, n=1)
        if isinstance(model.state_, ComparesUsers):
            model.similar_users(users, n=1)
        if isinstance(model.state_, ComparesItems):
            model.similar_items(np.arange(min(size, n_items)), n=1)
    model.score_pairs([0], [0])
    model.score_users([0])
    if isinstance(model.state_, Explains):
        with suppress(ValueError):
            model.explain(0, 0)
