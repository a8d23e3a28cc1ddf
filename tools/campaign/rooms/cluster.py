"""Trainings on a cluster whose workers, scheduler or client are killed at a random moment.

Scheduler, two workers and the client are processes of their own. A killed worker's part is computed again elsewhere; a
killed client's training goes on from its checkpoint; without a scheduler there is a sentence. Nothing waits for ever.
"""

from __future__ import annotations

import contextlib
import functools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from trials import Case, Room

SECONDS = 200  # for a training that takes few: where no worker is left it waits a minute for one
TRAINING = """
import sys, time, warnings
import numpy as np, scipy.sparse as sp
from everypair import OneClassMF

pairs = sp.random_array((300, 200), density=0.05, rng=np.random.default_rng(0), format="csr", dtype=np.float32)
pairs.data[:] = 1
model = OneClassMF(rank=4, max_iter=6, tol=0.0, random_state=3)
if len(sys.argv) == 2:
    np.savez(sys.argv[1], u=model.fit(pairs).user_factors_, v=model.item_factors_)
    sys.exit()
if __name__ == "__main__":
    from distributed import Client
    from everypair.distribute import Cluster, ShardCheckpoint

    address, folder, slow = sys.argv[1:]
    with Client(scheduler_file=address, timeout=60) as client:
        client.wait_for_workers(2, timeout=60)
        print("begun", flush=True)
        try:
            model.fit(
                pairs, client=Cluster(client, shards=(3, 2)),
                callbacks=[ShardCheckpoint(folder + "/kept", every=2), lambda sweep: time.sleep(float(slow))],
            )
        except Exception as failure:
            print(f"{type(failure).__name__}: {failure}", flush=True)
            sys.exit(3)
        np.savez(folder + "/found.npz", u=model.user_factors_, v=model.item_factors_)
"""


@functools.cache
def expected() -> dict[str, np.ndarray]:
    """The factors of a training on one machine."""
    with tempfile.TemporaryDirectory() as place:
        subprocess.run([sys.executable, "-c", TRAINING, f"{place}/alone.npz"], check=True, timeout=SECONDS)
        with np.load(f"{place}/alone.npz") as found:
            return dict(found)


@contextlib.contextmanager
def started(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A process that ends with the block."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    with subprocess.Popen(
        [sys.executable, *arguments], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        env=environment,
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            process.kill()


def trial(case: Case, folder: Path) -> str:
    where, plain = str(folder / "scheduler.json"), ("--no-dashboard", "--scheduler-file")
    (folder / "train.py").write_text(TRAINING)
    train = ("train.py", where, str(folder), str(case["slow"]))
    with contextlib.ExitStack() as stack:
        scheduler = stack.enter_context(
            started(folder, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", *plain, where)
        )
        worker = (
            "-m",
            "distributed.cli.dask_worker",
            "--nthreads",
            "1",
            "--no-nanny",
            "--memory-limit",
            "0",
            *plain,
            where,
        )
        until = time.monotonic() + SECONDS
        while not Path(where).exists() and time.monotonic() < until:
            time.sleep(0.05)
        workers = [stack.enter_context(started(folder, *worker)) for _ in range(2)]
        client = stack.enter_context(started(folder, *train))
        assert client.stdout is not None
        assert client.stdout.readline() == "begun\n", "the cluster did not start"
        time.sleep(case["ms"] / 1000)
        victims = {
            "worker": [workers[case["ms"] % 2]],
            "workers": workers,
            "scheduler": [scheduler],
            "client": [client],
        }
        running = client.poll() is None
        for victim in victims[case["killed"]]:
            victim.kill()
        code, text = ended(client)
        if case["killed"] == "client" and code:
            again = stack.enter_context(started(folder, *train))
            code, text = ended(again)
            assert code == 0, f"the training did not go on: {text}"
    if code == 0:
        with np.load(folder / "found.npz") as found:
            for name, factors in expected().items():
                assert np.array_equal(found[name], factors), "other bits"
        return f"{case['killed']}: the same bits" if running else f"{case['killed']}: ended before"
    assert code == 3, f"the client ended with {code}: {text}"
    assert case["killed"] in ("scheduler", "workers"), text
    assert len(text.strip()) > 40, f"no sentence: {text!r}"
    return f"{case['killed']}: a sentence"


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Exit code and last words of a process, which must end."""
    try:
        text, _ = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise AssertionError(f"it did not end within {SECONDS} seconds") from None
    return process.returncode, text


ROOM = Room(
    "cluster",
    "A training on a cluster ends with the same bits, or a sentence, whatever is killed, and never hangs.",
    "a worker, both, the scheduler or the client killed at random milliseconds of a training of seconds; a killed "
    "client's training goes on from its checkpoint",
    {
        "killed": ("worker", "client", "scheduler", "workers"),
        "slow": (0.2, 0.05, 0.0),
        "ms": range(0, 4000, 13),
    },
    trial,
)
