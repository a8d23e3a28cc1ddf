"""Options that choose a model and its parameters."""

from __future__ import annotations

import difflib
import inspect
import json
from dataclasses import dataclass
from typing import Annotated, Any

import typer

PANEL = "Model"
WORDS = {"true": True, "false": False, "none": None, "null": None}


@dataclass(frozen=True)
class ModelChoice:
    """Which recommender, with which parameters."""

    model: Annotated[
        str, typer.Option(help="Class of the model; `everypair models` lists them.", rich_help_panel=PANEL)
    ] = "OneClassMF"
    parameters: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A parameter, again and again: rank=32, reg=0.1, biases=true.",
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
        from everypair.models.registry import RECOMMENDERS, estimator_class

        if self.model not in RECOMMENDERS:
            raise ValueError(f"there is no model {self.model!r}: choose one of {', '.join(RECOMMENDERS)}.")
        cls = estimator_class(self.model)
        known = list(inspect.signature(cls).parameters)
        named = [parsed(one) for one in self.parameters or ()]
        if self.rank is not None:
            named.append(("rank", self.rank))
        given = dict(named)
        if len(given) < len(named):
            raise ValueError("a parameter is set twice: say each of them once.")
        for name in given:
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                raise ValueError(
                    f"{self.model} has no parameter {name!r}{f', did you mean {near[0]!r}?' if near else ''}; "
                    f"it has {', '.join(known) or 'none'}."
                )
        usual = {"random_state": self.seed, "n_threads": self.threads}
        return cls(**{name: value for name, value in usual.items() if name in known} | given)


def parsed(text: str) -> tuple[str, Any]:
    """Return the name and the value of ``name=value``; values are JSON, or words.

    >>> parsed("rank=32"), parsed("loss=squared"), parsed('negative_scheme=["item-count", 0.5]'), parsed("tol=None")
    (('rank', 32), ('loss', 'squared'), ('negative_scheme', ('item-count', 0.5)), ('tol', None))
    """
    name, equals, value = text.partition("=")
    if not equals or not name.strip().isidentifier() or not value.strip():
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
