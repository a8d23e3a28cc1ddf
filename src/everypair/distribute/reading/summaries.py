"""Files that workers read: each is summed up there, and the client waits for all summaries and for nothing else.

When a file is refused, what reads other files is waited for, and what has not begun never does: a worker that is closed
while it runs a task logs a warning, which would stand beside the sentence about the file.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from everypair.distribute.tasks import Tasks

LONGEST_WAIT = 10.0  # seconds
PAUSE = 0.05


def summaries(tasks: Tasks, files: list[Any], summary: Callable[[Any], Any]) -> list[Any]:
    """What ``summary`` makes of files that workers have read or are about to, here."""
    futures = tasks.start([tasks.task("describe", summary, one) for one in files])
    try:
        return tasks.wait(futures)
    except Exception:
        _end(tasks, [*files, *futures])
        raise


@contextmanager
def naming(source_name: str) -> Iterator[None]:
    """Refuse a file that cannot be read with a sentence that begins with its name, unless it names the file itself."""
    try:
        yield
    except (OSError, ValueError, TypeError) as failure:
        text = str(failure)
        raise ValueError(text if source_name in text else f"{source_name}: {text}") from None


def _end(tasks: Tasks, futures: list[Any]) -> None:
    """Let no future's task run on."""
    keys = {future.key for future in futures}
    tasks.client.cancel(futures)
    end = time.monotonic() + LONGEST_WAIT
    while any(tasks.client.run(_runs, keys).values()) and time.monotonic() < end:
        time.sleep(PAUSE)


def _runs(keys: set[str], dask_worker: Any) -> bool:
    """Whether a worker runs one of these tasks, cancelled or not."""
    return any(task.key in keys for task in dask_worker.state.executing)
