"""What is searched: a box of parameters around what the estimator takes by itself.

A parameter at ``"auto"`` is searched from a 16th to 16 times the number that ``"auto"`` stood for on these data
(``reg_`` of the fitted model says it for ``reg``), on a logarithmic scale; some others around their default. What the
caller has set to another value stays as it is.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from everypair.check import is_number

WIDTH = 16.0  # times the usual value, and as far below it
RANKS = (0.25, 0.5, 1.0, 2.0, 4.0)  # times the usual rank
SMALLEST_RANK = 4
DEGREE_EXPONENTS = (0.125, 0.25, 0.375, 0.5)
LOGARITHMIC = ("reg", "negative_weight", "feature_reg", "learning_rate", "ratio", "reg_scale")
SHARES = ("user_exponent",)  # from 0 to 1
MIDDLE = 0.5


@dataclass(frozen=True)
class Interval:
    """A number between two ends, on a logarithmic scale or a linear one.

    >>> Interval(0.0, 2.0).at(0.25), Interval(0.0, 2.0).place(0.5)
    (0.5, 0.25)
    >>> Interval(0.01, 1.0, logarithmic=True).at(0.5), Interval(0.01, 1.0, logarithmic=True).place(0.1)
    (0.1, 0.5)
    """

    low: float
    high: float
    logarithmic: bool = False

    def at(self, place: float) -> float:
        """The value at a place from 0 to 1, in three digits."""
        if self.logarithmic:
            return float(f"{self.low * (self.high / self.low) ** place:.3g}")
        return float(f"{self.low + (self.high - self.low) * place:.3g}")

    def place(self, value: Any) -> float:
        """Where a value lies, at the nearer end or in the middle where it does not."""
        if not is_number(value) or (self.logarithmic and value <= 0):
            return MIDDLE
        if self.logarithmic:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return min(max(share, 0.0), 1.0)


@dataclass(frozen=True)
class Options:
    """One of a few values, neighbours beside each other.

    >>> Options((16, 32, 64)).at(0.9), Options((16, 32, 64)).place(32)
    (64, 0.5)
    """

    values: tuple[Any, ...]

    def at(self, place: float) -> Any:
        """The value at a place from 0 to 1."""
        return self.values[min(int(place * len(self.values)), len(self.values) - 1)]

    def place(self, value: Any) -> float:
        """The middle of a value's share, or of all where it is not one of them."""
        return (self.values.index(value) + 0.5) / len(self.values) if value in self.values else MIDDLE


Dimension = Interval | Options
Space = dict[str, Dimension]


def derive_space(model: Any, fitted: Any, largest_rank: int) -> tuple[Space, dict[str, Any]]:
    """The space of an estimator, and where in it the estimator itself stands, once ``fitted`` has resolved ``"auto"``.

    >>> from everypair import OneClassMF
    >>> import numpy as np
    >>> model = OneClassMF(negative_weight=0.1)
    >>> space, usual = derive_space(model, model.fit(np.eye(100)), 100)
    >>> list(space), usual
    (['rank', 'reg', 'weighting'], {'rank': 64, 'reg': 0.075, 'weighting': None})
    """
    space: Space = {}
    usual: dict[str, Any] = {}
    for name, parameter in inspect.signature(type(model).__init__).parameters.items():
        if name == "self" or getattr(model, name) != parameter.default:
            continue
        value = resolved(model, fitted, name)
        dimension = _dimension(name, value, largest_rank)
        if dimension is not None:
            space[name], usual[name] = dimension, value
    return space, usual


def checked_space(space: Mapping[str, Any], model: Any) -> Space:
    """A space of the caller's own: (low, high) of a number, or a list of values.

    >>> from everypair import OneClassMF
    >>> checked_space({"reg": (0.01, 1.0), "rank": [16, 32], "reg_exponent": (0, 1)}, OneClassMF())
    ... # doctest: +NORMALIZE_WHITESPACE
    {'reg': Interval(low=0.01, high=1.0, logarithmic=True), 'rank': Options(values=(16, 32)),
     'reg_exponent': Interval(low=0.0, high=1.0, logarithmic=False)}
    """
    known = model.get_params()
    checked: Space = {}
    for name, given in space.items():
        if name not in known:
            raise ValueError(f"{type(model).__name__} has no parameter {name!r}: it has {', '.join(known)}.")
        if isinstance(given, tuple) and len(given) == 2 and all(is_number(end) for end in given):
            low, high = map(float, given)
            if not (math.isfinite(low) and math.isfinite(high) and low < high):
                raise ValueError(f"space[{name!r}] must be (low, high) with low < high, got {given!r}.")
            checked[name] = Interval(low, high, logarithmic=low > 0)
        elif isinstance(given, list) and given:
            checked[name] = Options(tuple(given))
        else:
            raise ValueError(f"space[{name!r}] must be a tuple (low, high) or a list of values, got {given!r}.")
    if not checked:
        raise ValueError("space is empty: name the parameters to search, or leave it out.")
    return checked


def resolved(model: Any, fitted: Any, name: str) -> Any:
    """The value of a parameter; of ``"auto"`` the number that it stood for, or both sides' where they agree."""
    value = getattr(model, name)
    if not isinstance(value, str) or value != "auto":
        return value
    learnt = getattr(fitted, f"{name}_", None)
    if isinstance(learnt, tuple):
        numbers = {one for one in learnt if one is not None}
        learnt = numbers.pop() if len(numbers) == 1 else None
    return value if learnt is None else learnt


def _dimension(name: str, value: Any, largest_rank: int) -> Dimension | None:
    if name == "rank":
        ranks = {min(max(round(times * value), SMALLEST_RANK), largest_rank) for times in RANKS} | {value}
        return Options(tuple(sorted(ranks)))
    if name == "weighting":
        return Options(
            (value, *(("degree", exponent) for exponent in DEGREE_EXPONENTS if ("degree", exponent) != value))
        )
    if name in LOGARITHMIC and is_number(value) and value > 0:
        return Interval(value / WIDTH, value * WIDTH, logarithmic=True)
    if name in SHARES and is_number(value):
        return Interval(0.0, 1.0)
    return None
