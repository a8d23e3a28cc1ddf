"""Backtracking: a direction, then its length halved until g falls by a share of what its slope promises.

newton-linesearch   the Newton direction by CG, from length 1

Each trial costs O(|Ω|): the scores along the line are known, and the quadratic parts are two numbers.
"""

from __future__ import annotations

from everypair.problem.gram import inner
from everypair.problem.side import SidePoint
from everypair.solvers.side import SideNewton
from everypair.types import Array

SUFFICIENT = 0.01  # share of the predicted slope that backtracking asks for
BACKTRACK = 0.5
TRIALS = 30


class LineSearch:
    """Newton directions, each searched from length 1."""

    preconditioned = True

    def __call__(self, point: SidePoint, newton: SideNewton) -> SidePoint | None:
        """The next point."""
        step = newton.direction()
        return None if step is None else backtrack(point, step.step, step.image, 1.0)


def backtrack(point: SidePoint, step: Array, image: Array, length: float) -> SidePoint | None:
    """Halve the length until the decrease is sufficient."""
    change, slope = point.along(step, image), inner(point.gradient, step)
    for _ in range(TRIALS):
        if change(length) < SUFFICIENT * length * slope:
            return point.moved(step, image, length)
        length *= BACKTRACK
    return None
