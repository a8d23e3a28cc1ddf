"""Does a field that came out of a file hold what its annotation says? A file may be made to load and to fail later.

Checked are classes, numbers, text, tuples and what may be one of several; what an annotation says beyond that is not.
"""

from __future__ import annotations

import types
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from everypair.models.serve_only import Dropped


def check_types(cls: type, values: dict[str, Any]) -> None:
    """Refuse values that are of another type than the fields of a dataclass.

    >>> from everypair.problem.ridge import Ridge
    >>> check_types(Ridge, {"reg": 5})
    Traceback (most recent call last):
    ValueError: reg of Ridge cannot be a int.
    """
    hints = _hints(cls)
    for name, value in values.items():
        if not isinstance(value, Dropped) and not _is(value, hints.get(name, Any)):
            raise ValueError(f"{name} of {cls.__name__} cannot be a {type(value).__name__}.")


PLAIN = (str, bool, list, dict, type(None))


@cache
def _hints(cls: type) -> dict[str, Any]:
    try:
        return get_type_hints(cls)
    except NameError:  # an annotation that only type checkers can see
        return {}


def _is(value: Any, hint: Any) -> bool:
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(_is(value, one) for one in parts)
    if origin is Literal:
        return value in parts
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        if len(parts) == 2 and parts[1] is Ellipsis:
            return all(_is(one, parts[0]) for one in value)
        return len(value) == len(parts) and all(map(_is, value, parts))
    plain = origin or hint
    if plain is float:
        return isinstance(value, float | int) and not isinstance(value, bool)
    if plain is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if plain is np.ndarray:
        return isinstance(value, np.ndarray)
    ours = (
        isinstance(plain, type)
        and plain.__module__.startswith("everypair.")
        and not getattr(plain, "_is_protocol", False)
    )
    return not (ours or plain in PLAIN) or isinstance(value, plain)
