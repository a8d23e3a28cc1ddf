"""A fingerprint of data and parameters: SHA-256 of their contents, the same for the same numbers in another process."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

import numpy as np
import scipy.sparse as sp


def fingerprint(value: Any) -> str:
    """Return 32 hexadecimal digits that tell values apart: arrays, matrices, containers, functions, plain objects.

    >>> fingerprint([np.arange(3), {"a": 1.0}]) == fingerprint([np.arange(3), {"a": 1.0}])
    True
    >>> fingerprint(np.arange(3)) == fingerprint(np.arange(3.0))
    False
    """
    seen = hashlib.sha256()
    _feed(seen, value)
    return seen.hexdigest()[:32]


def _feed(seen: Any, value: Any) -> None:
    def note(*words: Any) -> None:
        seen.update(repr(words).encode("utf-8", "surrogatepass"))

    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | complex | str | bytes | Enum | np.dtype | type):
        note(type(value).__name__, value)
    elif isinstance(value, np.ndarray) and value.dtype.kind != "O":
        note("array", value.dtype.str, value.shape)
        seen.update(np.ascontiguousarray(value).reshape(-1).view(np.uint8))
    elif sp.issparse(value):
        matrix = sp.csr_array(value)
        _feed(seen, [matrix.shape, matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data])
    elif isinstance(value, list | tuple | set | frozenset):
        entries = sorted(value, key=repr) if isinstance(value, set | frozenset) else value
        note("sequence", len(entries))
        for entry in entries:
            _feed(seen, entry)
    elif isinstance(value, Mapping):
        note("mapping", len(value))
        for key in sorted(value, key=repr):
            _feed(seen, [key, value[key]])
    elif is_dataclass(value):
        _feed(seen, [type(value).__name__, {one.name: getattr(value, one.name) for one in fields(value)}])
    elif hasattr(value, "__code__"):
        code = value.__code__
        numbers = [one for one in code.co_consts if isinstance(one, int | float | str)]
        note("function", code.co_code, numbers, code.co_names)
    elif hasattr(value, "__array__"):
        array = np.asarray(value)
        _feed(seen, [array.shape, array.ravel().tolist()] if array.dtype.kind == "O" else array)
    else:
        _feed(seen, [type(value).__name__, getattr(value, "__dict__", None) or repr(value)])
