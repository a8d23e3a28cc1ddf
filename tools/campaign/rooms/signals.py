"""SIGINT, SIGTERM and SIGKILL at random moments of commands: an exit code that is documented, and whole files."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from trials import Case, Room

from rooms.faults import copied

SAVE = "from everypair import load; load('old.ep').save('model.ep')"
CHECKPOINT = (
    "import numpy as np, everypair as e; "
    "e.OneClassMF(rank=2, max_iter=6, tol=0, random_state=0, n_threads=1).fit("
    "np.eye(9), callbacks=[e.Checkpoint('model.ep', every=1)])"
)
COMMANDS = {
    "fit": [sys.executable, "-m", "everypair", "fit", "events.csv", "--output", "model.ep", "--set", "rank=2"],
    "recommend": [sys.executable, "-m", "everypair", "recommend", "old.ep", "--all", "--output", "lists.csv"],
    "save": [sys.executable, "-c", SAVE],
    "checkpoint": [sys.executable, "-c", CHECKPOINT],
}
RESULT = {"recommend": "lists.csv", "checkpoint": "training.ep"}
SIGNALS = {"SIGINT": signal.SIGINT, "SIGTERM": signal.SIGTERM, "SIGKILL": signal.SIGKILL}


def trial(case: Case, place: Path) -> str:
    from everypair import load

    folder, name = copied(place), case["command"]
    result = folder / RESULT.get(name, "model.ep")
    if case["old"] and result.name == "model.ep":
        shutil.copy(folder / "old.ep", result)
    before = result.read_bytes() if result.exists() else None
    with subprocess.Popen(
        COMMANDS[name], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1", "NO_COLOR": "1"},
    ) as process:  # fmt: skip
        time.sleep(case["ms"] / 1000)
        process.send_signal(SIGNALS[case["signal"]])
        try:
            _, said = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            raise AssertionError("it did not end within a minute") from None
    code = process.returncode
    after = result.read_bytes() if result.exists() else None
    if after != before and result.suffix == ".ep" and name != "checkpoint":
        load(result)
    if case["signal"] == "SIGINT" and name in ("fit", "recommend"):
        ours = "everypair" in said.rpartition("Traceback")[2]  # the interpreter's own start is not ours to catch
        assert "Traceback" not in said or not ours, said[-800:]
        assert code in (0, 130, -2) or not ours, f"exit code {code}"
    if case["signal"] != "SIGKILL":
        assert not list(folder.glob(".*.tmp")) or case["signal"] == "SIGTERM", "a file is left behind"
    return f"{case['signal']}: {'ended before' if code == 0 else 'stopped'}"


ROOM = Room(
    "signals",
    "A command that is interrupted or killed leaves whole files, and Ctrl-C no traceback.",
    "SIGINT, SIGTERM and SIGKILL at random milliseconds of fit, recommend --all, save and checkpoints",
    {
        "command": tuple(COMMANDS),
        "signal": tuple(SIGNALS),
        "old": (False, True),
        "ms": range(0, 4000, 7),
    },
    trial,
)
