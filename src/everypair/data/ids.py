"""Ids: names of rows or columns, unique strings or integers, numbered 0 to n − 1 in the order given.

Strings are kept as they are, each at its own length, and found by hashing: an id of 5,000 characters costs 5,000
characters, and a zero byte in one is a character like any other.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.data.suggestions import nearest_ids
from everypair.words import listed, shortened

_MISSING_TYPES = (
    "NoneType",
    "NAType",
    "NaTType",
)  # None and what data frames put in its place; NaN is a float
_KINDS = {"O": "strings", "i": "integers"}


class Ids:
    """An immutable mapping between ids (all strings or all integers) and positions 0 to n − 1.

    >>> ids = Ids(["b", "a", "c"])
    >>> len(ids), "a" in ids, "z" in ids, ids[0], list(ids)
    (3, True, False, 'b', ['b', 'a', 'c'])
    >>> ids.index(["c", "b"])
    array([2, 0])
    >>> ids.names([1, -1])
    array(['a', None], dtype=object)
    """

    __slots__ = ("_found", "values")

    values: NDArray[Any]
    """The ids in their order; a read-only array of int64, or of Python strings (dtype object)."""
    _found: Any  # strings: a dict from id to position; integers: (order, ascending); None until it is needed

    def __init__(self, values: Any) -> None:
        self._set(id_array(values, "ids").copy())
        repeated = self._repeated()
        if repeated is not None:
            raise ValueError(f"ids must be unique, but {repeated!r} appears more than once.")

    @classmethod
    def _of_distinct(cls, values: NDArray[Any]) -> Ids:
        """Name ids that are known to be unique, without a copy; the lookup is built when it is needed."""
        ids = object.__new__(cls)
        ids._set(values)
        return ids

    def _set(self, values: NDArray[Any]) -> None:
        values.setflags(write=False)
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "_found", None)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("Ids cannot be changed; make a new one.")

    def __reduce__(self) -> Any:
        return Ids, (self.values,)

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values.tolist())

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return Ids._of_distinct(self.values[place].copy())
        if isinstance(place, bool) or not isinstance(place, int | np.integer):
            raise TypeError(f"ids[…] takes one position or a slice, got {type(place).__name__}: use names() for more.")
        if not 0 <= place < len(self):
            raise IndexError(
                f"there is no position {place}: there are {len(self)} ids, 0 to {len(self) - 1}. "
                "−1 stands for a missing entry (names() gives None for it)."
            )
        return self.values[place : place + 1].tolist()[0]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ids):
            return NotImplemented
        return self.values.dtype == other.values.dtype and np.array_equal(self.values, other.values)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(shortened(value, 60) for value in self.values[:3].tolist())
        return f"Ids({len(self)}: {shown}{', …' if len(self) > 3 else ''})"

    def __contains__(self, one: object) -> bool:
        if isinstance(one, bool) or not isinstance(one, (str, int, np.integer)):
            return False
        if isinstance(one, str) != self.are_strings:
            return False
        if not isinstance(one, str) and not -(2**63) <= one < 2**63:
            return False
        return bool(self.places(np.array([one], dtype=self.values.dtype))[0] >= 0)

    @property
    def are_strings(self) -> bool:
        """Whether the ids are strings; no ids at all count as integers."""
        return bool(self.values.dtype == object)

    def index(self, ids: Any, kind: str = "id") -> NDArray[np.int64]:
        """Return the positions of ``ids``; unknown ones are refused, as ids or as what ``kind`` calls them.

        >>> Ids([10, 20]).index([20, 10, 20])
        array([1, 0, 1])
        """
        wanted = id_array(ids, f"{kind}s")
        positions = self._positions(wanted, kind)
        if (positions < 0).any():
            unknown = list(dict.fromkeys(wanted[positions < 0].tolist()))
            raise ValueError(
                f"{len(unknown)} unknown {kind}{'s' if len(unknown) > 1 else ''}: {listed(unknown, 3)}. Leave them out "
                "(test with `in`, or unknown='ignore' where that is), or fold them in as new rows."
                f"{self._did_you_mean(unknown[:3])}"
            )
        return positions

    def find(self, ids: Any) -> NDArray[np.int64]:
        """Return the positions of ``ids``, −1 for unknown ones.

        >>> Ids(["a", "b"]).find(["b", "z"])
        array([ 1, -1])
        """
        return self._positions(id_array(ids, "ids"))

    def names(self, indices: Any, missing: Any = None) -> NDArray[Any]:
        """Return the ids at ``indices``, in an array of the same shape; −1, which pads short lists, gives ``missing``.

        Integers stay int64 unless ``missing`` is used and is none.

        >>> Ids([10, 20]).names(np.array([[1, 0]]))
        array([[20, 10]])
        >>> Ids([10, 20]).names([1, -1], missing=0)
        array([20,  0])
        """
        positions = np.asarray(indices)
        if positions.size == 0:
            return np.empty(positions.shape, dtype=self.values.dtype)
        if positions.dtype.kind not in "iu":
            raise TypeError(f"indices must be integers, got {positions.dtype}.")
        least, most = int(positions.min()), int(positions.max())
        if least >= 0 and most < len(self):
            return self.values[positions]
        if least < -1 or most >= len(self):
            raise ValueError(
                f"indices must lie in 0 to {len(self) - 1}, got {least} to {most}; "
                "only −1, which pads short top-k lists, is allowed besides."
            )
        absent = positions < 0
        whole = isinstance(missing, int | np.integer) and not isinstance(missing, bool)
        named = np.empty(positions.shape, dtype=self.values.dtype if whole else object)
        named[~absent] = self.values[positions[~absent]]
        named[absent] = missing
        return named

    def append(self, ids: Any) -> Ids:
        """Return new Ids: these, then ``ids``, which must be new and of the same kind.

        >>> Ids(["a", "b"]).append(["c"])
        Ids(3: 'a', 'b', 'c')
        """
        added = Ids(ids)
        known = added.values[self._positions(added.values) >= 0]
        if len(known):
            raise ValueError(
                f"{shortened(known[0], 60)} is among the ids already: append only new ones (update takes what known "
                "ones did since)."
            )
        if not len(self) or not len(added):
            return added if len(added) else self
        return Ids._of_distinct(np.concatenate([self.values, added.values]))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return plain arrays from which `from_arrays` makes the same ids: for files, without pickle.

        Integers are ``{"integers": int64}``; strings are their UTF-8 bytes one after the other and where each ends.

        >>> {name: array.tolist() for name, array in Ids(["a", "bc"]).to_arrays().items()}
        {'text': [97, 98, 99], 'ends': [1, 3]}
        """
        if not self.are_strings:
            return {"integers": self.values}
        texts = [one.encode("utf-8", "surrogatepass") for one in self.values.tolist()]
        ends = np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)))
        return {"text": np.frombuffer(b"".join(texts), np.uint8), "ends": ends}

    @classmethod
    def from_arrays(cls, arrays: Any) -> Ids:
        """Make ids from what `to_arrays` returned; arrays that do not fit are refused.

        >>> Ids.from_arrays(Ids(["a", "bc"]).to_arrays())
        Ids(2: 'a', 'bc')
        """
        if set(arrays) == {"integers"}:
            return cls(arrays["integers"])
        if set(arrays) != {"text", "ends"}:
            raise ValueError(f"ids are stored as integers, or as text and ends, got {', '.join(sorted(arrays))}.")
        ends = np.asarray(arrays["ends"])
        text = np.asarray(arrays["text"])
        starts = np.concatenate([[0], ends[:-1]])
        if ends.dtype != np.int64 or text.dtype != np.uint8 or (ends < starts).any() or ends[-1:].sum() != len(text):
            raise ValueError("the stored ids are damaged: their ends do not fit their text.")
        whole = text.tobytes()
        try:
            listed = [whole[a:b].decode("utf-8", "surrogatepass") for a, b in zip(starts.tolist(), ends.tolist())]
        except UnicodeDecodeError as failure:
            raise ValueError(f"the stored ids are damaged: {failure}.") from None
        return cls(listed)

    def _positions(self, wanted: NDArray[Any], kind: str = "id") -> NDArray[np.int64]:
        """Return the position of every wanted id, −1 for unknown ones, after checking that they are of one kind."""
        if len(wanted) and len(self) and wanted.dtype != self.values.dtype:
            raise TypeError(
                f"These {kind}s are {_KINDS[wanted.dtype.kind]}, but the known ones are "
                f"{_KINDS[self.values.dtype.kind]}: convert them first."
            )
        return self.places(wanted)

    def places(self, wanted: NDArray[Any]) -> NDArray[np.int64]:
        """Return the positions of an array of ids of this kind, as :func:`id_array` makes it; −1 for unknown ones.

        >>> Ids(["a", "b"]).places(id_array(["b", "z"], "ids"))
        array([ 1, -1])
        """
        if len(self) == 0 or len(wanted) == 0:
            return np.full(len(wanted), -1, dtype=np.int64)
        if self.are_strings:
            return np.fromiter(map(self._lookup().get, wanted.tolist(), repeat(-1)), np.int64, len(wanted))
        order, ascending = self._lookup()
        places = np.minimum(np.searchsorted(ascending, wanted), len(self) - 1)
        return np.where(ascending[places] == wanted, order[places], -1)

    def _lookup(self) -> Any:
        if self._found is None:
            if self.are_strings:
                found: Any = {one: position for position, one in enumerate(self.values.tolist())}
            else:
                order = np.argsort(self.values, kind="stable")
                found = order, self.values[order]
            object.__setattr__(self, "_found", found)
        return self._found

    def _repeated(self) -> Any:
        """Return the first id that appears a second time, or None."""
        found = self._lookup()
        if not self.are_strings:
            _, ascending = found
            again = ascending[1:][ascending[1:] == ascending[:-1]]
            return again[0].item() if len(again) else None
        if len(found) == len(self):
            return None
        return next(one for position, one in enumerate(self.values.tolist()) if found[one] != position)

    def _did_you_mean(self, unknown: list[Any]) -> str:
        """Return a sentence that names the nearest known ids, or nothing."""
        sentences = []
        for one in unknown:
            near = nearest_ids(one, self.values, self)
            if near:
                sentences.append(f"{' or '.join(map(repr, near))} for {one!r}")
        return f" Did you mean {', '.join(sentences)}?" if sentences else ""


def id_array(values: Any, name: str) -> NDArray[Any]:
    """Return ids as a 1-D array of int64 or of Python strings (dtype object); refuse missing ids and any other type.

    >>> id_array(["a", "bc"], "ids")
    array(['a', 'bc'], dtype=object)
    """
    if isinstance(values, Ids):
        return values.values
    if isinstance(values, str):
        values = [values]
    if isinstance(values, (list, tuple)):
        listed = list(values)
        if any(isinstance(one, (list, tuple, np.ndarray)) for one in listed[:1]):
            raise ValueError(f"{name} must be a list or 1-D array of ids, got 2 dimensions.")
        return _uniform(listed, name) if listed else np.empty(0, dtype=np.int64)
    array = np.atleast_1d(np.asarray(values))
    if array.ndim != 1:
        raise ValueError(f"{name} must be a list or 1-D array of ids, got {array.ndim} dimensions.")
    if len(array) == 0:
        return np.empty(0, dtype=np.int64)
    if array.dtype.kind in "iu":
        return _as_int64(array, name)
    return array.astype(object) if array.dtype.kind == "U" else _uniform(array.tolist(), name)


def named_filter(listed: Any, ids: Ids, kind: str) -> Any:
    """Return the positions of listed ids; None, masks and booleans, which are in the order of the ids, stay.

    >>> named_filter(["b"], Ids(["a", "b"]), "item"), named_filter([False, True], Ids(["a", "b"]), "item")
    (array([1]), [False, True])
    """
    if isinstance(listed, list) and listed and isinstance(listed[0], str):
        return ids.index(listed, kind)
    if listed is None or sp.issparse(listed) or np.ndim(listed) == 2 or np.asarray(listed).dtype == bool:
        return listed
    return ids.index(listed, kind)


def number_ids(values: Any, name: str) -> tuple[Ids, NDArray[np.int64]]:
    """Return the distinct ids in ascending order and the position of every value among them.

    >>> number_ids(["b", "a", "b"], "user")
    (Ids(2: 'a', 'b'), array([1, 0, 1]))
    """
    array = id_array(values, name)
    if array.dtype != object:
        distinct, positions = np.unique(array, return_inverse=True)
        return Ids._of_distinct(distinct), positions.astype(np.int64, copy=False)
    listed = array.tolist()
    ascending = string_array(sorted(set(listed)))
    place = {one: position for position, one in enumerate(ascending.tolist())}
    return Ids._of_distinct(ascending), np.fromiter(map(place.__getitem__, listed), np.int64, len(listed))


def string_array(listed: list[str]) -> NDArray[Any]:
    """Return strings as an array of Python objects: numpy's own strings would all be as wide as the longest."""
    array = np.empty(len(listed), dtype=object)
    array[:] = listed
    return array


def is_missing(one: Any) -> bool:
    """Whether a value is None, NaN, or what data frames put in their place.

    >>> is_missing(None), is_missing(float("nan")), is_missing(0), is_missing("")
    (True, True, False, False)
    """
    return type(one).__name__ in _MISSING_TYPES or (isinstance(one, float | np.floating) and one != one)


def _uniform(listed: list[Any], name: str) -> NDArray[Any]:
    """Return Python values as one array if all are strings or all are integers."""
    kinds = set(map(type, listed))
    if all(issubclass(kind, str) for kind in kinds):
        return string_array(listed if kinds == {str} else [str(one) for one in listed])
    if all(issubclass(kind, int | np.integer) and kind is not bool for kind in kinds):
        try:
            return np.array(listed, dtype=np.int64)
        except OverflowError:
            raise ValueError(f"{name} has integers beyond the range of int64: convert them to strings.") from None
    missing = sum(map(is_missing, listed))
    if missing:
        raise ValueError(f"{name} has {missing} missing values (None or NaN): drop those rows first.")
    raise TypeError(
        f"{name} must be all strings or all integers, got {', '.join(sorted(kind.__name__ for kind in kinds))}: "
        "convert them with astype(str) or astype(int) first."
    )


def _as_int64(array: NDArray[Any], name: str) -> NDArray[np.int64]:
    if array.dtype.kind == "u" and array.max() > np.iinfo(np.int64).max:
        raise ValueError(f"{name} has integers beyond the range of int64: convert them to strings.")
    return array.astype(np.int64, copy=False)
