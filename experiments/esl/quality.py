"""The default TwoTower beside the default OneClassMF, with the same information: MAP@5, nDCG@10, recall@20.

    python experiments/esl/quality.py [--data ml1m ml1m_9to1 ml100k …] [--seeds 0 1 2] [--report]

Both learn from all training pairs, with nothing chosen on the way. Sets whose name ends in _cold, and the generated one
whose taste is the exclusive or of two features, ask for items that were not in training and are known by features alone
(tasks of beside.py: neither has rows of ids for items, validation items are left out; TwoTower's features have a
constant 1 besides, with which OneClassMF is measured too). One cell for every (data, seed) in quality/*.json, with CPU
seconds on one thread; a run replaces the models that it names. Writes quality.md, and with ``--page`` the table of
docs/two-tower.md.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from beside import METRICS, Task, task_of
from common import RESULTS, cpu, load, merged, on_page, one_core, parse

from everypair import OneClassMF, Side, TwoTower

WARM = ("ml100k", "ml1m", "ml1m_9to1", "lastfm_hetrec", "citeulike_t", "debian")
COLD = ("ml1m_cold", "citeulike_t_cold", "generated")
PAGE = Path(__file__).parents[2] / "docs" / "two-tower.md"
NAMES = {
    "ml1m": "ml1m, 80/20",
    "ml1m_9to1": "ml1m, 9:1",
    "ml100k": "ml100k",
    "lastfm_hetrec": "lastfm_hetrec",
    "citeulike_t": "citeulike_t",
    "debian": "Debian's packages",
    "generated": "cold items whose taste is the exclusive or of two features",
    "citeulike_t_cold": "cold articles by their words (citeulike_t)",
    "ml1m_cold": "cold films by genres, directors and actors (ml1m)",
}


def models_of(task: Task, seed: int, towers: dict[str, Any]) -> dict[str, Any]:
    """Both, OneClassMF of its default rank 64 (or the towers', if that is less) and of the towers'."""
    rank = towers.get("rank", 128)
    shared: dict[str, Any] = {"random_state": seed, "n_threads": 1}
    if task.words is not None:
        items, constant = Side(own_vectors=False), Side(own_vectors=False, fit_intercept=True)
        return {
            "TwoTower": TwoTower(**towers, **shared, own_vectors=(True, False)),
            "OneClassMF": OneClassMF(**shared, items=items, rank=min(64, rank)),
            f"OneClassMF, rank {rank}": OneClassMF(**shared, items=items, rank=rank),
            f"OneClassMF, rank {rank}, constant": OneClassMF(**shared, items=constant, rank=rank),
        }
    return {
        "TwoTower": TwoTower(**towers, **shared),
        "OneClassMF": OneClassMF(**shared, rank=min(64, rank)),
        f"OneClassMF, rank {rank}": OneClassMF(**shared, rank=rank),
    }


def measured(model: Any, task: Task) -> dict[str, Any]:
    """Train on a few users for the kernels, and on all for the clock; the test's figures."""
    features = {} if task.words is None else {"item_features": task.known}
    type(model)(**{**model.get_params(deep=False), "max_iter": 1}).fit(task.train[:40], **features)
    begin = cpu()
    model.fit(task.train, **features)
    spent = cpu() - begin
    right = model.item_factors_ if task.words is None else model.fold_in_items(features=task.words)
    found = task.measured(model.user_factors_, right, ("test",))["test"]
    return {"seconds": spent, "sweeps": len(model.history_), **found}


def whole(data: str, small: bool) -> Task:
    """The task without validation pairs: all training pairs are learnt from."""
    if data in COLD:
        return task_of(data, small)
    train, test = load(data)
    return Task(train, train * 0, test)


def read_cells(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted((folder / "quality").glob("*.json"))]


def grouped(cells: list[dict[str, Any]]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """(data, model) → what every seed found."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for cell in cells:
        for name, found in cell["models"].items():
            groups.setdefault((cell["data"], name), []).append(found)
    return groups


def page(cells: list[dict[str, Any]]) -> str:
    """The table of docs/two-tower.md: mean MAP@5."""
    groups = grouped(cells)
    models = ("TwoTower", "OneClassMF, rank 128", "OneClassMF, rank 128, constant", "OneClassMF")
    lines = ["| | seeds | TwoTower | OneClassMF, the same rank | with a constant feature | OneClassMF, rank 64 |"]
    lines += ["|---" * 6 + "|"]
    for data, name in NAMES.items():
        if (data, "TwoTower") not in groups:
            continue
        found = [groups.get((data, model)) for model in models]
        means = ["" if one is None else f"{np.mean([run['map@5'] for run in one]):.4f}" for one in found]
        lines.append(f"| {name} | {len(groups[data, 'TwoTower'])} | {' | '.join(means)} |")
    return "\n".join(lines) + "\n"


def report(cells: list[dict[str, Any]]) -> str:
    lines = [
        "# The default TwoTower beside OneClassMF", "",
        "MAP@5 / nDCG@10 / recall@20 of the test; the mean of the seeds, and for MAP@5 its least and its greatest.", "",
        "| data | model | seeds | MAP@5 | least to greatest | nDCG@10 | recall@20 | CPU s |", "|---" * 8 + "|",
    ]  # fmt: skip
    for (data, name), found in grouped(cells).items():
        means = {metric: float(np.mean([one[metric] for one in found])) for metric in (*METRICS, "seconds")}
        maps = [one["map@5"] for one in found]
        row = [data, name, str(len(found)), f"{means['map@5']:.4f}", f"{min(maps):.4f} to {max(maps):.4f}"]
        row += [f"{means['ndcg@10']:.4f}", f"{means['recall@20']:.4f}", f"{means['seconds']:.1f}"]
        lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=[*WARM, *COLD], choices=[*WARM, *COLD])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--page", action="store_true", help="put the table into docs/two-tower.md too")
    parser.add_argument("--report", action="store_true", help="only write the table again, from the cells")
    options = parse(parser, RESULTS, data=["ml100k", "generated"], seeds=[0])
    folder = options.results / "quality"
    folder.mkdir(parents=True, exist_ok=True)
    towers = {"widths": (4,), "rank": 3, "max_iter": 2} if options.smoke else {}
    for data, seed in [] if options.report else [(data, seed) for data in options.data for seed in options.seeds]:
        one_core(options.smoke)
        task = whole(data, options.smoke)
        for name, model in models_of(task, seed, towers).items():
            found = {name: measured(model, task)}
            merged(folder, f"{data}-{seed}", {"data": data, "seed": seed}, "models", found)
            print(data, seed, found, flush=True)
    cells = read_cells(options.results)
    if not cells:
        raise SystemExit("there are no cells yet: run the script without --report first.")
    (options.results / "quality.md").write_text(report(cells))
    if options.page:
        PAGE.write_text(on_page(PAGE.read_text(), "quality", page(cells)))
    print(report(cells))


if __name__ == "__main__":
    main()
