"""The tables of docs/performance.md made from results/latency.json, between two markers of the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from page import filled

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"


def lines(record: dict[str, Any]) -> list[str]:
    """CPU milliseconds, p50 (p99), of questions by models in two tables; then of batches, by user."""
    rows = record["rows"]
    single = {question: row for question, row in rows.items() if not question.startswith("batch")}
    batches = {question: row for question, row in rows.items() if question.startswith("batch")}
    models = list(dict.fromkeys(name for row in rows.values() for name in row))
    ranks = list(dict.fromkeys(name.partition("(")[2] for name in models if "(" in name))
    table = []
    for rank, besides in zip(ranks, [["ItemItem"], ["Blend"]] if len(ranks) > 1 else [["ItemItem", "Blend"]]):
        names = [name for name in models if name.partition("(")[2] == rank or name in besides]
        table += [f"| CPU ms, p50 (p99) | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
        table += [
            f"| {question} | {' | '.join(cell(row.get(name)) for name in names)} |" for question, row in single.items()
        ]
        table.append("")
    if batches:
        names = [name for name in models if any(name in row for row in batches.values())]
        table += [f"| CPU ms a user, p50 | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
        for question, row in batches.items():
            table.append(f"| {question} | {' | '.join(shown(row[n]['p50']) if n in row else '' for n in names)} |")
    here = record["machine"]
    table.append(
        f"\n{record['rounds']} rounds on one of {here['cores']} cores ({here['processor']}), load {here['load']}."
    )
    if "commands" in record:
        words = ", ".join(f"{name} {seconds:.2f}" for name, seconds in record["commands"].items())
        table += ["", f"CPU seconds of `everypair recommend model.ep --user U`, from start to end: {words}."]
    return table


def cell(found: dict[str, float] | None) -> str:
    """One cell: the median and, in brackets, the 99th percentile."""
    return "" if found is None else f"{shown(found['p50'])} ({shown(found['p99'])})"


def shown(milliseconds: float) -> str:
    """A time in as many digits as it deserves."""
    return f"{milliseconds:.2f}" if milliseconds < 10 else f"{milliseconds:.0f}"


def written(text: str, record: dict[str, Any]) -> str:
    """The page with its tables made anew."""
    return filled(text, "latency.py", lines(record))


def write_page(record: dict[str, Any]) -> None:
    """Put the tables into the page."""
    PAGE.write_text(written(PAGE.read_text(), record))
