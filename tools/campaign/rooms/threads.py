"""Everything that an estimator is asked, by 16 threads at once, by a forked, a spawned and joblib's processes."""

from __future__ import annotations

import os
import pickle
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from estimators import FAMILIES, Fitted, answers, check_same, fitted, questions, refusal
from trials import Case, Room

THREADS, ROUNDS, SECONDS = 16, 3, 120
NAMES = tuple(name for names in FAMILIES.values() for name in names if name != "TwoTower")
SPAWNED = """
import pickle, sys
sys.path[:0] = sys.argv[2:]
import everypair
from estimators import Fitted, answers
folder = sys.argv[1]
with open(folder + "/data", "rb") as file:
    data = pickle.load(file)
told = answers(Fitted(everypair.load(folder + "/model.ep"), data))
with open(folder + "/answers", "wb") as file:
    pickle.dump(told, file)
"""


def trial(case: Case, folder: Path) -> str:
    try:
        one = fitted(case["model"], case, n_threads=case["threads"])
    except ValueError as failure:
        return refusal(failure)
    expected = answers(Fitted(one.model, one.data))
    way = case["way"]
    told = WAYS[way](one, case, folder)
    for number, found in enumerate(told):
        check_same(found, {name: expected[name] for name in found}, f"({way}, {number})")
    return str(way)


def at_once(one: Fitted, case: Case, folder: Path) -> list[dict[str, Any]]:
    """Every thread asks everything, in an order of its own, of a model that nobody has asked before."""
    model = fitted(case["model"], case, n_threads=case["threads"]).model
    asked = questions(Fitted(model, one.data))

    def ask(number: int) -> dict[str, Any]:
        names = list(asked) * ROUNDS
        random.Random(number).shuffle(names)
        told = {}
        for name in names:
            answer = asked[name]()
            told[name] = tuple(map(np.asarray, answer if isinstance(answer, tuple) else (answer,)))
        return told

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(ask, range(THREADS), timeout=SECONDS))


def trained_at_once(one: Fitted, case: Case, folder: Path) -> list[dict[str, Any]]:
    """Four threads train the same model from the same data."""
    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(lambda _: answers(fitted(case["model"], case, n_threads=case["threads"])), range(4)))


def forked(one: Fitted, case: Case, folder: Path) -> list[dict[str, Any]]:
    """A forked child asks, after its parent has asked by threads."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            (folder / "answers").write_bytes(pickle.dumps(answers(one)))
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    assert status == 0, f"the forked child ended with {status}"
    return [pickle.loads((folder / "answers").read_bytes()), answers(one)]


def spawned(one: Fitted, case: Case, folder: Path) -> list[dict[str, Any]]:
    """A new process loads the model's file."""
    one.model.save(folder / "model.ep")
    (folder / "data").write_bytes(pickle.dumps(one.data))
    ran = subprocess.run(
        [sys.executable, "-c", SPAWNED, str(folder), *sys.path], capture_output=True, text=True, timeout=SECONDS
    )
    assert ran.returncode == 0, ran.stderr[-600:]
    return [pickle.loads((folder / "answers").read_bytes())]


def by_joblib(one: Fitted, case: Case, folder: Path) -> list[dict[str, Any]]:
    """joblib's threads, and its processes, which take models by pickle."""
    from joblib import Parallel, delayed

    kind = "threading" if case["seed"] % 4 else "loky"
    return list(Parallel(n_jobs=2, backend=kind)(delayed(answers)(one) for _ in range(2)))


WAYS = {
    "16 threads": at_once,
    "training in threads": trained_at_once,
    "fork": forked,
    "joblib": by_joblib,
    "spawn": spawned,
}
ROOM = Room(
    "threads",
    "A fitted model may be asked by any number of threads and processes at once: all have the answers of one alone, to "
    "the bit.",
    f"everything that an estimator of the three families is asked, by {THREADS} threads in orders of their own, after "
    "fork, in a spawned process, by joblib's threads and processes; four trainings at once",
    {
        "model": NAMES,
        "way": tuple(WAYS),
        "shape": ([12, 9], [60, 40], [9, 300]),
        "density": (0.4, 0.15),
        "features": (False, True),
        "sparse": (False, True),
        "threads": (1, 2),
        "seed": range(100_000),
    },
    trial,
)
