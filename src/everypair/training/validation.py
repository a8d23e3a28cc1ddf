"""Held-out positives, measured after every sweep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from everypair.metrics import stream_metrics
from everypair.metrics.patterns import positive_pattern, stored_pattern
from everypair.metrics.ranking import check_truth, split_repeats
from everypair.parallel import blocked_product
from everypair.solvers.state import Factors
from everypair.types import Array

SCORED_ROWS = 256


def make_validator(
    training: Any, validation: Any, patience: int | None, n_threads: int
) -> Callable[[Factors], dict[str, float]] | None:
    """Return the function that measures held-out positives after a sweep, or None where there are none."""
    if validation is None:
        if patience is not None:
            raise ValueError("patience needs validation data: fit(interactions, validation=held_out).")
        return None
    seen, held_out = stored_pattern(training, "interactions"), positive_pattern(validation, "validation")
    seen, held_out, _ = split_repeats(seen, held_out, "drop", "interactions", "validation")
    check_truth(seen, held_out, "interactions", "validation")

    def validate(state: Factors) -> dict[str, float]:
        def score_rows(rows: Array) -> Array:
            return blocked_product(state.left[rows], state.right.T, SCORED_ROWS, n_threads)

        return stream_metrics(score_rows, seen, held_out, (10,), n_threads=n_threads)

    return validate
