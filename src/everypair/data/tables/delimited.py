"""A table in delimited text (CSV, TSV, …), plain, gzip or zstd, read block by block.

Ids are numbered by hashing their bytes, numbers and times parsed where they lie, the columns of a block side by side;
only distinct ids ever become Python strings. Memory: 8 bytes per row and wanted column (4 for ids), the distinct ids,
and one block.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair.data.tables.columns import Column, Problems
from everypair.data.tables.dialect import BYTE_ORDER_MARK, Dialect
from everypair.data.tables.readers import Reader, reader_for
from everypair.data.tables.streams import open_stream
from everypair.kernels import fields
from everypair.parallel import even_chunks, resolve_threads, run_chunks
from everypair.types import Array

BLOCK_BYTES = 1 << 23
BLOCK_ROWS = 1 << 18
LONGEST_ROW = 1 << 26


class _Block(NamedTuple):
    """Rows of a text: field s of row r is text[starts[s, r]:ends[s, r]], on line lines[r]."""

    text: NDArray[np.uint8]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    lines: NDArray[np.int64]


class DelimitedTable:
    """A text file with columns."""

    positional = False

    def __init__(self, path: Path, dialect: Dialect) -> None:
        self.path = path
        self.dialect = dialect
        self.names: list[Hashable] = list(dialect.names)
        self.place = f"{path}: "
        self._first_rows: list[int] = []
        self._lines: list[int | NDArray[np.int64]] = []  # of each block's rows; the first where they follow each other

    def read(self, wanted: Mapping[Hashable, str], problems: Problems, ids: str = "auto") -> dict[Hashable, Column]:
        """Read the columns of these names, each as one of the kinds of `columns`."""
        readers: list[Reader] = [reader_for(kind, self.dialect.encoding, ids) for kind in wanted.values()]
        self._first_rows, self._lines = [], []
        rows = 0
        for block in self._blocks([self.names.index(name) for name in wanted], problems):

            def add(column: tuple[int, int], worker: int, block: _Block = block) -> None:
                readers[column[0]].add(block.text, block.starts[column[0]], block.ends[column[0]])

            run_chunks(add, even_chunks(len(readers), 1), resolve_threads(None))
            consecutive = block.lines[-1] - block.lines[0] == len(block.lines) - 1
            self._first_rows.append(rows)
            self._lines.append(int(block.lines[0]) if consecutive else block.lines)
            rows += len(block.lines)
        return {name: reader.column(name, self.where, problems) for name, reader in zip(wanted, readers)}

    def native_kind(self, name: Hashable) -> str | None:
        """Return None: everything in a text file is text."""
        return None

    def where(self, row: int) -> str:
        """Return the line of a row."""
        block = bisect_right(self._first_rows, row) - 1
        lines, place = self._lines[block], row - self._first_rows[block]
        return f"line {lines + place if isinstance(lines, int) else lines[place]}"

    def _blocks(self, wanted: list[int], problems: Problems) -> Iterator[_Block]:
        """Yield the rows in blocks, without the header; what is wrong with rows is said at the end."""
        dialect = self.dialect
        slot_of = np.full(len(dialect.names), -1, np.int64)
        slot_of[wanted] = np.arange(len(wanted))
        delimiter = np.frombuffer(dialect.delimiter.encode(dialect.encoding), np.uint8)
        quote = -1 if dialect.quote is None else ord(dialect.quote)
        bad = np.zeros((fields.N_PROBLEMS, 3), np.int64)
        starts, ends = np.empty((2, len(wanted), BLOCK_ROWS), np.int64)
        lines = np.empty(BLOCK_ROWS, np.int64)
        header = dialect.header
        text = np.empty(BLOCK_BYTES, np.uint8)
        at, filled, line, final = 0, 0, 1, False
        with open_stream(self.path) as stream:
            while not final:
                text, filled = _kept(text, at, filled, self.place, line)
                at = 0
                count = stream.readinto(text[filled:].data)
                final = not count
                if filled == 0 and line == 1 and bytes(text[:3]) == BYTE_ORDER_MARK:
                    at = 3
                filled += count
                rows = BLOCK_ROWS
                while rows == BLOCK_ROWS:
                    rows, at, line = fields.split_rows(
                        text, at, filled, final, line, delimiter, quote, slot_of, starts, ends, lines, bad
                    )
                    first = int(header and rows > 0)
                    header = header and rows == 0
                    if rows > first:
                        yield _Block(text, starts[:, first:rows], ends[:, first:rows], lines[first:rows].copy())
        self._explain(bad, problems)

    def _explain(self, bad: NDArray[np.int64], problems: Problems) -> None:
        """Put what is wrong with whole rows into sentences."""
        count, line, found = bad[fields.RAGGED].tolist()
        if count:
            problems.add(
                f"{_rows(count)} not {len(self.names)} field{'s' * (len(self.names) != 1)} as the first line has, "
                f"separated by {self.dialect.delimiter!r}: line {line} has {found}. Mend them, or say which "
                "delimiter= it is."
            )
        count, line, _ = bad[fields.BAD_QUOTE].tolist()
        if count:
            problems.add(
                f"{_rows(count)} text behind a closing quote, the first is line {line}: double the quotes inside a "
                "quoted field, or say quote=None if quotes mean nothing in this file."
            )
        count, line, _ = bad[fields.OPEN_QUOTE].tolist()
        if count:
            problems.add(
                f"A quote is opened in line {line} and never closed: close it, or say quote=None if quotes mean "
                "nothing in this file."
            )
        count, line, _ = bad[fields.ZERO_BYTE].tolist()
        if count:
            problems.add(f"{_rows(count)} zero bytes, the first is line {line}: is the file damaged?")


def _kept(text: Array, at: int, filled: int, place: str, line: int) -> tuple[Array, int]:
    """Move what is not yet read, text[at:filled], to the front of a buffer with room behind it."""
    left = filled - at
    if left > len(text) // 2:
        if len(text) >= LONGEST_ROW:
            raise ValueError(
                f"{place}Line {line} begins a row of more than {len(text) // 2**21} MB: is a quote left open there? "
                "Say quote=None if quotes mean nothing in this file."
            )
        longer = np.empty(2 * len(text), np.uint8)
    else:
        longer = text
    longer[:left] = text[at:filled].copy()
    return longer, left


def _rows(count: int) -> str:
    return f"{count} rows have" if count > 1 else "1 row has"
