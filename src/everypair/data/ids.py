"""Ids: names of rows or columns, unique strings or integers, numbered 0 to n − 1 in the order given."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_MISSING_TYPES = (
    "NoneType",
    "NAType",
    "NaTType",
)  # None and what data frames put in its place; NaN is a float


class Ids:
    """An immutable mapping between ids (all strings or all integers) and positions 0 to n − 1.

    >>> ids = Ids(["b", "a", "c"])
    >>> len(ids), "a" in ids, "z" in ids
    (3, True, False)
    >>> ids.index(["c", "b"])
    array([2, 0])
    >>> ids.names([1, 1])
    array(['a', 'a'], dtype='<U1')
    """

    __slots__ = ("_order", "_sorted", "values")

    values: NDArray[Any]
    """The ids in their order; a read-only array of int64 or str."""
    _order: NDArray[np.intp]
    _sorted: NDArray[Any]

    def __init__(self, values: Any) -> None:
        ids = id_array(values, "ids").copy()
        order = np.argsort(ids, kind="stable")
        ascending = ids[order]
        repeated = ascending[1:][ascending[1:] == ascending[:-1]]
        if len(repeated):
            raise ValueError(f"ids must be unique, but {repeated[0].item()!r} appears more than once.")
        for array in (ids, order, ascending):
            array.setflags(write=False)
        object.__setattr__(self, "values", ids)
        object.__setattr__(self, "_order", order)
        object.__setattr__(self, "_sorted", ascending)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("Ids cannot be changed; make a new one.")

    def __reduce__(self) -> Any:
        return Ids, (self.values,)

    def __len__(self) -> int:
        return len(self.values)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ids):
            return NotImplemented
        return np.array_equal(self.values, other.values)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(repr(value) for value in self.values[:3].tolist())
        return f"Ids({len(self)}: {shown}{', …' if len(self) > 3 else ''})"

    def __contains__(self, one: object) -> bool:
        if isinstance(one, bool) or not isinstance(one, (str, int, np.integer)):
            return False
        if isinstance(one, str) != (self.values.dtype.kind == "U"):
            return False
        if not isinstance(one, str) and not -(2**63) <= one < 2**63:
            return False
        return bool(self._find(np.array([one]))[1][0])

    def index(self, ids: Any) -> NDArray[np.int64]:
        """Return the positions of ``ids``; unknown ones are refused.

        >>> Ids([10, 20]).index([20, 10, 20])
        array([1, 0, 1])
        """
        wanted = id_array(ids, "ids")
        if len(wanted) == 0:
            return np.empty(0, dtype=np.int64)
        if wanted.dtype.kind != self.values.dtype.kind and len(self):
            kinds = {"U": "strings", "i": "integers"}
            raise TypeError(
                f"These ids are {kinds[wanted.dtype.kind]}, but the known ones are "
                f"{kinds[self.values.dtype.kind]}: convert them first."
            )
        positions, known = self._find(wanted)
        if not known.all():
            unknown = list(dict.fromkeys(wanted[~known].tolist()))
            listed = ", ".join(repr(one) for one in unknown[:3])
            raise ValueError(
                f"{len(unknown)} unknown id{'s' if len(unknown) > 1 else ''}: {listed}"
                f"{', …' if len(unknown) > 3 else ''}. Leave them out (test with `in`), or fold them in as "
                "new rows."
            )
        return positions

    def names(self, indices: Any) -> NDArray[Any]:
        """Return the ids at ``indices``, in an array of the same shape.

        >>> Ids([10, 20]).names(np.array([[1, 0]]))
        array([[20, 10]])
        """
        positions = np.asarray(indices)
        if positions.size == 0:
            return np.empty(positions.shape, dtype=self.values.dtype)
        if positions.dtype.kind not in "iu":
            raise TypeError(f"indices must be integers, got {positions.dtype}.")
        if positions.min() < 0 or positions.max() >= len(self):
            raise ValueError(
                f"indices must lie in 0 to {len(self) - 1}, got {positions.min()} to {positions.max()}; "
                "−1 pads short top-k lists: leave it out."
            )
        return self.values[positions]

    def _find(self, wanted: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return (position, is known) of every wanted id; the position of an unknown one means nothing."""
        if len(self) == 0:
            return np.zeros(len(wanted), dtype=np.int64), np.zeros(len(wanted), dtype=bool)
        places = np.minimum(np.searchsorted(self._sorted, wanted), len(self) - 1)
        return self._order[places].astype(np.int64), self._sorted[places] == wanted


def id_array(values: Any, name: str) -> NDArray[Any]:
    """Return ids as a 1-D array of int64 or str; refuse missing ids and any other type.

    >>> id_array(["a", "bc"], "ids")
    array(['a', 'bc'], dtype='<U2')
    """
    if isinstance(values, Ids):
        return values.values
    array = np.atleast_1d(np.asarray(values))
    if array.ndim != 1:
        raise ValueError(f"{name} must be a list or 1-D array of ids, got {array.ndim} dimensions.")
    if len(array) == 0:
        return np.empty(0, dtype=np.int64)
    if array.dtype.kind not in "iuU" or isinstance(values, (list, tuple)):
        array = _uniform(values if isinstance(values, (list, tuple)) else array.tolist(), name)
    if array.dtype.kind == "u" and array.max() > np.iinfo(np.int64).max:
        raise ValueError(f"{name} has integers beyond the range of int64: convert them to strings.")
    return array if array.dtype.kind == "U" else array.astype(np.int64, copy=False)


def number_ids(values: Any, name: str) -> tuple[Ids, NDArray[np.int64]]:
    """Return the distinct ids in ascending order and the position of every value among them.

    >>> number_ids(["b", "a", "b"], "user")
    (Ids(2: 'a', 'b'), array([1, 0, 1]))
    """
    array = id_array(values, name)
    if array.dtype.kind == "i":
        distinct, positions = np.unique(array, return_inverse=True)
        return Ids(distinct), positions.astype(np.int64, copy=False)
    listed = array.tolist()
    ascending = sorted(set(listed))
    place = {one: position for position, one in enumerate(ascending)}
    return Ids(ascending), np.fromiter(map(place.__getitem__, listed), dtype=np.int64, count=len(listed))


def _uniform(listed: Any, name: str) -> NDArray[Any]:
    """Return Python values as one array if all are strings or all are integers."""
    missing = sum(1 for one in listed if type(one).__name__ in _MISSING_TYPES or one != one)
    if missing:
        raise ValueError(f"{name} has {missing} missing values (None or NaN): drop those rows first.")
    if all(isinstance(one, str) for one in listed):
        return np.array(listed, dtype=np.str_)
    if all(isinstance(one, (int, np.integer)) and not isinstance(one, bool) for one in listed):
        try:
            return np.array(listed, dtype=np.int64)
        except OverflowError:
            raise ValueError(f"{name} has integers beyond the range of int64: convert them to strings.") from None
    kinds = sorted({type(one).__name__ for one in listed})
    raise TypeError(
        f"{name} must be all strings or all integers, got {', '.join(kinds)}: convert them with "
        "astype(str) or astype(int) first."
    )
