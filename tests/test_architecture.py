"""Data flows one way: a room imports only from rooms above it, by the table in the docs."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "everypair"
ROOMS = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs" / "architecture.md").read_text(), re.MULTILINE)


def room_of(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(path):
    """Every module of the package that a file imports, with its line; imports inside functions too."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "everypair":
            names = [f"everypair.{alias.name}" for alias in node.names] if node.module == "everypair" else [node.module]
            yield from ((name, node.lineno) for name in names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names if alias.name.startswith("everypair."))


FILES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def test_every_room_is_in_the_table():
    assert {room_of(path) for path in FILES} == set(ROOMS)
    assert len(ROOMS) == len(set(ROOMS))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_room_imports_only_from_rooms_above(path):
    here = ROOMS.index(room_of(path))
    for module, line in imported(path):
        room = module.split(".")[1]
        if room not in ROOMS:  # a public name of the package, which models define
            room = "models"
        assert ROOMS.index(room) <= here, f"{path.name}:{line} imports {module}"
        assert ROOMS.index(room) < here or room == room_of(path)


def test_names_of_files_say_one_thing():
    names = [path.name for path in FILES if path.name not in ("__init__.py", "base.py", "defaults.py", "state.py")]
    twice = {name for name in names if names.count(name) > 1}
    assert not {"rows.py", "every.py", "multilabel.py", "pairs.py"} & twice
