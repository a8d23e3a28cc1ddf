"""The campaign's rooms can be played, its failures are made small, and its page is what the stored counts say."""

import json
import random
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CAMPAIGN = ROOT / "tools" / "campaign"


@pytest.fixture(autouse=True)
def modules(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(CAMPAIGN), str(ROOT / "tools"), str(ROOT / "tests"), *sys.path])


@pytest.mark.parametrize("name", ["objective", "answers", "readers"])
def test_rooms_hold_what_they_promise(name, tmp_path):
    from room import play
    from rooms import ROOMS

    outcome = play(ROOMS[name], 1, 1.0, tmp_path / "case")
    assert outcome.cases > 0
    assert outcome.failures == []
    assert sum(outcome.counts.values()) == outcome.cases


def test_cases_that_failed_once_hold(tmp_path):
    from rooms import ROOMS

    for name, cases in json.loads((CAMPAIGN / "kept.json").read_text()).items():
        for case in cases:
            ROOMS[name].tried(case)


def test_a_failure_is_made_small(tmp_path):
    from room import Room, play

    def trial(case, folder):
        assert case["a"] < 3 or case["b"] != "y", "a promise broken"
        return "fine"

    room = Room("example", "", "", {"a": range(9), "b": ("x", "y", "z"), "c": (0, 1)}, trial)
    (first, *_) = play(room, 0, 1.0, tmp_path / "case").failures
    assert first["case"] == {"a": 3, "b": "y", "c": 0}
    assert "a promise broken" in first["why"]
    assert json.loads((tmp_path / "case").read_text()).keys() == {"a", "b", "c"}
    assert room.drawn(random.Random(1)) == room.drawn(random.Random(1))


def test_the_page_is_what_the_stored_counts_say():
    import page

    assert page.PAGE.read_text() == page.text(json.loads((CAMPAIGN / "results.json").read_text()))
