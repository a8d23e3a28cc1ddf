"""``score`` of every recommender: the mean nDCG@10 of held-out positives.

    as many rows as training had:  held-out entries of the same users, ranked among what these have not seen
    any other number of rows:      users whom training has not seen; a fifth of each one's entries is hidden, the rest
                                   folded in

scikit-learn's ``cv=3`` cuts the rows of a matrix, which are users, its ``Entries`` cut entries.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from everypair.check import as_csr
from everypair.data.matching import as_events, held_out_matrix
from everypair.data.splits import split_per_row
from everypair.metrics.patterns import count_overlap, positive_pattern, stored_pattern
from everypair.metrics.ranking import check_truth, split_repeats
from everypair.metrics.stream import MEMORY_MB, measure
from everypair.models.recommend.by_id import ids_of_value
from everypair.models.recommend.fitted import Newcomers
from everypair.parallel import resolve_threads

LENGTH = 10
HIDDEN = 0.2  # share of a new user's entries
OTHERWISE = "everypair.data.Entries(matrix) cuts entries for scikit-learn's searches, cv=3 whole users"


def held_out_ndcg(value: Any, interactions: Any, n_threads: int | None) -> float:
    """Rank what users have not seen and measure where their held-out positives stand."""
    events, ids = as_events(interactions, "interactions"), ids_of_value(value)
    if events is not None:
        if ids is None:
            raise ValueError("interactions has ids, but the model was fitted on a matrix: give a matrix.")
        interactions = held_out_matrix(events, ids, "interactions")
    seen, positives = stored_pattern(value.interactions, "training"), positive_pattern(interactions, "interactions")
    if events is None and seen.shape[0] != positives.shape[0]:
        return _of_new_users(value, seen, interactions, n_threads)
    if seen.shape != positives.shape:
        raise ValueError(_other_items(seen, positives))
    seen, fresh, repeats = split_repeats(seen, positives, "drop", "training", "interactions")
    if repeats and events is None:
        raise ValueError(
            f"{repeats} of {positives.nnz} positives of interactions are stored in training too: in as many rows as "
            f"training had they must be held-out entries of the same users. {OTHERWISE}."
        )
    threads = resolve_threads(n_threads)
    return _ndcg(lambda users: value.known(users).scores.dense(threads), seen, fresh, n_threads)


def _of_new_users(value: Any, training: sp.csr_array, interactions: Any, n_threads: int | None) -> float:
    """The same for users whom training has not seen, who show all but a fifth of what they have."""
    rows, _ = as_csr(interactions, np.float32, "interactions")
    if rows.shape[1] != training.shape[1]:
        raise ValueError(_other_items(training, rows))
    both = min(rows.shape[0], training.shape[0])
    if not count_overlap(training[:both], positive_pattern(rows[:both], "interactions")):
        raise ValueError(
            f"score takes held-out entries of training's users, {training.shape}, or other users' rows; these "
            f"{rows.shape[0]} rows have nothing that training's first {both} have, as held-out entries would: give "
            f"them training's shape. {OTHERWISE}."
        )
    shown, hidden = split_per_row(rows, HIDDEN, random_state=0)
    threads = resolve_threads(n_threads)

    def scores(users: Any) -> Any:
        return value.described(Newcomers(shown[users]), threads).scores.dense(threads)

    return _ndcg(scores, stored_pattern(shown, "shown"), positive_pattern(hidden, "interactions"), n_threads)


def _ndcg(scores: Callable[[Any], Any], seen: sp.csr_array, positives: sp.csr_array, n_threads: int | None) -> float:
    check_truth(seen, positives, "training", "interactions")
    return measure(scores, seen, positives, (LENGTH,), "test", MEMORY_MB, n_threads)[f"ndcg@{LENGTH}"]


def _other_items(training: Any, interactions: Any) -> str:
    return (
        f"score takes users of the training's {training.shape[1]} items, got the shape {interactions.shape}. "
        f"{OTHERWISE}."
    )
