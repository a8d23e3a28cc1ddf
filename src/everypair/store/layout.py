"""The bytes of a file: 64 bytes, a header of JSON text, arrays.

    at 0       8 bytes   magic: 89 45 50 4D 0D 0A 1A 0A
    at 8       4         version of the format
    at 12      4         zero
    at 16      8         H, the length of the header
    at 24      8         the length of the file
    at 32     32         SHA-256 of the 32 bytes before and of the header
    at 64      H         the header, filled up with spaces to a multiple of 64
    at 64 + H            arrays, each from a multiple of 64 on, zeros between them

Numbers are little-endian. The header is an object with the keys ``kind``, ``values`` and ``arrays``; every entry of the
last is a :class:`Block`. There is one way to lay out given contents: whatever differs from it is damage, down to the
bytes between arrays. A single file, not an archive: arrays are aligned, so that they are used where they lie.
"""

from __future__ import annotations

import hashlib
import math
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

MAGIC = b"\x89EPM\r\n\x1a\n"  # not text, and changed by whatever translates line ends
VERSION = 1
ALIGNMENT = 64
PREFIX = struct.Struct("<8sIIQQ")
DIGEST_BYTES = 32
START = PREFIX.size + DIGEST_BYTES
DTYPES = ("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8")
MOST_DIMENSIONS = 8
BLOCK_KEYS = {"names", "dtype", "shape", "order", "offset", "sha256"}


class ModelFileError(ValueError):
    """A file that is not what it should be; the sentence says what is wrong with it."""


@dataclass(frozen=True)
class Block:
    """Where an array lies: ``offset`` bytes behind the header, one block for all names of the same array.

    ``order`` is "F" where columns are contiguous: layout decides in which order sums run, so it is kept.
    """

    names: list[str]
    dtype: str
    shape: list[int]
    order: str
    offset: int
    sha256: str

    @property
    def size(self) -> int:
        """Number of bytes."""
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize

    @property
    def end(self) -> int:
        """Offset of the first byte behind it."""
        return self.offset + self.size


def aligned(size: int) -> int:
    """The next multiple of 64.

    >>> aligned(0), aligned(1), aligned(64)
    (0, 64, 64)
    """
    return -(-size // ALIGNMENT) * ALIGNMENT


def prefix(version: int, header: bytes, length: int) -> bytes:
    """The first 64 bytes of a file of ``length`` bytes."""
    head = PREFIX.pack(MAGIC, version, 0, len(header), length)
    return head + hashlib.sha256(head + header).digest()


def checked_block(entry: Any, offset: int, room: int) -> Block:
    """Return an entry of the header as a block that lies at ``offset`` inside ``room`` bytes, or say what it is not."""
    if not isinstance(entry, dict) or set(entry) != BLOCK_KEYS:
        raise ModelFileError("its header describes an array in a way that is not known.")
    names, shape = entry["names"], entry["shape"]
    if not (isinstance(names, list) and names and all(isinstance(name, str) for name in names)):
        raise ModelFileError("its header has an array without a name.")
    if entry["dtype"] not in DTYPES or entry["order"] not in ("C", "F") or not isinstance(entry["sha256"], str):
        raise ModelFileError(f"its header gives {names[0]!r} a type that arrays here do not have.")
    whole = isinstance(shape, list) and len(shape) <= MOST_DIMENSIONS and all(type(size) is int for size in shape)
    if not whole or any(not 0 <= size <= 2**48 for size in shape):
        raise ModelFileError(f"its header gives {names[0]!r} a shape that no array has.")
    block = Block(**entry)
    if type(block.offset) is not int or block.offset != offset:
        raise ModelFileError(f"its header has {names[0]!r} in the wrong place.")
    if block.end > room:
        raise ModelFileError(f"its header says that {names[0]!r} is larger than what the file holds.")
    return block
