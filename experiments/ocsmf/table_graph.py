"""Table Supp-1: one-class factorization with and without a graph over the users.

    python experiments/ocsmf/table_graph.py [--data ml100k] [--quick | --grid paper] [--splits 5] [--ridge-power 0.5]

Positives (rating ≥ 4) are split 9:1; ρ, λ, λ_g and the number of sweeps are those of the highest precision@5 on a fifth
of the training entries, for each split anew. ``quick`` looks for ρ and λ without the graph, and for λ_g at the two best
of these; ``paper`` takes the whole product. The page says what the graph changes on single splits. Rows with and
without the graph have the same solver (a side with a graph needs the trust region): another one would be a difference
of its own. The paper's ridge is constant; with ``--ridge-power ν`` it is λ times a row's total weight to the power ν,
the library's own way.
"""

from __future__ import annotations

import itertools
import time
from typing import Any

import common
import numpy as np
from common import COLUMNS, KS, RESULTS, SWEEPS, chosen, make_model, powers
from datasets import positives, read, sparse
from sklearn.feature_extraction.text import TfidfTransformer

from everypair import Side
from everypair.data import load_debian, split_entries
from everypair.evaluate import ranking_metrics
from everypair.features import knn_graph

RANKS = {"ml100k": 64, "douban_monti": 128, "flixster_monti": 100, "lastfm_hetrec": 64, "debian": 64}
SPLITS = {"ml100k": 5, "debian": 1}
OTHER_SPLITS = 3
FORMULATIONS = ("SQ-SQ", "SQ-wSQ", "LR-wSQ")
RULE = "precision@5"
NEIGHBORS = 30  # of a user in the graph of ml100k
MOST_ROWS = 3000  # of validation that are scored after every sweep
GRIDS: dict[str, dict[str, Any]] = {
    "paper": {
        "rho": powers(-9, -7, -5, -3, -1, 0),
        "lam": {loss: powers(*range(-6, 7, 2)) for loss in ("SQ", "LR")},
        "graph": powers(-6, -3, 0, 3, 6, 8, 10),
    },
    "quick": {
        "rho": powers(-7, -5, -3, -1),
        "lam": {"SQ": powers(0, 1, 2, 3, 4), "LR": powers(-2, -1, 0, 1, 2)},
        "graph": powers(-9, -6, -3, 0, 3),
    },
    "smoke": {"rho": powers(-5, -3), "lam": {loss: powers(-1, 1) for loss in ("SQ", "LR")}, "graph": powers(-3, 0)},
}
SCALED_LAM = powers(-5, -4, -3, -2, -1, 0)  # where the ridge grows with a row's weight
GRAPHS = {
    "ml100k": "the {neighbors} nearest users by cosine of age, gender, occupation (Rao et al.'s own is not public)",
    "douban_monti": "3,000 × 3,000 extract of Douban (Monti et al.), its graph of friends",
    "flixster_monti": "3,000 × 3,000 extract of Flixster (Monti et al.), its 10-nearest-neighbour graph of users",
    "lastfm_hetrec": "not in the paper: artists a user played, graph of friends",
    "debian": "not in the paper: packages and their dependencies, the 10 nearest packages by tf-idf of their words",
}
# Table Supp-1: seconds on 20 cores, precision@1..5, nDCG@1..5
PUBLISHED = {
    "ml100k": {
        ("SQ-SQ", False): (1.2, 26.93, 22.20, 20.00, 18.47, 16.95, 26.93, 23.99, 23.00, 22.84, 22.54),
        ("SQ-wSQ", False): (0.9, 28.56, 23.99, 21.16, 19.48, 18.04, 28.56, 25.98, 24.88, 24.72, 24.59),
        ("LR-wSQ", False): (1.8, 30.98, 25.61, 22.04, 20.41, 18.80, 30.98, 27.76, 26.00, 25.75, 25.42),
        ("SQ-SQ", True): (1.3, 28.55, 24.62, 22.04, 20.26, 19.05, 28.55, 26.54, 25.57, 25.28, 25.38),
        ("SQ-wSQ", True): (0.9, 30.75, 25.43, 22.85, 20.49, 19.12, 30.75, 27.59, 26.73, 25.99, 25.82),
        ("LR-wSQ", True): (7.0, 31.45, 26.01, 22.58, 21.21, 19.28, 31.45, 28.12, 26.50, 26.55, 26.04),
    }
}


def graph_of(name: str) -> Any:
    """The similarities of users (packages), known apart from the pairs."""
    if name == "debian":
        return knn_graph(TfidfTransformer().fit_transform(load_debian().features), 10)
    archive = read(name)
    if name == "ml100k":
        return knn_graph(archive["user_features"].astype(np.float64), NEIGHBORS)
    return sparse(archive, "friends" if name == "lastfm_hetrec" else "graph_users")


class Scores:
    """Scores of users from factors, as ranking_metrics asks for."""

    def __init__(self, left: Any, right: Any) -> None:
        self.left, self.right = left, right

    def score_users(self, users: Any = None, interactions: Any = None) -> Any:
        return self.left[users] @ self.right.T


def measured(model: Any, train: Any, test: Any) -> dict[str, float]:
    """precision@1..5 and nDCG@1..5 over users with a test positive, in percent."""
    values = ranking_metrics(model, train, test, ks=KS, n_threads=1)
    return {name: 100 * values[name] for name in COLUMNS}


def fitted(formulation: str, point: dict[str, Any], train: Any, graph: Any, callbacks: Any = (), **rest: Any) -> Any:
    """Fit at a point of the grid; ``graph`` in it is the paper's λ_g λ_w."""
    weight = point.get("graph")
    plain = {name: value for name, value in point.items() if name != "graph"}
    if weight is None:
        return make_model(formulation, **plain, **rest).fit(train, callbacks=callbacks)
    weight = 2 * weight if formulation.startswith("LR") else weight
    model = make_model(formulation, **plain, users=Side(graph_reg=weight), **rest)
    return model.fit(train, user_graph=graph, callbacks=callbacks)


def tried_points(
    formulation: str, points: list[dict[str, Any]], train: Any, graph: Any, patience: int | None, rest: Any
) -> list[dict[str, Any]]:
    """Validation figures of the points on a fifth of the training entries."""
    smaller, validation = split_entries(train, 0.2, random_state=1)
    rows = np.flatnonzero(np.diff(validation.indptr))[:MOST_ROWS]

    def fit(point: dict[str, Any], observe: Any) -> None:
        def after(sweep: Any) -> Any:
            scores = Scores(sweep.state.left[rows], sweep.state.right)
            return observe(measured(scores, smaller[rows], validation[rows]))

        fitted(formulation, point, smaller, graph, [after], max_iter=SWEEPS, **rest)

    return common.search(points, fit, patience, formulation)


def rank_of(options: Any) -> int:
    """The paper's rank, or the one asked for."""
    return options.rank or RANKS[options.data]


def run(formulation: str, train: Any, test: Any, graph: Any, options: Any) -> list[dict[str, Any]]:
    """One split: choose, fit on all training entries and measure, without the graph and with it."""
    rest = {"rank": rank_of(options), "n_threads": options.threads, "reg_exponent": options.ridge_power,
            "solver": "tron"}  # fmt: skip
    grid, quick = GRIDS[options.grid], options.grid != "paper"
    rhos = (1.0,) if formulation == "SQ-SQ" else grid["rho"]
    lams = SCALED_LAM if options.ridge_power else grid["lam"][formulation[:2]]
    plain = [{"rho": rho, "lam": lam} for rho, lam in itertools.product(rhos, lams)]
    results: list[dict[str, Any]] = []
    for with_graph in (False, True):
        if with_graph:
            tried = results[0]["tried"]
            best = sorted(tried, key=lambda entry: -max(entry[RULE]))[: 2 if quick else None]
            plain = [{**entry["point"], "graph": value} for entry in best for value in grid["graph"]]
        tried = tried_points(formulation, plain, train, graph, 4 if quick else None, rest)
        point, sweeps = chosen(tried, RULE)
        start = time.process_time()
        model = fitted(formulation, point, train, graph, max_iter=sweeps, **rest)
        seconds = time.process_time() - start
        figures = measured(model, train, test)
        results.append({"point": point, "sweeps": sweeps, "cpu_seconds": seconds, "test": figures, "tried": tried})
    return results


def tried_by(rows: list[dict[str, Any]], formulation: str, power: float, seed: int) -> list[dict[str, Any]]:
    """All points tried on a split, with and without the graph: with it only the best of the others are tried."""
    same = [row for row in rows if (row["formulation"], row["power"]) == (formulation, power)]
    return [entry for row in same for entry in row["splits"][seed]["tried"]]


def report(name: str, rank: int, rows: list[dict[str, Any]]) -> str:
    rows.sort(key=lambda row: (row["power"], row["graph"], FORMULATIONS.index(row["formulation"])))
    head = (
        "formulation",
        "graph",
        "ridge power",
        "CPU s",
        *(f"p@{k}" for k in KS),
        *(f"n@{k}" for k in KS),
        "chosen (each split)",
    )
    cells: list[tuple[Any, ...]] = []
    found: dict[tuple[str, bool, float], list[float]] = {}
    for row in rows:
        splits = row["splits"]
        figures = [float(np.mean([split["test"][column] for split in splits])) for column in COLUMNS]
        found[row["formulation"], row["graph"], row["power"]] = [split["test"][RULE] for split in splits]
        where = "; ".join(
            dict.fromkeys(
                common.described(split["point"], tried_by(rows, row["formulation"], row["power"], seed))
                for seed, split in enumerate(splits)
            )
        )
        seconds = float(np.mean([split["cpu_seconds"] for split in splits]))
        cells.append(
            (row["formulation"], "yes" if row["graph"] else "no", f"{row['power']:g}", seconds, *figures, where)
        )
    for (formulation, with_graph), published in PUBLISHED.get(name, {}).items():
        label = "yes" if with_graph else "no"
        cells.append((f"{formulation}, published", label, "0", published[0], *map(float, published[1:]), ""))
    count = len(rows[0]["splits"])
    note = f"Percent, over users with a test positive, 9:1, mean of {count} split(s) of ours; "
    note += f"{GRAPHS[name].format(neighbors=rows[0].get('neighbors', 20))}. "
    note += f"{common.MARKED}\n"
    for formulation, power in itertools.product(FORMULATIONS, sorted({row["power"] for row in rows})):
        if (formulation, True, power) in found:
            gains = np.subtract(found[formulation, True, power], found[formulation, False, power])
            note += (
                f"\n- {formulation}, ridge power {power:g}: with the graph {gains.mean():+.2f} in {RULE}, from "
                f"{gains.min():+.2f} to {gains.max():+.2f} on single splits."
            )
    return f"# Table Supp-1 on {name}, rank {rank}\n\n{note}\n\n" + common.table(head, cells)


def main() -> None:
    parser = common.arguments(__doc__, RANKS)
    parser.add_argument("--formulations", nargs="+", choices=FORMULATIONS, default=list(FORMULATIONS))
    parser.add_argument("--splits", type=int, help="number of 9:1 splits")
    parser.add_argument("--ridge-power", type=float, default=0.0)
    parser.add_argument("--rank", type=int, help="instead of the paper's")
    options = common.parse(parser, RESULTS, grid="smoke", rank=4, splits=2)
    name = f"table_graph_{options.data}"
    if options.report:
        rows = common.stored_rows(options.results, name, needed=True)
        common.write(options.results, name, {"rows": rows}, report(options.data, rank_of(options), rows))
        return
    graph, every = graph_of(options.data), positives(options.data)
    count = options.splits or SPLITS.get(options.data, OTHER_SPLITS)
    for formulation in options.formulations:
        splits = []
        for seed in range(count):
            train, test = split_entries(every, 0.1, random_state=seed)
            splits.append(run(formulation, train, test, graph, options))
        for with_graph in (False, True):
            row = {
                "formulation": formulation,
                "graph": with_graph,
                "power": options.ridge_power,
                "neighbors": NEIGHBORS,
            }
            row["splits"] = [split[with_graph] for split in splits]
            rows = common.replace_row(options.results, name, ("formulation", "graph", "power"), row)
            common.write(options.results, name, {"rows": rows}, report(options.data, rank_of(options), rows))


if __name__ == "__main__":
    main()
