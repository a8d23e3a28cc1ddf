"""Notebooks of all tutorials: the same text, code and output, made from the pages that the tests run.

    python tools/notebooks.py

A page of docs/tutorials becomes examples/notebooks/<name>.ipynb: text is a cell, a python block is a cell, and the text
block below it is what the cell printed. Pictures stay on the page; sh blocks are shown as they are.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGES, FOLDER = ROOT / "docs" / "tutorials", ROOT / "examples" / "notebooks"
NAMES = sorted(page.stem for page in PAGES.glob("*.md"))
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
PICTURE = re.compile(r"^!\[.*?\]\(.*?\)\n\n?", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|#)([^)]+)\)")


def notebook(page: str) -> dict[str, Any]:
    """The cells of a page.

    >>> [cell["cell_type"] for cell in notebook("# A\\n\\n```python\\nx = 1\\n```\\n")["cells"]]
    ['markdown', 'code']
    """
    cells: list[dict[str, Any]] = []
    end = 0
    for block in BLOCK.finditer(page):
        _add_text(cells, page[end : block.start()])
        printed = block[2]
        outputs = [] if printed is None else [{"name": "stdout", "output_type": "stream", "text": lines(printed)}]
        cell = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": outputs}
        cells.append({**cell, "source": lines(block[1].rstrip("\n"))})
        end = block.end()
    _add_text(cells, page[end:])
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    about = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return {"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 5}


def _add_text(cells: list[dict[str, Any]], text: str) -> None:
    """A cell of Markdown whose links lead to the page's neighbours in docs."""
    text = LINK.sub(lambda link: f"](../../docs/tutorials/{link[1]})", PICTURE.sub("", text)).strip()
    if text:
        cells.append({"cell_type": "markdown", "metadata": {}, "source": lines(text)})


def lines(text: str) -> list[str]:
    """Lines with their ends, as notebooks hold them."""
    return text.splitlines(keepends=True)


def written(name: str) -> str:
    """The file of a tutorial's notebook."""
    return json.dumps(notebook((PAGES / f"{name}.md").read_text(encoding="utf-8")), indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in NAMES:
        (FOLDER / f"{name}.ipynb").write_text(written(name), encoding="utf-8")


if __name__ == "__main__":
    main()
