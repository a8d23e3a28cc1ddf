"""Reading: nothing is believed before it is checked, nothing is run, and no array is larger than the file."""

from __future__ import annotations

import hashlib
import json
import mmap as mapping
import os
import stat
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair.store.layout import (
    ALIGNMENT,
    DIGEST_BYTES,
    MAGIC,
    PREFIX,
    START,
    VERSION,
    Block,
    ModelFileError,
    aligned,
    checked_block,
)

OTHER_FILES = {
    b"PK\x03\x04": "a zip or npz file",
    b"\x80": "a pickle, which could run anything when read",
    b"\x93NUMPY": "a npy file",
    b"\x89HDF": "an HDF5 file",
    b"\x1f\x8b": "a gzip file: unpack it first",
}


class Contents(NamedTuple):
    """What a file holds."""

    kind: str
    values: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


def read_file(path: Any, *, mmap: bool = True, verify: bool = True) -> Contents:
    """Return what :func:`~everypair.store.write_file` wrote, or say what is wrong with the file.

    With ``mmap`` arrays are views of the file's pages, read where they are used and private where they are changed;
    without it the file is read into memory. ``verify`` compares every array with its checksum, which reads the whole
    file once (SHA-256, at some 1.5 GB/s); without it only the header is checked that way, and a file altered behind it
    gives other numbers.
    """
    name = os.fspath(path)
    try:
        return _read(name, mmap, verify)
    except ModelFileError as failure:
        raise ModelFileError(f"{name} cannot be read: {failure}") from None
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file {name}.") from None
    except OSError as failure:
        raise type(failure)(f"{name} cannot be read: {failure.strerror or failure}.") from failure


def _read(name: Any, mmap: bool, verify: bool) -> Contents:
    mode = os.stat(name).st_mode
    if not stat.S_ISREG(mode):
        raise ModelFileError("it is a folder, not a file." if stat.S_ISDIR(mode) else "it is not a plain file.")
    with open(name, "rb") as file:
        length = os.fstat(file.fileno()).st_size
        start = file.read(START)
        header = file.read(_header_length(start, length))
        if hashlib.sha256(start[:-DIGEST_BYTES] + header).digest() != start[-DIGEST_BYTES:]:
            raise ModelFileError("its header is damaged: the checksum differs.")
        kind, values, entries = _parsed(header)
        data = START + len(header)
        blocks = _checked_blocks(entries, length - data)
        room = _mapped(file, length) if mmap else _in_memory(file, length)
    with memoryview(room) as view:
        if verify:
            _verify(view[data:], blocks)
    arrays = {}
    for block in blocks:
        array = _array(room, block, data)
        arrays.update(dict.fromkeys(block.names, array))
    return Contents(kind, values, arrays)


def _header_length(start: bytes, length: int) -> int:
    """Check what a file begins with and return the length of its header."""
    if not length:
        raise ModelFileError("it is empty.")
    if not start.startswith(MAGIC[: len(start)]):
        known = [what for begin, what in OTHER_FILES.items() if start.startswith(begin)]
        raise ModelFileError(f"it is not an EveryPair file{f' but {known[0]}' if known else ''}.")
    if len(start) < START:
        raise ModelFileError(f"it is cut short: it ends after {length} bytes.")
    _, version, zero, header_length, stated = PREFIX.unpack(start[:-DIGEST_BYTES])
    if version != VERSION:
        raise ModelFileError(
            f"it has version {version} of the format, and this EveryPair reads version {VERSION}: install a newer one."
            if version > VERSION
            else "it has a version of the format that never was."
        )
    if length < stated:
        raise ModelFileError(f"it is cut short: it has {length:,} of {stated:,} bytes.")
    if length > stated or zero or header_length % ALIGNMENT or not 0 < header_length <= length - START:
        raise ModelFileError("its first bytes do not fit its length: it is damaged.")
    return int(header_length)


def _parsed(header: bytes) -> tuple[str, dict[str, Any], list[Any]]:
    """The header's kind, values and entries of arrays."""
    try:
        content = json.loads(header.decode("ascii"), object_pairs_hook=_each_once, parse_constant=_no_number)
    except (ValueError, RecursionError) as failure:
        raise ModelFileError(f"its header is not what was written: {failure}.") from None
    match content:
        case {"kind": str(kind), "values": dict(values), "arrays": list(entries)} if len(content) == 3:
            return kind, values, entries
    raise ModelFileError("its header does not have the keys kind, values and arrays.")


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) != len(pairs):
        raise ValueError("a key appears twice")
    return content


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is not a number")


def _checked_blocks(entries: list[Any], room: int) -> list[Block]:
    """The blocks in their order; they follow each other without gaps or overlaps, and the file ends with the last."""
    blocks: list[Block] = []
    for entry in entries:
        blocks.append(checked_block(entry, aligned(blocks[-1].end) if blocks else 0, room))
    names = [name for block in blocks for name in block.names]
    if len(names) != len(set(names)):
        raise ModelFileError("its header has two arrays of one name.")
    if (blocks[-1].end if blocks else 0) != room:
        raise ModelFileError("its arrays do not fill it: it is damaged.")
    return blocks


def _mapped(file: BinaryIO, length: int) -> Any:
    try:
        return mapping.mmap(file.fileno(), length, access=mapping.ACCESS_COPY)
    except ValueError:
        raise ModelFileError("it became shorter while it was read.") from None


def _in_memory(file: BinaryIO, length: int) -> bytearray:
    room = bytearray(length)
    file.seek(0)
    with memoryview(room) as view:
        if file.readinto(view) != length:  # type: ignore[attr-defined]
            raise ModelFileError("it became shorter while it was read.")
    return room


def _verify(data: memoryview, blocks: list[Block]) -> None:
    """Compare every array with its checksum, and what lies between arrays with zeros."""
    position = 0
    for block in blocks:
        if any(data[position : block.offset]) or hashlib.sha256(data[block.offset : block.end]).hexdigest() != (
            block.sha256
        ):
            raise ModelFileError(f"its array {block.names[0]!r} is damaged: the checksum differs.")
        position = block.end


def _array(room: Any, block: Block, data: int) -> NDArray[Any]:
    dtype = np.dtype(block.dtype)
    count = block.size // dtype.itemsize
    flat = np.frombuffer(room, dtype, count, data + block.offset) if count else np.empty(0, dtype)
    if dtype.kind == "b" and count and flat.view(np.uint8).max() > 1:
        raise ModelFileError(f"its array {block.names[0]!r} has booleans that are neither true nor false.")
    array = flat.reshape(block.shape, order="C" if block.order == "C" else "F")
    return array.astype(dtype.newbyteorder("="), copy=False)
