"""Arrays of an npz file, without pickle and without believing sizes that the file cannot hold."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

_MOST_EXPANSION = 1032  # deflate packs at most 1032 bytes into one


def read_archive(path: Path, names: list[str] | None = None) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file that `numpy.savez` wrote, all or those of these names.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "a.npz")
    >>> np.savez(path, user=[1, 2])
    >>> read_archive(path)["user"].tolist()
    [1, 2]
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
            wanted = list(members) if names is None else names
            for name in wanted:
                if name not in members:
                    raise ValueError(f"{path} has no array {name}.")
            return {name: _read_member(path, archive, members[name], name) for name in wanted}
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError) as failure:
        raise ValueError(f"{path} is no npz file that can be read: {failure}") from None


def array_names(path: Path) -> list[str]:
    """Return the names of the arrays of an npz file."""
    try:
        with zipfile.ZipFile(path) as archive:
            return [name.removesuffix(".npy") for name in archive.namelist()]
    except (zipfile.BadZipFile, OSError) as failure:
        raise ValueError(f"{path} is no npz file that can be read: {failure}") from None


def _read_member(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str) -> NDArray[Any]:
    """Read one array after comparing the size that its header claims with the bytes that are there."""
    try:
        with archive.open(member) as file:
            version = npy.read_magic(file)
            read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            shape, _, dtype = read_header(file)
            claimed = dtype.itemsize
            for length in shape:
                claimed *= int(length)
            if claimed > member.file_size or member.file_size > _MOST_EXPANSION * (member.compress_size + 64):
                raise ValueError(f"its header claims {claimed:,} bytes, more than the file holds")
        with archive.open(member) as file:
            return np.asarray(npy.read_array(file, allow_pickle=False))
    except (ValueError, MemoryError, UnicodeDecodeError) as failure:  # a pickled object, which is never loaded
        raise ValueError(f"{path}: the array {name} cannot be read: {failure}.") from None
