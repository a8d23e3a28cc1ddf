"""A text in blocks of whole rows, as pyarrow is given them: UTF-8 without byte order mark and header, one byte between
fields, a line feed at the end.

A block ends at a line feed behind which no quote is open, by the number of quotes before it. Quotes that stand for
themselves in a field can make that number wrong; then a block may end inside a quoted field, which Arrow takes for
closed there, and so may the whole text. `ends_in_quotes` tells, by the last field of the last row.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from everypair.data.tables.dialect import BYTE_ORDER_MARK, SEPARATOR, Dialect
from everypair.data.tables.values import UnreadableError

BLOCK_BYTES = 1 << 23
LONGEST_ROW = 1 << 26


def row_blocks(stream: Any, dialect: Dialect) -> Iterator[bytes]:
    """Yield the rows of an open file; a zero byte, or a row of more than 64 MB, is a fault."""
    quote = None if dialect.quote is None else dialect.quote.encode()
    several = dialect.separator != dialect.delimiter
    header_lines, rows, begun = dialect.header_lines, b"", False
    block = b"\n"
    while block:
        block = stream.read(BLOCK_BYTES)
        last = not block
        if not begun:
            block, begun = block.removeprefix(BYTE_ORDER_MARK), True
        text = block
        while header_lines and text:
            _, end, text = text.partition(b"\n")
            header_lines -= bool(end)
        if b"\0" in text:
            raise UnreadableError
        if dialect.encoding.lower() not in ("utf-8", "utf8"):
            text = text.decode(dialect.encoding).encode()
        rows += text
        cut = len(rows) if last else _end_of_rows(rows, quote)
        if cut:
            whole, rows = rows[:cut], rows[cut:]
            if several and SEPARATOR.encode() in whole:
                raise ValueError(
                    f"the text holds the character {SEPARATOR!r}, which stands for delimiters of several characters "
                    "while it is read: write it with a delimiter of one character."
                )
            if several:
                whole = whole.replace(dialect.delimiter.encode(), SEPARATOR.encode())
            yield whole if whole.endswith(b"\n") else whole + b"\n"
        elif len(rows) > LONGEST_ROW:
            raise UnreadableError


def ends_in_quotes(rows: bytes, last_field: str | None, quote: str) -> bool:
    """Whether the last row ends inside a quoted field: it then holds the line feed, and no quote is behind that.

    >>> ends_in_quotes(b'a,"b\\n', "b\\n", '"'), ends_in_quotes(b'a,"b\\n"\\n', "b\\n", '"')
    (True, False)
    """
    closed = rows.rstrip(b"\r\n").endswith(quote.encode()) and rows.rstrip(b"\r\n")[:-1].endswith(b"\n")
    return last_field is not None and last_field.endswith("\n") and not closed


def _end_of_rows(text: bytes, quote: bytes | None) -> int:
    """Where the last row ends that is there in full, by the number of quotes; 0 where none does."""
    last = at = text.rfind(b"\n") + 1
    quotes = 0 if quote is None else text.count(quote, 0, at)
    while at and quotes % 2 and quote is not None:
        before = text.rfind(b"\n", 0, at - 1) + 1
        quotes -= text.count(quote, before, at)
        at = before
    return at or last
