"""Turn the JSON of study.py and validated.py into README.md: defaults, best and validated points of the grid.

python experiments/defaults/report.py
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
import edges
from smoke import parse

HERE = Path(__file__).parent
RESULTS = HERE / "results"
HEAD = f"""# How good are the defaults?

nDCG@10 × 100 of `OneClassMF` at rank 64, on held-out entries (9:1, mean of two splits for the small sets; yelp2018 as
published), with default parameters and at the best point of a grid of negative weights (multiples of the density),
ridge exponents and ridge constants. Made by `study.py`, `validated.py` and `report.py`; every grid point is in
`results/`.

Two warnings. "Best" is the best on the *test* data over the number of grid points given: an optimistic bound. And the
rules behind the defaults were made by looking at these same figures, so "default" is not the quality on data nobody
has seen either; how much it flatters is not known, because no data set was kept apart.

All of that, the last table excepted, was fitted with 16 plain sweeps, the default of that time. What changed when the
default became momentum to convergence: `convergence.py`, [performance](../../docs/performance.md).

{edges.LEGEND}
Multiples and ridges are compared within one exponent ν; ν = 0 and ν = 1 are the ends of its range, not of a grid.
"""
VALIDATED = """
## Chosen without the test data

A grid at the default exponent ν = ¾, its point chosen on a tenth of the *training* entries, fitted to all of them and
measured on the test entries once (`python experiments/defaults/validated.py`; one split, rank 64, trained as by default
today, with momentum to convergence). The defaults' cost is their distance to the chosen point: on the held-out tenth,
where the choice flatters itself, and on the test entries, where it does not. Rows of 35 points have the script's own
grid, which was not widened where a choice lies at an end of it (†). yelp2018 has a coarser one:

```
python experiments/defaults/validated.py --data yelp2018 --multiples 1 2 4 8 --regs 0.02 0.03
```

| data | loss | held out: default | chosen | cost | test: default | chosen | cost | chosen | points |
|---|---|---|---|---|---|---|---|---|---|
"""


def where(point: dict[str, Any], points: list[dict[str, Any]]) -> str:
    """The point in words, numbers at an end of those tried with its exponent marked."""
    ends = edges.at_ends(point, (other for other in points if other["exponent"] == point["exponent"]))
    multiple, reg = (edges.MARK if name in ends else "" for name in ("multiple", "reg"))
    return f"{point['multiple']:g}×{multiple} density, reg {point['reg']:g}{reg}, ν {point['exponent']:g}"


def best_of(record: dict[str, Any]) -> dict[str, Any]:
    return max(record["points"], key=lambda point: point["ndcg@10"])


def studied(record: dict[str, Any]) -> str:
    best, (rows, columns) = best_of(record), record["shape"]
    tuned = best["ndcg@10"]
    return (
        f"| {record['data']} | {rows:,} × {columns:,} | {record['positives']:,} | {100 * record['default']:.2f} "
        f"| {100 * tuned:.2f} | {100 * record['default'] / tuned:.1f} % "
        f"| {where(best, record['points'])} | {len(record['points'])} |"
    )


def validated(record: dict[str, Any]) -> str:
    cells = []
    for default, chosen in (("validation_default", "validation"), ("test_default", "test")):
        cost = 100 * (1 - record[default] / record[chosen])
        cells += [f"{100 * record[default]:.2f}", f"{100 * record[chosen]:.2f}", f"{cost:.1f} %"]
    return (
        f"| {record['data']} | {record['loss']} | {' | '.join(cells)} | {where(record['chosen'], record['points'])} "
        f"| {len(record['points'])} |"
    )


def page(folder: Path) -> str:
    """The whole page from a folder of results."""
    parts = [HEAD]
    for loss in ("logistic", "squared", "squared_hinge"):
        records = [json.loads(path.read_text()) for path in sorted(folder.glob(f"{loss}_*.json"))]
        records = [record for record in records if record["loss"] == loss and record["points"]]
        if records:
            parts.append(f"\n## {loss}\n")
            parts.append("| data | users × items | positives | default | best | default/best | best at | points |")
            parts.append("|---|---|---|---|---|---|---|---|")
            parts += [studied(record) for record in sorted(records, key=lambda record: record["positives"])]
    choices = [json.loads(path.read_text()) for path in sorted(folder.glob("validated_*.json"))]
    if choices:
        parts.append(VALIDATED + "\n".join(validated(record) for record in choices))
    return "\n".join(parts) + "\n"


def main() -> None:
    options = parse(argparse.ArgumentParser(description=__doc__), RESULTS)
    folder = HERE if options.results == RESULTS else options.results
    (folder / "README.md").write_text(page(options.results))


if __name__ == "__main__":
    main()
