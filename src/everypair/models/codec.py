"""Fitted state as plain values and named arrays, and back: what a model file holds, without a file.

    value ⟷ (a tree of JSON, {name: array})

None, booleans, numbers, strings and lists are JSON already. Everything else is a dict with one tag: an array, a sparse
matrix or ids by name, a tuple, a dict, names, a built-in loss, a status, a dtype, something left out, an estimator with
its parameters and what it has learnt, or an object of a registered class with its fields. Nothing else is written, and
reading builds nothing but these: no code can come out of a file.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from importlib import import_module
from typing import Any, NamedTuple, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.data.event_log import EventLog
from everypair.data.ids import Ids
from everypair.data.item_table import ItemTable, NumberColumn, TextColumn
from everypair.data.record import Record
from everypair.data.sampling import Sampling
from everypair.data.weighting import DegreeWeighting
from everypair.features.feature_map import FeatureMap
from everypair.features.preparation import Preparation
from everypair.features.row_scale import RowScale
from everypair.features.table import FEATURES, TableFeatures
from everypair.models.field_types import check_types
from everypair.models.registry import ESTIMATORS, estimator_class, is_estimator
from everypair.models.serve_only import Dropped
from everypair.problem.losses import LOSSES, Loss
from everypair.problem.negatives import Negatives
from everypair.problem.ridge import Ridge
from everypair.solvers.loop import Status

Arrays = dict[str, NDArray[Any]]
Class = TypeVar("Class", bound=type)


class Parts(NamedTuple):
    """A model as JSON-able ``values`` and named ``arrays``."""

    values: dict[str, Any]
    arrays: Arrays


CLASSES: dict[str, type] = {}
NAMES: dict[type, str] = {}
NUMBERS = {np.dtype(code).str for code in np.typecodes["AllInteger"] + "?efd"}
ID_FIELDS = ("integers", "text", "ends")


def storable(cls: Class, name: str | None = None) -> Class:
    """Register a frozen dataclass, so that its objects can be written as their fields and read again."""
    name = name or cls.__name__
    if not is_dataclass(cls) or CLASSES.setdefault(name, cls) is not cls:
        raise TypeError(f"{name} must be a dataclass whose name no other part has.")
    NAMES[cls] = name
    return cls


for _cls in (
    *(
        DegreeWeighting,
        EventLog,
        FeatureMap,
        ItemTable,
        Negatives,
        NumberColumn,
        Preparation,
        Record,
        Ridge,
        RowScale,
        Sampling,
    ),
    *(TableFeatures, TextColumn, *FEATURES.values()),
):
    storable(_cls)
LATER = {"KernelMap": "everypair.features.nystrom", "Newton": "everypair.solvers.choose"}  # imported when met: slow


def encode(value: Any, name: str, arrays: Arrays) -> Any:
    """Return ``value`` as JSON and put its arrays into ``arrays`` under ``name`` and what follows it.

    >>> arrays = {}
    >>> encode({"weights": np.ones(3), "size": (2, None)}, "state", arrays)
    {'dict': {'weights': {'array': 'state.weights'}, 'size': {'tuple': [2, None]}}}
    >>> arrays
    {'state.weights': array([1., 1., 1.])}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Status):
        return {"status": value.name}
    if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, float):
        return {"float": str(value)}
    if isinstance(value, np.ndarray):
        return _encode_array(value, name, arrays)
    if sp.issparse(value):
        matrix = sp.csr_array(value)
        for field in ("indptr", "indices", "data"):
            arrays[f"{name}.{field}"] = getattr(matrix, field)
        return {"csr": name, "shape": list(matrix.shape)}
    if isinstance(value, Ids):
        arrays |= {f"{name}.{field}": array for field, array in value.to_arrays().items()}
        return {"ids": name}
    if isinstance(value, list):
        return [encode(entry, f"{name}.{number}", arrays) for number, entry in enumerate(value)]
    if isinstance(value, tuple):
        return {"tuple": encode(list(value), name, arrays)}
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise TypeError(f"{name} is a dict with keys that are not text: it cannot be written down.")
        return {"dict": {key: encode(entry, f"{name}.{key}", arrays) for key, entry in value.items()}}
    if isinstance(value, Dropped):
        return {"dropped": value.name}
    if isinstance(value, Loss):
        return {"loss": _loss_name(value)}
    if isinstance(value, np.dtype):
        return {"dtype": value.str}
    if is_estimator(value):
        return {"estimator": value.written(name, arrays)}
    if LATER.get(type(value).__name__) == type(value).__module__:
        storable(type(value))
    if type(value) in NAMES:
        content = {field.name: getattr(value, field.name) for field in fields(value)}
        return {"object": NAMES[type(value)], "fields": encode(content, name, arrays)["dict"]}
    raise TypeError(f"{name} is {value!r}: a model with it can be used, but not written down.")


def read_estimator(values: dict[str, Any], arrays: Arrays) -> Any:
    """The estimator that its ``written`` wrote down."""
    return estimator_class(values["class"]).read(values, arrays)


def decode(tree: Any, arrays: Arrays, estimator: Callable[[dict[str, Any], Arrays], Any] = read_estimator) -> Any:
    """Return the value that :func:`encode` wrote, or refuse what it cannot have written.

    ``estimator(values, arrays)`` makes an estimator, of a class of the registry, of what was written of it.

    >>> decode({"tuple": [2, {"array": "w"}]}, {"w": np.ones(3)})
    (2, array([1., 1., 1.]))
    """
    if tree is None or isinstance(tree, bool | int | float | str):
        return tree
    if isinstance(tree, list):
        return [decode(entry, arrays, estimator) for entry in tree]
    if not isinstance(tree, dict):
        raise ValueError(f"a part cannot be {type(tree).__name__}.")
    match tree:
        case {"float": "inf" | "-inf" | "nan" as text}:
            return float(text)
        case {"array": str(name)}:
            return _named(name, arrays)
        case {"dropped": str(name)}:
            return Dropped(name)
        case {"names": list(names)} if all(isinstance(name, str) for name in names):
            return np.array(names, object)
        case {"csr": str(name), "shape": [int(rows), int(columns)]}:
            return _matrix(name, (rows, columns), arrays)
        case {"ids": str(name)}:
            own = {field: arrays[f"{name}.{field}"] for field in ID_FIELDS if f"{name}.{field}" in arrays}
            return Ids.from_arrays(own)
        case {"tuple": list(entries)}:
            return tuple(decode(entries, arrays, estimator))
        case {"dict": dict(entries)}:
            return {key: decode(entry, arrays, estimator) for key, entry in entries.items()}
        case {"loss": str(name)} if name in LOSSES:
            return LOSSES[name]
        case {"status": str(name)} if name in Status.__members__:
            return Status[name]
        case {"dtype": str(name)} if name in NUMBERS:
            return np.dtype(name)
        case {"estimator": {"class": str(name)} as values} if name in ESTIMATORS:
            return estimator(values, arrays)
        case {"object": str(name), "fields": dict(content)} if name in CLASSES or name in LATER:
            cls = CLASSES[name] if name in CLASSES else storable(getattr(import_module(LATER[name]), name))
            _check_fields(cls, set(content))
            own = {key: decode(entry, arrays, estimator) for key, entry in content.items()}
            check_types(cls, own)
            return cls(**own)
    raise ValueError(f"a part of an unknown kind: {', '.join(map(str, tree))}.")


def _check_fields(cls: Any, given: set[str]) -> None:
    """Refuse unknown fields, and missing ones without a default: a later version may add those that have one."""
    known = {field.name for field in fields(cls)}
    optional = {field.name for field in fields(cls) if (field.default, field.default_factory) != (MISSING, MISSING)}
    odd = (given - known) | (known - optional - given)
    if odd:
        raise ValueError(f"the fields of {cls.__name__} are not those of this version: {', '.join(sorted(odd))}.")


def _encode_array(value: NDArray[Any], name: str, arrays: Arrays) -> dict[str, Any]:
    if value.dtype.kind == "O" and all(isinstance(entry, str) for entry in value.ravel()) and value.ndim == 1:
        return {"names": value.tolist()}
    if value.dtype.kind not in "biuf":
        raise TypeError(f"{name} is an array of {value.dtype}: only numbers and booleans can be written down.")
    arrays[name] = value
    return {"array": name}


def _named(name: str, arrays: Arrays) -> NDArray[Any]:
    if name not in arrays:
        raise ValueError(f"the array {name!r} is missing.")
    return arrays[name]


def _matrix(name: str, shape: tuple[int, int], arrays: Arrays) -> Any:
    data, indices, indptr = (_named(f"{name}.{field}", arrays) for field in ("data", "indices", "indptr"))
    if any(one.ndim != 1 for one in (data, indices, indptr)) or indices.dtype.kind + indptr.dtype.kind != "ii":
        raise ValueError(f"the matrix {name!r} must be made of three lists, two of them of positions.")
    if len(indptr) != shape[0] + 1 or indptr[0] != 0 or np.any(indptr[1:] < indptr[:-1]):
        raise ValueError(f"the rows of the matrix {name!r} must follow each other.")
    if not indptr[-1] == len(indices) == len(data):  # scipy checks nothing where the last of indptr is 0
        raise ValueError(f"the rows of the matrix {name!r} must end with its last entry.")
    if len(indices) and not 0 <= indices.min() <= indices.max() < shape[1]:
        raise ValueError(f"the matrix {name!r} has entries outside its {shape[0]} × {shape[1]}.")
    return sp.csr_array((data, indices, indptr), shape=shape)


def _loss_name(loss: Loss) -> str:
    for name, built_in in LOSSES.items():
        if loss is built_in:
            return name
    raise TypeError(
        f"the loss {loss.name!r} is made of functions of your own, which are not written down (they would have to be "
        "run when read): keep the model in memory, or train with a built-in loss."
    )
