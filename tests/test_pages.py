"""What the site is built with: docstrings as Markdown, formulas as MathML, and nothing from the network."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "tools" / "pages"


def load(name):
    spec = importlib.util.spec_from_file_location(name, PAGES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_docstrings_become_markdown():
    written = load("markdown_of_docstrings").to_markdown("""Add p_i q_j, as :class:`~everypair.OneClassMF` does.

        s = Σ p_i

    Parameters
    ----------
    reg, rank : ridge λ_f of
        *A paper* and ``a_b``.
    memory
        In bytes.

    Examples
    --------
    >>> 1 + 1
    2
    """)
    assert [line for line in written.split("\n") if line] == [
        "Add p\\_i q\\_j, as `OneClassMF` does.",
        *("```text", "s = Σ p_i", "```"),
        "**Parameters**",
        *("`reg`, `rank`", ":   ridge λ\\_f of", "    *A paper* and ``a_b``."),
        *("`memory`", ":   In bytes."),
        "**Examples**",
        *("```pycon", ">>> 1 + 1", "2", "```"),
    ]


def test_formulas_become_mathml():
    pytest.importorskip("latex2mathml")
    hooks = load("hooks")
    page = r'<p>a <span class="arithmatex">\(\Omega_i &lt; 1\)</span></p><div class="arithmatex">\[ x^2 \]</div>'
    written = hooks.on_page_content(page, None, {"docs_dir": "docs"})
    assert written.count("<math") == 2
    assert 'mathvariant="normal">&#x003A9;' in written
    assert '<div class="formula">' in written
    assert "arithmatex" not in written


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda page: page.stem)
def test_every_formula_is_read(page):
    pytest.importorskip("latex2mathml")
    text = re.sub(r"^```(?!math)\w*\n.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    blocks = re.findall(r"^```math\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    inline = re.findall(r"(?<![\\$`])\$([^$`\n]+)\$", re.sub(r"^```math.*?^```$", "", text, flags=re.M | re.S))
    for latex in [*blocks, *inline]:
        written = load("hooks").formula(latex, block=latex in blocks)
        assert "\\" not in written, latex  # a command it does not know stays as it is


def test_the_site_loads_nothing_from_elsewhere():
    styles = (ROOT / "docs" / "assets" / "site.css").read_text()
    assert "://" not in styles
    assert not re.findall(r"https?://", (ROOT / "mkdocs.yml").read_text())
