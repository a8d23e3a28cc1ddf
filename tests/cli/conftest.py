"""A small log with a known answer, a model of it, and how commands are called."""

import csv
import shutil

import numpy as np
import pytest
from typer.testing import CliRunner

from everypair.cli import app
from everypair.testing.blocks import block_matrix, group_of


def call(*arguments, code=0):
    """Call ``everypair`` in this process; what comes back has ``stdout`` and ``stderr``."""
    result = CliRunner().invoke(app, [str(one) for one in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result


def write_csv(path, head, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *rows])


@pytest.fixture
def run():
    return call


@pytest.fixture(scope="session")
def held_out():
    """The film that each user did not show yet."""
    return {f"u{i}": f"film {j}" for i, j in enumerate(block_matrix()[1])}


@pytest.fixture(scope="session")
def made(tmp_path_factory, held_out):
    """Events of three groups of users, what was held out of them, a table of films, and a fitted model."""
    folder = tmp_path_factory.mktemp("cli")
    pairs = np.argwhere(block_matrix()[0]).tolist()
    events = [(f"u{i}", f"film {j}", 1000 + place) for place, (i, j) in enumerate(pairs)]
    write_csv(folder / "events.csv", ("user", "film", "timestamp"), events)
    write_csv(folder / "test.csv", ("user", "film"), held_out.items())
    kinds = [(f"film {j}", "abc"[group]) for j, group in enumerate(group_of(np.arange(21), side=1))]
    write_csv(folder / "films.csv", ("film", "kind"), kinds[::-1])
    call("fit", folder / "events.csv", "--output", folder / "model.ep", "--rank", 3, "--model", "OneClassMF")
    return folder


@pytest.fixture
def folder(made, tmp_path, monkeypatch):
    """A copy of the files in the working folder."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path
