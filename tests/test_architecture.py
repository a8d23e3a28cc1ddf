"""The rules of the house: data flows one way, a name means one thing, classes say what they can do."""

import ast
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from everypair.models.recommend.fitted import CAPABILITIES
from everypair.models.registry import ESTIMATORS, RECOMMENDERS, estimator_class

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "everypair"
TABLES = (ROOT / "docs" / "architecture.md").read_text()
ROOMS = re.findall(r"^\| `(\w+)` \| [^·\n]*$", TABLES, re.MULTILINE)
INSIDE = {
    room: [name.strip(" `") for name in order.split("·")]
    for room, order in re.findall(r"^\| `([\w/]+)` \| (.*·.*) \|$", TABLES, re.MULTILINE)
}
REST = "…"

FOREIGN = {  # objects that are not ours may be asked what they have
    ("models/multilabel/base.py", "hasattr(y, 'dtype')"): "labels of the caller's, perhaps no array",
    ("models/multilabel/base.py", "hasattr(y, 'shape')"): "labels of the caller's, perhaps no array",
    ("models/parameters.py", "inspect.signature(made.__init__)"): "the signature that a dataclass has made",
    ("models/recommend/blend/members.py", "hasattr(model, name)"): "a blend takes models of other libraries",
    ("models/recommend/blend/members.py", "inspect.signature(model.fit)"): "a blend takes models of other libraries",
    ("models/recommend/by_id.py", "hasattr(source, 'columns')"): "events of the caller's, perhaps a frame",
    ("models/recommend/by_id.py", "hasattr(source, 'shape')"): "events of the caller's, perhaps a matrix",
    ("models/recommend/clustered.py", "hasattr(features, 'to_delayed')"): "features of the caller's, perhaps dask's",
}


def name_of(path):
    return str(path.relative_to(PACKAGE))


def room_of(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(path):
    """Every module of the package that a file imports, with its line; imports inside functions too."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "everypair":
            folder = PACKAGE.joinpath(*node.module.split(".")[1:])
            for alias in node.names:
                module = (folder / f"{alias.name}.py").exists() or (folder / alias.name).is_dir()
                yield f"{node.module}.{alias.name}" if module or folder == PACKAGE else node.module, node.lineno
        elif isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names if alias.name.startswith("everypair."))


FILES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def test_every_room_is_in_the_table():
    assert {room_of(path) for path in FILES} == set(ROOMS)
    assert len(ROOMS) == len(set(ROOMS))


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_room_imports_only_from_rooms_above(path):
    here = ROOMS.index(room_of(path))
    for module, line in imported(path):
        room = module.split(".")[1]
        if room not in ROOMS:  # a public name of the package, which models define
            room = "models"
        assert ROOMS.index(room) <= here, f"{path.name}:{line} imports {module}"
        assert ROOMS.index(room) < here or room == room_of(path)


def neighbours(room):
    """Which entry of a room, a file or a folder, imports which other."""
    own = room.split("/")
    imports = defaultdict(set)
    for path in PACKAGE.joinpath(*own).rglob("*.py"):
        entry = path.relative_to(PACKAGE).parts[len(own)].removesuffix(".py")
        if entry == "__init__":
            continue
        imports[entry] |= set()
        for module, _ in imported(path):
            steps = module.split(".")[1:]
            if steps[: len(own)] == own:
                imports[entry].add(steps[len(own)] if len(steps) > len(own) else "__init__")
        imports[entry].discard(entry)
    return imports


def circles(imports):
    """Entries that import each other in a circle, or one of these."""
    left = dict(imports)
    while free := [entry for entry, others in left.items() if not others & set(left)]:
        for entry in free:
            del left[entry]
    return set(left)


def test_no_import_goes_up_inside_a_room():
    upward = set()
    for room, order in INSIDE.items():
        imports = neighbours(room)
        folders = {path.parent.name for path in PACKAGE.joinpath(room).glob("*/__init__.py")}
        assert folders <= set(order), f"{room}: say where {sorted(folders - set(order))} stand"
        assert set(order) - {REST} <= set(imports), f"{room}: {sorted(set(order) - {REST} - set(imports))} is not there"
        place = {entry: order.index(entry if entry in order else REST) for entry in imports}
        for entry, others in imports.items():
            assert "__init__" not in others, f"{room}/{entry} imports the room's own __init__: name the module"
            upward |= {(f"{room}/{entry}", f"{room}/{other}") for other in others if place[other] > place[entry]}
        rest = {entry: others for entry, others in imports.items() if entry not in order}
        assert not circles(rest), f"{room}: {sorted(circles(rest))} import each other"
    assert not upward, f"imports upward: {sorted(upward)}"


def test_rooms_with_folders_are_in_the_table():
    folders = {name_of(path.parent) for path in PACKAGE.rglob("*/*/__init__.py")} - set(ROOMS)
    assert {folder.rpartition("/")[0] for folder in folders} == set(INSIDE)


def test_no_two_public_classes_have_one_name():
    homes = defaultdict(set)
    for path in FILES:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].add(name_of(path))
    twice = {name: sorted(files) for name, files in homes.items() if len(files) > 1}
    assert not twice


def test_our_own_classes_are_not_asked_what_they_have():
    """What a class can do is a Protocol or declared; ``hasattr`` and signatures are for objects that are not ours."""
    questions = set()
    for path in [path for path in FILES if room_of(path) in ("models", "solvers")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("hasattr", "inspect.signature", "signature"):
                questions.add((name_of(path), ast.unparse(node)))
    assert questions == set(FOREIGN)


def concrete_classes():
    return [estimator_class(name) for name, entry in ESTIMATORS.items() if entry.extra is None]


def test_no_estimator_inherits_another():
    classes = concrete_classes()
    heirs = [(one.__name__, base.__name__) for one in classes for base in one.__mro__[1:] if base in classes]
    assert not heirs


@pytest.mark.parametrize("name", RECOMMENDERS)
def test_a_row_offers_what_its_class_has(name):
    if ESTIMATORS[name].extra:
        pytest.importorskip("jax")
    cls = estimator_class(name)
    assert set(ESTIMATORS[name].offers) == {method for method in CAPABILITIES if hasattr(cls, method)}


def test_one_machine_needs_nothing_of_a_cluster():
    code = (
        "import sys; from everypair import OneClassMF; OneClassMF; "
        "print(*(name for name in sys.modules if name.startswith('everypair.distribute.')))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not loaded
