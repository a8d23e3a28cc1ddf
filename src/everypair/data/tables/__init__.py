"""Tables, wherever they come from: text files, JSON lines, Parquet, Arrow, npz, data frames, mappings, tuples."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import scipy.sparse as sp

from everypair.data.archive import read_archive
from everypair.data.tables.arrow import ArrowTable, JsonLines
from everypair.data.tables.columns import ID_TYPES, LIST_MARK, Column, Problems, Table, resolve_names
from everypair.data.tables.delimited import DelimitedTable
from everypair.data.tables.dialect import TextOptions, find_dialect
from everypair.data.tables.frames import FrameTable
from everypair.data.tables.streams import checked_file, kind_of_file

__all__ = [
    "ID_TYPES",
    "LIST_MARK",
    "Column",
    "Problems",
    "Table",
    "TextOptions",
    "open_table",
    "resolve_names",
]


def open_table(source: Any, options: TextOptions | None = None, column_names: Sequence[Any] = ()) -> Table:
    """Return a table of named columns from a path or from anything in memory.

    ``options`` say how a text file is written; ``column_names`` are those that the caller named.

    >>> open_table({"user": ["ann"], "item": [7]}).names
    ['user', 'item']
    """
    options = options or TextOptions()
    if sp.issparse(source):
        raise TypeError("this is a sparse matrix already: give it to fit as it is.")
    kind = "no file"
    if isinstance(source, str | os.PathLike):
        path = checked_file(source)
        kind = kind_of_file(path)
        if kind == "text":
            return DelimitedTable(path, find_dialect(path, options, column_names))
    if options.changed():
        raise ValueError(f"{options.changed()[0]}= belongs to text files, but this is {_named(kind)}: leave it out.")
    if kind == "no file":
        return FrameTable.of(source)
    if kind == "npz":
        return FrameTable(read_archive(path), f"{path}: ")
    return JsonLines(path) if kind == "json" else ArrowTable(path, kind)


def _named(kind: str) -> str:
    return kind if kind == "no file" else f"{'an' if kind[0] in 'an' else 'a'} {kind} file"
