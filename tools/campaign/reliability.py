"""docs/reliability.md: what is promised, how it is tried, and what stored runs counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reliability.md"
STORED = {
    "campaign": ROOT / "tools" / "campaign" / "results.json",
    "fuzz": ROOT / "tools" / "campaign" / "fuzz.json",
    "versions": ROOT / "tools" / "versions.json",
    "licences": ROOT / "tools" / "licences.json",
}
SHOWN = ("numpy", "scipy", "numba", "scikit-learn", "pyarrow", "narwhals", "dask", "jax", "optuna", "starlette")
TEMPLATE = ROOT / "tools" / "campaign" / "page.md"


def write() -> None:
    """Write the page."""
    PAGE.write_text(text(stored()))


def stored() -> dict[str, Any]:
    """What was stored of every kind of run."""
    return {name: json.loads(path.read_text()) if path.exists() else {} for name, path in STORED.items()}


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    """A table of markdown."""
    return [f"| {' | '.join(one)} |" for one in (head, ("---",) * len(head), *rows)]


def text(runs: dict[str, Any]) -> str:
    """The page of stored runs."""
    sections = {"campaign": campaign, "fuzz": fuzz, "versions": versions, "licences": licences}
    filled = {name: "\n".join(section(runs[name])).strip() for name, section in sections.items()}
    return TEMPLATE.read_text().format(**filled)


def campaign(record: dict[str, Any]) -> list[str]:
    """Rooms, cases, failures and outcomes."""
    rooms = record["rooms"]
    total, failed = sum(one["cases"] for one in rooms), sum(len(one["failures"]) for one in rooms)
    lines = [
        "\n## The campaign\n",
        f"The last stored one, {record['when']}, seed {record['seed']}: **{total:,} cases in {len(rooms)} rooms, "
        f"{failed} failures**, {record['minutes']:g} minutes. `make campaign` plays all rooms for ten minutes, "
        "`make campaign HOURS=8` for a night, `python tools/campaign/run.py ROOM --minutes 5` one of them; seeds are "
        "printed, and a case that fails is made as small as it still fails with, shown, and kept in "
        "`tools/campaign/kept.json`, whose cases are tried first for ever.\n",
    ]
    told = []
    for one in rooms:
        counts = f"{one['cases']:,}", f"{len(one['failures'])}"
        told.append((f"`{one['room']}`", one["promise"], one["how"], *counts))
    lines += table(("room", "what is promised", "how it is tried", "cases", "failures"), told)
    lines.append("\nWhat came out of them:\n")
    outcomes = [(f"`{one['room']}`", name, f"{times:,}") for one in rooms for name, times in one["counts"].items()]
    return lines + table(("room", "outcome", "times"), outcomes)


def fuzz(record: dict[str, Any]) -> list[str]:
    """Inputs of every reader over all stored runs."""
    if not record:
        return []
    total = sum(one["inputs"] for one in record.values())
    hours = sum(one["seconds"] for one in record.values()) / 3600
    lines = [
        "\n## Inputs that were made to harm\n",
        "`python tools/campaign/fuzz.py --minutes 9 --results tools/campaign/fuzz.json` adds to these: "
        f"**{total:,} inputs** in {hours:.1f} hours of one process on a busy machine, under limits of memory and time. "
        "What failed was mended, and has a test.\n",
    ]
    rows = []
    for name, one in record.items():
        counts = one["counts"]
        others = sum(times for told, times in counts.items() if told not in ("read", "refused"))
        rows.append(
            (name, f"{one['inputs']:,}", f"{counts.get('read', 0):,}", f"{counts.get('refused', 0):,}", f"{others:,}")
        )
    return lines + table(("what reads", "inputs", "read", "refused with a sentence", "anything else"), rows)


def versions(record: dict[str, Any]) -> list[str]:
    """What tests ran with which versions."""
    if not record:
        return []
    lines = [
        "\n## Versions\n",
        "`make test-oldest` installs the lowest declared version of every dependency, `make test-newest` the newest, "
        "each in an environment of its own, and runs a part of the tests. What was run last:\n",
    ]
    head = ("run", "Python", "tests", "failures", *SHOWN)
    rows = [
        (f"{name}, {one['when']}", one["python"], f"{one['tests']:,}", f"{one['failures'] + one['errors']}",
         *(one["versions"].get(shown, "–") for shown in SHOWN))
        for name, one in record.items()
    ]  # fmt: skip
    named = "; ".join(f"{name}: {', '.join(f'`{part}`' for part in one['parts'])}" for name, one in record.items())
    whole = "Failures are open. The whole suite runs in continuous integration with the versions of `tools/lock.txt`."
    return [*lines, *table(head, rows), f"\nThe parts: {named}. {whole}"]


def licences(record: dict[str, Any]) -> list[str]:
    """What is installed besides, and under which licence."""
    if not record:
        return []
    lines = [
        "\n## Licences of what is installed with it\n",
        "EveryPair is under Apache-2.0. `python tools/versions.py licences` reads these from what is installed; "
        "`make sbom` writes all of it with versions as CycloneDX into `dist/sbom.json`.\n",
    ]
    rows = [
        (
            part if part == "core" else f"extra `{part}`",
            ", ".join(f"{name} ({licence})" for name, licence in own.items()),
        )
        for part, own in record.items()
    ]
    return lines + table(("needed by", "packages and what they say of their licence"), rows)
