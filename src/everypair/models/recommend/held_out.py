"""``score`` of every recommender: the mean nDCG@10 of held-out positives of the training users."""

from __future__ import annotations

from typing import Any

from everypair.data.matching import as_events, held_out_matrix
from everypair.metrics.patterns import positive_pattern, stored_pattern
from everypair.metrics.ranking import check_truth
from everypair.metrics.stream import MEMORY_MB, measure
from everypair.models.recommend.recommender import in_positions, known_ids

LENGTH = 10


def held_out_ndcg(model: Any, interactions: Any) -> float:
    """Rank what the users of the training have not seen and measure where the held-out positives stand."""
    events = as_events(interactions, "interactions")
    if events is not None:
        known = known_ids(model)
        if known is None:
            raise ValueError("interactions has ids, but the model was fitted on a matrix: give a matrix.")
        interactions = held_out_matrix(events, known, "interactions")
    model = in_positions(model)
    seen, positives = stored_pattern(model.interactions_, "training"), positive_pattern(interactions, "interactions")
    if seen.shape != positives.shape:
        raise ValueError(
            f"score takes held-out entries of the training's users and items, {seen.shape}, got {positives.shape}: cut "
            "entries, not rows; with scikit-learn's searches by everypair.data.Entries(matrix)."
        )
    check_truth(seen, positives, "training", "interactions")
    result = measure(
        lambda users: model.score_users(users=users), seen, positives, (LENGTH,), "test", MEMORY_MB, model.n_threads
    )
    return result[f"ndcg@{LENGTH}"]
