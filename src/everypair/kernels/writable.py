"""Read-only arrays for kernels: numba compiles a kernel once more for arrays that cannot be written to.

A memory-mapped matrix is read-only. Kernels only read the pairs, so they see its memory as if it could be written
to; no such view may leave the problem that kernels solve.
"""

from __future__ import annotations

import numpy as np

from everypair.types import Array


class _Writable:
    """Shows the memory of an array, which it keeps alive."""

    def __init__(self, array: Array) -> None:
        self.array = array
        shown = dict(array.__array_interface__)
        self.__array_interface__ = {**shown, "data": (shown["data"][0], False)}


def writable_view(array: Array) -> Array:
    """Return the array, or a view of a read-only one that kernels take like any other.

    >>> numbers = np.arange(3)
    >>> numbers.setflags(write=False)
    >>> view = writable_view(numbers)
    >>> view.flags.writeable, view.tolist(), np.shares_memory(view, numbers)
    (True, [0, 1, 2], True)
    """
    return array if array.flags.writeable else np.asarray(_Writable(array))
