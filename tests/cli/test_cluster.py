"""``--cluster local:N``: from a folder of CSV files to a model and to Parquet lists; mistakes are one sentence."""

import json
import subprocess
import sys

import pandas as pd
import pytest

pytest.importorskip("distributed")

FACTORS = ("--model", "OneClassMF")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("cluster")
    (path / "events").mkdir()
    for part in range(2):
        rows = [f"u{user},i{(user * 7 + step * part) % 30}" for user in range(40) for step in range(1, 6)]
        (path / "events" / f"{part}.csv").write_text("\n".join(["userId,item", *rows]) + "\n")
    return path


def everypair(folder, *arguments):
    command = [sys.executable, "-m", "everypair", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)


def test_fit_and_lists_of_everybody(folder):
    told = everypair(folder, "fit", "events", *FACTORS, "-o", "model.ep", "--rank", "2", "--cluster", "local:1")
    assert (told.returncode, told.stdout) == (0, "OneClassMF written to model.ep.\n"), told.stderr
    assert "0.csv: user 'userId', item 'item'." in told.stderr
    assert "40 users × 30 items" in told.stderr
    assert "sweeps in" in told.stderr
    asked = ("recommend", "model.ep", "--all", "-n", "3", "--block", "i0", "-o")
    told = everypair(folder, *asked, "lists", "--json", "--cluster", "local:1")
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout) == {"output": "lists", "users": 40, "n": 3, "files": 1}
    here = everypair(folder, *asked, "lists.parquet")
    assert here.returncode == 0, here.stderr
    lists = pd.read_parquet(folder / "lists")
    pd.testing.assert_frame_equal(lists, pd.read_parquet(folder / "lists.parquet"))
    assert "i0" not in set(lists["item"])
    assert [one.name for one in (folder / "lists").iterdir()] == ["part-00000.parquet"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["fit", "events", *FACTORS, "-o", "m.ep", "--cluster", "local:1", "--user", "nobody"],
            "0.csv: There is no column 'nobody'",
        ),
        (["fit", "events", *FACTORS, "-o", "m.ep", "--cluster", "local:none"], "say how many worker processes"),
        (["fit", "events", *FACTORS, "-o", "m.ep", "--cluster", "somewhere"], "tcp://scheduler:port or local:4"),
        (
            ["fit", "events", "-o", "m.ep", "--cluster", "local:1"],
            "Blend is not trained on a cluster: say --model OneClassMF",
        ),
        (["fit", "events", *FACTORS, "-o", "m.ep", "--shards", "2"], "--shards belongs to --cluster"),
        (["fit", "events", *FACTORS, "-o", "m.ep", "--cluster", "local:1", "--threads", "2"], "leave --threads out"),
        (["recommend", "m.ep", "--all", "-o", "l", "--cluster", "local:1", "--threads", "2"], "leave --threads out"),
    ],
)
def test_mistakes_are_one_sentence(folder, arguments, words):
    told = everypair(folder, *arguments)
    assert told.returncode == 2
    assert words in told.stderr
    assert len(told.stderr.splitlines()) == 1, told.stderr
    assert not (folder / "m.ep").exists()
