"""Tables of README.md and docs/performance.md from results/*.json, between two markers of each page.

    python benchmarks/tables.py

A row holds medians over the rounds: CPU seconds of a sweep, and CPU and wall seconds from the call of fit to within
LEVELS of the best objective anyone reached. Where a run did not arrive, it says how long it tried.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results"
PAGES = (ROOT / "README.md", ROOT / "docs" / "performance.md")
LEVELS = (0.003, 0.001)
BEGIN, END = "<!-- benchmarks/tables.py -->\n", "<!-- end -->\n"
NAMES = {"everypair": "EveryPair"}


def arrival(points: dict[str, list[Any]], goal: float) -> int | None:
    """Position of the first iteration at or below the goal."""
    below = [t for t, value in enumerate(points["objective"]) if value is not None and value <= goal]
    return below[0] if below else None


def sweep_seconds(rounds: list[dict[str, list[Any]]]) -> float:
    """Median CPU seconds of one iteration; the first, which holds the set-up, counts only where there is no other."""
    steps = [np.diff(points["cpu"]) / np.diff(points["iteration"]) for points in rounds]
    alone = [points["cpu"][0] / points["iteration"][0] for points in rounds]
    return float(np.median(np.concatenate(steps) if any(map(len, steps)) else alone))


def seconds_to(rounds: list[dict[str, list[Any]]], goal: float) -> dict[str, Any] | None:
    """Median CPU and wall seconds to the goal and the iterations that took, None where a round did not arrive."""
    found = [arrival(points, goal) for points in rounds]
    if any(at is None for at in found):
        return None
    return {
        name: float(np.median([points[name][at] for points, at in zip(rounds, found)]))
        for name in ("cpu", "wall", "iteration")
    }


def cell(rounds: list[dict[str, list[Any]]], goal: float) -> str:
    """CPU / wall seconds to the goal."""
    reached = seconds_to(rounds, goal)
    if reached:
        return f"{reached['cpu']:.1f} / {reached['wall']:.1f}"
    if rounds[0]["objective"][-1] is None:
        return ""
    return f"not in {rounds[0]['cpu'][-1]:.0f}"


def lines(record: dict[str, Any]) -> list[str]:
    """The table of sweep.json, ordered as it was run."""
    levels = " | ".join(f"to {level:.1%}" for level in LEVELS)
    table = [f"| | one sweep | {levels} | sweeps |", "|---|---|" + "---|" * (len(LEVELS) + 1)]
    for name, rounds in record["runs"].items():
        library, _, solver = name.partition(", ")
        label = f"{NAMES.get(library, library)} {record['machine']['versions'].get(library, '')}".strip()
        cells = [cell(rounds, record["best"] * (1 + level)) for level in LEVELS]
        counts = [seconds_to(rounds, record["best"] * (1 + level)) for level in LEVELS]
        sweeps = " / ".join(f"{count['iteration']:.0f}" if count else "–" for count in counts)
        sweeps = "" if rounds[0]["objective"][-1] is None else sweeps
        table.append(f"| {label}, {solver} | {sweep_seconds(rounds):.2f} | {' | '.join(cells)} | {sweeps} |")
    return table


def written(page: str, record: dict[str, Any]) -> str:
    """The page with its table made anew."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + "\n".join(lines(record)) + "\n" + END + after


def main() -> None:
    record = json.loads((RESULTS / "sweep.json").read_text())
    for page in PAGES:
        page.write_text(written(page.read_text(), record))
        print(f"{page.name} holds the table of sweep.json.")


if __name__ == "__main__":
    main()
