"""A blend written down: its own values, and those of every model in it under the model's number."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from everypair.models.parts import Arrays, Parts, decode, encode
from everypair.models.recommend.bpr import BPR
from everypair.models.recommend.ensemble import EnsembleMF
from everypair.models.recommend.item_item import ItemItem
from everypair.models.recommend.one_class import OneClassMF
from everypair.models.recommend.popularity import Popularity
from everypair.models.recommend.subsampled import SubsampledMF
from everypair.models.serve_only import without_training

WRITTEN = {cls.__name__: cls for cls in (BPR, EnsembleMF, ItemItem, OneClassMF, Popularity, SubsampledMF)}
KEYS = {"class", "parameters", "given", "models", "state"}


def written_blend(blend: Any, serve_only: bool) -> Parts:
    """Return a fitted blend as JSON-able values and named arrays."""
    arrays: Arrays = {}
    members = []
    for number, model in enumerate(blend.models_):
        if WRITTEN.get(type(model).__name__) is not type(model):
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
        "given": None if given is None else [_described_model(model, n, arrays) for n, model in enumerate(given)],
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
        given = [_known_class(one["class"])(**decode({"dict": one["parameters"]}, arrays)) for one in given]
    members = []
    for number, one in enumerate(values["models"]):
        prefix = f"models.{number}."
        own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
        members.append(_known_class(one["class"]).from_parts(one, own))
    return given, tuple(members)


def _described_model(model: Any, number: int, arrays: Arrays) -> dict[str, Any]:
    parameters = {
        name: None if isinstance(value, np.random.Generator) else value
        for name, value in model.get_params(deep=False).items()
    }
    return {
        "class": type(model).__name__,
        "parameters": encode(parameters, f"given.{number}", arrays)["dict"],
    }


def _known_class(name: Any) -> Any:
    if name not in WRITTEN:
        raise ValueError(f"a blend cannot hold the class {name!r}; known: {', '.join(WRITTEN)}.")
    return WRITTEN[name]
