"""Multi-label data from a Parquet table: a column of lists of labels, and features as numbers or as sparse rows.

    labels              ["war", "love"]   lists of strings, their names, or of whole numbers, their positions from 0
    indices, values     [0, 17]  [½, 2]   lists: the features of a row that are not 0, their positions from 0; or else
    any other column    ½                 a number in each row, the feature of that name

Errors name the file, the column and the row, which counts from 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.data.files.instances import MultiLabelData
from everypair.data.files.lines import shown
from everypair.data.tables.arrow import read_arrow
from everypair.words import listed

LABELS = "labels"
SPARSE = ("indices", "values")
MOST_POSITIONS = 2**24  # of labels; numbers beyond are ids, for which names are there


def read_label_table(
    path: Path,
    labels: str | None,
    features: Sequence[str] | None,
    n_features: int | None,
    label_names: Sequence[str] | None,
) -> MultiLabelData:
    """Read a Parquet file; ``None`` takes the usual columns, all features and the labels in the file."""
    schema = read_arrow(path, "parquet", None).schema
    labels = LABELS if labels is None else labels
    columns = _feature_columns(path, schema, labels, features)
    table = read_arrow(path, "parquet", [labels, *columns])
    if not table.num_rows:
        raise ValueError(f"{path} has no rows: leave the file out.")
    if tuple(columns) == SPARSE:
        X, names = _sparse_rows(path, table, n_features), None
    elif n_features is not None:
        raise ValueError(f"{path} has a column for each feature: leave out n_features=, which is for lists of indices.")
    else:
        X, names = _numbers(path, table, columns), tuple(columns)
    Y, known = _labels(path, table, labels, label_names)
    return MultiLabelData(X, Y, names, known)


def _feature_columns(path: Path, schema: Any, labels: str, features: Sequence[str] | None) -> list[str]:
    """Which columns hold the features: those that are asked for, or all but the labels."""
    names = list(schema.names)
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"{path} has two columns {twice!r}: give them different names.")
    if isinstance(features, str):
        raise TypeError(f'features must be a list of columns, got {features!r}: say features=["{features}"].')
    for name in [labels, *(features or ())]:
        if name not in names:
            hint = ', or name that of the labels with labels="…"' if name == labels else ""
            raise ValueError(f"{path} has no column {name!r}: it has {listed(names, 10)}. Add it{hint}.")
    chosen = [name for name in names if name != labels] if features is None else list(features)
    if labels in chosen:
        raise ValueError(f"{path}: column {labels!r} holds the labels and cannot be a feature.")
    if not chosen:
        raise ValueError(f"{path} has no column besides {labels!r}: there are no features in it.")
    if set(SPARSE) & set(chosen) and any(_is_list(schema.field(name).type) for name in SPARSE if name in names):
        if set(SPARSE) != set(chosen):
            raise ValueError(
                f"{path}: features are lists in 'indices' and 'values', or numbers in columns of their own; it has "
                f"{listed(chosen, 10)}. Say features=['indices', 'values'] to leave the others out."
            )
        return list(SPARSE)
    return chosen


def _numbers(path: Path, table: Any, columns: Sequence[str]) -> Any:
    """Columns of numbers as a sparse matrix."""
    import pyarrow as pa

    matrix = np.empty((table.num_rows, len(columns)), np.float32)
    for place, name in enumerate(columns):
        column = table.column(name)
        if not (_is_number(column.type) or pa.types.is_boolean(column.type)):
            raise ValueError(
                f"{path}: column {name!r} holds {column.type}, and features are numbers: encode it (as "
                "everypair.features.table_features does), or name the features with features=[…]."
            )
        _refuse_missing(path, name, column)
        matrix[:, place] = _finite(path, name, column, np.arange(table.num_rows))
    return sp.csr_array(matrix)


def _sparse_rows(path: Path, table: Any, n_features: int | None) -> Any:
    """Lists of indices and of values as a sparse matrix."""
    (ends, flat_indices), (other_ends, flat_values) = (_lists(path, name, table.column(name)) for name in SPARSE)
    differ = np.flatnonzero(ends != other_ends)
    if len(differ):
        row = int(differ[0]) - 1
        raise ValueError(f"{path}: 'indices' and 'values' are of different length in row {row}.")
    row_of = np.repeat(np.arange(table.num_rows), np.diff(ends))
    indices = _positions(path, SPARSE[0], flat_indices, row_of, "feature", n_features, np.iinfo(np.int32).max)
    if not _is_number(flat_values.type):
        raise ValueError(f"{path}: column 'values' holds lists of {flat_values.type}: they must be numbers.")
    values = _finite(path, SPARSE[1], flat_values, row_of)
    width = int(indices.max(initial=-1)) + 1 if n_features is None else n_features
    if not width:
        raise ValueError(f"{path} has no feature in any row: give their number with n_features=.")
    matrix = sp.csr_array((values, indices.astype(np.int32), ends), shape=(table.num_rows, width))
    matrix.sort_indices()
    twice = np.flatnonzero((np.diff(matrix.indices) == 0) & (np.diff(row_of) == 0))
    if len(twice):
        _fail(path, SPARSE[0], row_of[twice[0]], f"holds {matrix.indices[twice[0]]} twice: a row has each feature once")
    matrix.eliminate_zeros()
    return matrix


def _labels(path: Path, table: Any, name: str, label_names: Sequence[str] | None) -> tuple[Any, tuple[str, ...] | None]:
    """The indicator of the labels, and their names where they are strings."""
    import pyarrow as pa

    if not _is_list(table.column(name).type):
        raise ValueError(
            f"{path}: column {name!r} holds {table.column(name).type}: labels are lists of strings or of whole numbers."
        )
    ends, flat = _lists(path, name, table.column(name))
    if pa.types.is_dictionary(flat.type):
        flat = flat.dictionary_decode()
    row_of = np.repeat(np.arange(table.num_rows), np.diff(ends))
    names = None if label_names is None else tuple(label_names)
    if pa.types.is_string(flat.type) or pa.types.is_large_string(flat.type):
        coded = flat.dictionary_encode()
        distinct = coded.dictionary.to_pylist()
        names = tuple(sorted(distinct)) if names is None else names
        place = {label: position for position, label in enumerate(names)}
        found = np.array([place.get(label, -1) for label in distinct], np.int64)
        columns = found[coded.indices.to_numpy(zero_copy_only=False)] if len(flat) else np.empty(0, np.int64)
        strange = np.flatnonzero(columns < 0)
        if len(strange):
            label = shown(flat[int(strange[0])].as_py())
            _fail(path, name, row_of[strange[0]], f"holds {label}, which is not among the {len(names)} label_names")
        width = len(names)
    elif pa.types.is_integer(flat.type) or pa.types.is_null(flat.type):
        columns = _positions(path, name, flat, row_of, "label", None if names is None else len(names), MOST_POSITIONS)
        width = int(columns.max(initial=-1)) + 1 if names is None else len(names)
    else:
        raise ValueError(f"{path}: column {name!r} holds lists of {flat.type}: labels are strings or whole numbers.")
    matrix = sp.csr_array((np.ones(len(columns), np.float32), columns.astype(np.int32), ends), (table.num_rows, width))
    matrix.sum_duplicates()
    matrix.data[:] = 1
    return matrix, names


def _lists(path: Path, name: str, column: Any) -> tuple[NDArray[np.int64], Any]:
    """Where every row's list ends (0 first), and all lists one after the other."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not _is_list(column.type):
        raise ValueError(f"{path}: column {name!r} holds {column.type}: it must hold lists.")
    _refuse_missing(path, name, column, " An empty list says that a row has none.")
    lengths = pc.list_value_length(column).to_numpy(zero_copy_only=False)
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    flat = pc.list_flatten(column)
    flat = flat.combine_chunks() if isinstance(flat, pa.ChunkedArray) else flat
    if flat.null_count and not pa.types.is_null(flat.type):
        first = int(np.argmax(flat.is_null().to_numpy(zero_copy_only=False)))
        _fail(path, name, np.searchsorted(ends, first, side="right") - 1, "holds a missing value in its list")
    return ends, flat


def _positions(
    path: Path, name: str, flat: Any, row_of: NDArray[Any], what: str, count: int | None, most: int
) -> NDArray[np.int64]:
    """Whole numbers from 0 to count − 1."""
    import pyarrow as pa

    if not (pa.types.is_integer(flat.type) or len(flat) == 0):
        raise ValueError(f"{path}: column {name!r} holds lists of {flat.type}: they must be whole numbers.")
    numbers = flat.to_numpy(zero_copy_only=False) if len(flat) else np.empty(0, np.int64)
    outside = np.flatnonzero((numbers < 0) | (numbers >= (most if count is None else count)))
    if len(outside):
        hint = f": with {count} {what}s it is from 0 to {count - 1}" if count is not None else f": {what}s count from 0"
        if count is None and what == "label" and numbers[outside[0]] >= 0:
            hint = f", beyond 2²⁴: numbers are positions of {what}s from 0, ids are better written as strings"
        _fail(path, name, row_of[outside[0]], f"holds {numbers[outside[0]]}{hint}")
    return numbers.astype(np.int64)


def _finite(path: Path, name: str, values: Any, row_of: NDArray[Any]) -> NDArray[np.float32]:
    """Numbers as float32."""
    numbers = np.asarray(values.cast("float64").to_numpy(zero_copy_only=False)) if len(values) else np.empty(0)
    with np.errstate(over="ignore"):
        narrow = numbers.astype(np.float32)
    strange = np.flatnonzero(~np.isfinite(narrow))
    if len(strange):
        _fail(path, name, row_of[strange[0]], f"holds {numbers[strange[0]]}, which is no finite float32: mend it")
    return narrow


def _refuse_missing(path: Path, name: str, column: Any, hint: str = "") -> None:
    if column.null_count:
        row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise ValueError(
            f"{path}: column {name!r} has {column.null_count} missing values, the first in row {row}: fill them, or "
            f"drop those rows.{hint}"
        )


def _is_list(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _is_number(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _fail(path: Path, name: str, row: Any, problem: str) -> NoReturn:
    raise ValueError(f"{path}, row {int(row)}: column {name!r} {problem}.")
