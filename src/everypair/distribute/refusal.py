"""When a file is refused: what reads other files is waited for, and what has not begun never does.

A worker that is closed while it runs a task logs a warning, which would stand beside the sentence about the file.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from everypair.distribute.tasks import Tasks

LONGEST_WAIT = 10.0  # seconds
PAUSE = 0.05


@contextmanager
def all_ended(tasks: Tasks, futures: list[Any]) -> Iterator[None]:
    """Let no future's task run on where the block inside fails."""
    try:
        yield
    except Exception:
        keys = {future.key for future in futures}
        tasks.client.cancel(futures)
        end = time.monotonic() + LONGEST_WAIT
        while any(tasks.client.run(_runs, keys).values()) and time.monotonic() < end:
            time.sleep(PAUSE)
        raise


def _runs(keys: set[str], dask_worker: Any) -> bool:
    """Whether a worker runs one of these tasks, cancelled or not."""
    return any(task.key in keys for task in dask_worker.state.executing)
