"""What a completion model learns from, and the entries that it is measured by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from everypair.data.observed import Observed
from everypair.metrics.patterns import count_overlap
from everypair.models.completion.side import CompletionSide
from everypair.types import Array64

HELD_OUT, FEWEST = 0.2, 20  # share and number of held-out entries


@dataclass(frozen=True)
class CompletionData:
    """Observed entries and what is known of both sides."""

    observed: Observed
    left: CompletionSide | None
    right: CompletionSide | None

    @property
    def matrices(self) -> tuple[Array64 | None, Array64 | None]:
        """A and C, ``None`` for the identity."""
        return (None if self.left is None else self.left.matrix), (None if self.right is None else self.right.matrix)


def checked_validation(validation: Any, observed: Observed, patience: int | None) -> Observed | None:
    """Return held-out entries that are none of those observed, ``None`` without any."""
    if validation is None:
        if patience is not None:
            raise ValueError("patience needs validation data: fit(Y, validation=held_out).")
        return None
    held_out = Observed.from_matrix(validation, name="validation")
    check_like(held_out, observed.shape, observed.levels, "validation", "Y")
    shared = count_overlap(*(entries.with_values(np.ones(entries.nnz)).to_csr() for entries in (held_out, observed)))
    if shared:
        raise ValueError(f"{shared} entries of validation are observed in Y: hold them out of Y.")
    return held_out


def check_like(
    held_out: Observed, shape: tuple[int, int], levels: tuple[float, float] | None, name: str, matrix: str
) -> None:
    """Refuse entries to measure by that cannot be of the matrix that is learnt from."""
    if held_out.shape != shape:
        raise ValueError(f"{name} must have the shape of {matrix}, {shape}, got {held_out.shape}.")
    if levels is not None and held_out.levels != levels:
        raise ValueError(f"{name} must hold both values of {matrix}, {levels[0]:g} and {levels[1]:g}.")


def fifth_held_out(observed: Observed) -> tuple[Observed, Observed] | None:
    """Observed entries as (kept, held out); ``None`` where those that are held out would say nothing."""
    out = np.random.default_rng(0).random(observed.nnz) < HELD_OUT
    if np.count_nonzero(out) < FEWEST:
        return None
    kept, held_out = observed.take(~out), observed.take(out)
    if observed.levels is not None and not (kept.levels == held_out.levels == observed.levels):
        return None
    return kept, held_out
