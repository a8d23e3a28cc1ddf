"""Nesterov's sequence: θ ← (1 + √(1 + 4θ²))/2, and the push (θ_before − 1)/θ of the last move."""

from __future__ import annotations

from math import sqrt


def next_momentum(theta: float) -> tuple[float, float]:
    """Return the next θ and how much of the last move is added before a step.

    >>> theta, push = next_momentum(1.0)
    >>> round(theta, 3), push
    (1.618, 0.0)
    """
    following = (1 + sqrt(1 + 4 * theta * theta)) / 2
    return following, (theta - 1) / following


def rises(before: float | None, after: float | None) -> bool:
    """Whether a step with momentum raised F, so that a plain one should be taken instead.

    >>> rises(None, 1.0), rises(1.0, 0.5), rises(1.0, 1.5)
    (False, False, True)
    """
    return before is not None and after is not None and after > before
