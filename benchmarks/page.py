"""A table in docs/scaling.md, between two markers that name the script it comes from."""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "scaling.md"


def filled(text: str, script: str, lines: list[str]) -> str:
    """The page with the table of a script made anew."""
    begin, end = f"<!-- made by benchmarks/{script} --report -->", f"<!-- end of {script} -->"
    if begin not in text or end not in text:
        raise SystemExit(f"The page needs the lines {begin!r} and {end!r}.")
    return "\n\n".join([text.split(begin)[0] + begin, "\n".join(lines), end + text.split(end)[1]])
