"""The table of docs/performance.md, and the shorter one of docs/benchmarks.md, made from results/sweep.json.

A row holds medians over the rounds: CPU seconds of a sweep, and CPU and wall seconds from the call of fit to within
LEVELS of the best objective anyone reached. Where a run did not arrive, it says how long it tried.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from page import filled

ROOT = Path(__file__).parents[1]
LEVELS = (0.003, 0.001)
SHORT = ("everypair, squared", "irspack, CG", "implicit, CG", "cmfrec, CG", "everypair, logistic")
PAGE = ROOT / "docs" / "performance.md"
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


def lines(record: dict[str, Any], names: tuple[str, ...] | None = None) -> list[str]:
    """The table of sweep.json: rows that were run, in the order of ``names`` or of the run."""
    levels = " | ".join(f"to {100 * level:g} %" for level in LEVELS)
    table = [f"| | one sweep | {levels} | sweeps |", "|---|---|" + "---|" * (len(LEVELS) + 1)]
    goals = [record["best"] * (1 + level) for level in LEVELS]
    for name in names or tuple(record["runs"]):
        rounds = record["runs"].get(name)
        if not rounds:
            continue
        library, _, solver = name.partition(", ")
        version = record["machine"]["versions"].get(library, "")
        label = f"{NAMES.get(library, library)} {version}, {solver}".replace(" ,", ",")
        judged = rounds[0]["objective"][-1] is not None
        reached = [seconds_to(rounds, goal) for goal in goals]
        sweeps = " / ".join(f"{found['iteration']:.0f}" if found else "–" for found in reached) if judged else ""
        cells = " | ".join(cell(rounds, goal) for goal in goals)
        table.append(f"| {label} | {sweep_seconds(rounds):.2f} | {cells} | {sweeps} |")
    return table


def written(text: str, record: dict[str, Any]) -> str:
    """The page with its table made anew."""
    return filled(text, "sweep.py", lines(record))


def write_page(folder: Path) -> None:
    """Put the table of a folder's sweep.json into the page."""
    PAGE.write_text(written(PAGE.read_text(), json.loads((folder / "sweep.json").read_text())))
    print(f"{PAGE.name} holds the table of sweep.json.")
