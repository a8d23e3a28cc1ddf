"""Less and less address space: the right answer or an error that says so, never a crash and never a wrong answer.

All that is needed is imported and compiled before memory is short, in the process that is forked for a case: what an
import does without memory is not ours.
"""

from __future__ import annotations

import functools
import os
import resource
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from trials import Case, Room

from everypair import Blend, ItemItem, OneClassMF, load

ENDS = {0: "the right answer", 3: "MemoryError", 4: "a file that cannot be read for want of memory"}
SECONDS = 300


def events(users: int, items: int, density: float) -> Any:
    chance = np.random.default_rng(0)
    return sp.csr_array((chance.random((users, items)) < density).astype(np.float32))


def serve(path: Path) -> Any:
    """What a service does from a file to an answer."""
    from everypair.serve.loading import load_variant, warm_up
    from everypair.serve.questions import Recommend

    answers = load_variant(path).answers
    warm_up(answers)
    (told,) = answers.recommend([Recommend(user=3, n=5)])
    if isinstance(told, Exception):
        raise told.__cause__ or told
    return np.array([one.item for one in told.items])


class Prepared(NamedTuple):
    """Tasks by name, of small and of large data, and what those of large data give."""

    tasks: dict[str, Callable[[], Any]]
    expected: dict[str, Any]


@functools.cache
def prepared() -> Prepared:
    folder = Path(tempfile.mkdtemp())
    few = {"n_threads": 1, "random_state": 0}
    small, large = events(150, 120, 0.1), events(1500, 1000, 0.02)
    models = {size: OneClassMF(rank=64, max_iter=1, **few).fit(data) for size, data in (("s", small), ("l", large))}
    for size, model in models.items():
        model.save(folder / f"{size}.ep")

    def saved(size: str) -> Any:
        models[size].save(folder / "again.ep")
        return load(folder / "again.ep").recommend(range(20), n=5)[0]

    tasks: dict[str, Callable[[str], Any]] = {
        "fit": lambda size: OneClassMF(**few).fit(data_of[size]).recommend(range(20), n=5)[0],
        "items": lambda size: ItemItem(n_threads=1).fit(data_of[size]).recommend(range(20), n=5)[0],
        "blend": lambda size: Blend(**few).fit(data_of[size]).recommend(range(20), n=5)[0],
        "recommend": lambda size: models[size].recommend(n=20)[0],
        "load": lambda size: load(folder / f"{size}.ep").recommend(range(20), n=5)[0],
        "save": saved,
        "serve": lambda size: serve(folder / f"{size}.ep"),
    }
    data_of, expected = {"s": small, "l": large}, {}
    for name, task in tasks.items():
        task("s")  # everything is imported and compiled
        place = folder / f"{name}.npy"
        if (child := os.fork()) == 0:  # so that this process has no room from it
            try:
                np.save(place, task("l"))
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitpid(child, 0)[1] == 0, name
        expected[name] = np.load(place)
    return Prepared({name: functools.partial(task, "l") for name, task in tasks.items()}, expected)


def trial(case: Case, folder: Path) -> str:
    tasks, expected = prepared()
    said, name = folder / "said", case["task"]
    if (child := os.fork()) == 0:
        try:
            os._exit(short_of_memory(tasks[name], expected[name], case["kib"] * 1024, said))
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    text = said.read_text(errors="replace") if said.exists() else ""
    assert code in ENDS, f"exit code {code}: {text[-800:]}"
    return f"{name}: {ENDS[code]}"


def short_of_memory(task: Callable[[], Any], expected: Any, room: int, said: Path) -> int:
    """Do the task with so many bytes; how it ended."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(SECONDS)
    out = os.open(said, os.O_WRONLY | os.O_CREAT)
    os.dup2(out, 2)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + room, hard))
    try:
        found = task()
    except MemoryError:
        return 3
    except BaseException as failure:
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
        if isinstance(failure, OSError) and "allocate memory" in str(failure):
            return 4
        traceback.print_exc(file=sys.__stderr__)
        sys.__stderr__.flush()
        return 5
    return 0 if np.array_equal(found, expected) else 6


ROOM = Room(
    "memory",
    "Where memory is short there is an error that says so or the right answer, never a crash and never a wrong answer.",
    "RLIMIT_AS at random heights above what the process has, for fitting, recommending to all, saving, loading and "
    "serving",
    {
        "task": ("fit", "items", "blend", "recommend", "load", "save", "serve"),
        "kib": [*range(0, 10_000, 100), *range(10_000, 60_000, 500)],
    },
    trial,
)
