"""How the defaults of ``TwoTower`` were chosen: on items or pairs held out of the *training* data alone.

    python experiments/esl/default.py [--data ml100k …] [--ridges 1 1.2 1.4] [--sweeps 8] [--folds 0 1 2] [--report]

ids alone      the ridge of the embeddings in units of OneClassMF's automatic one, of rank 64 and of the towers'
               rank: a tenth of the training pairs is the validation, drawn anew in every fold. The towers, which
               start as the linear model, are trained too with ``--towers``
cold items     of ml1m_cold, citeulike_t_cold and the generated set: how many sweeps of Gauss-Newton; a seventh of the
               items is the validation, another one in every fold, and the test's seventh is never looked at

Tasks are those of beside.py. Runs so far are kept in default/<data>.json, and a run replaces those of its settings.
Writes default.md.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from typing import Any

import numpy as np
from beside import METRICS, Task, items_of, task_of
from common import RESULTS, cpu, load, merged, one_core, parse

from everypair import OneClassMF, Side, TwoTower
from everypair.data import Pairs, split_entries
from everypair.models.recommend.defaults import auto_reg
from everypair.models.recommend.two_tower import mean_positives, ridge_factor
from everypair.problem.losses import get_loss

IDS = (
    "Ids alone, by the ridge of the embeddings in units of OneClassMF's automatic one. d is the mean positives of an "
    'entity; the factor is what `TwoTower(reg="auto")` takes.'
)
ITEMS = (
    "Cold items: MAP@5 of validation items after so many sweeps of Gauss-Newton from the linear start (0); OneClassMF, "
    "of the same rank, has the same features without a constant one."
)
BASE = 64  # OneClassMF's own rank
WARM = ("ml100k", "lastfm_hetrec", "filmtrust", "ml1m_9to1", "debian", "citeulike_t", "ciaodvd")
COLD = ("ml1m_cold", "citeulike_t_cold", "generated")


def validated(model: Any, task: Task) -> dict[str, Any]:
    """Train on the training part of ids alone; figures of the validation."""
    begin = cpu()
    model.fit(task.train)
    spent = cpu() - begin
    found = task.measured(model.user_factors_, model.item_factors_, ("validation",))["validation"]
    return {"seconds": spent, "sweeps": len(model.history_), "validation": found}


def ids_alone(data: str, fold: int, options: argparse.Namespace) -> tuple[dict[str, Any], dict[str, Any]]:
    """(about the data, a run for every rank and ridge)."""
    train, _ = load(data)
    part, validation = split_entries(train, 0.1, random_state=10 + fold)
    task, pairs = Task(part, validation, validation * 0), Pairs.from_matrix(part)
    base = float(auto_reg("auto", pairs, get_loss("logistic")))
    shared: dict[str, Any] = {"random_state": 0, "n_threads": 1}
    runs = {}
    for ridge in options.ridges:
        for rank in sorted({min(BASE, options.rank), options.rank}):
            runs[f"{fold}, OneClassMF, {rank}, {ridge:g}"] = OneClassMF(rank=rank, reg=ridge * base, **shared)
        if options.towers:
            towers = TwoTower(widths=tuple(options.widths), rank=options.rank, reg=ridge * base, **shared)
            runs[f"{fold}, TwoTower, {options.rank}, {ridge:g}"] = towers
    about = {"positives": mean_positives(pairs), "factor": ridge_factor(pairs)}
    return about, {name: validated(model, task) for name, model in runs.items()}


def cold_items(data: str, fold: int, options: argparse.Namespace) -> dict[str, Any]:
    """Validation figures after every sweep; before the first, those of the linear start."""
    task = task_of(data, options.smoke, fold)
    widths, rank = tuple(options.widths), min(options.rank, *task.train.shape)
    points: list[dict[str, Any]] = []

    def look(sweep: Any) -> None:
        right = items_of(task, sweep.state.theta[1], widths, rank)
        found = task.measured(sweep.state.left, right, ("validation",))["validation"]
        points.append({"sweeps": sweep.iteration, "validation": found})

    shared: dict[str, Any] = {"random_state": 0, "n_threads": 1, "rank": rank}
    still = TwoTower(widths=widths, own_vectors=(True, False), max_iter=1, learning_rate=1e-30, **shared)
    still.fit(task.train, item_features=task.known, callbacks=[look])
    points[0]["sweeps"] = 0
    towers = TwoTower(widths=widths, own_vectors=(True, False), max_iter=options.sweeps, tol=0.0, **shared)
    towers.fit(task.train, item_features=task.known, callbacks=[look])
    linear = OneClassMF(items=Side(own_vectors=False), **shared).fit(task.train, item_features=task.known)
    right = linear.fold_in_items(features=task.words)
    plain = task.measured(linear.user_factors_, right, ("validation",))["validation"]
    return {str(fold): {"points": points, "OneClassMF": plain}}


def mean_of(found: Iterable[dict[str, float]]) -> str:
    """Means of figures, MAP@5 / nDCG@10 / recall@20."""
    every = list(found)
    return " / ".join(f"{np.mean([one[name] for one in every]):.4f}" for name in METRICS)


def report(records: list[dict[str, Any]]) -> str:
    lines = ["# TwoTower's defaults, by validation", "", "MAP@5 / nDCG@10 / recall@20, means of the folds.", ""]
    warm = sorted((record for record in records if "runs" in record), key=lambda record: record["positives"])
    if warm:
        lines += [IDS, ""]
        ridges = sorted({float(name.split(", ")[3]) for record in warm for name in record["runs"]})
        lines += [f"| data | d | factor | model | rank | folds | {' | '.join(f'{one:g}' for one in ridges)} |"]
        lines += ["|---" * (6 + len(ridges)) + "|"]
    for record in warm:
        groups: dict[tuple[str, str], dict[float, dict[str, Any]]] = {}
        for name, run in record["runs"].items():
            fold, model, rank, ridge = name.split(", ")
            groups.setdefault((model, rank), {}).setdefault(float(ridge), {})[fold] = run["validation"]
        for (model, rank), by in groups.items():
            cells = [mean_of(by[one].values()) if one in by else "–" for one in ridges]
            folds = str(max(map(len, by.values())))
            head = [record["data"], f"{record['positives']:.1f}", f"{record['factor']:.2f}", model, rank, folds]
            lines.append(f"| {' | '.join([*head, *cells])} |")
    cold = [record for record in records if "folds" in record]
    if cold:
        most = max(point["sweeps"] for record in cold for run in record["folds"].values() for point in run["points"])
        lines += ["", ITEMS, ""]
        lines += [f"| data | towers | folds | OneClassMF | {' | '.join(map(str, range(most + 1)))} |"]
        lines += ["|---" * (5 + most) + "|"]
    for record in cold:
        runs = list(record["folds"].values())
        plain = np.mean([run["OneClassMF"]["map@5"] for run in runs])
        along: dict[int, list[float]] = {}
        for run in runs:
            for point in run["points"]:
                along.setdefault(point["sweeps"], []).append(point["validation"]["map@5"])
        cells = [f"{np.mean(along[one]):.4f}" if one in along else "–" for one in range(most + 1)]
        towers = "-".join(map(str, (*record["widths"], record["rank"])))
        lines.append(f"| {record['data']} | {towers} | {len(runs)} | {plain:.4f} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=[*WARM, *COLD], choices=[*WARM, *COLD])
    parser.add_argument("--ridges", type=float, nargs="+", default=(1.0, 1.2, 1.4))
    parser.add_argument("--folds", type=int, nargs="+", default=(0, 1, 2))
    parser.add_argument("--towers", action="store_true", help="train towers too, where ids are alone")
    parser.add_argument("--widths", type=int, nargs="*", default=(256, 256))
    parser.add_argument("--rank", type=int, default=128)
    parser.add_argument("--sweeps", type=int, default=8)
    parser.add_argument("--report", action="store_true", help="only write the table again, from the JSON")
    options = parse(
        parser, RESULTS, data=["ml100k", "generated"], ridges=[1.0], folds=[0], towers=True, widths=(4,), rank=3,
        sweeps=2,
    )  # fmt: skip
    folder = options.results / "default"
    folder.mkdir(parents=True, exist_ok=True)
    for data, fold in [] if options.report else [(data, fold) for data in options.data for fold in options.folds]:
        one_core(options.smoke)
        about = {"data": data, "widths": list(options.widths), "rank": options.rank}
        if data in COLD:
            merged(folder, data, about, "folds", cold_items(data, fold, options))
        else:
            seen, runs = ids_alone(data, fold, options)
            merged(folder, data, about | seen, "runs", runs)
        print(data, fold, flush=True)
    paths = sorted(folder.glob("*.json"))
    if not paths:
        raise SystemExit("there are no runs yet: run the script without --report first.")
    text = report([json.loads(path.read_text()) for path in paths])
    (options.results / "default.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
