"""Writing: everything into a new file beside the old one, which is replaced in one step once the new one is on disk.

Killed at any moment, a save leaves the old file as it was, and at worst a ``.name.….tmp`` beside it.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from everypair.store.layout import DTYPES, START, VERSION, Block, aligned, prefix

WRITTEN_AT_ONCE = 2**24
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def write_file(path: Any, kind: str, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Write ``values`` (JSON-able) and ``arrays`` to ``path``; arrays with the same contents are written once.

    >>> import tempfile
    >>> from everypair.store import read_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_file(f"{folder}/some.ep", "example", {"answer": 42}, {"ones": np.ones(2)})
    ...     contents = read_file(f"{folder}/some.ep", mmap=False)
    >>> contents.values, contents.arrays
    ({'answer': 42}, {'ones': array([1., 1.])})
    """
    blocks: dict[tuple[str, str, tuple[int, ...], str], Block] = {}
    written: list[tuple[Block, memoryview]] = []
    end = 0
    for name, array in arrays.items():
        flat, order = _bytes_of(array)
        dtype = array.dtype.newbyteorder("<").str
        if dtype not in DTYPES:
            raise TypeError(f"{name} is an array of {array.dtype}, which files do not hold.")
        key = (hashlib.sha256(flat).hexdigest(), dtype, array.shape, order)
        if key in blocks:
            blocks[key].names.append(name)
            continue
        block = blocks[key] = Block([name], dtype, list(array.shape), order, aligned(end), key[0])
        written.append((block, flat))
        end = block.end
    content = {"kind": kind, "values": values, "arrays": [asdict(block) for block, _ in written]}
    header = json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")
    header = header.ljust(aligned(len(header)))
    with replacing(path) as file:
        file.write(prefix(VERSION, header, START + len(header) + end) + header)
        position = 0
        for block, flat in written:
            file.write(bytes(block.offset - position))
            for start in range(0, len(flat), WRITTEN_AT_ONCE):
                file.write(flat[start : start + WRITTEN_AT_ONCE])
            position = block.end


NAME_LETTERS = 40  # of the file's name, in that of the temporary one: file systems allow 255 bytes


@contextmanager
def replacing(path: Any) -> Iterator[BinaryIO]:
    """Open a file to write that takes the place of ``path`` once all is written; what fails leaves ``path`` alone."""
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name[:NAME_LETTERS]}.{secrets.token_hex(6)}.tmp")
    try:
        _check_kind(target)
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileNotFoundError):
            shutil.copymode(target, temporary)  # what only some may read stays so
        os.replace(temporary, target)
        _keep_name(target.parent)
    except BaseException as failure:
        with suppress(OSError):
            temporary.unlink()
        if isinstance(failure, OSError):
            raise _explained(failure, target) from failure
        raise


def check_place(path: Any) -> None:
    """Refuse a path that cannot be written, before the work whose result it is to hold.

    >>> check_place("/nowhere/model.ep")
    Traceback (most recent call last):
    FileNotFoundError: cannot write /nowhere/model.ep: the folder /nowhere does not exist; create it first.
    """
    target = Path(os.path.realpath(path))
    try:
        _check_kind(target)
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except OSError as failure:
        raise _explained(failure, target) from failure


def check_output(path: Any, *inputs: Any) -> None:
    """Refuse a path that cannot be written, or that is one of the files that are read.

    >>> check_output("events.csv", "events.csv")
    Traceback (most recent call last):
    ValueError: events.csv is read here and would be replaced: write to another file.
    """
    target = os.path.realpath(path)
    for source in inputs:
        if source is not None and os.path.realpath(source) == target:
            raise ValueError(f"{path} is read here and would be replaced: write to another file.")
    check_place(path)


def _check_kind(target: Path) -> None:
    """Refuse what a file cannot take the place of: a folder, and a device, which would be gone."""
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "")
    if target.exists() and not target.is_file():
        raise OSError(errno.EINVAL, "it is a device or a pipe, not a file")


def _bytes_of(array: NDArray[Any]) -> tuple[memoryview, str]:
    """An array's bytes in little-endian order, without a copy where they lie so already, and how they are laid out."""
    by_columns = array.ndim > 1 and array.flags.f_contiguous and not array.flags.c_contiguous
    kept = (array.T if by_columns else array).astype(array.dtype.newbyteorder("<"), order="C", copy=False)
    flat = np.ascontiguousarray(kept).reshape(-1).view(np.uint8)
    return flat.data, "F" if by_columns else "C"


def _keep_name(folder: Path) -> None:
    """The new name too is on disk, where folders can be asked for that."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _explained(failure: OSError, target: Path) -> OSError:
    """The same error with a sentence that says what to do."""
    folder = target.parent
    if isinstance(failure, IsADirectoryError):
        reason = "it is a folder; name a file in it"
    elif isinstance(failure, FileNotFoundError):
        reason = f"the folder {folder} does not exist; create it first"
    elif isinstance(failure, NotADirectoryError):
        reason = f"{folder} is not a folder"
    elif isinstance(failure, PermissionError):
        reason = f"there is no permission to write in {folder}, or {target.name} is held by another program"
    elif failure.errno in FULL:
        reason = "the disk is full or its quota reached; free some room or choose another folder"
    else:
        reason = failure.strerror or str(failure)
    explained = type(failure)(f"cannot write {target}: {reason}.")
    explained.errno = failure.errno
    return explained
