"""The lines of a text file, plain or gzip, each with its number, and errors that name both."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from everypair.words import shortened

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
GZIP_MAGIC = b"\x1f\x8b"


def first_bytes(path: Path, count: int) -> bytes:
    """Return the first bytes of a file as they are."""
    with path.open("rb") as file:
        return file.read(count)


def numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield (line number from 1, line without its end) of a file; gzip is recognised by its first bytes."""
    number = 0
    with gzip.open(path) if first_bytes(path, 2) == GZIP_MAGIC else path.open("rb") as file:
        try:
            for number, line in enumerate(file, start=1):
                if number == 1:
                    line = line.removeprefix(BYTE_ORDER_MARK)
                yield number, line.rstrip(b"\r\n")
        except (EOFError, gzip.BadGzipFile, zlib.error) as failure:
            raise ValueError(f"{path}, after line {number}: the gzip file is damaged or cut off ({failure}).") from None


def fail(path: Path, line: int, problem: str) -> NoReturn:
    """Raise a ValueError that names the file and the line."""
    raise ValueError(f"{path}, line {line}: {problem}")


def shown(token: bytes | str) -> str:
    """Return a token for an error message: printable, and not longer than a message should be."""
    text = token.decode("utf-8", "replace") if isinstance(token, bytes) else token
    return shortened(text)
