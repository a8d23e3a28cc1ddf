"""Versions: floors, pins, what is installed, licences, an import without a network, a wheel of the same bytes."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
SILENT = """
import sys
def hear(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "urllib.Request"):
        raise SystemExit(f"{event} {arguments}")
sys.addaudithook(hear)
import importlib, pkgutil
import everypair
count = 0
for module in pkgutil.walk_packages(everypair.__path__, "everypair."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
        count += 1
print(count)
"""


@pytest.fixture(scope="module")
def versions():
    spec = importlib.util.spec_from_file_location("tools_versions", ROOT / "tools" / "versions.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def test_every_dependency_has_a_lowest_version(versions):
    for requirement in versions.declared(*versions.EXTRAS):
        name, _, least = versions.floor(requirement).partition("==")
        assert requirement.specifier.contains(least.replace("*", "99"), prereleases=True), name


def test_pins_are_of_all_that_is_declared_and_allowed(versions):
    for path, extras in versions.LOCKS.items():
        lines = path.read_text().splitlines()[1:]
        pins = {name: version for name, _, version in (line.partition("==") for line in lines)}
        for requirement in versions.declared(*extras):
            name = canonicalize_name(requirement.name)
            assert name in pins, f"{name} is not in {path.name}: python tools/versions.py lock"
            assert requirement.specifier.contains(pins[name]), f"{name} in {path.name}"


def test_the_list_of_what_is_installed(versions):
    told = versions.sbom()
    assert (told["bomFormat"], told["specVersion"]) == ("CycloneDX", "1.5")
    names = {one["name"] for one in told["components"]}
    assert {canonicalize_name(one.name) for one in versions.declared(*versions.EXTRAS)} <= names
    assert all(re.fullmatch(r"pkg:pypi/[a-z0-9-]+@\S+", one["purl"]) for one in told["components"])


def test_what_is_needed_follows_markers_and_extras(versions):
    found = versions.needed([Requirement("dask[dataframe]"), Requirement("no-such-thing-at-all")])
    assert {"dask", "pandas"} <= set(found)
    assert not versions.needed([Requirement("numpy; python_version < '3'")])


def test_every_dependency_has_a_licence():
    told = json.loads((ROOT / "tools" / "licences.json").read_text())
    for part in told.values():
        for name, licence in part.items():
            assert licence != "not said", name
            assert not re.search(r"\bA?GPL", licence), f"{name}: {licence}"


def test_importing_everything_asks_no_network():
    ran = subprocess.run([sys.executable, "-c", SILENT], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr[-500:]
    assert int(ran.stdout) > 200


@pytest.mark.slow
def test_two_wheels_have_the_same_bytes(tmp_path):
    """Of two copies whose files have other times; a wheel without anything that would be run when it is installed."""
    wheels = []
    for name, moment in (("one", 1_600_000_000), ("two", 1_700_000_000)):
        source = tmp_path / name
        source.mkdir()
        shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__"))
        for file in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(ROOT / file, source)
        for path in source.rglob("*"):
            os.utime(path, (moment, moment))
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(source / "out"), str(source)]
        ran = subprocess.run(command, capture_output=True, text=True)
        if ran.returncode:
            pytest.skip(f"no wheel can be built here: {ran.stderr[-200:]}")
        wheels += (source / "out").glob("*.whl")
    one, two = wheels
    assert one.name == two.name
    assert one.name.endswith("-py3-none-any.whl")
    assert one.read_bytes() == two.read_bytes()
