"""Table 4: Full against Ensemble, Subsampled and BPR.

    python experiments/negsel/table4.py [--data ml1m] [--grid quick | paper] [--methods Full BPR …]

Full: parameters by validation on a tenth of the training entries, refitted on all of them, as in the paper. The rivals
skip validation and get the parameters that are best on the *test* entries, as in the paper: an optimistic estimate.
``quick`` is a part of the paper's grids (Table 5) that takes minutes; ``paper`` is all of them and takes hours.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Callable, Iterable
from typing import Any

from common import RESULTS, markdown, measure, published, split, write

from everypair import BPR, EnsembleMF, OneClassMF, SubsampledMF
from everypair.data import split_entries

SCHEMES = ("user", "item-f", "item-w", "item-s", "uniform")
GRIDS: dict[str, dict[str, dict[str, tuple[Any, ...]]]] = {
    "quick": {
        "Full": {"reg": (0.003, 0.01, 0.03, 0.1), "rank": (64,), "negative_weight": (2**-5, 2**-3, 2**-1, 1.0)},
        "Full, logistic": {"reg": (0.2, 0.3, 0.4), "rank": (64,), "negative_weight": (2**-5, 2**-4, 2**-3)},
        "Subsampled": {"reg": (0.03, 0.1), "rank": (16, 64), "ratio": (1, 2), "scheme": ("uniform", "user")},
        "Ensemble": {"reg": (0.03, 0.1), "rank": (64,), "ratio": (1, 2), "scheme": ("uniform",)},
        "BPR": {"reg": (0.003, 0.01, 0.03), "rank": (64,)},
    },
    "paper": {
        "Full": {
            "reg": (1e-4, 1e-3, 1e-2, 1e-1),
            "rank": (16, 32, 64),
            "negative_weight": (2**-5, 2**-3, 2**-1, 1.0),
        },
        "Full, logistic": {"reg": (0.2, 0.3, 0.4), "rank": (64,), "negative_weight": (2**-5, 2**-4, 2**-3)},
        "Subsampled": {
            "reg": (1e-4, 1e-3, 1e-2, 1e-1),
            "rank": (16, 32, 64),
            "ratio": (1, 2),
            "scheme": SCHEMES,
        },
        "Ensemble": {
            "reg": (1e-4, 1e-3, 1e-2, 1e-1),
            "rank": (16, 32, 64),
            "ratio": (1, 2),
            "scheme": SCHEMES,
        },
        "BPR": {"reg": tuple(10.0**-power for power in range(8, 0, -1)), "rank": (64,)},
    },
}


def make(method: str, parameters: dict[str, Any]) -> Any:
    if method == "Full":
        return OneClassMF(loss="squared", reg_exponent="count", max_iter=20, tol=0, random_state=0, **parameters)
    if method == "Full, logistic":
        return OneClassMF(loss="logistic", reg_exponent=0.5, max_iter=20, tol=0, random_state=0, **parameters)
    kinds: dict[str, Callable[..., Any]] = {"Subsampled": SubsampledMF, "Ensemble": EnsembleMF, "BPR": BPR}
    return kinds[method](random_state=0, **parameters)


def points(grid: dict[str, tuple[Any, ...]]) -> Iterable[dict[str, Any]]:
    for values in itertools.product(*grid.values()):
        yield dict(zip(grid, values))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="ml1m")
    parser.add_argument("--grid", choices=tuple(GRIDS), default="quick")
    parser.add_argument("--methods", nargs="+", choices=tuple(GRIDS["quick"]), default=list(GRIDS["quick"]))
    options = parser.parse_args()
    train, test = split(options.data)
    smaller, validation = split_entries(train, 0.1, random_state=1)
    path = RESULTS / f"table4_{options.data}.json"
    rows = json.loads(path.read_text())["rows"] if path.exists() else []
    rows = [row for row in rows if row["method"] not in options.methods]  # what is not run now is kept
    for method, grid in ((name, GRIDS[options.grid][name]) for name in options.methods):
        full = method.startswith("Full")
        fit_on, judge = (smaller, validation) if full else (train, test)
        tried = []
        for parameters in points(grid):
            quality = measure(make(method, parameters).fit(fit_on), fit_on, judge)["ndcg@10"]
            tried.append((quality, parameters))
            print(method, parameters, f"{quality:.2f}", flush=True)
        best = max(tried, key=lambda pair: pair[0])[1]
        model = make(method, best).fit(train)
        rows.append(
            {
                "method": method,
                "parameters": ", ".join(f"{name} {value}" for name, value in best.items()),
                "test": measure(model, train, test),
                "all": measure(model, train, test, "all"),
                "published": published(options.data, method),
                "tried": tried,
            }
        )  # fmt: skip
    rows.sort(key=lambda row: list(GRIDS["quick"]).index(row["method"]))
    note = (
        f"{options.data}, 9:1, percent; grid `{options.grid}`. Full by validation, the others best on the test entries."
        " The split is ours, not the paper's; the published averages run over all users."
    )
    write(f"table4_{options.data}", {"options": vars(options), "rows": rows}, markdown("Table 4", note, rows))


if __name__ == "__main__":
    main()
