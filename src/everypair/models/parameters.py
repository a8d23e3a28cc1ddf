"""Checks of constructor parameters: each refuses what makes no sense with a sentence, before any work starts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from everypair.problem.losses import Loss
from everypair.problem.negatives import Value
from everypair.solvers.loop import Callback, StopRules


def is_number(value: Any) -> bool:
    """Whether ``value`` is a real number, not a bool, not NaN."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and not np.isnan(value)


def integer(name: str, value: Any, least: int = 1) -> int:
    """Return a parameter that must be an integer of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} must be an integer ≥ {least}, got {value!r}.")
    return int(value)


def stop_rules(max_iter: Any, tol: Any, patience: Any, time_limit: Any) -> StopRules:
    """Check when to stop."""
    if not is_number(tol) or tol < 0:
        raise ValueError(f"tol must be a number ≥ 0, got {tol!r}.")
    if patience is not None and (not is_number(patience) or int(patience) != patience or patience < 1):
        raise ValueError(f"patience must be a positive integer or None, got {patience!r}.")
    if time_limit is not None and (not is_number(time_limit) or time_limit <= 0):
        raise ValueError(f"time_limit must be a positive number of seconds or None, got {time_limit!r}.")
    return StopRules(integer("max_iter", max_iter), float(tol), patience, time_limit)


def float_dtype(dtype: Any) -> np.dtype[Any]:
    """Return float32 or float64."""
    try:
        checked = np.dtype(dtype)
    except TypeError:
        checked = np.dtype(object)
    if checked not in (np.float32, np.float64):
        raise ValueError(f'dtype must be "float32" or "float64", got {dtype!r}.')
    return checked


def generator(random_state: Any) -> np.random.Generator:
    """Return the random numbers of a seed, a generator or ``None`` (other numbers at every fit)."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as failure:
        raise ValueError(
            f"random_state must be a non-negative integer, a numpy Generator or None, got {random_state!r}."
        ) from failure


def negative_value(value: Any, loss: Loss) -> Value:
    """Resolve ``"auto"`` to the loss's own value of a negative."""
    if isinstance(value, str) and value == "auto":
        return loss.negative_value
    if isinstance(value, tuple | list) or is_number(value):
        return value
    raise ValueError(f'negative_value must be a number, (Ũ, Ṽ) or "auto", got {value!r}.')


def checked_callbacks(callbacks: Iterable[Callback]) -> tuple[Callback, ...]:
    """Refuse callbacks that cannot be called."""
    checked = tuple(callbacks)
    for callback in checked:
        if not callable(callback):
            raise TypeError(f"callbacks must be functions of a Sweep, got {callback!r}.")
    return checked
