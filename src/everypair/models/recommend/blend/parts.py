"""A blend written down: its own values, and those of every model in it under the model's number."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from everypair.models.codec import Arrays, Parts, decode, encode
from everypair.models.registry import RECOMMENDERS, estimator_class, is_estimator
from everypair.models.serve_only import without_training

KEYS = {"class", "parameters", "given", "models", "state"}


def written_blend(blend: Any, serve_only: bool) -> Parts:
    """Return a fitted blend as JSON-able values and named arrays."""
    arrays: Arrays = {}
    members = []
    for number, model in enumerate(blend.models_):
        if not is_estimator(model):
            raise TypeError(f"a blend with {type(model).__name__} can be used, but not written down.")
        values, own = model.to_parts(serve_only=serve_only)
        arrays.update({f"models.{number}.{name}": array for name, array in own.items()})
        members.append(values)
    parameters = blend.get_params(deep=False)
    given = parameters.pop("models")
    if isinstance(parameters["random_state"], np.random.Generator):
        parameters["random_state"] = None
    state = replace(blend.state_, models=())
    values = {
        "class": type(blend).__name__,
        "parameters": encode(parameters, "parameters", arrays)["dict"],
        "given": None if given is None else _described(given, "given", arrays),
        "models": members,
        "state": encode(without_training(state) if serve_only else state, "state", arrays),
    }
    return Parts(values, arrays)


def read_members(kind: str, values: dict[str, Any], arrays: Arrays) -> tuple[list[Any] | None, tuple[Any, ...]]:
    """Return the unfitted models that a blend of the class ``kind`` was given, and its fitted ones."""
    if set(values) != KEYS or values["class"] != kind:
        raise ValueError(f"these are not the parts of a {kind}: {', '.join(map(str, values))}.")
    given = values["given"]
    if given is not None:
        given = [_undescribed(one, arrays) for one in given]
    members = []
    for number, one in enumerate(values["models"]):
        prefix = f"models.{number}."
        own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
        members.append(_known_class(one["class"]).from_parts(one, own))
    return given, tuple(members)


def _described(models: Any, place: str, arrays: Arrays) -> list[dict[str, Any]]:
    """Unfitted models as values; a blend among them holds models of its own."""
    written = []
    for number, model in enumerate(models):
        own = f"{place}.{number}"
        parameters = {
            name: None if isinstance(value, np.random.Generator) else value
            for name, value in model.get_params(deep=False).items()
        }
        members = parameters.pop("models", None)
        values = {"class": type(model).__name__, "parameters": encode(parameters, own, arrays)["dict"]}
        written.append(values if members is None else values | {"models": _described(members, own, arrays)})
    return written


def _undescribed(values: dict[str, Any], arrays: Arrays) -> Any:
    """The unfitted model that values describe."""
    parameters = decode({"dict": values["parameters"]}, arrays)
    if "models" in values:
        parameters["models"] = [_undescribed(one, arrays) for one in values["models"]]
    return _known_class(values["class"])(**parameters)


def _known_class(name: Any) -> Any:
    if name not in RECOMMENDERS:
        raise ValueError(f"a blend cannot hold the class {name!r}; known: {', '.join(RECOMMENDERS)}.")
    return estimator_class(name)
