"""How features should be scaled for MultiLabelMF, by validation inside the training rows of eleven data sets.

    python experiments/labels/scaling.py [--data bibtex …] [--ways "unit rows" …]
    python experiments/labels/scaling.py --report          the table, from what is stored

Every way has a last column of ones and otherwise the defaults. Rows are learnt from and ranked in three folds where
they are fewer than 2,000, otherwise four fifths are learnt from and a fifth is ranked, twice; of delicious, 5,000
training rows. No test row is looked at. Results are stored when they are there, in results/scaling/<data>.json; the
table is results/scaling.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from common import DATA, RESULTS, difference, gains, load, packed

sys.path.insert(0, str(Path(__file__).parents[1]))
from smoke import parse

from everypair import MultiLabelMF
from everypair.features.row_scale import RowScale
from everypair.features.scaling import prepare_features

MOST_ROWS, FEW_ROWS = 5000, 2000
BEFORE = "unit rows"


def unit_rows(X: Any) -> Callable[[Any], Any]:
    return lambda rows: prepare_features(rows, normalize=True, fit_intercept=True)


def by_kind(X: Any) -> Callable[[Any], Any]:
    """idf^½ and unit rows of sparse features, z-scores / √d of dense ones."""
    scale = RowScale.of(X)
    return lambda rows: prepare_features(scale(rows), normalize=False, fit_intercept=True)


def by_kind_cut(X: Any) -> Callable[[Any], Any]:
    """The same, z-scores cut at 3: what became the default of dense features."""
    scale = RowScale.of(X, robust=True)
    return lambda rows: prepare_features(scale(rows), normalize=False, fit_intercept=True)


WAYS: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    BEFORE: unit_rows,
    "idf^½ or z-scores": by_kind,
    "idf^½ or z-scores cut at 3": by_kind_cut,
}


def parts(n: int) -> list[tuple[Any, Any]]:
    """Rows to learn from and rows to rank."""
    if n < FEW_ROWS:
        order = np.random.default_rng(0).permutation(n)
        held = [order[fold::3] for fold in range(3)]
    else:
        held = [np.random.default_rng(seed).permutation(n)[: n // 5] for seed in range(2)]
    return [(np.setdiff1d(np.arange(n), one), one) for one in held]


def validated(way: str, X: Any, Y: Any) -> Any:
    """nDCG@5 of every held-out row that has a label."""
    found = []
    for kept, held in parts(X.shape[0]):
        scale = WAYS[way](X[kept])
        model = MultiLabelMF(normalize=False, fit_intercept=False, threshold=0.0, random_state=0, n_threads=1)
        scores = model.fit(scale(X[kept]), Y[kept]).predict_scores(scale(X[held]))
        found.append(gains(scores, Y[held]))
    return np.concatenate(found)


def report(folder: Path) -> str:
    lines = [
        "# How features are scaled, for MultiLabelMF",
        "",
        "nDCG@5 × 100 of rows held out of the training rows, made by `scaling.py`; no test row is looked at. In",
        f"brackets how much better than {BEFORE} that is, and the standard error paired over held-out rows. z-scores,",
        "over √d, are for dense features (scene, yeast, birds, emotions), idf^½ and unit rows for the others; cutting",
        "z-scores changes nothing where there are none.",
        "",
        "| data | " + " | ".join(WAYS) + " |",
        "|---|" + "---|" * len(WAYS),
    ]
    for name in DATA:
        path = folder / "scaling" / f"{name}.json"
        results = json.loads(path.read_text()) if path.exists() else {}
        if BEFORE not in results:
            continue
        cells = [name]
        for way in WAYS:
            if way not in results or way == BEFORE:
                cells.append(f"{results[way]['ndcg@5']:.1f}" if way in results else "")
                continue
            gain, error = difference(results[way], results[BEFORE])
            cells.append(f"{results[way]['ndcg@5']:.1f} ({gain:+.1f} ± {error:.1f})")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=list(DATA), choices=DATA)
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=list(WAYS))
    parser.add_argument("--report", action="store_true", help="only write the table again, from the JSON")
    options = parse(parser, RESULTS, data=["scene", "rcv1subset1_top944"])
    for name in () if options.report else options.data:
        path = options.results / "scaling" / f"{name}.json"
        path.parent.mkdir(exist_ok=True)
        results = json.loads(path.read_text()) if path.exists() else {}
        X, Y, *_ = load(name)
        if X.shape[0] > 2 * MOST_ROWS:
            X, Y = X[:MOST_ROWS], Y[:MOST_ROWS]
        for way in options.ways:
            if way not in results:
                rows = validated(way, X, Y)
                results[way] = {"ndcg@5": 100 * float(rows.mean()), "rows": packed(rows)}
                path.write_text(json.dumps(results, indent=1) + "\n")
                print(f"{name}, {way}: {results[way]['ndcg@5']:.2f}", flush=True)
    (options.results / "scaling.md").write_text(report(options.results))


if __name__ == "__main__":
    main()
