"""The tables of docs/performance.md made from results/latency.json, between two markers of the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"
BEGIN, END = "<!-- made by benchmarks/latency.py --report -->\n\n", "\n<!-- end of latency.py -->\n"


def lines(record: dict[str, Any]) -> list[str]:
    """CPU milliseconds, p50 (p99): questions by models, then batches, by user."""
    rows = record["rows"]
    models = list(dict.fromkeys(name for row in rows.values() for name in row))
    head = [f"| CPU ms, p50 (p99) | {' | '.join(models)} |", "|---" * (len(models) + 1) + "|"]
    single = {question: row for question, row in rows.items() if not question.startswith("batch")}
    batches = {question: row for question, row in rows.items() if question.startswith("batch")}
    table = [*head, *(f"| {question} | {' | '.join(cell(row.get(name)) for name in models)} |"
                      for question, row in single.items())]  # fmt: skip
    if batches:
        names = [name for name in models if any(name in row for row in batches.values())]
        table += ["", f"| CPU ms a user, p50 | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
        table += [
            f"| {question} | {' | '.join(shown(row[name]['p50']) if name in row else '' for name in names)} |"
            for question, row in batches.items()
        ]
    return table


def cell(found: dict[str, float] | None) -> str:
    """One cell: the median and, in brackets, the 99th percentile."""
    return "" if found is None else f"{shown(found['p50'])} ({shown(found['p99'])})"


def shown(milliseconds: float) -> str:
    """A time in as many digits as it deserves."""
    return f"{milliseconds:.2f}" if milliseconds < 10 else f"{milliseconds:.0f}"


def written(text: str, record: dict[str, Any]) -> str:
    """The page with its tables made anew."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"The page needs the lines {BEGIN.strip()!r} and {END.strip()!r} around its tables.")
    return before + BEGIN + "\n".join(lines(record)) + "\n" + END + after


def write_page(record: dict[str, Any]) -> None:
    """Put the tables into the page."""
    PAGE.write_text(written(PAGE.read_text(), record))
