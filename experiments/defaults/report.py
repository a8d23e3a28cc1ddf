"""Turn results/*.json of study.py into README.md: the defaults beside the best point of the grid, for each data set.

python experiments/defaults/report.py
"""

from __future__ import annotations

import json
from pathlib import Path

HERE = Path(__file__).parent
HEAD = """# How good are the defaults?

nDCG@10 × 100 of `OneClassMF` at rank 64, on held-out entries (9:1, mean of two splits for the small sets; yelp2018 as
published), with default parameters and at the best point of a grid of negative weights (multiples of the density),
ridge exponents and ridge constants. "Best" is the best on the *test* data over the number of grid points given, so it
is an optimistic bound. Made by `study.py` and `report.py`; every grid point is in `results/`.
"""


def main() -> None:
    parts = [HEAD]
    for loss in ("logistic", "squared", "squared_hinge"):
        files = sorted((HERE / "results").glob(f"{loss}_*.json"))
        records = [record for record in (json.loads(path.read_text()) for path in files) if record["loss"] == loss]
        if not records:
            continue
        parts.append(f"\n## {loss}\n")
        parts.append("| data | users × items | positives | default | best | default/best | best at | points |")
        parts.append("|---|---|---|---|---|---|---|---|")
        for record in sorted(records, key=lambda record: record["positives"]):
            best = max(record["points"], key=lambda point: point["ndcg@10"], default=None)
            rows, columns = record["shape"]
            tuned = best["ndcg@10"] if best else float("nan")
            where = f"{best['multiple']}× density, reg {best['reg']}, ν {best['exponent']}" if best else ""
            parts.append(
                f"| {record['data']} | {rows:,} × {columns:,} | {record['positives']:,} "
                f"| {100 * record['default']:.2f} | {100 * tuned:.2f} | {100 * record['default'] / tuned:.1f} % "
                f"| {where} | {len(record['points'])} |"
            )
    (HERE / "README.md").write_text("\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
