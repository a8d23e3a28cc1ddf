"""Options that choose a model and its parameters."""

from __future__ import annotations

import difflib
import json
from collections.abc import Collection
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Annotated, Any

import typer

from everypair.models.registry import FIRST

PANEL = "Model"
WORDS = {"true": True, "false": False, "none": None, "null": None}


@dataclass(frozen=True)
class ModelChoice:
    """Which recommender, with which parameters."""

    model: Annotated[
        str, typer.Option(help="Class of the model; `everypair models` lists them.", rich_help_panel=PANEL)
    ] = FIRST
    parameters: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A parameter, again and again: rank=32, biases=true, users.feature_reg=2, solver.cg_steps=3.",
            rich_help_panel=PANEL,
        ),
    ] = None
    rank: Annotated[int | None, typer.Option(help="Number of factors.", min=1, rich_help_panel=PANEL)] = None
    seed: Annotated[int, typer.Option(help="Seed: the same gives the same bits.", min=0, rich_help_panel=PANEL)] = 0
    threads: Annotated[
        int | None, typer.Option(help="Threads, which change no bit.", show_default="all cores", rich_help_panel=PANEL)
    ] = None

    def build(self) -> Any:
        """Return the unfitted model."""
        from everypair.models.parameters import checked
        from everypair.models.registry import RECOMMENDERS, estimator_class

        if self.model not in RECOMMENDERS:
            raise ValueError(f"there is no model {self.model!r}: choose one of {', '.join(RECOMMENDERS)}.")
        cls = estimator_class(self.model)
        values = {one.name: one.default for one in fields(cls)}
        named = [parsed(one) for one in self.parameters or ()]
        if self.rank is not None:
            named.append(("rank", self.rank))
        if len(dict(named)) < len(named):
            raise ValueError("a parameter is set twice: say each of them once.")
        usual = {"random_state": self.seed, "n_threads": self.threads}
        values |= {name: value for name, value in usual.items() if name in values}
        for name, value in sorted(named, key=lambda one: "." in one[0]):  # what belongs to a parameter comes after it
            whole, _, detail = name.partition(".")
            _check_known(self.model, whole, values)
            values[whole] = _with_detail(name, values[whole], detail, value) if detail else value
        model = cls(**values)
        checked(model)  # before any file is read
        return model


def _check_known(owner: str, name: str, known: Collection[str]) -> None:
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        factors = "OneClassMF"
        other = f", {factors} has: say --model {factors}" if owner == FIRST and _has(factors, name) else ""
        raise ValueError(
            f"{owner} has no parameter {name!r}{f', did you mean {near[0]!r}?' if near and not other else other}; "
            f"it has {', '.join(one for one in known if one != 'n_threads') or 'none'}."  # that is --threads
        )


def _has(model: str, name: str) -> bool:
    from everypair.models.registry import estimator_class

    return name in {one.name for one in fields(estimator_class(model))}


def _with_detail(name: str, owner: Any, detail: str, value: Any) -> Any:
    """A parameter that is an object, or the name of a solver, with one of its fields changed.

    >>> _with_detail("solver.cg_steps", "newton", "cg_steps", 3)
    Newton(cg_steps=3, momentum=False)
    """
    from everypair.solvers.choose import Newton

    whole = Newton.of(owner) or owner
    if not is_dataclass(whole) or isinstance(whole, type):
        raise ValueError(f"--set {name}: {name.removesuffix('.' + detail)}={owner!r} has no parameters of its own.")
    _check_known(type(whole).__name__, detail, [one.name for one in fields(whole)])
    return replace(whole, **{detail: value})


def parsed(text: str) -> tuple[str, Any]:
    """Return the name and the value of ``name=value``; values are JSON, or words.

    >>> parsed("rank=32"), parsed("loss=squared"), parsed('negative_scheme=["item-count", 0.5]'), parsed("tol=None")
    (('rank', 32), ('loss', 'squared'), ('negative_scheme', ('item-count', 0.5)), ('tol', None))
    """
    name, equals, value = text.partition("=")
    if not equals or not all(map(str.isidentifier, name.strip().split("."))) or not value.strip():
        raise ValueError(f"--set {text!r} must be a parameter and its value, such as --set rank=32.")
    return name.strip(), value_of(value.strip())


def value_of(text: str) -> Any:
    """Return a value that is written as JSON or as a word."""
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    try:
        return _tuples(json.loads(text))
    except json.JSONDecodeError:
        if text[0] in "[{(":
            raise ValueError(
                f'{text} must be a list in JSON, such as ["item-count", 0.5]: put single quotes around it in a shell.'
            ) from None
        return text


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
