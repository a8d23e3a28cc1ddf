"""``score`` of every recommender: the mean nDCG@10 of held-out positives of the training users."""

from __future__ import annotations

from typing import Any

from everypair.data.matching import as_events, held_out_matrix
from everypair.metrics.patterns import positive_pattern, stored_pattern
from everypair.metrics.ranking import check_truth, split_repeats
from everypair.metrics.stream import MEMORY_MB, measure
from everypair.models.recommend.by_id import ids_of_value
from everypair.parallel import resolve_threads

LENGTH = 10


def held_out_ndcg(value: Any, interactions: Any, n_threads: int | None) -> float:
    """Rank what the users of the training have not seen and measure where the held-out positives stand."""
    events = as_events(interactions, "interactions")
    if events is not None:
        ids = ids_of_value(value)
        if ids is None:
            raise ValueError("interactions has ids, but the model was fitted on a matrix: give a matrix.")
        interactions = held_out_matrix(events, ids, "interactions")
    seen, positives = stored_pattern(value.interactions, "training"), positive_pattern(interactions, "interactions")
    if seen.shape != positives.shape:
        raise ValueError(
            f"score takes held-out entries of the training's users and items, {seen.shape}, got {positives.shape}: cut "
            "entries, not rows; with scikit-learn's searches by everypair.data.Entries(matrix)."
        )
    seen, positives, _ = split_repeats(seen, positives, "drop", "training", "interactions")
    check_truth(seen, positives, "training", "interactions")
    threads = resolve_threads(n_threads)
    result = measure(
        lambda users: value.known(users).scores.dense(threads), seen, positives, (LENGTH,), "test", MEMORY_MB, n_threads
    )
    return result[f"ndcg@{LENGTH}"]
