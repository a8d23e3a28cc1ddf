"""``--cluster local:N``: from a folder of CSV files to a model and to Parquet lists; mistakes are one sentence."""

import subprocess
import sys

import pytest

pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("cluster")
    (path / "events").mkdir()
    for part in range(2):
        rows = [f"u{user},i{(user * 7 + step * part) % 30}" for user in range(40) for step in range(1, 6)]
        (path / "events" / f"{part}.csv").write_text("\n".join(["user,item", *rows]) + "\n")
    return path


def everypair(folder, *arguments):
    command = [sys.executable, "-m", "everypair", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)


def test_fit_and_lists_of_everybody(folder):
    told = everypair(folder, "fit", "events", "-o", "model.ep", "--rank", "2", "--cluster", "local:1", "--quiet")
    assert (told.returncode, told.stdout) == (0, "OneClassMF written to model.ep.\n"), told.stderr
    told = everypair(folder, "recommend", "model.ep", "--all", "-n", "3", "-o", "lists", "--cluster", "local:1")
    assert told.returncode == 0, told.stderr
    assert [one.name for one in (folder / "lists").iterdir()] == ["part-00000.parquet"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["fit", "events", "-o", "m.ep", "--cluster", "local:1", "--user", "nobody"],
            "0.csv: There is no column 'nobody'",
        ),
        (["fit", "events", "-o", "m.ep", "--cluster", "local:none"], "say how many worker processes"),
        (["fit", "events", "-o", "m.ep", "--cluster", "somewhere"], "tcp://scheduler:port or local:4"),
        (["fit", "events", "-o", "m.ep", "--cluster", "local:1", "--model", "ItemItem"], "not trained on a cluster"),
        (["fit", "events", "-o", "m.ep", "--shards", "2"], "--shards belongs to --cluster"),
    ],
)
def test_mistakes_are_one_sentence(folder, arguments, words):
    told = everypair(folder, *arguments)
    assert told.returncode == 2
    assert words in told.stderr
    assert len(told.stderr.splitlines()) == 1, told.stderr
    assert not (folder / "m.ep").exists()
