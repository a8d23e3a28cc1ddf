"""Write examples/shop from its walk, docs/tutorials/shop-log.md: its Python as one script, its commands as another.

python tools/shop_example.py
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE, FOLDER = ROOT / "docs" / "tutorials" / "shop-log.md", ROOT / "examples" / "shop"
FENCE = re.compile(r"^```(python|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
REFUSED = "  # exit code 2"
OF_PYTHON = """# The walk of docs/tutorials/shop-log.md: run it in a folder of its own, then walk.sh in the same one.
# ruff: noqa
# fmt: off

"""
OF_SHELL = """#!/bin/sh
# The walk of docs/tutorials/shop-log.md, where walk.py has written the logs.
set -e
"""


def script(text: str) -> str:
    """All Python of the page."""
    return OF_PYTHON + "\n".join(code for kind, code in FENCE.findall(text) if kind == "python")


def commands(text: str) -> str:
    """All commands of the page."""
    lines = "".join(code for kind, code in FENCE.findall(text) if kind == "sh")
    return OF_SHELL + lines.replace(REFUSED, " || echo 'refused, as it should be'")


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    page = PAGE.read_text(encoding="utf-8")
    (FOLDER / "walk.py").write_text(script(page), encoding="utf-8")
    (FOLDER / "walk.sh").write_text(commands(page), encoding="utf-8")
