"""Files of ranked answers, written block by block and put in their place when all is written.

csv, parquet     a line per answer: user, item, score, rank from 1
jsonl            a line per user: {"user": …, "items": […], "scores": […]}

Where fewer items remain than were asked for, scores end in −∞: those places are left out.
"""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np

from everypair.types import Array

Block = Callable[[Array, Array, Array], None]  # ids of users, of their items, and scores
FORMATS = ("csv", "parquet", "jsonl")
COLUMNS = ("user", "item", "score", "rank")
STDOUT = "-"


def format_of(output: Path, wanted: str | None) -> str:
    """Return the format of a file, by its name where it is not said."""
    ending = output.suffix.lower().lstrip(".")
    found = wanted or {"json": "jsonl", "ndjson": "jsonl", "pq": "parquet"}.get(ending, ending)
    if str(output) == STDOUT and wanted is None:
        return "csv"
    if found not in FORMATS:
        raise ValueError(f"{output} says no format: end it in .csv, .parquet or .jsonl, or say --format.")
    return found


@contextmanager
def ranked_file(output: Path, kind: str, texts: tuple[bool, bool]) -> Iterator[Block]:
    """Open a file of answers; ``texts`` says whether ids of users, and of items, are strings."""
    from everypair.store.write import replacing

    make = {"csv": _csv, "jsonl": _jsonl, "parquet": _parquet}[kind]
    if str(output) == STDOUT:
        sys.stdout.flush()
        with make(sys.stdout.buffer, texts) as write:
            yield write
        sys.stdout.flush()
    else:
        with replacing(output) as file, make(file, texts) as write:
            yield write


@contextmanager
def _csv(file: BinaryIO, texts: tuple[bool, bool]) -> Iterator[Block]:
    text = io.TextIOWrapper(file, encoding="utf-8", errors="surrogatepass", newline="", write_through=False)
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(COLUMNS)

    def write(users: Array, items: Array, scores: Array) -> None:
        owners, answers, values, ranks = _long(users, items, scores)
        digits = np.char.mod("%.7g", values) if len(values) else values
        lines.writerows(zip(owners.tolist(), answers.tolist(), digits.tolist(), ranks.tolist()))

    yield write
    text.flush()
    text.detach()


@contextmanager
def _jsonl(file: BinaryIO, texts: tuple[bool, bool]) -> Iterator[Block]:
    def write(users: Array, items: Array, scores: Array) -> None:
        for owner, answers, values in zip(users.tolist(), items, scores):
            there = shown(values)
            line = {"user": owner, "items": answers[there].tolist(), "scores": rounded(values[there])}
            file.write((json.dumps(line, ensure_ascii=False) + "\n").encode("utf-8", "surrogatepass"))

    yield write


@contextmanager
def _parquet(file: BinaryIO, texts: tuple[bool, bool]) -> Iterator[Block]:
    import pyarrow
    from pyarrow import parquet

    kinds = [pyarrow.string() if text else pyarrow.int64() for text in texts]
    schema = pyarrow.schema(list(zip(COLUMNS, (*kinds, pyarrow.float32(), pyarrow.int32()))))
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:

        def write(users: Array, items: Array, scores: Array) -> None:
            columns = zip(schema.types, _long(users, items, scores))
            writer.write_table(pyarrow.table([pyarrow.array(one, kind) for kind, one in columns], schema=schema))

        yield write


def shown(scores: Array) -> Array:
    """Which places of ranked lists hold an answer."""
    return ~np.isneginf(scores)


def _long(users: Array, items: Array, scores: Array) -> tuple[Array, Array, Array, Array]:
    """One line per answer: its user, item, score and rank."""
    there = shown(scores)
    lines, places = np.nonzero(there)
    return users[lines], items[there], scores[there], places + 1


def rounded(values: Array) -> list[float]:
    """Scores with the seven digits that they have.

    >>> rounded(np.float32([0.1, 1e-8]))
    [0.1, 1e-08]
    """
    return [float(f"{value:.7g}") for value in values.tolist()]
