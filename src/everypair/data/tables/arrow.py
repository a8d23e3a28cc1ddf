"""Parquet and Arrow (Feather) files, by pyarrow, which the extra ``io`` installs; only wanted columns are read."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

from everypair.data.tables.columns import Column, Problems
from everypair.data.tables.frames import FrameTable


class ArrowTable:
    """A Parquet or Arrow file with columns."""

    positional = False

    def __init__(self, path: Path, kind: str) -> None:
        self.path, self.kind = path, kind
        self.place = f"{path}: "
        self.names: list[Hashable] = list(read_arrow(path, kind, None).column_names)

    def where(self, row: int) -> str:
        """Return the number of a row, from 0 as Python counts."""
        return f"row {row}"

    def native_kind(self, name: Hashable) -> str | None:
        """Return "number" or "moment" if the column is of that type."""
        return FrameTable.of(read_arrow(self.path, self.kind, [name])).native_kind(name)

    def read(self, wanted: Mapping[Hashable, str], problems: Problems, ids: str = "auto") -> dict[Hashable, Column]:
        """Read the columns of these names, each as one of the kinds of `columns`."""
        return FrameTable.of(read_arrow(self.path, self.kind, list(wanted)), self.place).read(wanted, problems, ids)


def read_arrow(path: Path, kind: str, columns: list[Any] | None) -> Any:
    """Return the wanted columns of a "parquet" or "arrow" file as a pyarrow table; without a wish one without rows."""
    try:
        import pyarrow
        from pyarrow import feather, ipc, parquet
    except ImportError:
        raise ImportError(
            f"{path} is a {kind.capitalize()} file, which pyarrow reads: pip install 'everypair[io]'."
        ) from None
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
