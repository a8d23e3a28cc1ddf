"""What is searched: a box of parameters around what the estimator takes by itself.

A parameter at ``"auto"`` is searched from a 16th to 16 times the number that ``"auto"`` stood for on these data
(``reg_`` of the fitted model says it for ``reg``), on a logarithmic scale; some others around their default. What the
caller has set to another value stays as it is.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sklearn.base import clone

from everypair.check import is_number

WIDTH = 16.0  # times the usual value, and as far below it
RANKS = (0.25, 0.5, 1.0, 2.0, 4.0)  # times the usual rank
SMALLEST_RANK = 4
DEGREE_EXPONENTS = (0.125, 0.25, 0.375, 0.5)
LOGARITHMIC = ("reg", "negative_weight", "feature_reg", "learning_rate", "ratio", "reg_scale")
SHARES = ("user_exponent",)  # from 0 to 1
SECOND_WEIGHTS = (0.1, 0.2, 0.3, 0.5, 0.8, 1.2)  # of two models that are blended, beside 1 for the first
SIDES = ("users", "items")  # parameters whose Side has a feature_reg, which is searched as one number for both
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
    for name in (*inspect.signature(type(model)).parameters, "feature_reg"):
        if not has_parameter(model, name) or value_of(model, name) != _default(model, name):
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
    checked: Space = {}
    for name, choice in space.items():
        if not has_parameter(model, name):
            names = ", ".join(model.get_params(deep=False))
            raise ValueError(f"{type(model).__name__} has no parameter {name!r}: it has {names}.")
        if isinstance(choice, tuple) and len(choice) == 2 and all(is_number(end) for end in choice):
            low, high = map(float, choice)
            if not (math.isfinite(low) and math.isfinite(high) and low < high):
                raise ValueError(f"space[{name!r}] must be (low, high) with low < high, got {choice!r}.")
            checked[name] = Interval(low, high, logarithmic=low > 0)
        elif isinstance(choice, list) and choice:
            checked[name] = Options(tuple(choice))
        else:
            raise ValueError(f"space[{name!r}] must be a tuple (low, high) or a list of values, got {choice!r}.")
    if not checked:
        raise ValueError("space is empty: name the parameters to search, or leave it out.")
    return checked


def has_parameter(model: Any, name: str) -> bool:
    """Whether a model has a parameter, itself or on its sides.

    >>> from everypair import ItemItem, OneClassMF
    >>> has_parameter(OneClassMF(), "feature_reg"), has_parameter(ItemItem(), "feature_reg")
    (True, False)
    """
    names = model.get_params(deep=False)
    return name in names or (name == "feature_reg" and set(SIDES) <= set(names))


def value_of(model: Any, name: str) -> Any:
    """The value of a parameter; of the sides' where they agree, otherwise both."""
    if name in model.get_params(deep=False):
        return getattr(model, name)
    users, items = (getattr(getattr(model, side), name) for side in SIDES)
    return users if users == items else (users, items)


def with_values(model: Any, values: Mapping[str, Any]) -> Any:
    """A clone of a model with other parameters.

    >>> from everypair import OneClassMF
    >>> changed = with_values(OneClassMF(), {"rank": 8, "feature_reg": 0.5})
    >>> changed.rank, changed.users.feature_reg, changed.items.feature_reg
    (8, 0.5, 0.5)
    """
    own = {name: value for name, value in values.items() if name in model.get_params(deep=False)}
    of_sides = {name: value for name, value in values.items() if name not in own}
    if of_sides:
        own |= {side: replace(getattr(model, side), **of_sides) for side in SIDES}
    return clone(model).set_params(**own)


def resolved(model: Any, fitted: Any, name: str) -> Any:
    """The value of a parameter; of ``"auto"`` the number that it stood for, or both sides' where they agree."""
    value = value_of(model, name)
    if name == "weights" and value is None:
        return fitted.weights_
    if not isinstance(value, str) or value != "auto":
        return value
    learnt = getattr(fitted, f"{name}_", None)
    if isinstance(learnt, tuple):
        numbers = {one for one in learnt if one is not None}
        learnt = numbers.pop() if len(numbers) == 1 else None
    return value if learnt is None else learnt


def _default(model: Any, name: str) -> Any:
    own = inspect.signature(type(model)).parameters
    return own[name].default if name in own else getattr(own[SIDES[0]].default, name)


def _dimension(name: str, value: Any, largest_rank: int) -> Dimension | None:
    if name == "weights" and isinstance(value, tuple) and len(value) == 2:
        return Options(tuple(sorted({(1.0, one) for one in SECOND_WEIGHTS} | {value})))
    if name == "rank" and is_number(value):
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
