"""Less and less address space: the right answer or an error that says so, never a crash and never a wrong answer.

All that is needed is imported and compiled before memory is short: what an import does without memory is not ours.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from trials import Case, Room

WORK = """
import os, resource, sys
import numpy as np, scipy.sparse as sp
from everypair import Blend, ItemItem, OneClassMF, load

task, room, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]

def events(users, items, density):
    chance = np.random.default_rng(0)
    return sp.csr_array((chance.random((users, items)) < density).astype(np.float32))

def work(matrix):
    if task == "load":
        return load(folder + "/model.ep").recommend(range(20), n=5)[0]
    if task == "save":
        fitted.save(folder + "/again.ep")
        return load(folder + "/again.ep").recommend(range(20), n=5)[0]
    model = {"fit": OneClassMF, "items": ItemItem, "blend": Blend}[task]
    seeded = {} if task == "items" else {"random_state": 0}
    return model(n_threads=1, **seeded).fit(matrix).recommend(range(20), n=5)[0]

small, large = events(150, 120, 0.1), events(3000, 2000, 0.01)
fitted = OneClassMF(rank=64, max_iter=1, n_threads=1, random_state=0).fit(small if task == "save" else large)
fitted.save(folder + "/model.ep")
work(small)
if (child := os.fork()) == 0:  # so that this process has no room from it
    np.save(folder + "/expected.npy", work(large))
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
expected = np.load(folder + "/expected.npy")
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + room, used + room))
try:
    found = work(large)
except MemoryError:
    sys.exit(3)
except OSError as failure:
    sys.exit(4 if "allocate memory" in str(failure) else 5)
sys.exit(0 if np.array_equal(found, expected) else 6)
"""
ENDS = {0: "the right answer", 3: "MemoryError", 4: "a file that cannot be read for want of memory"}
SECONDS = 120


def trial(case: Case, folder: Path) -> str:
    ran = subprocess.run(
        [sys.executable, "-c", WORK, case["task"], str(case["kib"] * 1024), str(folder)],
        capture_output=True, text=True, timeout=SECONDS, env=os.environ | {"OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert ran.returncode in ENDS, f"exit code {ran.returncode}: {ran.stderr[-600:]}"
    return f"{case['task']}: {ENDS[ran.returncode]}"


ROOM = Room(
    "memory",
    "Where memory is short there is an error that says so or the right answer, never a crash and never a wrong answer.",
    "RLIMIT_AS at random heights above what the process has, for fitting, saving, loading and answering",
    {"task": ("fit", "items", "blend", "load", "save"), "kib": [*range(0, 10_000, 250), *range(10_000, 60_000, 2000)]},
    trial,
)
