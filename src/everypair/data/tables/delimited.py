"""A table in delimited text (CSV, TSV, …), plain, gzip or zstd, read by pyarrow block by block.

A good file is read once, in Arrow's own speed. Where Arrow finds a fault, or what it read is not what numbers and times
may be, the file is read again line by line with the standard library, slowly: that pass says what is wrong and where,
or returns the same columns where Arrow was too strict. Memory: the strings of wanted ids, 8 bytes per row and other
column, and one block.
"""

from __future__ import annotations

import csv
import io
from array import array
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from everypair.data.tables.columns import Column, Problems
from everypair.data.tables.dialect import Dialect
from everypair.data.tables.row_blocks import LONGEST_ROW, ends_in_quotes, row_blocks
from everypair.data.tables.streams import open_stream
from everypair.data.tables.values import (
    UnreadableError,
    check_integers,
    joined_times,
    read_numbers,
    read_strings,
    spelled_times,
)
from everypair.data.tables.words import MISSING_WORDS, IdWords, word_reader


class DelimitedTable:
    """A text file with columns."""

    positional = False

    def __init__(self, path: Path, dialect: Dialect) -> None:
        self.path = path
        self.dialect = dialect
        self.names: list[Hashable] = list(dialect.names)
        self.source_name = f"{path}: "

    def read(self, kinds: Mapping[Hashable, str], problems: Problems, ids: str = "auto") -> dict[Hashable, Column]:
        """Read the columns of these names, each as one of the kinds of `columns`."""
        import pyarrow as pa

        try:
            columns = self._read_blocks(kinds, ids)
        except (pa.ArrowInvalid, UnreadableError, UnicodeDecodeError):
            columns = self._read_lines(kinds, problems, ids)
        if ids == "integer":
            for name, kind in kinds.items():
                if kind == "id":
                    check_integers(columns[name], name, self.where, problems)
        return columns

    def native_kind(self, name: Hashable) -> str | None:
        """Return None: everything in a text file is text."""
        return None

    def where(self, row: int) -> str:
        """Return the line of a row."""
        line, _ = next(islice(self._rows(_Flaws()), row, None))
        return f"line {line}"

    def _read_blocks(self, kinds: Mapping[Hashable, str], ids: str) -> dict[Hashable, Column]:
        """Read all columns with Arrow."""
        import pyarrow as pa

        columns = {name: str(self.names.index(name)) for name in kinds}
        types = {columns[name]: pa.float64() if kind == "number" else pa.string() for name, kind in kinds.items()}
        blocks: dict[Hashable, list[Any]] = {name: [] for name in kinds}
        with open_stream(self.path) as stream:
            for rows in row_blocks(stream, self.dialect):
                table = self._parsed(rows, types)
                for name, kind in kinds.items():
                    for values in table[columns[name]].chunks:
                        blocks[name].append(spelled_times(values) if kind == "moment" else values)
        return {name: self._column(kind, blocks.pop(name), ids) for name, kind in kinds.items()}

    def _parsed(self, rows: bytes, types: dict[str, Any]) -> Any:
        """Parse a block of whole rows.

        Its bytes are Arrow's own: a thread of Arrow's that lets go of Python's when the program ends would abort it.
        """
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        quote, last = self.dialect.quote, str(len(self.names) - 1)
        quoted = quote is not None and quote.encode() in rows
        types = {last: pa.string(), **types} if quoted else types
        block = pa.allocate_buffer(len(rows))
        np.frombuffer(block, np.uint8)[:] = np.frombuffer(rows, np.uint8)
        table = arrow_csv.read_csv(
            pa.BufferReader(block),
            arrow_csv.ReadOptions(
                use_threads=False, block_size=len(rows) + 1, column_names=list(map(str, range(len(self.names))))
            ),
            arrow_csv.ParseOptions(
                delimiter=self.dialect.separator, quote_char=quote if quoted else False, newlines_in_values=quoted
            ),
            arrow_csv.ConvertOptions(
                column_types=types, include_columns=list(types), null_values=list(MISSING_WORDS),
                strings_can_be_null=True,
            ),
        )  # fmt: skip
        text_last = quoted and len(table) > 0 and pa.types.is_string(types[last])
        if text_last and ends_in_quotes(rows, table[last][-1].as_py(), str(quote)):
            raise UnreadableError
        return table

    def _column(self, kind: str, blocks: list[Any], ids: str) -> Column:
        import pyarrow as pa
        import pyarrow.compute as pc

        if kind == "moment":
            return joined_times(blocks)
        values = pa.chunked_array(blocks, pa.float64() if kind == "number" else pa.string())
        if kind != "number":
            if self.dialect.separator != self.dialect.delimiter:  # it stood in quotes
                values = pc.replace_substring(values, self.dialect.separator, self.dialect.delimiter)
            return read_strings(values, "string" if kind == "text" else ids)
        column = read_numbers(values)
        missing = np.zeros(len(values), np.bool_) if column.missing is None else column.missing
        if missing.sum() != values.null_count or not np.isfinite(column.values[~missing]).all():
            raise UnreadableError  # nan and inf are no numbers, however they are spelled
        return column

    def _read_lines(self, kinds: Mapping[Hashable, str], problems: Problems, ids: str) -> dict[Hashable, Column]:
        """Read all columns line by line and say what is wrong."""
        import pyarrow as pa

        readers = [word_reader(kind, self.dialect.encoding) for kind in kinds.values()]
        fields = [self.names.index(name) for name in kinds]
        lines, flaws = array("q"), _Flaws()
        for line, row in self._rows(flaws):
            lines.append(line)
            for number, reader in zip(fields, readers):
                reader.add(row[number])
        flaws.explain(problems, len(self.names), self.dialect.delimiter)
        columns = {}
        for (name, kind), reader in zip(kinds.items(), readers):
            columns[name] = reader.column(name, lambda row: f"line {lines[row]}", problems)
            if isinstance(reader, IdWords) and not any(problem.about == name for problem in problems.entries):
                columns[name] = read_strings(pa.array(reader.words, pa.string()), "string" if kind == "text" else ids)
        return columns

    def _rows(self, flaws: _Flaws) -> Iterator[tuple[int, list[str]]]:
        """Yield the line and the fields of every good row; the others are counted."""
        with open_stream(self.path) as stream, _longer_fields():
            text = io.TextIOWrapper(stream, self.dialect.encoding, "surrogateescape", newline="")
            lines = _Lines(text, self.source_name)
            reader = self.dialect.rows(lines)
            last = 0
            for fields in reader:
                lines.row_length, line, last = 0, last + 1, reader.line_num
                if not fields or last <= self.dialect.header_lines:
                    continue
                if lines.ended:
                    flaws.note("open quote", line)
                elif any("\0" in one for one in fields):
                    flaws.note("zero byte", line)
                elif len(fields) != len(self.names):
                    flaws.note("ragged", line, len(fields))
                else:
                    yield line, [self.dialect.restored(one) for one in fields]


class _Lines:
    """The lines of a text for the csv module: how long the row at hand is so far, and whether all were taken."""

    def __init__(self, text: Iterator[str], source_name: str) -> None:
        self.row_length, self.ended = 0, False
        self._text, self._source_name = text, source_name
        self._line, self._first_line = 0, 1

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        line = next(self._text, None)
        if line is None:
            self.ended = self.row_length > 0  # in the midst of a row: the csv module asks for no more at its end
            raise StopIteration
        self._line += 1
        if not self.row_length:
            self._first_line = self._line
        self.row_length += len(line)
        if self.row_length > LONGEST_ROW:
            raise ValueError(
                f"{self._source_name}Line {self._first_line} begins a row of more than {LONGEST_ROW >> 20} MB: is a "
                "quote left open there? Say quote=None if quotes mean nothing in this file."
            )
        return line.removeprefix("\ufeff") if self._line == 1 else line


@dataclass
class _Flaws:
    """How many rows are wrong in which way; line and number of fields of the first."""

    counts: dict[str, list[int]] = field(default_factory=dict)

    def note(self, flaw: str, line: int, fields: int = 0) -> None:
        """Count a row."""
        self.counts.setdefault(flaw, [0, line, fields])[0] += 1

    def explain(self, problems: Problems, n_columns: int, delimiter: str) -> None:
        """Put what is wrong with whole rows into sentences."""
        if "ragged" in self.counts:
            count, line, fields = self.counts["ragged"]
            problems.add(
                f"{_rows(count)} not {n_columns} field{'s' * (n_columns != 1)} as the first line has, "
                f"separated by {delimiter!r}: line {line} has {fields}. Mend them, or say which delimiter= it is."
            )
        if "open quote" in self.counts:
            problems.add(
                f"A quote is opened in line {self.counts['open quote'][1]} and never closed: close it, or say "
                "quote=None if quotes mean nothing in this file."
            )
        if "zero byte" in self.counts:
            count, line, _ = self.counts["zero byte"]
            problems.add(f"{_rows(count)} zero bytes, the first is line {line}: is the file damaged?")


@contextmanager
def _longer_fields() -> Iterator[None]:
    """Let the csv module read fields of any length."""
    before = csv.field_size_limit(2 * LONGEST_ROW)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _rows(count: int) -> str:
    return f"{count} rows have" if count > 1 else "1 row has"
