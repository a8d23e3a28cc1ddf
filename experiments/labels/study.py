"""Rankings of labels by KernelLabels, MultiLabelMF and tuned one-vs-rest, on eleven data sets, each with defaults.

    python experiments/labels/study.py [--data bibtex …] [--methods KernelLabels …] [--splits published 1 2 3 4 5]
    python experiments/labels/study.py --seconds --data bibtex …     CPU seconds of training anew, on a quiet machine
    python experiments/labels/study.py --report                      the tables, from what is stored

Everything that is chosen is chosen inside the training rows. Each result is stored when it is there, in
results/quality/<data>.json; what is stored is not run again, --anew runs it again. The table is
results/quality.md; docs/multi-label.md has a part of it, results/page.md.
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
import rivals
from common import DATA, PUBLISHED, RESULTS, difference, load, measured

sys.path.insert(0, str(Path(__file__).parents[1]))
from smoke import parse

from everypair import KernelLabels, MultiLabelMF
from everypair.models.multilabel.rivals import SLEEC, FastXML

SPLITS = (PUBLISHED, "1", "2", "3", "4", "5")
OURS = "KernelLabels"
Learnt = tuple[Any, dict[str, Any]]
ON_THE_PAGE = (OURS, "MultiLabelMF", "LinearSVC", "LogisticRegression")
FIGURES = ("precision@1", "precision@3", "precision@5", "ndcg@5")


def model(make: Callable[[], Any], *notes: str) -> Callable[[Any, Any, Any], Learnt]:
    """A classifier of this library with its defaults, on one thread."""

    def learn(X: Any, Y: Any, Z: Any) -> Learnt:
        begin = time.process_time()
        fitted = make().fit(X, Y)
        seconds = time.process_time() - begin
        return fitted.predict_scores(Z), {"cpu": seconds, **{name: getattr(fitted, f"{name}_") for name in notes}}

    return learn


def one_vs_rest(kind: str) -> Callable[[Any, Any, Any], Learnt]:
    return lambda X, Y, Z: rivals.tuned(kind, X, Y, Z)


METHODS: dict[str, Callable[[Any, Any, Any], Learnt]] = {
    OURS: model(lambda: KernelLabels(n_threads=1), "reg", "metric_exponent"),
    "KernelLabels, no metric": model(lambda: KernelLabels(metric_exponent=0.0, n_threads=1), "reg"),
    "MultiLabelMF": model(lambda: MultiLabelMF(random_state=0, n_threads=1)),
    "FastXML": model(lambda: FastXML(random_state=0, threshold=0.5, n_threads=1)),
    "SLEEC": model(lambda: SLEEC(random_state=0, threshold=0.5, n_threads=1)),
    "LinearSVC": one_vs_rest("LinearSVC"),
    "LogisticRegression": one_vs_rest("LogisticRegression"),
}


def path_of(folder: Path, name: str) -> Path:
    return folder / "quality" / f"{name}.json"


def stored(folder: Path, name: str) -> dict[str, Any]:
    path = path_of(folder, name)
    return json.loads(path.read_text()) if path.exists() else {}


def run(folder: Path, name: str, split: str, method: str, seconds_only: bool, anew: bool) -> None:
    """Learn and measure, unless it is stored, and store it."""
    before = stored(folder, name).get(split, {}).get(method)
    if before is not None and not seconds_only and not anew:
        return
    X, Y, Z, truth = load(name, split)
    if seconds_only and method in rivals.START:
        (rows,), C = rivals.prepared(X), before["C"]  # type: ignore[index]
        begin = time.process_time()
        rivals.fit(method, C, rows, Y)
        record = {**before, "cpu": time.process_time() - begin}  # type: ignore[dict-item]
    else:
        scores, notes = METHODS[method](X, Y, Z)
        record = {**before, "cpu": notes["cpu"]} if seconds_only and before else {**measured(scores, truth), **notes}
    record["cpu"] = round(record["cpu"], 2)
    results = stored(folder, name)
    results.setdefault(split, {})[method] = record
    path_of(folder, name).parent.mkdir(exist_ok=True)
    path_of(folder, name).write_text(json.dumps(results, indent=1) + "\n")
    shown = " ".join(f"{record[figure]:.2f}" for figure in FIGURES)
    print(f"{name} {split} {method}: {shown}, {record['cpu']} s", flush=True)


def lines_of(folder: Path, name: str) -> list[str]:
    """A line for every method of a data set; several drawn splits are one line of their mean."""
    results, lines = stored(folder, name), []
    drawn = [split for split in results if split != PUBLISHED and OURS in results[split]]
    for splits in ([PUBLISHED], drawn):
        present = [one for one in splits if one in results]
        if not present:
            continue
        for method in METHODS:
            records = [results[split][method] for split in present if method in results[split]]
            if len(records) < len(present):
                continue
            mean = {key: float(np.mean([record[key] for record in records])) for key in (*FIGURES, "cpu")}
            label = name if splits != drawn else f"{name}, mean of {len(present)} new splits"
            behind = ""
            if method != OURS and all(OURS in results[split] for split in present):
                gaps = [difference(results[split][OURS], record) for split, record in zip(present, records)]
                gap = float(np.mean([one for one, _ in gaps]))
                error = float(np.sqrt(np.sum([error**2 for _, error in gaps]))) / len(gaps)
                behind = f"{gap:+.1f} ± {error:.1f}"
            precision = "/".join(f"{mean[f'precision@{k}']:.1f}" for k in (1, 3, 5))
            lines.append(
                f"| {label} | `{method}` | {precision} | {mean['ndcg@5']:.1f} | {behind} | {mean['cpu']:.1f} |"
            )
    return lines


def report(folder: Path) -> str:
    """All results as one table."""
    lines = [
        "# Rankings of labels",
        "",
        "Precision@1/3/5 over all test rows, nDCG@5 over those with a label, × 100; made by `study.py`. Every method",
        "has its defaults or is tuned inside the training rows (C of one-vs-rest by validation). The difference is",
        "`KernelLabels()` less the method, nDCG@5, with its standard error paired over test rows, which does not",
        "contain the choice of settings. CPU seconds of training are those of one thread, of one-vs-rest at its C.",
        "",
        "| data | method | precision@1/3/5 | nDCG@5 | `KernelLabels()` ahead by | CPU s |",
        "|---|---|---|---|---|---|",
    ]
    return "\n".join(lines + [line for name in DATA for line in lines_of(folder, name)]) + "\n"


def page_lines(folder: Path) -> list[str]:
    """The part of it that docs/multi-label.md has: nDCG@5, the best of a row in bold."""
    lines = [
        "| data | `KernelLabels()` | `MultiLabelMF()` | linear SVM | logistic regression |",
        "|---|---|---|---|---|",
    ]
    for name in DATA:
        results = stored(folder, name).get(PUBLISHED, {})
        values = [results[method]["ndcg@5"] if method in results else None for method in ON_THE_PAGE]
        best = f"{max(value for value in values if value is not None):.1f}" if any(values) else ""
        shown = ["" if value is None else f"{value:.1f}" for value in values]
        cells = [f"**{cell}**" if cell == best and shown.count(best) < len(shown) else cell for cell in shown]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=list(DATA), choices=DATA)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--splits", nargs="+", default=[PUBLISHED], choices=SPLITS)
    parser.add_argument("--seconds", action="store_true", help="measure CPU seconds of training anew, and nothing else")
    parser.add_argument("--anew", action="store_true", help="run what is stored again")
    parser.add_argument("--report", action="store_true", help="only write the table again, from the JSON")
    options = parse(parser, RESULTS, data=["scene", "rcv1subset1_top944"], splits=[PUBLISHED, "1"])
    for name in () if options.report else options.data:
        for split in options.splits:
            for method in options.methods:
                run(options.results, name, split, method, options.seconds, options.anew)
    (options.results / "quality.md").write_text(report(options.results))
    (options.results / "page.md").write_text("\n".join(page_lines(options.results)) + "\n")


if __name__ == "__main__":
    main()
