"""Files on any file system that workers see, each renamed when it is whole; lists as Parquet."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from everypair.types import Array


def absolute(folder: Any) -> str:
    """A local path from the root on, since workers have folders of their own; any other fsspec path as it is.

    >>> absolute("s3://bucket/lists/"), absolute("/shared/lists")
    ('s3://bucket/lists', '/shared/lists')
    """
    path = str(folder).rstrip("/")
    return path if "://" in path else os.path.abspath(path)


def check_folder(folder: Any) -> None:
    """Make the folder, or say why it cannot be written to."""
    import fsspec

    files, path = fsspec.core.url_to_fs(str(folder))
    if files.exists(path) and not files.isdir(path):
        raise ValueError(f"{folder} is a file: give a folder for the lists.")
    if files.exists(path) and any(str(one).endswith(".parquet") for one in files.ls(path, detail=False)):
        raise ValueError(f"{folder} has Parquet files already: give another folder, or empty it.")
    try:
        files.makedirs(path, exist_ok=True)
    except OSError as failure:
        raise ValueError(f"{folder} cannot be made: {failure.strerror or failure}.") from failure


def write_lists(path: str, users: Array, items: NDArray[Any], scores: Array, item_ids: Array | None = None) -> None:
    """One row per user and item: user, item, score and rank (from 1); a score of −∞ stands for none and is left out."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    there = ~np.isneginf(scores)
    ranks = np.broadcast_to(np.arange(1, items.shape[1] + 1, dtype=np.int32), items.shape)
    table = pa.table(
        {
            "user": np.repeat(users, there.sum(axis=1)),
            "item": items[there] if item_ids is None else item_ids[items[there]],
            "score": scores[there],
            "rank": ranks[there],
        }
    )
    write_atomically(path, lambda stream: pq.write_table(table, stream))


def write_atomically(path: str, write: Callable[[Any], object]) -> None:
    """Write a file under another name and rename it when it is whole, on any file system; what fails leaves nothing."""
    import fsspec
    from fsspec.implementations.local import LocalFileSystem

    files, name = fsspec.core.url_to_fs(path)
    part = f"{name}.{uuid4().hex}.part"
    try:
        with files.open(part, "wb") as stream:
            write(stream)
            stream.flush()
            if isinstance(files, LocalFileSystem):
                os.fsync(stream.fileno())
        files.mv(part, name)
    except BaseException:
        with suppress(OSError):
            files.rm(part)
        raise
