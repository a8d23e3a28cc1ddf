"""How far a command has come: lines where there is no terminal, a bar with the time left where there is one."""

import os
import subprocess
import sys

import pytest

from everypair.progress import Progress

CODE = """
import time
from everypair.progress import Progress
with Progress(4, "users") as progress:
    for done in range(5):
        time.sleep(0.15)
        progress.reach(done)
"""


def test_lines_tell_the_time_left(capsys, monkeypatch):
    monkeypatch.setattr("everypair.progress.SECONDS_BETWEEN_LINES", 0.0)
    with Progress(4000, "users") as progress:
        progress.reach(1000)
        progress.reach(4000)
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 1
    assert told[0].startswith("1,000 of 4,000 users after 0 s, about ")


def test_few_lines_and_none_when_quiet(capsys):
    for quiet in (False, True):
        with Progress(10, "users", quiet) as progress:
            for done in range(10):
                progress.reach(done)
    assert capsys.readouterr().err == ""


def test_an_early_end_is_foreseen():
    assert Progress(50, "sweeps", at_most=True).line(10, 5.0, "objective 3") == (
        "10 of 50 sweeps after 5 s, at most 20 s left; objective 3"
    )


def test_a_bar_on_a_terminal():
    pty = pytest.importorskip("pty")
    master, slave = pty.openpty()
    told = subprocess.Popen([sys.executable, "-c", CODE], stderr=slave, env={**os.environ, "TERM": "xterm"})
    os.close(slave)
    shown = b""
    while True:
        try:
            part = os.read(master, 4096)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        shown += part
    os.close(master)
    assert told.wait() == 0
    assert "4/4" in shown.decode()
    assert "users" in shown.decode()
    assert "left" in shown.decode()


def test_a_blend_names_its_members():
    from everypair import Blend, ItemItem, OneClassMF
    from everypair.progress import listening
    from everypair.testing import block_matrix

    said = []
    with listening(said.append):
        Blend(models=[OneClassMF(rank=2, max_iter=2, random_state=0), ItemItem()], weights=None).fit(block_matrix()[0])
    assert "OneClassMF (1 of 2): sweep 2" in said
    assert "ItemItem (2 of 2): neighbours of 21 items" in said
    assert said[-1] == "ItemItem (2 of 2): 0 of 21 items"


def test_stages_are_lines_elsewhere(capsys, monkeypatch):
    from everypair import progress

    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    with progress.shown_stages(), progress.part_of("ItemItem"):
        progress.stage("neighbours")
    assert capsys.readouterr().err == "ItemItem: neighbours, after 0 s\n"
    with progress.shown_stages(quiet=True):
        progress.stage("neighbours")
    assert capsys.readouterr().err == ""
