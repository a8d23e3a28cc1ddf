"""Parquet, Arrow (Feather) and JSON lines: columns have types; of the first two only wanted ones are read."""

from __future__ import annotations

import io
import json
from collections.abc import Hashable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from everypair.data.tables.columns import Column, Problems
from everypair.data.tables.frames import FrameTable
from everypair.data.tables.streams import open_stream


class ArrowTable:
    """A Parquet or Arrow file with columns."""

    positional = False

    def __init__(self, path: Path, kind: str) -> None:
        self.path, self.kind = path, kind
        self.source_name = f"{path}: "
        self.names: list[Hashable] = list(read_arrow(path, kind, None).column_names)

    def where(self, row: int) -> str:
        """Return the number of a row, from 0 as Python counts."""
        return f"row {row}"

    def native_kind(self, name: Hashable) -> str | None:
        """Return "number" or "moment" if the column is of that type."""
        return self._frame([name]).native_kind(name)

    def read(self, kinds: Mapping[Hashable, str], problems: Problems, ids: str = "auto") -> dict[Hashable, Column]:
        """Read the columns of these names, each as one of the kinds of `columns`."""
        return self._frame(list(kinds)).read(kinds, problems, ids)

    def _frame(self, names: list[Hashable]) -> FrameTable:
        return FrameTable.of(read_arrow(self.path, self.kind, names), self.source_name)


class JsonLines(FrameTable):
    """A text with an object per line; strings are strings, numbers numbers."""

    def __init__(self, path: Path) -> None:
        self.path = path
        table = _read_json(path)
        super().__init__({name: table[name] for name in table.column_names}, f"{path}: ")

    def where(self, row: int) -> str:
        """Return the line of a row."""
        with open_stream(self.path) as stream:
            lines = (number for number, line in enumerate(io.BufferedReader(stream), 1) if line.strip())
            return f"line {next(islice(lines, row, None))}"


def read_arrow(path: Path, kind: str, columns: list[Any] | None) -> Any:
    """Return the wanted columns of a "parquet" or "arrow" file as a pyarrow table; without a wish one without rows."""
    import pyarrow
    from pyarrow import feather, ipc, parquet

    try:
        if kind == "parquet":
            if columns is None:
                return parquet.read_schema(path).empty_table()
            return parquet.read_table(path, columns=columns)
        with path.open("rb") as file:
            streamed = file.read(6) != b"ARROW1"
        if streamed:
            with pyarrow.OSFile(str(path)) as file, ipc.open_stream(file) as reader:
                return reader.schema.empty_table() if columns is None else reader.read_all().select(columns)
        if columns is None:
            with pyarrow.OSFile(str(path)) as file, ipc.open_file(file) as reader:
                return reader.schema.empty_table()
        return feather.read_table(path, columns=columns)
    except (pyarrow.ArrowException, OSError, ValueError) as failure:
        first = str(failure).split("\n")[0].rstrip(".")
        raise ValueError(f"{path} is damaged or cut off: {kind} cannot be read ({first}).") from None


def _read_json(path: Path) -> Any:
    """Return JSON lines as a pyarrow table; strings stay strings, although some could be dates."""
    import pyarrow as pa
    from pyarrow import json as arrow_json

    with open_stream(path) as stream:
        first = next((line for line in io.BufferedReader(stream) if line.strip()), b"")
    try:
        example = _object(first)
        texts = pa.schema([(name, pa.string()) for name, value in example.items() if isinstance(value, str)])
        with open_stream(path) as stream:
            return arrow_json.read_json(
                stream, arrow_json.ReadOptions(block_size=1 << 23), arrow_json.ParseOptions(explicit_schema=texts)
            )
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as failure:
        raise ValueError(_json_mistake(path, str(failure))) from None


def _json_mistake(path: Path, failure: str) -> str:
    """Say which line is no object, or of which column the values are of several types."""
    types: dict[str, tuple[str, int]] = {}
    with open_stream(path) as stream:
        for number, line in enumerate(io.BufferedReader(stream), 1):
            if not line.strip():
                continue
            try:
                row = _object(line)
            except ValueError as problem:
                return (
                    f"{path} is read as JSON lines, but line {number} is no JSON object ({problem}): write an object "
                    "per line, or read it into a data frame and give that."
                )
            for name, value in row.items():
                kind = "number" if type(value) in (int, float) else type(value).__name__
                before, where = types.setdefault(name, (kind, number)) if value is not None else (kind, number)
                if kind != before:
                    return (
                        f"{path}: Column {name!r} holds a {before} in line {where} and a {kind} in line {number}: "
                        "write all of them in one way."
                    )
    return f"{path} cannot be read as JSON lines: {failure.splitlines()[0]}"


def _object(line: bytes) -> dict[str, Any]:
    found = json.loads(line.removeprefix(b"\xef\xbb\xbf"))
    if not isinstance(found, dict):
        raise ValueError(f"a {type(found).__name__}")
    return found
