"""examples/notebooks: each is its tutorial, whose code and output tests/test_docs.py runs, and Jupyter can read it."""

import json
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TOOL = runpy.run_path(str(ROOT / "tools" / "notebooks.py"))


@pytest.mark.parametrize("name", TOOL["NAMES"])
def test_a_notebook_is_its_page(name):
    stored = (ROOT / "examples" / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8")
    assert stored == TOOL["written"](name), "run python tools/notebooks.py"
    cells = json.loads(stored)["cells"]
    assert sum(cell["cell_type"] == "code" for cell in cells) >= 3
    for cell in cells:
        if cell["cell_type"] == "code":
            compile("".join(cell["source"]), name, "exec")


def test_text_code_and_output_become_cells():
    page = "# T\n\n![p](p.svg)\n\nSee [x](../x.md).\n\n```python\nprint(1)\n```\n\n```text\n1\n```\n\nend\n"
    text, code, end = TOOL["notebook"](page)["cells"]
    assert "".join(text["source"]) == "# T\n\nSee [x](../../docs/tutorials/../x.md)."
    assert code["outputs"][0]["text"] == ["1\n"]
    assert end["source"] == ["end"]
