"""Bytes of a file, unpacked where it is gzip or zstd, and what kind of file it is, by its first bytes."""

from __future__ import annotations

import difflib
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from everypair.store.layout import MAGIC

PACKED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
PARQUET, ARROW_FILE, ARROW_STREAM, ZIP = b"PAR1", b"ARROW1", b"\xff\xff\xff\xff", b"PK\x03\x04"
STRANGERS = {
    MAGIC: "is a model file of EveryPair, not a table: name the file of events",
    b"BZh": "is packed with bzip2: unpack it first",
    b"\xfd7zXZ": "is packed with xz: unpack it first",
    b"7z\xbc\xaf": "is a 7z archive: unpack it first",
    b"SQLite format 3": "is an SQLite database: query it into a data frame (pandas.read_sql) and give that",
    b"%PDF": "is a PDF: tables in it cannot be read",
    b"\xd0\xcf\x11\xe0": "is an old Excel file: save it as CSV (UTF-8)",
    b"\x89HDF": "is an HDF5 file: read it into a data frame (pandas.read_hdf) and give that",
    b"\x80\x04": "is a pickle, which is never loaded because it can run code: save the table as Parquet or CSV",
    b"\x80\x05": "is a pickle, which is never loaded because it can run code: save the table as Parquet or CSV",
}


def checked_file(path: Any) -> Path:
    """Return the path of a file that exists and is not empty, or say what is there instead."""
    if any(mark in str(path) for mark in "\n\r\0"):
        raise ValueError(f"{_cut(str(path))} is no path: put a table that is text into a file and name that.")
    file = Path(path)
    try:
        if file.is_dir():
            raise IsADirectoryError(f"{file} is a folder: name a file in it.")
        if not file.exists():
            raise FileNotFoundError(f"There is no file {_cut(str(file))}.{_similar_file(file)}")
        if not file.is_file():
            raise ValueError(f"{file} is a pipe or a device, and tables are read twice: write it to a file first.")
        with file.open("rb") as opened:
            if not opened.read(1):
                raise ValueError(f"{file} is empty.")
    except PermissionError:
        raise PermissionError(f"{file} cannot be read: its permissions do not allow it.") from None
    except OSError as failure:
        if failure.errno is None:  # one of the sentences above
            raise
        raise ValueError(f"{_cut(str(path))} cannot be read: {failure.strerror}.") from None
    return file


def kind_of_file(path: Path) -> str:
    """Return "parquet", "arrow", "npz", "json" (lines) or "text"; anything that is none of these is refused."""
    with path.open("rb") as file:
        start = file.read(16)
    if start.startswith(PARQUET):
        return "parquet"
    if start.startswith((ARROW_FILE, ARROW_STREAM)):
        return "arrow"
    if start.startswith(ZIP):
        return _kind_of_zip(path)
    for magic, sentence in STRANGERS.items():
        if start.startswith(magic):
            raise ValueError(f"{path} {sentence}.")
    with open_stream(path) as stream:
        return "json" if stream.read(1024).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{") else "text"


@contextmanager
def open_stream(path: Path) -> Iterator[Any]:
    """Open a file for reading, unpacking gzip and zstd."""
    import pyarrow as pa

    with path.open("rb") as file:
        start = file.read(4)
    packed = next((kind for magic, kind in PACKED.items() if start.startswith(magic)), None)
    with pa.input_stream(str(path), compression=packed) as stream:
        try:
            yield stream
        except OSError as failure:
            if packed is None:
                raise
            raise ValueError(f"{path} is damaged or cut off: it cannot be unpacked ({failure}).") from None


def _kind_of_zip(path: Path) -> str:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError, NotImplementedError) as failure:
        raise ValueError(f"{path} is damaged or cut off: it cannot be unpacked ({failure}).") from None
    if names and all(name.endswith(".npy") for name in names):
        return "npz"
    if any(name.startswith("xl/") for name in names):
        raise ValueError(f"{path} is an Excel file: save it as CSV (UTF-8), or give read_events pandas.read_excel(…).")
    raise ValueError(f"{path} is a zip archive ({', '.join(names[:3])}…): unpack it first.")


def _similar_file(file: Path) -> str:
    """Return a sentence with the file that was meant, where the folder has one of a similar name."""
    if not file.parent.is_dir():
        return f" There is no folder {_cut(str(file.parent))} either."
    near = difflib.get_close_matches(file.name[:255], sorted(one.name for one in file.parent.iterdir())[:2000], n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def _cut(text: str) -> str:
    first = text.splitlines()[0] if text else ""
    return repr(first[:57] + "...") if first != text or len(text) > 240 else text
