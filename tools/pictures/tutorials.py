"""Pictures of what tutorials found: the page's own code is run, and its numbers are drawn."""

from __future__ import annotations

import contextlib
import io
import re
import tempfile
from pathlib import Path
from typing import Any

from drawing import Drawing, bars

TUTORIALS = Path(__file__).parents[2] / "docs" / "tutorials"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run(name: str) -> dict[str, Any]:
    """Run the python blocks of a tutorial in a folder of their own and return what they defined."""
    text = (TUTORIALS / f"{name}.md").read_text(encoding="utf-8")
    namespace: dict[str, Any] = {"__name__": "page"}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
        for code in BLOCK.findall(text):
            exec(compile(code, name, "exec"), namespace)
    return namespace


def chart(title: str, values: dict[str, float], best: str, left: float = 170) -> str:
    """Bars of named values, one of them in the first colour."""
    drawing = Drawing(760, 44 + 30 * len(values))
    drawing.text(left, 20, title, 13)
    rows = [(name, value, "one" if name == best else "three") for name, value in values.items()]
    bars(drawing, rows, left, 34, 690, max(values.values()))
    return drawing.svg()


def shop_log(found: dict[str, Any]) -> str:
    values = {name: result["ndcg@10"] for name, result in found["quality"].items()}
    return chart("nDCG@10 on the last fifth of the log", values, "tuned")


def cold_start(found: dict[str, Any]) -> str:
    title = "share of the dependencies of unseen packages among ten suggestions"
    return chart(title, found["recall"], "and first events")


def tagging_text(found: dict[str, Any]) -> str:
    return chart("precision@1 on 500 held-out packages", found["precision"], "KernelLabels")


def star_ratings(found: dict[str, Any]) -> str:
    values = {name: result["ndcg@10"] for name, result in found["ways"].items()}
    return chart("nDCG@10 of held-out likes", values, "dislikes, weighed", 190)
