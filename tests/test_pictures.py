"""Pictures of the docs: the committed files are what the script draws, small, and each is shown on a page."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
MOST_BYTES = 20_000


def script():
    spec = importlib.util.spec_from_file_location("draw_pictures", ROOT / "tools" / "draw_pictures.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def path_of_modules(monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])


@pytest.mark.parametrize("name", sorted(script().DRAWN))
def test_drawn_anew_it_is_the_same(name):
    assert (PICTURES / f"{name}.svg").read_text() == script().DRAWN[name]()


@pytest.mark.parametrize("name", sorted(script().FOUND))
def test_what_a_tutorial_found_is_what_its_picture_says(name):
    page, drawn = ROOT / "docs" / "tutorials" / f"{name}.md", (PICTURES / f"{name}.svg").read_text()
    values = re.findall(r">(\d\.\d{3})<", drawn)
    assert len(values) >= 3
    assert set(values) <= set(re.findall(r"\d\.\d{3}", page.read_text()))  # its output is compared by test_docs


@pytest.mark.parametrize("picture", sorted(PICTURES.glob("*.svg")), ids=lambda picture: picture.stem)
def test_pictures_are_small_follow_the_page_and_are_shown(picture):
    drawn = picture.read_text()
    assert len(drawn.encode()) < MOST_BYTES
    assert '<svg class="drawn"' in drawn
    assert "fill:var(--" in drawn
    assert any(f"pictures/{picture.name})" in page.read_text() for page in (ROOT / "docs").rglob("*.md"))
