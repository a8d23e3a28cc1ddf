"""Rows of text ``l1,l2 f:v f:v``: the Extreme Classification repository's files and multi-label libsvm.

    xc           header "n d L", then n rows; labels and features count from 0
    xc, apart    header "n d", then n rows "f:v f:v"; the labels in a second file "n L" with rows "l:1 l:1"
    libsvm       rows only; features count from 1 (or 0), labels are any integers

A row without labels begins with a space, or at once with a feature. scikit-learn reads the rows; what it refuses, or
reads into something that the file must not hold, is read again line by line, to be read all the same (features in any
order, blank rows) or to say what is wrong and where.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.data.files.instances import MultiLabelData
from everypair.data.files.lines import fail, numbered_lines, shown
from everypair.types import Array

LARGEST_INDEX = 2**31 - 1
_HEADER = re.compile(rb"[ \t]*[0-9]+(?:[ \t]+[0-9]+){1,2}[ \t]*")
_LABEL = re.compile(rb"[-+]?[0-9]{1,18}")
_NUMBER = re.compile(rb"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_Lines = Callable[[], Iterator[tuple[int, bytes]]]


@dataclass(frozen=True)
class _Rows:
    """Rows one after the other: labels, features and values, where those of each row end (0 first), and its line."""

    path: Path
    labels: NDArray[np.int64]
    label_ends: NDArray[np.int64]
    features: NDArray[np.int64]
    values: NDArray[np.float32]
    feature_ends: NDArray[np.int64]
    lines: Array

    def __len__(self) -> int:
        return len(self.lines)

    def line_of(self, position: Any, ends: Array) -> int:
        """Return the line whose row holds the entry at ``position``."""
        return int(self.lines[int(np.searchsorted(ends, position, side="right")) - 1])

    def feature_matrix(self, base: int, width: int, what: str) -> Any:
        """Return the entries as CSR with ``width`` columns, or name the line of the first bad one."""
        indices, ends = self.features - base, self.feature_ends
        outside = np.flatnonzero((indices < 0) | (indices >= width))
        if len(outside):
            fail(
                self.path,
                self.line_of(outside[0], ends),
                f"the {what} index {indices[outside[0]] + base} is out of range: "
                f"with {width} {what}s it is from {base} to {width - 1 + base}.",
            )
        infinite = np.flatnonzero(~np.isfinite(self.values))
        if len(infinite):
            fail(
                self.path,
                self.line_of(infinite[0], ends),
                f"the value of {what} {indices[infinite[0]] + base} is too large for float32: rescale it.",
            )
        matrix = sp.csr_array((self.values, indices.astype(np.int32), ends), shape=(len(self), width))
        matrix.sort_indices()
        owner = np.repeat(np.arange(len(self)), np.diff(ends))
        twice = np.flatnonzero((np.diff(matrix.indices) == 0) & (np.diff(owner) == 0))
        if len(twice):
            fail(
                self.path,
                int(self.lines[owner[twice[0]]]),
                f"{what} {matrix.indices[twice[0]] + base} is given twice: a row holds each {what} once.",
            )
        matrix.has_canonical_format = True  # scipy remembers that it was not
        matrix.eliminate_zeros()
        return matrix

    def label_matrix(self, columns: NDArray[Any], width: int) -> Any:
        """Return the indicator of the labels, whose columns are given; a label given twice counts once."""
        ones = np.ones(len(columns), np.float32)
        matrix = sp.csr_array((ones, columns, self.label_ends), shape=(len(self), width))
        matrix.sum_duplicates()
        matrix.data[:] = 1
        return matrix


def _read(path: Path, lines: _Lines, with_labels: bool, build: Callable[[_Rows], MultiLabelData]) -> MultiLabelData:
    """Build the data of rows as scikit-learn reads them, or line by line where that fails."""
    try:
        return build(_read_at_once(path, lines, with_labels))
    except (ValueError, OverflowError):
        return build(_read_line_by_line(path, lines, with_labels))


def _read_at_once(path: Path, lines: _Lines, with_labels: bool) -> _Rows:
    """Read rows with scikit-learn; it passes over blank ones, and its errors name no line."""
    from sklearn.datasets import load_svmlight_file

    numbers: list[int] = []

    class Texts:
        """The lines as scikit-learn takes them: an open file."""

        def read(self) -> None:
            """Files are told by this."""

        def __iter__(self) -> Iterator[bytes]:
            for number, line in lines():
                numbers.append(number)
                yield line

    X, tuples = load_svmlight_file(Texts(), dtype=np.float64, multilabel=True, zero_based=True)
    with np.errstate(over="ignore"):
        values = X.data.astype(np.float32)
    counts = np.fromiter(map(len, tuples), np.int64, len(tuples))
    labels = np.fromiter(chain.from_iterable(tuples), np.float64, int(counts.sum()))
    whole = labels.astype(np.int64)
    if len(tuples) != len(numbers) or (whole != labels).any() or (np.abs(labels) >= 2**53).any():
        raise ValueError("blank rows, or labels that are no integers")
    if len(labels) and not with_labels:
        raise ValueError("labels where features are wanted")
    ends = np.concatenate([[0], np.cumsum(counts)])
    return _Rows(path, whole, ends, X.indices.astype(np.int64), values, X.indptr.astype(np.int64), np.array(numbers))


def _read_line_by_line(path: Path, lines: _Lines, with_labels: bool) -> _Rows:
    """Read rows slowly; errors name the line."""
    labels: list[int] = []
    features: list[int] = []
    values: list[float] = []
    label_ends, feature_ends, numbers = [0], [0], []
    for number, line in lines():
        head, _, entries = line.replace(b"\t", b" ").partition(b" ")
        if b":" in head or not with_labels:
            head, entries = b"", line
        for label in head.split(b",") if head else ():
            if not _LABEL.fullmatch(label):
                fail(path, number, f"{shown(label)} is no label: labels are integers with commas between, as in 3,17.")
            labels.append(int(label))
        for entry in entries.split():
            index, colon, value = entry.partition(b":")
            if not colon:
                fail(path, number, f"{shown(entry)} is no entry of the form index:value.")
            if not index.isdigit():
                fail(path, number, f"{shown(index)} is no index: indices are integers from 0 or 1 on.")
            if len(index) > 18 or int(index) > LARGEST_INDEX:
                fail(path, number, f"the index {shown(index)} is out of range: at most {LARGEST_INDEX} is possible.")
            if not _NUMBER.fullmatch(value):
                fail(path, number, f"{shown(value)}, the value of index {int(index)}, is no finite number.")
            features.append(int(index))
            values.append(float(value))
        label_ends.append(len(labels))
        feature_ends.append(len(features))
        numbers.append(number)
    with np.errstate(over="ignore"):
        narrow = np.array(values, np.float64).astype(np.float32)
    owned, owned_ends, indices, ends, where = (
        np.array(one, np.int64) for one in (labels, label_ends, features, feature_ends, numbers)
    )
    return _Rows(path, owned, owned_ends, indices, narrow, ends, where)


def looks_like_header(line: bytes) -> bool:
    """Return whether a first line is the header of an xc file: two or three integers.

    >>> looks_like_header(b"7 100 20"), looks_like_header(b"3,4 1:0.5")
    (True, False)
    """
    return _HEADER.fullmatch(line) is not None


def read_xc(path: Path, labels: Path | None) -> MultiLabelData:
    """Read an xc file, or a file of features and a file ``labels`` of labels."""
    sizes = _sizes(path)
    if len(sizes) == 3:
        if labels is not None:
            raise ValueError(f"{path} has its labels in the rows (its header has three numbers): leave out labels=.")

        def build(rows: _Rows) -> MultiLabelData:
            outside = np.flatnonzero((rows.labels < 0) | (rows.labels >= sizes[2]))
            if len(outside):
                line, label = rows.line_of(outside[0], rows.label_ends), rows.labels[outside[0]]
                wanted = f"with {sizes[2]} labels it is from 0 to {sizes[2] - 1}."
                fail(path, line, f"the label index {label} is out of range: {wanted}")
            X = rows.feature_matrix(0, sizes[1], "feature")
            return MultiLabelData(X, rows.label_matrix(rows.labels, sizes[2]))

        return _read(path, lambda: _counted(path, sizes[0]), True, build)
    if labels is None:
        raise ValueError(
            f"{path} has features only (its header has two numbers, rows and features): "
            "name the file of the labels with labels=."
        )
    label_sizes = _sizes(labels)
    if len(label_sizes) != 2:
        fail(labels, 1, "a file of labels has a header of two numbers, rows and labels.")
    if label_sizes[0] != sizes[0]:
        fail(labels, 1, f"the header announces {label_sizes[0]} rows, but {path} has {sizes[0]}.")
    X = _entries(path, sizes[0], sizes[1], "feature")
    Y = _entries(labels, sizes[0], label_sizes[1], "label")
    Y.data[:] = 1
    return MultiLabelData(X, Y)


def _entries(path: Path, count: int, width: int, what: str) -> Any:
    """Read a file of features, or of labels, alone."""

    def build(rows: _Rows) -> MultiLabelData:
        return MultiLabelData(rows.feature_matrix(0, width, what), None)

    return _read(path, lambda: _counted(path, count), False, build).X


def _sizes(path: Path) -> list[int]:
    """Return the numbers of the header of an xc file."""
    _, header = next(numbered_lines(path), (0, b""))
    if not header.strip():
        raise ValueError(f"{path} is empty or begins with a blank line: the first line must be the header n d L.")
    if not looks_like_header(header):
        fail(path, 1, f"the header must be rows, features and labels, as in 7 100 20, got {shown(header)}.")
    sizes = [int(size) if len(size) <= 18 else LARGEST_INDEX + 1 for size in header.split()]
    if min(sizes) < 1 or max(sizes) > LARGEST_INDEX:
        fail(path, 1, f"the numbers of the header must be from 1 to {LARGEST_INDEX}, got {shown(header)}.")
    return sizes


def _counted(path: Path, count: int) -> Iterator[tuple[int, bytes]]:
    """Yield the lines behind the header, of which there are so many; blank ones at the end are none."""
    number = 1
    for number, line in numbered_lines(path):
        if 1 < number <= count + 1:
            yield number, line
        elif number > 1 and line.strip():
            fail(path, number, f"the header announces {count} row(s), but here is one more.")
    if number <= count:
        fail(path, number, f"the header announces {count} row(s), but the file ends after {number - 1}.")


def read_libsvm(
    path: Path, index_base: int | None, n_features: int | None, label_names: Sequence[str] | None
) -> MultiLabelData:
    """Read a multi-label libsvm file; ``None`` takes base, width and labels from the file."""

    def build(rows: _Rows) -> MultiLabelData:
        if not len(rows):
            raise ValueError(f"{path} is empty: it has no row.")
        smallest, largest = (rows.features.min(), rows.features.max()) if len(rows.features) else (1, 0)
        base = (0 if smallest == 0 else 1) if index_base is None else index_base
        if smallest < base:
            where = rows.line_of(int(np.argmin(rows.features)), rows.feature_ends)
            fail(
                path, where, "the feature index 0 is out of range: with index_base=1 the first is 1; say index_base=0."
            )
        width = int(largest) + 1 - base if n_features is None else n_features
        if width < 1:
            raise ValueError(f"{path} has no feature in any row: give their number with n_features=.")
        if label_names is None:
            if not len(rows.labels):
                raise ValueError(f"{path} has no label in any row: give the labels with label_names=.")
            distinct, columns = np.unique(rows.labels, return_inverse=True)
            names = tuple(str(label) for label in distinct)
        else:
            names = tuple(label_names)
            columns = _columns_among(rows, names)
        X = rows.feature_matrix(base, width, "feature")
        return MultiLabelData(X, rows.label_matrix(columns, len(names)), None, names)

    return _read(path, lambda: _without_comments(path), True, build)


def _without_comments(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the rows: without what follows a #, without lines of comment only and blank lines at the end."""
    blank = 0
    for number, line in numbered_lines(path):
        row, comment, _ = line.partition(b"#")
        if row.strip():
            if blank:
                fail(path, blank, "a blank line between rows: is a row missing here?")
            yield number, row.rstrip()
        elif not comment and not blank:
            blank = number


def _columns_among(rows: _Rows, names: tuple[str, ...]) -> NDArray[np.int64]:
    column_of = {name: column for column, name in enumerate(names)}
    columns = np.array([column_of.get(str(label), -1) for label in rows.labels.tolist()], dtype=np.int64)
    unknown = np.flatnonzero(columns < 0)
    if len(unknown):
        line = rows.line_of(unknown[0], rows.label_ends)
        fail(rows.path, line, f"the label {rows.labels[unknown[0]]} is not among the {len(names)} label_names.")
    return columns
