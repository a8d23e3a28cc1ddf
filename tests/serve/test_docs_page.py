"""docs/serve.md and examples/serve: what they ask is answered as they say, and what they start can be started."""

import json
import os
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path
from typing import get_type_hints

import pytest

from everypair import OneClassMF
from everypair.cli.serve import serve
from everypair.data import load_debian
from everypair.serve import limits
from everypair.serve.openapi import POSTS

from .running import running

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "serve.md").read_text()
EXAMPLES = ROOT / "examples" / "serve"
ASKED = re.compile(r"^```sh\ncurl (.*?)^```\n\n```json\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OPTIONS = {"--" + name.replace("_", "-") for name in get_type_hints(serve)} | {"--help"}


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """The model of the page: all of the embedded data at rank 16."""
    folder = tmp_path_factory.mktemp("docs")
    data = load_debian()
    packages, dependencies = data.depends.nonzero()
    names = zip(data.package_names[packages].tolist(), data.dependency_names[dependencies].tolist())
    OneClassMF(rank=16, random_state=0).fit(list(names)).save(folder / "model.ep")
    with running("model.ep", "--workers", 1, cwd=folder) as one:
        yield one


def alike(found, stated):
    if isinstance(stated, dict):
        assert set(found) == set(stated)
        return all(alike(found[name], value) for name, value in stated.items() if name != "model")
    if isinstance(stated, list):
        return len(found) == len(stated) and all(map(alike, found, stated))
    return found == (pytest.approx(stated, rel=0.02) if isinstance(stated, float) else stated)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system knows no fork")
def test_what_the_page_asks(service):
    blocks = ASKED.findall(PAGE)
    assert len(blocks) >= 4
    for asked, stated in blocks:
        address, *rest = shlex.split(asked.replace("\\\n", " "))
        assert address.startswith("localhost:8000/")
        _, _, body = service.ask(address.removeprefix("localhost:8000"), json.loads(rest[rest.index("-d") + 1]))
        assert alike(json.loads(body), json.loads(stated)), body


def test_every_path_and_limit_is_on_the_page():
    assert all(f"`POST {path}`" in PAGE for path in POSTS)
    for number in (
        limits.LIST_LENGTH,
        limits.RANKED,
        limits.EVENTS,
        limits.FILTERED,
        limits.CANDIDATES,
        limits.WAITING,
    ):
        assert f"{number:,}" in PAGE
    assert f"{limits.BODY_BYTES // 1024} KiB" in PAGE
    assert f"{limits.DRAIN_SECONDS:g} s" in PAGE


def test_what_is_started_has_these_options():
    texts = [PAGE, *(path.read_text() for path in EXAMPLES.iterdir())]
    started = [line for text in texts for line in text.splitlines() if "everypair serve" in line or "CMD [" in line]
    assert len(started) >= 8
    for line in started:
        if "everypair" in line or "model.ep" in line:
            assert set(re.findall(r"(?<![\w-])--[a-z-]+", line)) <= OPTIONS | {
                "--no-cache-dir",
                "--output",
                "--events",
            }, line


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system knows no shell")
def test_a_night(tmp_path):
    """The recipe: events come in, the model is checked and put in its place, yesterday's is kept."""
    events = [(f"u{place}", f"film {place * step % 7}") for place in range(12) for step in (1, 2)]
    OneClassMF(rank=2, random_state=0).fit(events).save(tmp_path / "model.ep")
    before = (tmp_path / "model.ep").read_bytes()
    (tmp_path / "today.csv").write_text("user,item\nnew user,film 3\nnew user,film 5\n")
    command = tmp_path / "everypair"
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m everypair "$@"\n')
    command.chmod(0o755)
    environment = {
        **os.environ,
        "MODELS": str(tmp_path),
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "src"),
    }
    call = ["sh", str(EXAMPLES / "nightly.sh"), str(tmp_path / "today.csv")]
    done = subprocess.run(call, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "yesterday.ep").read_bytes() == before
    assert (tmp_path / "model.ep").read_bytes() != before


def test_the_figures_are_those_that_were_measured(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")  # where scripts find each other
    page = runpy.run_path(str(ROOT / "benchmarks" / "serve_page.py"))
    record = json.loads((ROOT / "benchmarks" / "results" / "serve.json").read_text())
    assert page["written"](PAGE, record) == PAGE
