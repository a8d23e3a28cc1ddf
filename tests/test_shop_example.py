"""examples/shop: its scripts are those of the page, every command of the walk runs and says what its twin says."""

import csv
import runpy
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

import everypair
from everypair.cli import app

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "examples" / "shop"
PAGE = (ROOT / "docs" / "tutorials" / "shop-log.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def made():
    return runpy.run_path(str(ROOT / "tools" / "shop_example.py"))


def test_the_scripts_are_those_of_the_page(made):
    assert (FOLDER / "walk.py").read_text(encoding="utf-8") == made["script"](PAGE)
    assert (FOLDER / "walk.sh").read_text(encoding="utf-8") == made["commands"](PAGE)


def test_every_command_of_the_walk(tmp_path, monkeypatch, made):
    monkeypatch.chdir(tmp_path)
    namespace = {}
    blocks = [code for kind, code in made["FENCE"].findall(PAGE) if kind == "python"]
    exec(blocks[0], namespace)  # the logs
    namespace["write"]("all.csv", namespace["head"], namespace["lines"] + namespace["today"][-3:])
    lines = "".join(code for kind, code in made["FENCE"].findall(PAGE) if kind == "sh").replace("\\\n", " ")
    said = {}
    for line in lines.splitlines():
        _, *arguments = shlex.split(line, comments=True)
        result = CliRunner().invoke(app, arguments)
        refused = made["REFUSED"].strip() in line
        assert result.exit_code == (2 if refused else 0), (line, result.output)
        if refused:
            assert "have been read already" in result.stderr
        said.setdefault(arguments[0], []).append(result.stdout)
    assert "missing=7" in said["inspect"][0]
    assert "more are of users who have the item already" in said["evaluate"][1]
    assert said["update"][0].startswith("New users: 1, new items: 1, known users folded in: 47")
    assert "## data" in said["card"][0]
    assert "Wool no. 3" in said["recommend"][1]
    with open("lists.csv", newline="") as file:
        listed = [(row["user"], row["item"]) for row in csv.DictReader(file)]
    events = everypair.read_events("log.csv", missing="drop", duplicates="count", verbose=False)
    twin = everypair.OneClassMF(rank=16, random_state=0).fit(events).describe_items("items.csv")
    table = twin.recommend(n=5, at_most={"department": 2}, output="pandas")
    assert listed == list(zip(table.user, table.item))
    assert "neu" not in everypair.load("shop.ep").item_ids_
    assert "wool 21" in everypair.load("shop.ep").item_ids_
