"""Table Supp-2: LR-wSQ with K-means Nyström features appended.

    python experiments/ocsmf/table_nystrom.py [--data delicious] [--quick | --grid paper] [--variants raw scaled]

ρ and λ are those chosen without Nyström features (table_multilabel_<data>.json, run that first), as in the
paper; D, γ and the number of sweeps are those of the highest precision@5 on a held-out fifth of the training rows. The
paper's γ, a multiple of 1/σ² with σ² the variance of all feature values, makes nearly the identity of the kernel
matrix, because the squared distance of two rows is near 2dσ²; multiples of 1/(dσ²) are tried besides.
"""

from __future__ import annotations

import itertools
import sys
import time
from pathlib import Path
from typing import Any

import common
from common import COLUMNS, KS, RESULTS, SWEEPS, MultiLabel, chosen, make_model, multilabel_figures

from everypair import Side
from everypair.features import NystromFeatures
from everypair.features.scaling import prepare_features

RULE = "precision@5"
GRIDS: dict[str, dict[str, tuple[float, ...]]] = {
    "paper": {"landmarks": (500, 1000), "gammas": (0.5, 1, 2), "shares": (0.5, 1, 2, 5)},
    "quick": {"landmarks": (500, 1000), "gammas": (1,), "shares": (1, 2, 5)},
    "smoke": {"landmarks": (5, 10), "gammas": (1,), "shares": (1, 2)},
}
PUBLISHED = {
    "bibtex": (54, 63.26, 48.33, 39.91, 33.80, 29.55, 63.26, 59.53, 59.97, 61.21, 62.81),
    "delicious": (94, 69.64, 66.74, 64.11, 61.35, 58.84, 69.64, 67.41, 65.43, 63.39, 61.54),
}


def without(folder: Path, data: str, variant: str) -> dict[str, Any]:
    """LR-wSQ without Nyström features: chosen point, what was tried and test figures."""
    for row in common.stored_rows(folder, f"table_multilabel_{data}"):
        if (row["formulation"], row["variant"]) == ("LR-wSQ", variant):
            return {"rank": row["rank"], **row[RULE], "tried": [{"point": entry["point"]} for entry in row["tried"]]}
    sys.exit(
        f"Run table_multilabel.py --data {data} --formulations LR-wSQ --variants {variant} with the same --results "
        "before this."
    )


def extended(data: MultiLabel, scaled: bool, landmarks: int, gamma: float) -> tuple[MultiLabel, float]:
    """[X, Z] for both parts, landmarks from the rows that are learnt from, and the CPU seconds of Z.

    Most of it is dense, so it is kept dense.
    """
    X, X_test = (prepare_features(part, scaled, False).toarray() for part in (data.X, data.X_test))
    start = time.process_time()
    features = NystromFeatures(landmarks, gamma, random_state=0, n_threads=1).fit(X)
    both = features.transform(X), features.transform(X_test)
    return MultiLabel(both[0], data.Y, both[1], data.Y_test), time.process_time() - start


def run(variant: str, data: MultiLabel, options: Any) -> dict[str, Any]:
    """Choose D, γ and sweeps, fit on all training rows, measure the test rows."""
    base, scaled = without(options.results, options.data, variant), variant == "scaled"
    rest = {
        **base["point"], "rank": base["rank"], "n_threads": options.threads,
        "users": Side(own_vectors=False, fit_intercept=scaled),
    }  # fmt: skip
    grid, columns = GRIDS[options.grid], data.X.shape[1]
    gammas = [(f"{gamma:g}/σ²", gamma) for gamma in grid["gammas"]]
    gammas += [(f"{share:g}/(dσ²)", share / columns) for share in grid["shares"]]
    smaller = data.held_out()

    def fit(point: dict[str, Any], observe: Any) -> None:
        part, _ = extended(smaller, scaled, point["D"], dict(gammas)[point["γ"]])
        part.fit(make_model("LR-wSQ", max_iter=SWEEPS, **rest), observe)

    points = [{"D": count, "γ": name} for count, (name, _) in itertools.product(grid["landmarks"], gammas)]
    tried = common.search(points, fit, None if options.grid == "paper" else 2, f"Nyström {variant}")
    row = {"variant": variant, "without": base, "tried": tried}
    for rule, among in (
        ("paper", [f"{gamma:g}/σ²" for gamma in grid["gammas"]]),
        ("all", [name for name, _ in gammas]),
    ):
        point, sweeps = chosen([entry for entry in tried if entry["point"]["γ"] in among], RULE)
        part, seconds = extended(data, scaled, point["D"], dict(gammas)[point["γ"]])
        start = time.process_time()
        model = part.fit(make_model("LR-wSQ", max_iter=sweeps, **rest))
        seconds += time.process_time() - start
        figures = multilabel_figures(model.score_users(features=part.X_test), data.Y_test)
        row[rule] = {"point": point, "sweeps": sweeps, "cpu_seconds": seconds, "test": figures}
    return row


def sizes(point: dict[str, Any]) -> dict[str, Any]:
    """The point with γ as a number that orders as γ does: 1/σ² is far above 1/(dσ²)."""
    if "γ" not in point:
        return point
    multiple, unit = point["γ"].split("/")
    return {**point, "γ": float(multiple) * (1.0 if "d" in unit else 1e6)}


def report(name: str, rows: list[dict[str, Any]]) -> str:
    head = ("method", "features", "CPU s", *(f"p@{k}" for k in KS), *(f"n@{k}" for k in KS), "sweeps", "chosen")
    cells: list[tuple[Any, ...]] = []
    note = (
        "Percent. ρ and λ as chosen without Nyström features; D, γ and sweeps by precision@5 on a fifth of the "
        "training rows; σ² is the variance of all feature values, d their number. The split is the file's, "
        f"not the paper's. {common.MARKED}\n"
    )
    for row in rows:
        for rule, label in (("without", "LR-wSQ"), ("paper", "LR-wSQ-Nys, γ of the paper"), ("all", "LR-wSQ-Nys")):
            one = row[rule]
            figures = (float(one["test"][column]) for column in COLUMNS)
            tried = one["tried"] if rule == "without" else row["tried"]
            if rule == "paper":
                tried = [entry for entry in tried if "d" not in entry["point"]["γ"]]
            where = (common.swept(one["sweeps"]), common.described(one["point"], tried, sizes))
            cells.append((label, row["variant"], one["cpu_seconds"], *figures, *where))
        gain = row["all"]["test"][RULE] - row["without"]["test"][RULE]
        note += f"\n{row['variant']}: Nyström features change {RULE} by {gain:+.2f}."
    published = PUBLISHED[name]
    cells.append(("LR-wSQ-Nys, published", "raw", published[0], *map(float, published[1:]), "", ""))
    return f"# Table Supp-2 on {name}\n\n{note}\n\n" + common.table(head, cells)


def main() -> None:
    parser = common.arguments(__doc__, PUBLISHED)
    parser.add_argument("--variants", nargs="+", choices=("raw", "scaled"), default=["raw", "scaled"])
    options = common.parse(parser, RESULTS, grid="smoke")
    name = f"table_nystrom_{options.data}"
    if options.report:
        rows = common.stored_rows(options.results, name, needed=True)
        common.write(options.results, name, {"rows": rows}, report(options.data, rows))
        return
    data = MultiLabel.load(options.data)
    for variant in options.variants:
        rows = common.replace_row(options.results, name, ("variant",), run(variant, data, options))
        common.write(options.results, name, {"rows": rows}, report(options.data, rows))


if __name__ == "__main__":
    main()
