"""What the scripts of this folder share: data, both averages of the metrics, results as JSON and Markdown."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
import edges
from datasets import split
from smoke import parse

from everypair.evaluate import ranking_metrics

RESULTS = Path(__file__).parent / "results"
COLUMNS = ("ndcg@1", "ndcg@5", "ndcg@10", "nhlu", "map", "auc")
SCHEMES = {
    "user": "user-count", "item-f": "item-count", "item-w": "item-rarity", "item-s": "item-inverse",
    "uniform": "uniform",
}  # fmt: skip  # the paper's words, which results keep → the library's
AVERAGES = {"test": "users with a test positive", "all": "all users, 0 without a test positive"}

__all__ = [
    "COLUMNS", "RESULTS", "SCHEMES", "markdown", "measure", "parse", "published", "shown", "split", "stored_rows",
    "write",
]  # fmt: skip

# NegSel, Tables 4 and 6, ml1m. They are said to be averages over all users; see README.md on why that cannot be
PUBLISHED: dict[str, dict[str, tuple[float | None, ...]]] = {
    "ml1m": {
        "Subsampled": (14.45, None, 14.79, 15.62, 11.14, 93.694),
        "Ensemble": (21.80, None, 20.67, 21.39, 15.06, 94.969),
        "BPR": (8.10, None, 15.80, 17.07, 11.28, 94.474),
        "Full": (28.91, None, 23.66, 24.11, 16.35, 94.536),
        "user": (13.16, 11.54, 12.23, 12.87, 9.14, 93.290),
        "item-f": (0.78, 0.94, 1.17, 1.33, 1.47, 78.903),
        "item-w": (13.56, 13.67, 14.74, 15.67, 11.12, 93.723),
        "item-s": (7.88, 7.08, 8.06, 8.53, 5.80, 90.470),
        "uniform": (14.69, 13.89, 14.94, 15.79, 11.17, 93.743),
    }
}


def measure(model: Any, train: Any, test: Any, average: str = "test") -> dict[str, float]:
    """The paper's metrics, in percent."""
    values = ranking_metrics(model, train, test, ks=(1, 5, 10), average=average)
    return {name: 100 * values[name] for name in COLUMNS}


def published(data: str, row: str) -> tuple[float | None, ...] | None:
    """The published row, or None where the paper has none for this data set."""
    return PUBLISHED.get(data, {}).get(row)


def shown(value: float | None) -> str:
    """A figure for a table's cell, a dash where it was not measured or printed."""
    return "–" if value is None else f"{value:.2f}"


def markdown(title: str, note: str, data: str, rows: list[dict[str, Any]]) -> str:
    """A Markdown table: our figures in both averages beside the published ones, parameters at grid ends marked."""
    lines = [f"# {title}", "", f"{note} {edges.LEGEND}", ""]
    lines += ["| method | average | " + " | ".join(COLUMNS) + " | parameters |", "|" + "---|" * (len(COLUMNS) + 3)]
    for row in rows:
        where = edges.marked(row["point"], (entry["point"] for entry in row["tried"]))
        for average, label in AVERAGES.items():
            figures = " | ".join(shown(row[average][name]) for name in COLUMNS)
            lines.append(f"| {row['method']} | {label} | {figures} | {where} |")
        paper = published(data, row["method"])
        if paper:
            lines.append(f"| {row['method']}, published | see README | {' | '.join(map(shown, paper))} | |")
    return "\n".join(lines) + "\n"


def stored_rows(folder: Path, name: str, needed: bool = False) -> list[dict[str, Any]]:
    """The rows of an earlier run; none, or the end with a sentence if they are ``needed``, where there was none."""
    path = folder / f"{name}.json"
    if needed and not path.exists():
        sys.exit(f"{path} does not exist: run the script without --report first.")
    return json.loads(path.read_text())["rows"] if path.exists() else []


def write(folder: Path, name: str, record: Any, text: str) -> None:
    """Write <name>.json and .md into the folder, and show the table."""
    (folder / f"{name}.json").write_text(json.dumps(record, indent=1))
    (folder / f"{name}.md").write_text(text)
    print(text)
