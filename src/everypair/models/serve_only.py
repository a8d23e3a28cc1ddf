"""Serve-only models: a fitted state without what only training, explaining or growing it needs.

A field of a state that is marked ``field(metadata=TRAINING_ONLY)`` is replaced by :class:`Dropped`, which refuses every
use with a sentence. What answers questions stays: factors, weights, what users have seen, what fold-in needs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any, NoReturn

from everypair.models.registry import is_estimator

TRAINING_ONLY = {"training_only": True}


class ServeOnlyError(ValueError, AttributeError):
    """What is asked for was left out when the model was saved."""


class Dropped:
    """Stands for a field that was left out.

    >>> Dropped("history")[0]
    Traceback (most recent call last):
    everypair.models.serve_only.ServeOnlyError: this model was saved with serve_only=True and has no history; ...
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def refuse(self, *_: Any) -> NoReturn:
        """Say what is missing, and what to do."""
        raise ServeOnlyError(
            f"this model was saved with serve_only=True and has no {self.name}; save the fitted model without it, or "
            "fit again."
        )

    __getattr__ = __len__ = __iter__ = __bool__ = __getitem__ = __array__ = refuse

    def __repr__(self) -> str:
        return f"Dropped({self.name!r})"


def is_serve_only(state: Any) -> bool:
    """Whether something was left out of a fitted state, of those inside it, or of the fitted models it holds."""
    values = [getattr(state, one.name) for one in fields(state)]
    inner = [one.state_ for value in values if isinstance(value, tuple) for one in value if is_estimator(one)]
    inner += [value for value in values if is_dataclass(value) and not isinstance(value, type)]
    return any(isinstance(value, Dropped) for value in values) or any(map(is_serve_only, inner))


def without_training(state: Any, inside: Callable[[Any], Any]) -> Any:
    """Return a state with marked fields dropped; what is ``None`` stays.

    States inside it lose theirs, and so do fitted models in its tuples, by ``inside``.
    """
    changed: dict[str, Any] = {}
    for one in fields(state):
        value = getattr(state, one.name)
        if value is None:
            continue
        if "training_only" in one.metadata:
            changed[one.name] = Dropped(one.name)
        elif isinstance(value, tuple) and all(map(is_estimator, value)):
            changed[one.name] = tuple(map(inside, value))
        elif is_dataclass(value) and not isinstance(value, type):
            changed[one.name] = without_training(value, inside)
    return replace(state, **changed)
