"""What the scripts of this folder share: data, both averages of the metrics, results as JSON and Markdown."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from datasets import split

from everypair.evaluate import ranking_metrics

RESULTS = Path(__file__).parent / "results"
COLUMNS = ("ndcg@1", "ndcg@10", "nhlu", "map", "auc")

__all__ = ["COLUMNS", "RESULTS", "markdown", "measure", "published", "split", "write"]

# NegSel, Tables 4 and 6, ml1m: their averages run over all users, ours over users with a test positive
PUBLISHED = {
    "ml1m": {
        "Subsampled": (14.45, 14.79, 15.62, 11.14, 93.694),
        "Ensemble": (21.80, 20.67, 21.39, 15.06, 94.969),
        "BPR": (8.10, 15.80, 17.07, 11.28, 94.474),
        "Full": (28.91, 23.66, 24.11, 16.35, 94.536),
        "user": (13.16, 12.23, 12.87, 9.14, 93.290),
        "item-f": (0.78, 1.17, 1.33, 1.47, 78.903),
        "item-w": (13.56, 14.74, 15.67, 11.12, 93.723),
        "item-s": (7.88, 8.06, 8.53, 5.80, 90.470),
        "uniform": (14.69, 14.94, 15.79, 11.17, 93.743),
    }
}


def measure(model: Any, train: Any, test: Any, average: str = "test") -> dict[str, float]:
    """The paper's metrics, in percent."""
    values = ranking_metrics(model, train, test, ks=(1, 10), average=average)
    return {name: 100 * values[name] for name in COLUMNS}


def published(data: str, row: str) -> tuple[float, ...] | None:
    """The published row, or None where the paper has none for this data set."""
    return PUBLISHED.get(data, {}).get(row)


def markdown(title: str, note: str, rows: list[dict[str, Any]]) -> str:
    """A Markdown table: our figures in both averages beside the published ones."""
    lines = [f"# {title}", "", note, "", "| method | average | " + " | ".join(COLUMNS) + " | parameters |"]
    lines.append("|" + "---|" * (len(COLUMNS) + 3))
    for row in rows:
        for average, label in (("test", "users with a test positive"), ("all", "all users, as the paper")):
            figures = " | ".join(f"{row[average][name]:.2f}" for name in COLUMNS)
            lines.append(f"| {row['method']} | {label} | {figures} | {row.get('parameters', '')} |")
        if row.get("published"):
            figures = " | ".join(f"{value:.2f}" for value in row["published"])
            lines.append(f"| {row['method']}, published | all users | {figures} | |")
    return "\n".join(lines) + "\n"


def write(name: str, record: Any, text: str) -> None:
    """Write results/<name>.json and .md, and show the table."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(record, indent=1))
    (RESULTS / f"{name}.md").write_text(text)
    print(text)
