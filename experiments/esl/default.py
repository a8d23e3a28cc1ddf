"""How TwoTower's defaults were chosen, on validation pairs alone: the test is never looked at.

    python experiments/esl/default.py [--data ml100k ml1m_9to1 …] [--ridges 0.7 1.4 …] [--report]
    python experiments/esl/default.py --data citeulike_t … [--rates 0.001 …] [--layers 0.5 1 …] [--widths 64 64 …]

ids alone      the ridge of embeddings in units of OneClassMF's automatic one; a twentieth of the training pairs is the
               validation
cold items     of ml1m_cold, citeulike_t and the generated set: the rate of Adam and the ridge of the
               networks' weights in units of the automatic one, and MAP@5 along the way; a seventh of the items is the
               validation

Tasks are those of beside.py. Runs so far are kept in default/<data>.json, and a run replaces those of its settings.
Writes default.md.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

from beside import Task, items_of, mean_ridge, task_of
from common import RESULTS, cpu, merged, one_core, parse

from everypair import TwoTower
from everypair.data import Pairs
from everypair.models.recommend.defaults import auto_reg
from everypair.problem.losses import get_loss

EVERY = 10  # sweeps between two looks at cold items


def ids_alone(task: Task, widths: tuple[int, ...], rank: int, ridge: float, sweeps: int) -> dict[str, Any]:
    """Validation figures of the model that training ends with."""
    reg = ridge * auto_reg("auto", Pairs.from_matrix(task.train), get_loss("logistic"))
    model = TwoTower(widths=widths, rank=rank, reg=reg, random_state=0, n_threads=1, max_iter=sweeps)
    begin = cpu()
    model.fit(task.train)
    spent = cpu() - begin
    found = task.measured(model.user_factors_, model.item_factors_, ("validation",))["validation"]
    return {"ridge": ridge, "seconds": spent, "sweeps": len(model.history_), "validation": found}


def cold_items(
    task: Task, widths: tuple[int, ...], rank: int, rate: float, layer: float, sweeps: int
) -> dict[str, Any]:
    """Validation figures along the way."""
    points: list[dict[str, Any]] = []
    clock = {"begin": cpu(), "measured": 0.0}

    def look(sweep: Any) -> None:
        if sweep.iteration % EVERY == 0 or sweep.iteration in (1, sweeps):
            now = cpu()
            left, right = sweep.state.left, items_of(task, sweep.state.theta[1], widths, rank)
            found = task.measured(left, right, ("validation",))["validation"]
            spent = now - clock["begin"] - clock["measured"]
            points.append({"sweeps": sweep.iteration, "seconds": spent, "validation": found})
            clock["measured"] += cpu() - now

    reg = layer * mean_ridge(Pairs.from_matrix(task.train))
    model = TwoTower(
        widths=widths, rank=rank, layer_reg=reg, learning_rate=rate, own_vectors=(True, False), random_state=0,
        n_threads=1, max_iter=sweeps, tol=0.0,
    )  # fmt: skip
    model.fit(task.train, item_features=task.known, callbacks=[look])
    return {"rate": rate, "layer": layer, "points": points}


def report(records: list[dict[str, Any]]) -> str:
    lines = ["# TwoTower's defaults, by validation", ""]
    warm = [record for record in records if "ridges" in record]
    if warm:
        ridges = sorted({run["ridge"] for record in warm for run in record["ridges"].values()})
        lines += ["Ids alone: MAP@5 / nDCG@10 of validation pairs by the ridge of embeddings, times OneClassMF's.", ""]
        lines += [f"| data | towers | {' | '.join(f'{one:g}' for one in ridges)} |", "|---" * (2 + len(ridges)) + "|"]
        for record in warm:
            by = {run["ridge"]: run["validation"] for run in record["ridges"].values()}
            cells = [f"{by[one]['map@5']:.4f} / {by[one]['ndcg@10']:.4f}" if one in by else "–" for one in ridges]
            lines.append(f"| {record['data']} | {shape(record)} | {' | '.join(cells)} |")
        lines.append("")
    cold = [record for record in records if "rates" in record]
    if cold:
        lines += ["Cold items: MAP@5 of validation items after so many sweeps, and the best on the way.", ""]
        lines += ["| data | towers | rate | λ | 1 | 20 | 50 | 100 | best | at |", "|---" * 10 + "|"]
        for record in cold:
            for run in sorted(record["rates"].values(), key=lambda run: (run["rate"], run["layer"])):
                by = {point["sweeps"]: point["validation"]["map@5"] for point in run["points"]}
                cells = [f"{by[one]:.4f}" if one in by else "–" for one in (1, 20, 50, 100)]
                best = max(by, key=by.__getitem__)
                row = [record["data"], shape(record), f"{run['rate']:g}", f"{run['layer']:g}", *cells]
                lines.append(f"| {' | '.join([*row, f'{by[best]:.4f}', str(best)])} |")
        lines.append("")
    return "\n".join(lines)


def shape(record: dict[str, Any]) -> str:
    return "-".join(map(str, (*record["widths"], record["rank"])))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=["ml100k", "ml1m_9to1", "lastfm_hetrec", "debian"])
    parser.add_argument("--ridges", type=float, nargs="+", default=(0.7, 1.0, 1.4, 2.0))
    parser.add_argument("--rates", type=float, nargs="+", default=(1e-3, 3e-3))
    parser.add_argument("--layers", type=float, nargs="+", default=(1.0,))
    parser.add_argument("--widths", type=int, nargs="*", default=(256, 256))
    parser.add_argument("--rank", type=int, default=128)
    parser.add_argument("--sweeps", type=int, default=100)
    parser.add_argument("--report", action="store_true", help="only write the table again, from the JSON")
    options = parse(
        parser, RESULTS, data=["ml100k", "generated"], ridges=[1.0], rates=[1e-3], widths=(4,), rank=3, sweeps=2
    )
    for data in [] if options.report else options.data:
        one_core(options.smoke)
        task, widths = task_of(data, options.smoke), tuple(options.widths)
        rank = min(options.rank, min(task.train.shape))
        about, cells = {"data": data, "widths": widths, "rank": rank}, options.results / "default"
        cells.mkdir(parents=True, exist_ok=True)
        if task.words is None:
            for ridge in options.ridges:
                run = ids_alone(task, widths, rank, ridge, options.sweeps)
                merged(cells, data, about, "ridges", {f"{ridge:g}": run})
                print(data, run, flush=True)
        else:
            for rate, layer in ((rate, layer) for rate in options.rates for layer in options.layers):
                run = cold_items(task, widths, rank, rate, layer, options.sweeps)
                merged(cells, data, about, "rates", {f"{rate:g}, {layer:g}": run})
                print(data, rate, layer, max(p["validation"]["map@5"] for p in run["points"]), flush=True)
    paths = sorted((options.results / "default").glob("*.json"))
    if not paths:
        raise SystemExit("there are no runs yet: run the script without --report first.")
    text = report([json.loads(path.read_text()) for path in paths])
    (options.results / "default.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
