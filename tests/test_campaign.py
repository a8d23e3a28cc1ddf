"""The campaign's rooms can be played, its failures are made small, and its page is what the stored counts say."""

import importlib.util
import json
import random
import subprocess
import sys
from pathlib import Path

CAMPAIGN = Path(__file__).parents[1] / "tools" / "campaign"


def module(name):
    """A module of the campaign under a name of its own, for other scripts have modules of short names too."""
    spec = importlib.util.spec_from_file_location(f"campaign_{name}", CAMPAIGN / f"{name}.py")
    found = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = found
    spec.loader.exec_module(found)
    return found


def test_rooms_hold_what_they_promise(tmp_path):
    results = tmp_path / "results.json"
    asked = [sys.executable, CAMPAIGN / "run.py", "objective", "answers", "readers", "--minutes", "0.05", "--seed", "1"]
    ran = subprocess.run([*asked, "--results", results, "--jobs", "1"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    for room in json.loads(results.read_text())["rooms"]:
        assert room["cases"] > 0
        assert sum(room["counts"].values()) == room["cases"]


def test_a_failure_is_made_small(tmp_path):
    trials = module("trials")

    def trial(case, folder):
        assert case["a"] < 3 or case["b"] != "y", "a promise broken"
        return "fine"

    room = trials.Room("example", "", "", {"a": range(9), "b": ("x", "y", "z"), "c": (0, 1)}, trial)
    (first, *_) = trials.play(room, 0, 1.0, tmp_path / "case").failures
    assert first["case"] == {"a": 3, "b": "y", "c": 0}
    assert "a promise broken" in first["why"]
    assert json.loads((tmp_path / "case").read_text()).keys() == {"a", "b", "c"}
    assert room.drawn(random.Random(1)) == room.drawn(random.Random(1))


def test_the_page_is_what_the_stored_counts_say():
    reliability = module("reliability")
    assert reliability.PAGE.read_text() == reliability.text(reliability.stored())
