"""Turn results/*.json into the tables of docs/side-information.md, each between its two marks.

python experiments/cold/report.py [--smoke]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
import smoke
from common import KS, RESULTS, read

PAGE = Path(__file__).parents[2] / "docs" / "side-information.md"
MADE, END = "<!-- made by experiments/cold/report.py, {} -->", "<!-- end -->"


def line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def table(head: list[str], rows: list[list[str]]) -> str:
    return "\n".join(map(line, [head, ["---"] * len(head), *rows]))


def newcomers(folder: Path, kind: str = "newcomers") -> str:
    """Means over seeds of nDCG@10, recall@20, recall@100 and CPU seconds."""
    found = {path.stem.removeprefix(f"{kind}_"): read(path) for path in sorted(folder.glob(f"{kind}_*.json"))}
    if not found:
        return ""
    runs = sorted((one["rows"] for seeds in found.values() for one in seeds.values()), key=len, reverse=True)
    names = list(dict.fromkeys(name for rows in runs for name in rows))  # in the order of the run with most rows
    rows = []
    for name in names:
        cells = []
        for seeds in found.values():
            own = [one["rows"][name] for one in seeds.values() if name in one["rows"]]
            cells.append(mean_of(own) if own else "–")
        rows.append([f"`{name}`", *cells])
    heads = [f"{name} ({len(seeds)})" for name, seeds in found.items()]
    return table(["", *heads], rows)


def people(folder: Path) -> str:
    """The same of users nobody has seen."""
    return newcomers(folder, "people")


def training(folder: Path) -> str:
    """One row for each way to train with features, one column for each data set."""
    found = {path.stem.removeprefix("training_"): read(path) for path in sorted(folder.glob("training_*.json"))}
    if not found:
        return ""
    names = list(dict.fromkeys(name for rows in found.values() for name in rows))
    rows = [[name, *(mean_of([one[name]]) if name in one else "–" for one in found.values())] for name in names]
    return table(["", *found], rows)


def mean_of(rows: list[dict[str, Any]]) -> str:
    values = {key: np.mean([row[key] for row in rows]) for key in (*KS, "cpu")}
    return f"{values['ndcg@10']:.1f} / {values['recall@20']:.1f} / {values['recall@100']:.1f} ({values['cpu']:.0f})"


def lists(folder: Path) -> str:
    """The same of lists of all items, and recall@20 by events of the item."""
    parts = []
    for path in sorted(folder.glob("lists_*.json")):
        stored = read(path)
        groups = list(dict.fromkeys(group for row in stored["rows"].values() for group in row["by events"]))
        rows = [
            [
                f"`{name}`" + (f" {'/'.join(f'{w:g}' for w in row['weights'])}" if "weights" in row else ""),
                mean_of([row]), *(f"{row['by events'][group]:.1f}" for group in groups),
            ]
            for name, row in stored["rows"].items()
        ]  # fmt: skip
        heads = [path.stem.removeprefix("lists_"), "", *(f"events: {group}" for group in groups)]
        parts.append(table(heads, rows))
    return "\n\n".join(parts)


def main() -> None:
    options = smoke.parse(argparse.ArgumentParser(description=__doc__), RESULTS)
    made = {make.__name__: make(options.results) for make in (newcomers, people, lists, training)}
    if options.smoke:
        print("\n\n".join(filter(None, made.values())))
        return
    page = PAGE.read_text(encoding="utf-8")
    for name, part in made.items():
        before, _, rest = page.partition(MADE.format(name))
        _, _, after = rest.partition(END)
        page = f"{before}{MADE.format(name)}\n\n{part}\n\n{END}{after}"
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
