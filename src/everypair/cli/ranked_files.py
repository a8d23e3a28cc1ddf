"""Files of ranked answers, written block by block and put in their place when all is written.

csv, parquet     a line per answer: user, item, score, rank from 1
jsonl            a line per user: {"user": …, "items": […], "scores": […]}

Ids stay positions until they are written, so that a block holds numbers only.
"""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from everypair.types import Array

Block = Callable[[Array, Array, Array], None]  # positions of users, of their items (−1: none), and scores
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
    if found == "parquet":
        _pyarrow()
    return found


@contextmanager
def ranked_file(output: Path, kind: str, users: Array, items: Array) -> Iterator[Block]:
    """Open a file of answers; ``users`` and ``items`` are the ids that positions stand for."""
    from everypair.store.write import replacing

    make = {"csv": _csv, "jsonl": _jsonl, "parquet": _parquet}[kind]
    if str(output) == STDOUT:
        sys.stdout.flush()
        with make(sys.stdout.buffer, users, items) as write:
            yield write
        sys.stdout.flush()
    else:
        with replacing(output) as file, make(file, users, items) as write:
            yield write


@contextmanager
def _csv(file: BinaryIO, users: Array, items: Array) -> Iterator[Block]:
    text = io.TextIOWrapper(file, encoding="utf-8", errors="surrogatepass", newline="", write_through=False)
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(COLUMNS)

    def write(rows: Array, found: Array, scores: Array) -> None:
        owners, answers, values, ranks = _long(rows, found, scores)
        shown = np.char.mod("%.7g", values) if len(values) else values
        lines.writerows(zip(users[owners].tolist(), items[answers].tolist(), shown.tolist(), ranks.tolist()))

    yield write
    text.flush()
    text.detach()


@contextmanager
def _jsonl(file: BinaryIO, users: Array, items: Array) -> Iterator[Block]:
    def write(rows: Array, found: Array, scores: Array) -> None:
        for owner, one, values in zip(users[rows].tolist(), found, scores):
            there = one >= 0
            line = {"user": owner, "items": items[one[there]].tolist(), "scores": rounded(values[there])}
            file.write((json.dumps(line, ensure_ascii=False) + "\n").encode("utf-8", "surrogatepass"))

    yield write


@contextmanager
def _parquet(file: BinaryIO, users: Array, items: Array) -> Iterator[Block]:
    pyarrow, parquet = _pyarrow()
    names = [pyarrow.array(ids.tolist() if ids.dtype == object else ids) for ids in (users, items)]
    schema = pyarrow.schema(
        [("user", names[0].type), ("item", names[1].type), ("score", pyarrow.float32()), ("rank", pyarrow.int32())]
    )
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:

        def write(rows: Array, found: Array, scores: Array) -> None:
            owners, answers, values, ranks = _long(rows, found, scores)
            writer.write_table(
                pyarrow.table(
                    [
                        names[0].take(pyarrow.array(owners)),
                        names[1].take(pyarrow.array(answers)),
                        pyarrow.array(values.astype(np.float32)),
                        pyarrow.array(ranks.astype(np.int32)),
                    ],
                    schema=schema,
                )
            )

        yield write


def _long(rows: Array, found: Array, scores: Array) -> tuple[Array, Array, Array, Array]:
    """One line per answer; places without one are left out."""
    there = found >= 0
    lines, places = np.nonzero(there)
    return rows[lines], found[there], scores[there], places + 1


def rounded(values: Array) -> list[float]:
    """Scores with the seven digits that they have.

    >>> rounded(np.float32([0.1, 1e-8]))
    [0.1, 1e-08]
    """
    return [float(f"{value:.7g}") for value in values.tolist()]


def _pyarrow() -> tuple[Any, Any]:
    import pyarrow
    from pyarrow import parquet

    return pyarrow, parquet
