"""Numbers, weights and matrices: every check of an argument, once. Each refuses what makes no sense with a sentence."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from narwhals.exceptions import DuplicateError

from everypair.column_names import looks_like_events


def is_number(value: Any) -> bool:
    """Whether ``value`` is a real number, not a bool, not NaN."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and not np.isnan(value)


def integer(name: str, value: Any, least: int = 1) -> int:
    """Return a parameter that must be an integer of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} must be an integer ≥ {least}, got {value!r}.")
    return int(value)


def flag(name: str, value: Any) -> bool:
    """Return a parameter that must be True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {value!r}.")
    return bool(value)


def number(
    name: str, value: Any, *, least: float = -math.inf, above: float = -math.inf, below: float = math.inf
) -> float:
    """Return a parameter that must be a finite number within bounds.

    >>> number("share", 2, least=0, below=1)
    Traceback (most recent call last):
    ValueError: share must be a finite number ≥ 0 and < 1, got 2.
    """
    if not is_number(value) or not math.isfinite(value) or value < least or value <= above or value >= below:
        bounds = [f"≥ {least:g}"] * math.isfinite(least) + [f"> {above:g}"] * math.isfinite(above)
        bounds += [f"< {below:g}"] * math.isfinite(below)
        raise ValueError(f"{name} must be a finite number {' and '.join(bounds)}, got {value!r}.")
    return float(value)


def any_number(name: str, value: Any) -> float:
    """Return a parameter that must be a number, infinite ones included."""
    if not is_number(value):
        raise ValueError(f"{name} must be a number, got {value!r}.")
    return float(value)


def one_of(name: str, value: Any, options: tuple[str, ...]) -> str:
    """Return a parameter that must be one of a few words.

    >>> one_of("loss", "cubic", ("squared", "logistic"))
    Traceback (most recent call last):
    ValueError: loss must be one of 'squared', 'logistic', got 'cubic'.
    """
    if not isinstance(value, str) or value not in options:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, options))}, got {value!r}.")
    return value


def tolerance(name: str, value: Any) -> float:
    """Return a relative decrease at which training stops."""
    if not is_number(value) or value < 0:
        raise ValueError(f"{name} must be a number ≥ 0, got {value!r}.")
    return float(value)


def patience(name: str, value: Any) -> int | None:
    """Return a number of sweeps to wait, or None."""
    if value is not None and (not is_number(value) or int(value) != value or value < 1):
        raise ValueError(f"{name} must be a positive integer or None, got {value!r}.")
    return None if value is None else int(value)


def seconds(name: str, value: Any) -> float | None:
    """Return a limit of time, or None."""
    if value is not None and (not is_number(value) or value <= 0):
        raise ValueError(f"{name} must be a positive number of seconds or None, got {value!r}.")
    return value


def within(name: str, values: Any, dtype: Any) -> np.ndarray[Any, np.dtype[Any]]:
    """Return numbers in ``dtype``, or refuse those that are too large for it."""
    given = np.asarray(values)
    if given.dtype == dtype:
        array = given.copy()
    else:
        with np.errstate(over="ignore"):
            array = given.astype(dtype)
    if not np.isfinite(array).all():
        hint = ', or use dtype="float64"' if np.dtype(dtype) == np.float32 else ""
        raise ValueError(f"{name} has values too large for {np.dtype(dtype)}: rescale them{hint}.")
    return array


def float_dtype(dtype: Any) -> np.dtype[Any]:
    """Return float32 or float64."""
    try:
        checked = np.dtype(dtype)
    except TypeError:
        checked = np.dtype(object)
    if checked not in (np.float32, np.float64):
        raise ValueError(f'dtype must be "float32" or "float64", got {dtype!r}.')
    return checked


def generator(random_state: Any) -> np.random.Generator:
    """Return the random numbers of a seed, a generator or ``None`` (other numbers at every fit)."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as failure:
        raise ValueError(
            f"random_state must be a non-negative integer, a numpy Generator or None, got {random_state!r}."
        ) from failure


def dense_array(matrix: Any, name: str) -> Any:
    """Return an array in this machine's byte order; masked entries, which would lose their mask, are refused.

    >>> dense_array(np.array([[1, 2]], dtype=">i4"), "X").dtype.isnative
    True
    """
    if isinstance(matrix, np.ma.MaskedArray) and np.ma.getmaskarray(matrix).any():
        raise ValueError(
            f"{name} has {np.ma.getmaskarray(matrix).sum()} masked entries, which would count as values: fill them "
            "(filled(0), or filled(numpy.nan) where NaN means unknown), or store the others in a sparse matrix."
        )
    array = np.asarray(matrix)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def as_frame(source: Any, name: str) -> nw.DataFrame[Any] | None:
    """Return a data frame of any library as narwhals sees it; None where ``source`` is none.

    >>> as_frame(np.eye(2), "X") is None
    True
    """
    if isinstance(source, np.ndarray | list | tuple) or sp.issparse(source):
        return None
    try:
        frame = nw.from_native(source, eager_only=True, pass_through=True)
    except DuplicateError:
        raise ValueError(f"{name} is a frame with columns of the same name: give them different names.") from None
    if not isinstance(frame, nw.DataFrame) and hasattr(source, "collect"):
        raise TypeError(f"{name} is a lazy frame: collect() it first.")
    return frame if isinstance(frame, nw.DataFrame) else None


def refuse_events(matrix: Any, name: str) -> None:
    """Refuse a data frame of events, one per row, where a matrix is wanted."""
    frame = as_frame(matrix, name)
    if frame is not None and looks_like_events(frame.columns):
        shown = ", ".join(map(repr, frame.columns[:4]))
        raise ValueError(
            f"{name} is a table of events (its columns are {shown}), not a matrix of rows × columns: "
            "everypair.data.read_events(frame).matrix makes one of it."
        )


class Canonical(NamedTuple):
    """A CSR array without duplicates, sorted, and whether its arrays are the caller's own.

    ``stored`` is the number of entries before duplicates were summed.
    """

    matrix: Any
    stored: int
    shared: bool


def as_csr(matrix: Any, dtype: Any, name: str) -> tuple[Any, int]:
    """Return a canonical CSR array (sorted, duplicates summed) and the number of entries stored before."""
    csr, stored, _ = canonical_csr(matrix, dtype, name)
    return as_dtype(csr, dtype), stored


def as_dtype(csr: Any, dtype: Any) -> Any:
    """Return a sparse array in ``dtype``; values too large for it become infinite."""
    if csr.dtype == dtype:
        return csr
    with np.errstate(over="ignore"):  # infinite weights are refused with a sentence
        return csr.astype(dtype)


def canonical_csr(matrix: Any, dtype: Any, name: str) -> Canonical:
    """Return a canonical CSR array in its own dtype, or a wider one than ``dtype`` where duplicates were summed."""
    refuse_events(matrix, name)
    if not sp.issparse(matrix) and hasattr(matrix, "tocsr"):  # everypair.data.Entries
        matrix = matrix.tocsr()
    array: Any = matrix if sp.issparse(matrix) else dense_array(matrix, name)
    if array.dtype.kind not in "buif":
        if array.dtype.kind == "c":
            raise TypeError(f"{name} must hold real numbers, got dtype {array.dtype}: take its .real or its absolute.")
        what = type(matrix).__name__
        if isinstance(matrix, np.ndarray):
            kinds = {"O": "objects: convert it with astype(float)", "U": "text"}
            what = f"an array of {kinds.get(array.dtype.kind, array.dtype)}"
        raise TypeError(
            f"{name} must be a sparse matrix or a numeric 2-D array, got {what}; of a list of events give what "
            "everypair.data.read_events makes of it."
        )
    if array.ndim != 2:
        raise ValueError(f"{name} must be two-dimensional (left entities × right entities), got {array.ndim}-D.")
    if min(array.shape) == 0:
        raise ValueError(f"{name} is empty: its shape is {array.shape}.")
    stored, shared = None, False
    if sp.issparse(array):
        if array.format in ("csr", "csc", "bsr"):
            array = _checked_indices(array, name)
        if array.format in ("csr", "csc", "bsr", "coo"):  # the formats that can hold a pair twice
            stored = array.nnz
        shared = array.format == "csr" and array.has_canonical_format
        if not shared:  # widened before duplicates are summed: two int8 weights of 100 are not −56
            array = array.astype(np.result_type(array.dtype, dtype), copy=False)
    elif array.dtype == np.float16:  # scipy.sparse knows no half precision
        array = array.astype(np.float32)
    csr = sp.csr_array(array)
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    return Canonical(csr, csr.nnz if stored is None else stored, shared)


def _checked_indices(matrix: Any, name: str) -> Any:
    """Return a compressed matrix whose positions all lie inside it: kernels do not look again."""
    try:
        shell = type(matrix)(matrix)  # shares the arrays; what the check tidies up stays in the shell
        if np.any(np.diff(shell.indptr) < 0):  # scipy does not look where the last of them is 0
            raise ValueError("index pointer values must form a non-decreasing sequence")
        shell.check_format(full_check=True)
    except ValueError as failure:
        raise ValueError(f"{name} is not a valid {matrix.format.upper()} matrix: {failure}.") from failure
    return shell
