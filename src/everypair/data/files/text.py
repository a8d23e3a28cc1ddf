"""Rows of text ``l1,l2 f:v f:v``: the Extreme Classification repository's files and multi-label libsvm.

    xc           header "n d L", then n rows; labels and features count from 0
    xc, apart    header "n d", then n rows "f:v f:v"; the labels in a second file "n L" with rows "l:1 l:1"
    libsvm       rows only; features count from 1 (or 0), labels are any integers

A row without labels begins with a space, or at once with a feature. A compiled kernel reads the entries; a row
it leaves is read by ``map(int)`` and ``map(float)``, and only a row that fails is taken apart to say why.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.data.files.lines import Parts, fail, numbered_lines, shown
from everypair.kernels.entries import LARGEST_INDEX, parse_entries

_HEADER = re.compile(rb"[ \t]*[0-9]+(?:[ \t]+[0-9]+){1,2}[ \t]*")
_LABELS = re.compile(rb"[-+]?[0-9]{1,18}(?:,[-+]?[0-9]{1,18})*")
_NUMBER = re.compile(rb"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_ENTRIES = re.compile(rb" *+(?:[0-9]++:[-+.0-9eE]++(?: ++|$))*+")  # possessive: a bad row costs no more than a good one


class _Rows:
    """CSR rows as they are read: labels, features, values, and the line of every row."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.labels, self.label_ends = array("q"), array("q", [0])
        self.features, self.feature_ends = array("i"), array("q", [0])
        self.values = array("f")
        self.lines = array("q")
        self._scratch_features, self._scratch_values = np.empty(0, np.int32), np.empty(0, np.float32)

    def __len__(self) -> int:
        return len(self.lines)

    def add(self, number: int, line: bytes, with_labels: bool) -> None:
        """Read one row; its errors name line ``number``."""
        line = line.replace(b"\t", b" ")
        head, _, entries = line.partition(b" ")
        if b":" in head or not with_labels:
            head, entries = b"", line
        if head and not _LABELS.fullmatch(head):
            _explain(self.path, number, head, entries)
        if len(entries) // 3 + 1 > len(self._scratch_values):
            self._scratch_features = np.empty(len(entries) + 1, np.int32)  # three times the room: grows seldom
            self._scratch_values = np.empty(len(entries) + 1, np.float32)
        count = parse_entries(np.frombuffer(entries, np.uint8), self._scratch_features, self._scratch_values)
        if count >= 0:
            self.features.frombytes(self._scratch_features[:count].tobytes())
            self.values.frombytes(self._scratch_values[:count].tobytes())
        else:
            self._add_entries(number, head, entries)
        if head:
            self.labels.extend(map(int, head.split(b",")))
        self.label_ends.append(len(self.labels))
        self.feature_ends.append(len(self.features))
        self.lines.append(number)

    def _add_entries(self, number: int, head: bytes, entries: bytes) -> None:
        """Read what the kernel leaves: long numbers, and rows with an error."""
        if not _ENTRIES.fullmatch(entries):
            _explain(self.path, number, head, entries)
        tokens = entries.decode("ascii").replace(":", " ").split()
        try:
            self.features.extend(map(int, tokens[::2]))
            self.values.extend(map(float, tokens[1::2]))
        except (OverflowError, ValueError):
            _explain(self.path, number, head, entries)

    def line_of(self, position: int, ends: array[int]) -> int:
        """Return the line whose row holds the entry at ``position``."""
        return self.lines[int(np.searchsorted(np.frombuffer(ends, np.int64), position, side="right")) - 1]

    def feature_matrix(self, base: int, width: int, what: str) -> Any:
        """Return the entries as CSR with ``width`` columns, or name the line of the first bad one."""
        indices = np.frombuffer(self.features, np.int32) - np.int32(base) if self.features else np.empty(0, np.int32)
        values = np.frombuffer(self.values, np.float32) if self.values else np.empty(0, np.float32)
        outside = np.flatnonzero((indices < 0) | (indices >= width))
        if len(outside):
            fail(
                self.path,
                self.line_of(outside[0], self.feature_ends),
                f"the {what} index {indices[outside[0]] + base} is out of range: "
                f"with {width} {what}s it is from {base} to {width - 1 + base}.",
            )
        infinite = np.flatnonzero(~np.isfinite(values))
        if len(infinite):
            fail(
                self.path,
                self.line_of(infinite[0], self.feature_ends),
                f"the value of {what} {indices[infinite[0]] + base} is too large for float32: rescale it.",
            )
        ends = np.array(self.feature_ends, dtype=np.int64)
        matrix = sp.csr_array((values.copy(), indices, ends), shape=(len(self), width))
        if not matrix.has_canonical_format:
            matrix.sort_indices()
            owner = np.repeat(np.arange(len(self)), np.diff(ends))
            twice = np.flatnonzero((np.diff(matrix.indices) == 0) & (np.diff(owner) == 0))
            if len(twice):
                fail(
                    self.path,
                    self.lines[owner[twice[0]]],
                    f"{what} {matrix.indices[twice[0]] + base} is given twice: a row holds each {what} once.",
                )
            matrix.has_canonical_format = True  # scipy remembers that it was not
        matrix.eliminate_zeros()
        return matrix

    def label_matrix(self, columns: NDArray[Any], width: int) -> Any:
        """Return the indicator of the labels, whose columns are given; a label given twice counts once."""
        ends = np.frombuffer(self.label_ends, np.int64)
        matrix = sp.csr_array((np.ones(len(columns), np.float32), columns, ends), shape=(len(self), width))
        matrix.sum_duplicates()
        matrix.data[:] = 1
        return matrix


def _explain(path: Path, number: int, head: bytes, entries: bytes) -> NoReturn:
    """Say what is wrong with a row."""
    for label in head.split(b",") if head else ():
        if not _LABELS.fullmatch(label):
            fail(path, number, f"{shown(label)} is no label: labels are integers with commas between, as in 3,17.")
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
    fail(path, number, "the row cannot be read: it must have the form l1,l2 f:v f:v.")


def looks_like_header(line: bytes) -> bool:
    """Return whether a first line is the header of an xc file: two or three integers.

    >>> looks_like_header(b"7 100 20"), looks_like_header(b"3,4 1:0.5")
    (True, False)
    """
    return _HEADER.fullmatch(line) is not None


def read_xc(path: Path, labels: Path | None) -> Parts:
    """Read an xc file, or a file of features and a file ``labels`` of labels."""
    sizes, rows = _rows_of_xc(path)
    if len(sizes) == 3:
        if labels is not None:
            raise ValueError(f"{path} has its labels in the rows (its header has three numbers): leave out labels=.")
        columns = np.array(rows.labels, dtype=np.int64)
        outside = np.flatnonzero((columns < 0) | (columns >= sizes[2]))
        if len(outside):
            line = rows.line_of(outside[0], rows.label_ends)
            wanted = f"with {sizes[2]} labels it is from 0 to {sizes[2] - 1}."
            fail(path, line, f"the label index {columns[outside[0]]} is out of range: {wanted}")
        return Parts(rows.feature_matrix(0, sizes[1], "feature"), rows.label_matrix(columns, sizes[2]))
    if labels is None:
        raise ValueError(
            f"{path} has features only (its header has two numbers, rows and features): "
            "name the file of the labels with labels=."
        )
    label_sizes, label_rows = _rows_of_xc(labels)
    if len(label_sizes) != 2:
        fail(labels, 1, "a file of labels has a header of two numbers, rows and labels.")
    if label_sizes[0] != sizes[0]:
        fail(labels, 1, f"the header announces {label_sizes[0]} rows, but {path} has {sizes[0]}.")
    indicator = label_rows.feature_matrix(0, label_sizes[1], "label")
    indicator.data[:] = 1
    return Parts(rows.feature_matrix(0, sizes[1], "feature"), indicator)


def _rows_of_xc(path: Path) -> tuple[list[int], _Rows]:
    """Return the header's numbers and the rows, of which there are as many as it says."""
    lines = numbered_lines(path)
    _, header = next(lines, (0, b""))
    if not header.strip():
        raise ValueError(f"{path} is empty or begins with a blank line: the first line must be the header n d L.")
    if not looks_like_header(header):
        fail(path, 1, f"the header must be rows, features and labels, as in 7 100 20, got {shown(header)}.")
    sizes = [int(size) if len(size) <= 18 else LARGEST_INDEX + 1 for size in header.split()]
    if min(sizes) < 1 or max(sizes) > LARGEST_INDEX:
        fail(path, 1, f"the numbers of the header must be from 1 to {LARGEST_INDEX}, got {shown(header)}.")
    rows = _Rows(path)
    for number, line in lines:
        if len(rows) < sizes[0]:
            rows.add(number, line, with_labels=len(sizes) == 3)
        elif line.strip():
            fail(path, number, f"the header announces {sizes[0]} row(s), but here is one more.")
    if len(rows) < sizes[0]:
        fail(path, len(rows) + 1, f"the header announces {sizes[0]} row(s), but the file ends after {len(rows)}.")
    return sizes, rows


def read_libsvm(path: Path, index_base: int | None, n_features: int | None, label_names: Sequence[str] | None) -> Parts:
    """Read a multi-label libsvm file; ``None`` takes base, width and labels from the file."""
    rows = _Rows(path)
    for number, line in _without_comments(path):
        rows.add(number, line, with_labels=True)
    if not len(rows):
        raise ValueError(f"{path} is empty: it has no row.")
    smallest, largest = (min(rows.features), max(rows.features)) if rows.features else (1, 0)
    base = (0 if smallest == 0 else 1) if index_base is None else index_base
    if smallest < base:
        where = rows.line_of(rows.features.index(0), rows.feature_ends)
        fail(path, where, "the feature index 0 is out of range: with index_base=1 the first is 1; say index_base=0.")
    width = largest + 1 - base if n_features is None else n_features
    if width < 1:
        raise ValueError(f"{path} has no feature in any row: give their number with n_features=.")
    ids = np.array(rows.labels, dtype=np.int64)
    if label_names is None:
        if not len(ids):
            raise ValueError(f"{path} has no label in any row: give the labels with label_names=.")
        known, columns = np.unique(ids, return_inverse=True)
        names = tuple(str(label) for label in known)
    else:
        names = tuple(label_names)
        columns = _known_columns(rows, ids, names)
    return Parts(rows.feature_matrix(base, width, "feature"), rows.label_matrix(columns, len(names)), None, names)


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


def _known_columns(rows: _Rows, ids: NDArray[np.int64], names: tuple[str, ...]) -> NDArray[np.int64]:
    column_of = {name: column for column, name in enumerate(names)}
    columns = np.array([column_of.get(str(label), -1) for label in ids.tolist()], dtype=np.int64)
    unknown = np.flatnonzero(columns < 0)
    if len(unknown):
        line = rows.line_of(unknown[0], rows.label_ends)
        fail(rows.path, line, f"the label {ids[unknown[0]]} is not among the {len(names)} label_names.")
    return columns
