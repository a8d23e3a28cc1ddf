"""SIGINT, SIGTERM and SIGKILL at random moments of commands: an exit code that is documented, and whole files.

Most commands are forked from a process that has imported and compiled everything, so that the moments fall into the
command's own work; every eighth is a process of its own, whose start is interrupted too.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from trials import Case, Room

from rooms.faults import TASKS, Task, check_whole, copied, pristine

SECONDS = 60  # for one command
SIGNALS = {"SIGINT": signal.SIGINT, "SIGTERM": signal.SIGTERM, "SIGKILL": signal.SIGKILL}
COMMANDS = ("fit", "tune", "update", "recommend", "parquet", "export", "save", "checkpoint")
PLAIN = {
    "save": "from everypair import load; load('old.ep').save('model.ep')",
    "checkpoint": "import numpy as np, everypair as e; "
    "e.OneClassMF(rank=2, max_iter=4, tol=0, random_state=0, n_threads=1).fit("
    "np.eye(9), callbacks=[e.Checkpoint('training.ep', every=1)])",
}


def forked(task: Task, folder: Path, seconds: float, number: int) -> tuple[int, str]:
    """Run a task in a child that gets a signal after so many seconds; its exit code and what it said."""
    said = folder / "said"
    pid = os.fork()
    if pid == 0:
        code = 70
        try:
            os.chdir(folder)
            out = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.dup2(out, 1)
            os.dup2(out, 2)
            sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)
            task.run()
            code = 0
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else 1 if left.code else 0
        except KeyboardInterrupt:
            code = 130
        except BaseException:
            import traceback

            traceback.print_exc()
            code = 1
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    time.sleep(seconds)
    os.kill(pid, number)
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status), said.read_text(errors="replace") if said.exists() else ""
        time.sleep(0.002)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    raise AssertionError("it did not end within a minute")


def started(name: str, folder: Path, seconds: float, number: int) -> tuple[int, str]:
    """The same of a process of its own."""
    command = f"import sys; sys.path[:0] = {sys.path!r}; from rooms.faults import TASKS; TASKS[{name!r}].run()"
    code = PLAIN.get(name) or command
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1", "NO_COLOR": "1"},
    ) as process:  # fmt: skip
        time.sleep(seconds)
        process.send_signal(number)
        try:
            _, said = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            raise AssertionError("it did not end within a minute") from None
    return process.returncode, said


def trial(case: Case, place: Path) -> str:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it, as do its children
    pristine()
    folder, name = copied(place), case["command"]
    task, number = TASKS[name], SIGNALS[case["signal"]]
    result = folder / task.result
    if case["old"] and task.before:
        shutil.copy(folder / task.before, result)
    before = result.read_bytes() if result.exists() else None
    if case["how"] == "forked":
        code, said = forked(task, folder, case["ms"] / 1000, number)
    else:
        code, said = started(name, folder, case["ms"] / 50, number)
    after = result.read_bytes() if result.exists() else None
    if after != before:
        check_whole(result, name)
    if case["signal"] == "SIGINT" and task.command:
        ours = "everypair" in said.rpartition("Traceback")[2]  # the interpreter's own start is not ours to catch
        assert "Traceback" not in said or not ours, said[-800:]
        assert code in (0, 130, -2) or not ours, f"exit code {code}"
    if case["signal"] == "SIGINT":
        assert not list(folder.glob(".*.tmp")), "a file is left behind"
    stopped = "ended before" if code == 0 else "stopped"
    return f"{case['signal']}, {name}: {stopped}{', the new file' if after != before and code else ''}"


ROOM = Room(
    "signals",
    "A command that is interrupted or killed leaves whole files, and Ctrl-C no traceback and nothing half-written.",
    "SIGINT, SIGTERM and SIGKILL at random milliseconds of fit, tune, update, recommend --all, export, save and "
    "checkpoints",
    {
        "command": COMMANDS,
        "signal": tuple(SIGNALS),
        "how": (*["forked"] * 7, "process"),
        "old": (False, True),
        "ms": range(0, 150),
    },
    trial,
)
