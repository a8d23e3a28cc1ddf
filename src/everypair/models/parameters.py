"""Parameters of estimators: each is declared once, with its default, its text for people and its check.

    @estimator
    class Model(Training, Estimator):
        rank: int = parameter(64, "number of factors k.", check.integer)
        max_iter: int = parameter(10)  # another default, the text and check of Training

``@estimator`` makes a keyword-only dataclass of the class, as scikit-learn's ``get_params`` and ``clone`` want it, and
writes the texts into its docstring. :func:`checked` looks at all values before any work begins.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from types import SimpleNamespace
from typing import Any, TypeVar, dataclass_transform

import numpy as np

from everypair import check
from everypair.parallel import resolve_threads
from everypair.solvers.loop import StopRules

Check = Callable[[str, Any], Any]
Class = TypeVar("Class", bound=type)
WIDTH = 116
SECTIONS = ("Attributes\n", "Examples\n")


def parameter(default: Any, text: str = "", check: Check | None = None) -> Any:
    """Declare a parameter: its default, what it means, and ``check(name, value)``, which returns what is used.

    Without a text it is an inherited one with another default.
    """
    return field(default=default, metadata={"text": text, "check": check})


@dataclass_transform(kw_only_default=True, eq_default=False)
def estimator(cls: Class) -> Class:
    """Make keyword-only parameters of the annotated attributes of a class, and a section of its docstring.

    Its own parameters stand before those of its parents, and theirs before those of theirs; one with another default
    only stays in its place.

    >>> @estimator
    ... class Model:
    ...     '''A model.'''
    ...     rank: int = parameter(64, "number of factors k.")
    >>> Model(rank=3).rank
    3
    >>> print(Model.__doc__)
    A model.
    <BLANKLINE>
    Parameters
    ----------
    rank : int, default 64
        number of factors k.
    """
    own = [name for name in inspect.get_annotations(cls) if "metadata" in dir(cls.__dict__.get(name))]
    for name in own:
        one = cls.__dict__[name]
        if not one.metadata["text"]:
            metadata = {**_inherited(cls, name).metadata, "inherited": True}
            setattr(cls, name, field(default=one.default, metadata=metadata))
    made: Any = dataclass(kw_only=True, eq=False, repr=False)(cls)
    order = _order(made)
    signature = inspect.signature(made.__init__)
    in_order = [signature.parameters[name] for name in ("self", *order)]
    made.__init__.__signature__ = signature.replace(parameters=in_order)
    made.__doc__ = _with_section(inspect.cleandoc(cls.__doc__ or ""), made, order)
    return made


def checked(model: Any) -> SimpleNamespace:
    """Return the parameters of an estimator as their checks return them, or refuse the first that makes no sense."""
    values = {}
    for one in fields(model):
        value, look = getattr(model, one.name), one.metadata["check"]
        values[one.name] = value if look is None else look(one.name, value)
    return SimpleNamespace(**values)


def _inherited(cls: type, name: str) -> Any:
    """The declaration of a parameter by the nearest parent."""
    declared = (base.__dict__.get("__dataclass_fields__", {}) for base in cls.__mro__[1:])
    return next(parameters[name] for parameters in declared if name in parameters)


def _order(cls: Any) -> list[str]:
    """Names of all parameters, class after class, each where it has its text."""
    names = {one.name for one in fields(cls)}
    order: dict[str, None] = {}
    for base in cls.__mro__:
        own = base.__dict__.get("__dataclass_fields__", {})
        for name in inspect.get_annotations(base):
            if name in names and name in own and "inherited" not in own[name].metadata:
                order[name] = None
    return list(order)


def _with_section(doc: str, cls: Any, order: list[str]) -> str:
    """The docstring with the texts of the parameters before its attributes and examples."""
    lines = ["Parameters", "----------"]
    for name in order:
        one = cls.__dataclass_fields__[name]
        default = f'"{one.default}"' if isinstance(one.default, str) else repr(one.default)
        lines.append(f"{name} : {one.type}, default {default}")
        lines += textwrap.wrap(
            one.metadata["text"], WIDTH, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False
        )
    begin = min((place for place in (doc.find(f"\n{head}") for head in SECTIONS) if place >= 0), default=len(doc))
    before, after = doc[:begin].rstrip(), doc[begin:].strip()
    return "\n\n".join(part for part in (before, "\n".join(lines), after) if part)


# checks of values, made from those of everypair.check


def number(least: float = -np.inf, above: float = -np.inf, below: float = np.inf) -> Check:
    """A finite number within bounds.

    >>> number(above=0)("learning_rate", 0)
    Traceback (most recent call last):
    ValueError: learning_rate must be a finite number > 0, got 0.
    """
    return lambda name, value: check.number(name, value, least=least, above=above, below=below)


def one_of(*options: str) -> Check:
    """One of a few words."""
    return lambda name, value: check.one_of(name, value, options)


def or_none(look: Check) -> Check:
    """What ``look`` lets pass, or None.

    >>> or_none(one_of("01", "±1"))("coding", "10")
    Traceback (most recent call last):
    ValueError: coding must be one of '01', '±1' or None, got '10'.
    """
    return lambda name, value: None if value is None else _looked_at(look, name, value, "None")


def or_auto(look: Check) -> Check:
    """What ``look`` lets pass, or ``"auto"``, which becomes None.

    >>> or_auto(check.integer)("rank", "auto"), or_auto(check.integer)("rank", 8)
    (None, 8)
    """
    return lambda name, value: (
        None if isinstance(value, str) and value == "auto" else _looked_at(look, name, value, '"auto"')
    )


def _looked_at(look: Check, name: str, value: Any, other: str) -> Any:
    """What ``look`` returns; its refusal names the ``other`` value too."""
    try:
        return look(name, value)
    except ValueError as failure:
        raise ValueError(str(failure).replace(", got ", f" or {other}, got ", 1)) from None


@estimator
class Threads:
    """What every estimator that uses threads has."""

    n_threads: int | None = parameter(
        None,
        "threads to use, all cores by default; the result does not depend on it.",
        lambda name, value: resolve_threads(value),
    )


@estimator
class Sweeping(Threads):
    """What every estimator that learns in sweeps has."""

    max_iter: int = parameter(50, "stop after so many sweeps.", check.integer)
    time_limit: float | None = parameter(None, "stop after so many seconds of training.", check.seconds)
    verbose: bool = parameter(False, "show progress.", check.flag)

    @property
    def most_sweeps(self) -> int:
        """How many sweeps a bar is for."""
        return self.max_iter


@estimator
class Seeded:
    """What every estimator that draws random numbers has."""

    random_state: Any = parameter(
        None,
        "seed of the start; the same seed gives the same bits on any number of threads.",
        lambda name, value: check.generator(value),
    )


@estimator
class Iterating(Sweeping, Seeded):
    """What every estimator has that can watch a validation metric from sweep to sweep."""

    patience: int | None = parameter(
        None, "stop after so many sweeps without a better validation metric; the best sweep is kept.", check.patience
    )
    dtype: str = parameter("float32", '"float32" or "float64".', lambda name, value: check.float_dtype(value))


@estimator
class Training(Iterating):
    """What every estimator that minimises an objective has."""

    tol: float = parameter(3e-4, "stop when the objective falls by less than this share of itself.", check.tolerance)


def stop_rules(values: SimpleNamespace) -> StopRules:
    """The rules that end a training, of checked parameters."""
    return StopRules(values.max_iter, values.tol, values.patience, values.time_limit)
