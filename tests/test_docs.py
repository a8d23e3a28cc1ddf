"""README and docs: every python block runs, prints what the page says it prints, and every link leads somewhere."""

from __future__ import annotations

import contextlib
import importlib
import io
import math
import re
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
REFERENCE = re.compile(r"^::: (\S+)$", re.MULTILINE)
DECIMAL = re.compile(r"[-+]?\d+\.\d+(?:e[-+]?\d+)?")
MOST_README_LINES = 120
LONGEST_CODE_LINE = 90  # what the column of the site holds on a small screen
PUBLIC_ROOMS = [
    "everypair.distribute",
    "everypair",
    "everypair.data",
    "everypair.evaluate",
    "everypair.features",
    "everypair.metrics",
    "everypair.models.completion",
    "everypair.models.completion.rivals",
    "everypair.models.multilabel",
    "everypair.models.multilabel.rivals",
    "everypair.plots",
    "everypair.problem",
    "everypair.retrieve",
    "everypair.store",
    "everypair.testing",
    "everypair.tuning",
]


class Block(NamedTuple):
    line: int
    code: str
    output: str | None


def python_blocks(text: str) -> list[Block]:
    """The python blocks of a page; a text block directly below one is the output it must print."""
    fences = list(FENCED.finditer(text))
    blocks = []
    for fence, below in zip(fences, [*fences[1:], None]):
        if fence[1] != "python":
            continue
        follows = below is not None and below[1] == "text" and not text[fence.end() : below.start()].strip()
        blocks.append(Block(text[: fence.start(2)].count("\n"), fence[2], below[2] if follows else None))
    return blocks


def agree(printed: str, stated: str) -> bool:
    """Whether both say the same, apart from line breaks and from what other machines round otherwise."""
    words, expected = printed.split(), stated.split()
    return len(words) == len(expected) and all(map(_agrees, words, expected))


def _agrees(word: str, expected: str) -> bool:
    apart, wanted = DECIMAL.split(word), DECIMAL.split(expected)
    numbers = zip(DECIMAL.findall(word), DECIMAL.findall(expected))
    return apart == wanted and all(math.isclose(float(a), float(b), rel_tol=0.02, abs_tol=0.004) for a, b in numbers)


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as the site makes them."""
    titles = HEADING.findall(FENCED.sub("", text))
    return {re.sub(r"[^\w\s-]", "", title.lower()).strip().replace(" ", "-") for title in titles}


@pytest.mark.parametrize(
    "page", [page for page in PAGES if python_blocks(page.read_text())], ids=lambda page: page.name
)
def test_python_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "page"}
    for block in python_blocks(page.read_text()):
        code = compile("\n" * block.line + block.code, str(page), "exec")
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, namespace)
        if block.output is not None:
            assert agree(printed.getvalue(), block.output), f"{page.name}, line {block.line}:\n{printed.getvalue()}"


def test_blocks_are_found():
    blocks = python_blocks("a\n```python\nx = 1\n```\n\n```text\n1\n```\n\n```python\ny = 2\n```\nb\n```text\nz\n```\n")
    assert blocks == [Block(2, "x = 1\n", "1\n"), Block(10, "y = 2\n", None)]
    assert python_blocks((ROOT / "README.md").read_text())


def test_outputs_agree_up_to_rounding():
    assert agree("nDCG 0.412 of\n 12 ['a'", "nDCG  0.413 of 12 ['a'")
    assert not agree("nDCG 0.412 of 12", "nDCG 0.442 of 12")
    assert not agree("nDCG 0.412 of 12", "nDCG 0.412 of 13")
    assert not agree("nDCG 0.412 of 12", "nDCG 0.412 of")
    assert not agree("(0.412, 'a')", "(0.412, 'b')")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_code_fits_its_column(page):
    text = page.read_text()
    for fence in FENCED.finditer(text):
        if fence[1] != "math":  # formulas are typeset
            longest = max(fence[2].split("\n"), key=len)
            assert len(longest) <= LONGEST_CODE_LINE, f"{page.name}: {longest}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_is_printed_stands_below(page):
    for block in python_blocks(page.read_text()):
        assert block.output is not None or "print(" not in block.code, f"{page.name}, line {block.line}"


def test_readme_is_short_and_names_both_commands():
    readme = (ROOT / "README.md").read_text()
    assert len(readme.splitlines()) <= MOST_README_LINES
    assert "`make demo`" in readme
    assert "`make test`" in readme


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"], ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in LINK.findall(FENCED.sub("", page.read_text())):
        if target.startswith("https://"):
            continue
        name, _, anchor = target.partition("#")
        linked = page.parent / name if name else page
        assert linked.exists(), target
        assert not anchor or anchor in anchors(linked.read_text()), target


def test_site_lists_every_page():
    listed = re.findall(r"^ +- .+: (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md"))


def documented():
    """The objects with an entry in the reference, as (page, path)."""
    return [
        (page.name, path) for page in (DOCS / "reference").glob("*.md") for path in REFERENCE.findall(page.read_text())
    ]


def named(path):
    room, _, name = path.rpartition(".")
    home = importlib.import_module(room)
    return getattr(home, name) if hasattr(home, name) else importlib.import_module(path)


@pytest.mark.parametrize("room", PUBLIC_ROOMS)
def test_reference_has_every_public_name(room):
    there = [named(path) for _, path in documented()]
    names = importlib.import_module(room).__all__
    missing = [name for name in names if not name.startswith("__") and named(f"{room}.{name}") not in there]
    assert not missing, f"add '::: {room}.{missing[0]}' to a page of docs/reference"


def test_reference_names_nothing_twice():
    paths = [path for _, path in documented()]
    assert len({id(named(path)) for path in paths}) == len(paths)


def test_everything_in_the_reference_is_explained():
    for page, path in documented():
        assert (named(path).__doc__ or "").strip(), f"{page}: {path} has no docstring"
