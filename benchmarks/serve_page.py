"""The tables of docs/serve.md made from results/serve.json, between two markers of the page."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Any

from page import filled

PAGE = Path(__file__).parents[1] / "docs" / "serve.md"
NAMES = {
    "everypair": "everypair serve",
    "same": "same app, implicit",
    "fastapi": "FastAPI + implicit",
    "floor": "uvicorn alone",
}


def points(record: dict[str, Any], rank: str) -> dict[tuple[str, int], dict[str, dict[str, float]]]:
    """Medians over the rounds: (kind, connections) → server → its numbers."""
    found: dict[tuple[str, int], dict[str, list[dict[str, Any]]]] = {}
    for row in record["ranks"][rank]:
        found.setdefault((row["kind"], row["connections"]), {}).setdefault(row["server"], []).append(row)
    numbers = ("cpu_ms", "per_second", "p50_ms", "p99_ms")
    return {
        point: {
            name: {number: median(row[number] for row in rows) for number in numbers}
            for name, rows in sorted(servers.items(), key=lambda pair: list(NAMES).index(pair[0]))
        }
        for point, servers in found.items()
    }


def lines(record: dict[str, Any]) -> list[str]:
    """Requests of a CPU second and, in brackets, p50 and p99 in milliseconds; then the cold start."""
    machine = record["machine"]
    words = f"On {machine['processor']}, {machine['cores']} cores, with a load of {machine['load']} when it began."
    table = [words, ""]
    for rank in record["ranks"]:
        every = points(record, rank)
        servers = list(dict.fromkeys(name for found in every.values() for name in found))
        table += [f"| rank {rank} | connections | {' | '.join(NAMES[name] for name in servers)} |"]
        table += ["|---" * (len(servers) + 2) + "|"]
        for (kind, connections), found in every.items():
            cells = [cell(found[name]) if name in found else "" for name in servers]
            table += [f"| {kind} | {connections} | {' | '.join(cells)} |"]
        table += [""]
    if "cold_start" not in record:
        return table
    table += ["| start to first answer | wall s | CPU s |", "|---|---|---|"]
    for cache, runs in record["cold_start"].items():
        wall, cpu = (median(run[clock] for run in runs) for clock in ("wall", "cpu"))
        table += [f"| {cache} cache of kernels | {wall:.1f} | {cpu:.1f} |"]
    return table


def cell(found: dict[str, float]) -> str:
    """One cell: requests of a CPU second, the median and the 99th percentile of an answer."""
    return f"{1000 / found['cpu_ms']:,.0f} ({shown(found['p50_ms'])}, {shown(found['p99_ms'])})"


def shown(milliseconds: float) -> str:
    """A time in as many digits as it deserves."""
    return f"{milliseconds:.1f}" if milliseconds < 10 else f"{milliseconds:.0f}"


def written(text: str, record: dict[str, Any]) -> str:
    """The page with its tables made anew."""
    return filled(text, "serve.py", lines(record))


def write_page(record: dict[str, Any]) -> None:
    """Put the tables into the page."""
    PAGE.write_text(written(PAGE.read_text(), record))
