"""Do the arrays of a state that was read fit each other? Kernels do not look again: one that does not is refused.

What ``fit`` made always fits; these checks are for what comes out of files.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
import scipy.sparse as sp

from everypair.models.serve_only import Dropped


@runtime_checkable
class ChecksNumbers(Protocol):
    """A state whose answers no NaN may reach: read from a file it is looked at once, and not at every question."""

    def check_numbers(self) -> None:
        """Refuse NaN and infinite numbers, in one pass over all of them."""
        ...


def check_array(name: str, array: Any, *shape: int | None) -> None:
    """Refuse what is not an array of floating-point numbers of this shape; ``None`` is any length.

    >>> check_array("weights", np.ones((2, 3)), None, 4)
    Traceback (most recent call last):
    ValueError: weights must be an array of shape (any, 4), got shape (2, 3).
    """
    if isinstance(array, Dropped):
        return
    wanted = f"({', '.join('any' if size is None else str(size) for size in shape)})"
    if not isinstance(array, np.ndarray) or array.dtype not in (np.float32, np.float64):
        raise ValueError(f"{name} must be an array of floating-point numbers.")
    if len(shape) != array.ndim or any(size not in (None, own) for size, own in zip(shape, array.shape)):
        raise ValueError(f"{name} must be an array of shape {wanted}, got shape {array.shape}.")


def check_matrix(name: str, matrix: Any, shape: tuple[int, int]) -> None:
    """Refuse what is not a sparse matrix of floating-point numbers of this shape."""
    if isinstance(matrix, Dropped):
        return
    if not sp.issparse(matrix) or matrix.dtype not in (np.float32, np.float64) or matrix.shape != shape:
        raise ValueError(f"{name} must be a sparse matrix of shape {shape}.")


def check_count(name: str, value: Any, wanted: int | None = None) -> None:
    """Refuse what is not a whole number ≥ 0, or another one than it must be."""
    if type(value) is not int or value < 0 or wanted not in (None, value):
        raise ValueError(f"{name} cannot be {value!r}.")
