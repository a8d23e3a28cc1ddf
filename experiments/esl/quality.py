"""The default TwoTower beside the default OneClassMF, with the same information: MAP@5, nDCG@10, recall@20.

    python experiments/esl/quality.py [--data ml1m ml1m_9to1 ml100k …] [--seeds 0 1 2] [--report]

Both learn from all training pairs, with nothing chosen on the way. Sets whose name ends in _cold, and the generated one
whose taste is the exclusive or of two features, ask for items that were not in training and are known by features alone
(tasks of beside.py: neither has rows of ids for items, validation items are left out). One cell for every (data, seed)
in quality/*.json, with CPU seconds on one thread. Writes quality.md.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np
from beside import METRICS, Task, task_of
from common import RESULTS, cpu, load, one_core, parse

from everypair import OneClassMF, Side, TwoTower

WARM = ("ml100k", "ml1m", "ml1m_9to1", "lastfm_hetrec", "citeulike_t", "debian")
COLD = ("ml1m_cold", "citeulike_t_cold", "generated")


def models_of(task: Task, seed: int, towers: dict[str, Any]) -> dict[str, Any]:
    """Both, OneClassMF of its default rank 64 (or the towers', if that is less) and of the towers'."""
    rank = towers.get("rank", 128)
    shared: dict[str, Any] = {"random_state": seed, "n_threads": 1}
    if task.words is not None:
        items = Side(own_vectors=False)
        return {
            "TwoTower": TwoTower(**towers, **shared, own_vectors=(True, False)),
            "OneClassMF": OneClassMF(**shared, items=items, rank=min(64, rank)),
            f"OneClassMF, rank {rank}": OneClassMF(**shared, items=items, rank=rank),
        }
    return {
        "TwoTower": TwoTower(**towers, **shared),
        "OneClassMF": OneClassMF(**shared, rank=min(64, rank)),
        f"OneClassMF, rank {rank}": OneClassMF(**shared, rank=rank),
    }


def measured(model: Any, task: Task) -> dict[str, Any]:
    """Train once for the kernels, once for the clock; the test's figures."""
    features = {} if task.words is None else {"item_features": task.known}
    type(model)(**{**model.get_params(deep=False), "max_iter": 1}).fit(task.train, **features)
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


def report(cells: list[dict[str, Any]]) -> str:
    lines = [
        "# The default TwoTower beside OneClassMF", "",
        "MAP@5 / nDCG@10 / recall@20 of the test; the mean of the seeds, and for MAP@5 its least and its greatest.", "",
        "| data | model | seeds | MAP@5 | least to greatest | nDCG@10 | recall@20 | CPU s |", "|---" * 8 + "|",
    ]  # fmt: skip
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for cell in cells:
        for name, found in cell["models"].items():
            groups.setdefault((cell["data"], name), []).append(found)
    for (data, name), found in groups.items():
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
    parser.add_argument("--report", action="store_true", help="only write the table again, from the cells")
    options = parse(parser, RESULTS, data=["ml100k", "generated"], seeds=[0])
    folder = options.results / "quality"
    folder.mkdir(parents=True, exist_ok=True)
    towers = {"widths": (4,), "rank": 3, "max_iter": 2} if options.smoke else {}
    for data, seed in [] if options.report else [(data, seed) for data in options.data for seed in options.seeds]:
        one_core(options.smoke)
        task = whole(data, options.smoke)
        found = {name: measured(model, task) for name, model in models_of(task, seed, towers).items()}
        (folder / f"{data}-{seed}.json").write_text(json.dumps({"data": data, "seed": seed, "models": found}))
        print(data, seed, found, flush=True)
    cells = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    if not cells:
        raise SystemExit("there are no cells yet: run the script without --report first.")
    (options.results / "quality.md").write_text(report(cells))
    print(report(cells))


if __name__ == "__main__":
    main()
