"""Arrays as a task finds them: at addresses that fit their numbers, row after row.

What travels between processes arrives somewhere inside a larger buffer, at any byte. numpy hands BLAS a copy of such an
array, in another order of memory than the original's, and BLAS may round a product by the order of its operands
(``tools/blas.py`` shows where). A compiled kernel would even be compiled anew for it. So every array among a task's
arguments is laid anew where it lies badly, once: what holds it is given the new one.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

ROOMS = ("everypair.", "scipy.sparse.")  # whose objects are looked into


def run_settled(function: Callable[..., Any], *arguments: Any) -> Any:
    """``function(*arguments)`` with well-laid arrays, however deep."""
    return function(*map(settled, arguments))


def settled(value: Any) -> Any:
    """The same value; an object stays the same object, and what lies badly in it is replaced.

    >>> column = np.arange(6.0).reshape(3, 2)[:, 1]
    >>> settled([column])[0].flags.c_contiguous
    True
    """
    if isinstance(value, np.ndarray):
        return np.require(value, requirements=["C", "A"])  # row after row, aligned
    if type(value) in (list, tuple):
        return type(value)(map(settled, value))
    if isinstance(value, dict):
        return {key: settled(part) for key, part in value.items()}
    if isinstance(value, FunctionType):
        for cell in value.__closure__ or ():
            cell.cell_contents = settled(cell.cell_contents)
    elif type(value).__module__.startswith(ROOMS):
        for name, part in getattr(value, "__dict__", {}).items():
            new = settled(part)
            if new is not part:
                object.__setattr__(value, name, new)
    return value
