"""Rankings of labels on bibtex where a share of all labels is known, drawn uniformly: four methods, each with defaults.

    python experiments/labels/missing.py [--known 20 40 60 80] [--seeds 0 1 2] [--methods KernelLabels …]
    python experiments/labels/missing.py --report          the table, from what is stored

Test rows have all their labels. Results are stored when they are there, in results/missing.json; the table is
results/missing.md, and docs/multi-label.md has it.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from common import RESULTS, load, measured

sys.path.insert(0, str(Path(__file__).parents[1]))
from smoke import parse

from everypair import KernelLabels, MultiLabelMF
from everypair.models.multilabel.rivals import BinaryRelevance

KNOWN = (20, 40, 60, 80)
METHODS: dict[str, Callable[[], Any]] = {
    "KernelLabels": lambda: KernelLabels(unlabeled="missing", n_threads=1),
    "MultiLabelMF": lambda: MultiLabelMF(unlabeled="missing", random_state=0, n_threads=1),
    "BinaryRelevance": lambda: BinaryRelevance(unlabeled="missing", n_threads=1),
    "KernelLabels, unknown as negatives": lambda: KernelLabels(n_threads=1),
}
ZEROS = "KernelLabels, unknown as negatives"


def run(method: str, parts: Any, known: int, seed: int) -> dict[str, Any]:
    X, Y, Z, truth = parts
    mask = np.random.default_rng(seed).random(Y.shape) < known / 100
    given = Y.toarray() * mask
    begin = time.process_time()
    model = METHODS[method]().fit(X, given, **({} if method == ZEROS else {"mask": mask}))
    seconds = time.process_time() - begin
    found = measured(model.predict_scores(Z), truth)
    return {name: round(value, 3) for name, value in found.items() if name != "rows"} | {"cpu": round(seconds, 2)}


def report(results: dict[str, Any]) -> str:
    lines = [
        "# Bibtex with labels missing",
        "",
        "Precision@1/3/5 and nDCG@5 × 100 of the published test rows, means over seeds that draw the known labels;",
        "made by `missing.py`. Every method has its defaults; CPU seconds of training are of one thread, busy machine.",
        "",
        "| known | method | seeds | precision@1/3/5 | nDCG@5 | CPU s |",
        "|---|---|---|---|---|---|",
    ]
    for known in KNOWN:
        for method in METHODS:
            found = [one for name, one in results.items() if name.rsplit(" ", 1)[0] == f"{known} {method}"]
            if found:
                mean = {key: float(np.mean([one[key] for one in found])) for key in found[0]}
                precision = "/".join(f"{mean[f'precision@{k}']:.1f}" for k in (1, 3, 5))
                cells = f"{len(found)} | {precision} | {mean['ndcg@5']:.1f} | {mean['cpu']:.1f}"
                lines.append(f"| {known} % | `{method}` | {cells} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--known", nargs="+", type=int, default=list(KNOWN), choices=KNOWN, help="percent of labels")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--report", action="store_true", help="only write the table again, from the JSON")
    options = parse(parser, RESULTS, known=[40])
    path = options.results / "missing.json"
    results = json.loads(path.read_text()) if path.exists() else {}
    parts = None if options.report else load("bibtex")
    for known in () if options.report else options.known:
        for method in options.methods:
            for seed in options.seeds:
                name = f"{known} {method} {seed}"
                if name not in results:
                    results[name] = run(method, parts, known, seed)
                    path.write_text(json.dumps(results, indent=1) + "\n")
                    print(name, results[name], flush=True)
    (options.results / "missing.md").write_text(report(results))


if __name__ == "__main__":
    main()
