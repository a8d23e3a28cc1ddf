"""Ctrl-C: the first one ends a call, which keeps what it has learnt and warns; a second one raises KeyboardInterrupt.

A signal arrives as a ``KeyboardInterrupt`` in the main thread. The training loop turns the first into an outcome, and
whoever trains several times (a search, an ensemble, a report) stops there and keeps what is finished. Where nothing is,
the ``KeyboardInterrupt`` goes on to the caller.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from everypair.solvers.loop import Status


class InterruptedTraining(UserWarning):
    """Ctrl-C ended a call before it was done; what it had learnt by then is kept.

    >>> import warnings
    >>> warnings.simplefilter("error", InterruptedTraining)  # where half a model is worse than none
    """


def warn_interrupted(kept: str) -> None:
    """Warn the caller of the library; ``kept`` says what is left.

    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_interrupted("2 of 5 models are averaged.")
    >>> print(caught[0].message)
    Interrupted: 2 of 5 models are averaged.
    """
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "everypair":
        level, frame = level + 1, frame.f_back
    warnings.warn(f"Interrupted: {kept}", InterruptedTraining, stacklevel=level)


def was_interrupted(model: Any) -> bool:
    """Whether Ctrl-C ended the training of a fitted model."""
    return str(getattr(model, "status_", "")) == str(Status.INTERRUPTED)


@contextmanager
def inner_fits() -> Iterator[None]:
    """Fits inside do not warn of Ctrl-C: the call around them does, once it knows what is kept."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InterruptedTraining)
        yield
