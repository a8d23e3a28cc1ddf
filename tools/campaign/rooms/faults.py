"""The k-th call of a command fails, or the process ends there: the old file or the new one, never a third.

Commands run in a forked child of a process that has compiled and imported all they need, which waits until strace is
attached: so calls are counted from the command's own beginning, and a case takes a fraction of a second.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from trials import Case, Room

import everypair

ERRORS = ("ENOSPC", "EIO", "EINTR", "kill")
CALLS = ("fsync", "rename", "openat", "write", "ftruncate", "unlink", "read", "newfstatat")
SECONDS = 60  # for one command
NOT_PLAYED = "not played: strace is not installed"


def by_command(*arguments: str) -> Callable[[], None]:
    def run() -> None:
        from everypair.cli import app

        app(list(arguments))

    return run


def save() -> None:
    everypair.load("old.ep").save("model.ep")


def checkpoint() -> None:
    model = everypair.OneClassMF(rank=2, max_iter=4, tol=0, random_state=0, n_threads=1)
    model.fit(np.eye(9), callbacks=[everypair.Checkpoint("training.ep", every=1)])


def shards() -> None:
    """What workers and the client of a training on a cluster write."""
    from everypair.distribute.output import write_atomically

    write_atomically(os.path.abspath("shard.npy"), lambda stream: np.save(stream, np.arange(5000.0)))


def reload() -> None:
    """What a service does when it is told of a new file."""
    from everypair.serve.loading import load_variant, warm_up

    warm_up(load_variant("old.ep").answers)


class Task(NamedTuple):
    """What is run, and the file that it writes."""

    run: Callable[[], None]
    result: str = "model.ep"
    before: str | None = "old.ep"  # the file that is there already
    command: bool = True  # whose mistakes are sentences


SMALL = ("--set", "rank=2", "--set", "max_iter=2", "--set", "n_threads=1")
TASKS = {
    "save": Task(save, command=False),
    "checkpoint": Task(checkpoint, "training.ep", None, command=False),
    "fit": Task(by_command("fit", "events.csv", "--model", "OneClassMF", "--output", "model.ep", *SMALL)),
    "tune": Task(
        by_command("tune", "events.csv", "--model", "OneClassMF", "--output", "model.ep", "--trials", "1", *SMALL)
    ),
    "update": Task(by_command("update", "old.ep", "later.csv", "--output", "model.ep")),
    "recommend": Task(by_command("recommend", "old.ep", "--all", "--output", "lists.csv"), "lists.csv", "events.csv"),
    "parquet": Task(
        by_command("recommend", "old.ep", "--all", "--output", "lists.parquet"), "lists.parquet", "events.csv"
    ),
    "export": Task(by_command("export", "old.ep", "--vectors", "items.npz"), "items.npz", "events.csv"),
    "shards": Task(shards, "shard.npy", "events.csv", command=False),
    "reload": Task(reload, "old.ep", None, command=False),
}


class Ended(NamedTuple):
    """How a command ended: exit code or minus a signal, what it wrote, and the calls that strace saw."""

    code: int
    text: str
    calls: list[str]


@functools.cache
def pristine() -> Path:
    """A folder with a model and its events; every command has run once, so that all is compiled."""
    folder = Path(tempfile.mkdtemp())
    chance = np.random.default_rng(0)
    for name, count in (("events.csv", 40), ("later.csv", 5)):
        lines = {f"u{chance.integers(9)},i{chance.integers(7)}" for _ in range(count)}
        (folder / name).write_text("user,item\n" + "\n".join(sorted(lines)) + "\n")
    everypair.OneClassMF(rank=2, max_iter=2, random_state=0, n_threads=1).fit(folder / "events.csv").save(
        folder / "old.ep"
    )
    with tempfile.TemporaryDirectory() as place:
        here = os.getcwd()
        os.chdir(copied(Path(place), folder))
        for task in TASKS.values():
            try:
                with open(os.devnull, "w") as nowhere:
                    sys.stdout, before = nowhere, sys.stdout
                    task.run()
            except SystemExit:
                pass
            finally:
                sys.stdout = before
        os.chdir(here)
    return folder


def copied(place: Path, folder: Path | None = None) -> Path:
    """A fresh copy of the folder."""
    return Path(shutil.copytree(folder or pristine(), place / "work"))


def forked(task: Task, folder: Path, *inject: str) -> Ended:
    """Run a task in a child under strace."""
    said, log = folder / "said", folder / "calls"
    pid = os.fork()
    if pid == 0:
        code = 70
        try:
            os.chdir(folder)
            out = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.dup2(out, 1)
            os.dup2(out, 2)
            sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)
            os.kill(os.getpid(), signal.SIGSTOP)
            task.run()
            code = 0
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else 1 if left.code else 0
        except BaseException:
            traceback.print_exc()
            code = 1
        finally:
            for stream in (sys.stdout, sys.stderr):
                try:
                    stream.flush()
                except OSError:
                    code = code or 1
            os._exit(code)
    os.waitpid(pid, os.WUNTRACED)
    watched = ["strace", "-f", "-qq", "-y", "-p", str(pid), "-o", str(log), "-e", f"trace={','.join(CALLS)}", *inject]
    with subprocess.Popen(watched, stderr=subprocess.DEVNULL) as watcher:
        until = time.monotonic() + SECONDS
        while b"TracerPid:\t0\n" in Path(f"/proc/{pid}/status").read_bytes() and time.monotonic() < until:
            time.sleep(0.002)
        os.kill(pid, signal.SIGCONT)
        status = None
        while status is None and time.monotonic() < until:
            done, how = os.waitpid(pid, os.WNOHANG)
            status = how if done else None
            time.sleep(0.002)
        if status is None:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise AssertionError("it did not end within a minute")
        watcher.wait()
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    text = said.read_text(errors="replace") if said.exists() else ""
    return Ended(os.waitstatus_to_exitcode(status), text, lines)


@functools.cache
def counted(name: str) -> dict[str, int]:
    """How often a command makes each call."""
    with tempfile.TemporaryDirectory() as place:
        ended = forked(TASKS[name], copied(Path(place)))
    assert ended.code == 0, ended.text[-500:]
    found = [re.match(r"\d+ +(\w+)\(", line) for line in ended.calls]
    return {call: sum(1 for one in found if one and one[1] == call) for call in CALLS}


def cases() -> Iterator[Case]:
    """Every call of every command, with every fault."""
    if shutil.which("strace") is None:
        return
    for name in TASKS:
        for call, count in counted(name).items():
            for number in range(1, count + 1):
                for error in ERRORS:
                    for old in (False, True) if TASKS[name].before else (False,):
                        yield {"command": name, "call": call, "error": error, "old": old, "k": number}


def trial(case: Case, place: Path) -> str:
    if shutil.which("strace") is None:
        return NOT_PLAYED
    task, folder = TASKS[case["command"]], copied(place)
    result = folder / task.result
    if case["old"] and task.before:
        shutil.copy(folder / task.before, result)
    before = result.read_bytes() if result.exists() else None
    fault = "signal=SIGKILL" if case["error"] == "kill" else f"error={case['error']}"
    ended = forked(task, folder, "-e", f"inject={case['call']}:{fault}:when={case['k']}")
    injected = next((line for line in ended.calls if "INJECTED" in line), None)
    if injected is None and case["error"] != "kill":
        return "beyond the last call"
    after = result.read_bytes() if result.exists() else None
    outcome = ("no file" if before is None else "the old file") if after == before else "the new file"
    if outcome == "the new file":
        check_whole(result, case["command"])
    if ended.code == -signal.SIGKILL:
        return f"{outcome}, killed"
    assert ended.code >= 0, f"ended by signal {-ended.code}: {injected}"
    if task.command:
        assert "Traceback" not in ended.text, f"{injected}\n{ended.text[-900:]}"
    if ended.code:
        lost = injected is not None and "/said>" in injected  # what could not be written is the sentence
        assert lost or len(ended.text.strip()) > 15, f"no sentence: {injected}"
    left = [one.name for one in folder.iterdir() if one.name.endswith((".tmp", ".part"))]
    assert not left or case["call"] == "unlink", f"left behind: {left}: {injected}"
    return f"{outcome}, {'a sentence' if ended.code else 'went on'}"


def check_whole(path: Path, command: str) -> None:
    """Refuse a file that is neither the old one nor a whole new one."""
    if command == "checkpoint":
        from everypair.store import read_file

        read_file(path, mmap=False)
    elif path.suffix == ".ep":
        everypair.load(path)
    elif path.suffix in (".npy", ".npz"):
        found = np.load(path, allow_pickle=False)
        assert (len(found) if path.suffix == ".npy" else len(found["vectors"])) > 4, "half of a file"
    elif path.suffix == ".parquet":
        import pyarrow.parquet as pq

        assert pq.read_table(path).num_rows > 9, "half of a file"
    else:
        text = path.read_text()
        assert text.count("\n") > 9, "half of a file"
        assert text.endswith("\n"), "half of a file"


ROOM = Room(
    "faults",
    "Whatever the disk answers while a command reads and writes, and wherever the process ends, there is the old file "
    "or a whole new one, never a third, and a sentence.",
    "strace lets the k-th fsync, rename, open, read, write, truncate and unlink fail with ENOSPC, EIO and EINTR, "
    "or kills there, for every k",
    {"command": tuple(TASKS), "call": CALLS, "error": ERRORS, "old": (False, True), "k": range(1, 400)},
    trial,
    cases,
    share=2.0,
)
