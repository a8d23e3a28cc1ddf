"""ARFF with an XML file of label names, as Mulan distributes its data sets.

Attributes are numeric or nominal. A nominal attribute with the values 0 and 1 is read as that number, another
one as one column ``name=value`` per value. Rows are dense, ``5.1,red,0``, or sparse, ``{0 5.1, 2 1}``: what a
sparse row leaves out is 0, or the *first* value of a nominal attribute, as the format defines it. Columns of
Y follow the order of the XML file, columns of X that of the attributes.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.parsers import expat

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.data.files.lines import Parts, fail, numbered_lines, shown

_NUMERIC = ("numeric", "real", "integer")
_QUOTED = r"'(?:[^'\\]|\\.)*+'|\"(?:[^\"\\]|\\.)*+\""
_NAME_AND_TYPE = re.compile(rf"@attribute\s+({_QUOTED}|[^\s'\"{{]+)\s*(.+)", re.IGNORECASE)
_PIECE = re.compile(rf"(?:[^,'\"\\]|\\.|{_QUOTED})*+")
_SPARSE_ENTRY = re.compile(r"([0-9]{1,9})\s+(.+)")


@dataclass(frozen=True)
class _Attribute:
    """One attribute: ``values`` are those of a nominal one; its columns start at ``start``."""

    name: str
    values: tuple[str, ...] | None
    start: int

    @property
    def is_number(self) -> bool:
        return self.values is None or {"0", "1"} >= set(self.values)

    @property
    def width(self) -> int:
        return 1 if self.values is None or self.is_number else len(self.values)

    @property
    def column_names(self) -> list[str]:
        if self.values is None or self.is_number:
            return [self.name]
        return [f"{self.name}={value}" for value in self.values]


def read_arff(path: Path, labels: Path) -> Parts:
    """Read the ARFF file ``path``, whose label attributes are those named by the XML file ``labels``."""
    label_names = read_label_names(labels)
    lines = _text_lines(path)
    attributes = _read_attributes(path, lines)
    place = {attribute.name: number for number, attribute in enumerate(attributes)}
    for name in label_names:
        if name not in place:
            raise ValueError(f"{labels} names the label {shown(name)}, but {path} has no such attribute.")
        if not attributes[place[name]].is_number:
            raise ValueError(f"{path}: the label attribute {shown(name)} must have the values {{0,1}}.")

    both, line_of_row = _RowReader(path, attributes).read(lines)
    is_label = set(label_names)
    features = [attribute for attribute in attributes if attribute.name not in is_label]
    if not features:
        raise ValueError(f"{path} has labels only: none of its {len(attributes)} attributes is a feature.")
    by_column = both.tocsc()
    Y = by_column[:, [attributes[place[name]].start for name in label_names]].tocsr()
    wrong = np.flatnonzero(Y.data != 1)
    if len(wrong):
        row = int(np.searchsorted(Y.indptr, wrong[0], side="right")) - 1
        fail(path, line_of_row[row], f"the label {shown(label_names[Y.indices[wrong[0]]])} is neither 0 nor 1.")
    X = by_column[:, [attribute.start + i for attribute in features for i in range(attribute.width)]].tocsr()
    return Parts(X, Y, tuple(name for attribute in features for name in attribute.column_names), label_names)


def read_label_names(path: Path) -> tuple[str, ...]:
    """Return the names of all ``<label name="…">`` elements, nested ones included, in the order of the file.

    A document type is refused, and with it every entity that could reach outside the file or grow.
    """
    names: list[str] = []
    parser = expat.ParserCreate()

    def start(tag: str, given: dict[str, str]) -> None:
        if tag.rpartition(":")[2] == "label":
            if not given.get("name"):
                fail(path, parser.CurrentLineNumber, "a <label> without a name.")
            names.append(given["name"])

    def doctype(*_: Any) -> None:
        fail(path, parser.CurrentLineNumber, "a DOCTYPE is not accepted: remove it, a file of labels needs none.")

    parser.StartElementHandler = start
    parser.StartDoctypeDeclHandler = doctype
    try:
        parser.Parse(b"\n".join(line for _, line in numbered_lines(path)), True)
    except expat.ExpatError as failure:
        fail(path, failure.lineno, f"no valid XML: {expat.ErrorString(failure.code)}.")
    if not names:
        raise ValueError(f'{path} names no label: it must hold elements such as <label name="beach"/>.')
    if len(set(names)) < len(names):
        twice = next(name for number, name in enumerate(names) if name in names[:number])
        raise ValueError(f"{path} names the label {shown(twice)} twice.")
    return tuple(names)


def _text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines that are neither blank nor comments, stripped."""
    for number, line in numbered_lines(path):
        try:
            text = line.decode("utf-8").strip()
        except UnicodeDecodeError:
            fail(path, number, "the line is not UTF-8: convert the file first.")
        if text and not text.startswith("%"):
            yield number, text


def _read_attributes(path: Path, lines: Iterator[tuple[int, str]]) -> list[_Attribute]:
    """Read the header up to @data."""
    attributes: list[_Attribute] = []
    names: set[str] = set()
    start, number = 0, 0
    for number, text in lines:
        keyword = text.split(maxsplit=1)[0].lower()
        if keyword == "@data":
            if not attributes:
                fail(path, number, "@data comes before any @attribute.")
            return attributes
        if keyword == "@relation":
            continue
        if keyword != "@attribute":
            fail(path, number, f"expected @relation, @attribute or @data, got {shown(text)}.")
        found = _NAME_AND_TYPE.fullmatch(text)
        if not found:
            fail(path, number, f"an attribute must have a name and a type, got {shown(text)}.")
        attribute = _Attribute(_unquoted(found[1]), _values_of(path, number, found[2].strip()), start)
        if attribute.name in names:
            fail(path, number, f"the attribute {shown(attribute.name)} is defined twice.")
        names.add(attribute.name)
        attributes.append(attribute)
        start += attribute.width
    raise ValueError(f"{path}, line {number}: the file ends before @data." if number else f"{path} is empty.")


def _values_of(path: Path, number: int, kind: str) -> tuple[str, ...] | None:
    """Return the values of a nominal type, None for a numeric one."""
    if kind.lower() in _NUMERIC:
        return None
    if not kind.startswith("{"):
        fail(path, number, f"an attribute of type {shown(kind)} cannot be read: numeric or {{a,b}} is needed.")
    if not kind.endswith("}"):
        fail(path, number, "the list of an attribute's values does not end with }.")
    values = tuple(_unquoted(piece) for piece in _pieces(path, number, kind[1:-1]))
    if "" in values or len(set(values)) < len(values):
        fail(path, number, "the values of an attribute must be different and not empty.")
    return values


def _pieces(path: Path, number: int, text: str) -> list[str]:
    """Split at the commas outside quotes; pieces are stripped and keep their quotes."""
    if "'" not in text and '"' not in text and "\\" not in text:
        return [piece.strip() for piece in text.split(",")]
    pieces, at = [], 0
    while True:
        found = _PIECE.match(text, at)
        end = found.end() if found else at
        pieces.append(text[at:end].strip())
        if end == len(text):
            return pieces
        if text[end] != ",":
            fail(path, number, f"a quote is opened and not closed at {shown(text[end:])}.")
        at = end + 1


def _unquoted(piece: str) -> str:
    r"""Remove the quotes around a name or value, and the backslashes inside.

    >>> _unquoted(r"'it\'s'"), _unquoted("red")
    ("it's", 'red')
    """
    if len(piece) > 1 and piece[0] in "'\"" and piece[-1] == piece[0]:
        piece = piece[1:-1]
    return re.sub(r"\\(.)", r"\1", piece)


class _RowReader:
    """Read rows into all columns, those of the labels included."""

    def __init__(self, path: Path, attributes: list[_Attribute]) -> None:
        self._path, self._attributes = path, attributes
        self._width = attributes[-1].start + attributes[-1].width
        self._number_fields = [at for at, attribute in enumerate(attributes) if attribute.is_number]
        self._other_fields = [at for at, attribute in enumerate(attributes) if not attribute.is_number]
        numbers = [attributes[at] for at in self._number_fields]
        self._number_columns = np.array([attribute.start for attribute in numbers], dtype=np.intp)
        self._binary_columns = np.array([one.start for one in numbers if one.values is not None], dtype=np.intp)
        self._left_out = np.zeros(self._width, np.float32)
        for attribute in attributes:
            if attribute.values is not None:
                self._left_out[attribute.start] = attribute.values[0] == "1" if attribute.is_number else 1

    def read(self, lines: Iterator[tuple[int, str]]) -> tuple[Any, array[int]]:
        """Return the rows as CSR, and the line of every row."""
        indices, values, ends, line_of_row = array("i"), array("f"), array("q", [0]), array("q")
        for number, text in lines:
            row = self._sparse_row(number, text) if text.startswith("{") else self._dense_row(number, text)
            stored = np.flatnonzero(row)
            indices.frombytes(stored.astype(np.int32).tobytes())
            values.frombytes(row[stored].tobytes())
            ends.append(len(indices))
            line_of_row.append(number)
        if not line_of_row:
            raise ValueError(f"{self._path} has no row after @data.")
        arrays = np.array(values, np.float32), np.array(indices, np.int32), np.array(ends, np.int64)
        return sp.csr_array(arrays, shape=(len(line_of_row), self._width)), line_of_row

    def _dense_row(self, number: int, text: str) -> NDArray[np.float32]:
        fields = _pieces(self._path, number, text)
        if len(fields) != len(self._attributes):
            wanted = f"but there are {len(self._attributes)} attributes."
            fail(self._path, number, f"the row has {len(fields)} value(s), {wanted}")
        row = np.zeros(self._width, np.float32)
        one_by_one: Iterable[int] = self._other_fields
        if "_" in text or not self._store_numbers(row, fields):
            one_by_one = range(len(fields))  # to unquote a number, or to say which of them is wrong
        for at in one_by_one:
            self._store(number, row, self._attributes[at], fields[at])
        return row

    def _store_numbers(self, row: NDArray[np.float32], fields: list[str]) -> bool:
        """Store all numbers at once and return True, unless one of them needs a closer look."""
        chosen = [fields[at] for at in self._number_fields] if self._other_fields else fields
        try:
            with np.errstate(over="ignore"):
                row[self._number_columns] = list(map(float, chosen))
        except ValueError:
            return False
        binary = row[self._binary_columns]
        return bool(np.isfinite(row).all() and ((binary == 0) | (binary == 1)).all())

    def _sparse_row(self, number: int, text: str) -> NDArray[np.float32]:
        if not text.endswith("}"):
            fail(self._path, number, "a sparse row must end with } and cannot have a weight after it.")
        row, given = self._left_out.copy(), set()
        inside = text[1:-1].strip()
        for piece in _pieces(self._path, number, inside) if inside else ():
            found = _SPARSE_ENTRY.fullmatch(piece)
            if not found:
                fail(self._path, number, f"{shown(piece)} is no entry of the form index value.")
            at = int(found[1])
            if at >= len(self._attributes):
                wanted = f"with {len(self._attributes)} attributes it is from 0 to {len(self._attributes) - 1}."
                fail(self._path, number, f"the index {at} is out of range: {wanted}")
            if at in given:
                fail(self._path, number, f"attribute {at} is given twice: a row holds each attribute once.")
            given.add(at)
            self._store(number, row, self._attributes[at], found[2])
        return row

    def _store(self, number: int, row: NDArray[np.float32], attribute: _Attribute, field: str) -> None:
        text, name = _unquoted(field), shown(attribute.name)
        if text == "?":
            fail(self._path, number, f"the value of {name} is missing (?): fill in a value first.")
        if attribute.is_number:
            value = _as_float32(text)
            if value is None:
                fail(self._path, number, f"{shown(text)}, the value of {name}, is no finite number.")
            if attribute.values is not None and value not in (0, 1):
                fail(self._path, number, f"{shown(text)}, the value of {name}, is neither 0 nor 1.")
            row[attribute.start] = value
            return
        values = attribute.values or ()
        if text not in values:
            fail(self._path, number, f"{shown(text)} is not among the values of {name}.")
        row[attribute.start : attribute.start + attribute.width] = 0
        row[attribute.start + values.index(text)] = 1


def _as_float32(text: str) -> float | None:
    """Return a finite number, or None.

    >>> _as_float32("2.5"), _as_float32("1_0"), _as_float32("nan")
    (2.5, None, None)
    """
    try:
        with np.errstate(over="ignore"):
            value = float(np.float32(text))
    except ValueError:
        return None
    return value if np.isfinite(value) and "_" not in text else None
