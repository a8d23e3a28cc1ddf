"""What the scripts of this folder share: formulations, the choice of parameters, figures, JSON and Markdown results.

The paper's objective has no ½: with the squared loss ρ and λ stay as they are, with the logistic loss our
``negative_weight`` is 2ρ (ρ where the negatives have the logistic loss too) and our ``reg`` 2λ.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
import edges
from datasets import read, sparse
from smoke import parse

from everypair import OneClassMF, Side, SubsampledMF
from everypair.features.scaling import prepare_features
from everypair.metrics import multilabel_metrics
from everypair.models.recommend.rivals.same_loss import SameLossMF

RESULTS = Path(__file__).parent / "results"
KS = (1, 2, 3, 4, 5)
COLUMNS = tuple(f"{name}@{k}" for name in ("precision", "ndcg") for k in KS)
CHOSEN_BY = ("precision@5", "ndcg@5")  # validation figures by which parameters and sweeps are chosen
SWEEPS = 15
PLAIN = Side()
MARKED = f"{edges.LEGEND} Of sweeps only the {SWEEPS}th is an end."
__all__ = ["COLUMNS", "RESULTS", "MultiLabel", "parse"]


def arguments(doc: str | None, data: Iterable[str]) -> argparse.ArgumentParser:
    """The options every table has."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", choices=tuple(data), default=next(iter(data)))
    parser.add_argument("--grid", choices=("quick", "paper", "smoke"), default="quick")
    parser.add_argument("--quick", dest="grid", action="store_const", const="quick", help="the same as --grid quick")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--report", action="store_true", help="only write the table again, from the JSON")
    return parser


def make_model(
    formulation: str, rho: float, lam: float, ratio: float = 1.0, users: Side = PLAIN, **options: Any
) -> Any:
    """A model in the paper's terms; ``options`` are passed on (rank, sweeps), ``users`` but for the ridge."""
    logistic = formulation.startswith("LR")
    reg = 2 * lam if logistic else lam
    common = {"loss": "logistic" if logistic else "squared", "reg": reg, "users": replace(users, feature_reg=reg),
              "reg_exponent": 0, "tol": 0, "random_state": 0, **options}  # fmt: skip
    if formulation.endswith("(S)"):
        return SubsampledMF(ratio=ratio, **common)
    value = 0 if formulation == "SQ-SQ" else -1
    if formulation == "LR-wLR":
        return SameLossMF(negative_weight=rho, negative_value=value, **common)
    return OneClassMF(negative_weight=2 * rho if logistic else rho, negative_value=value, **common)


@dataclass(frozen=True)
class MultiLabel:
    """Features and labels of the rows that are learnt from, and of those that are scored."""

    X: Any
    Y: Any
    X_test: Any
    Y_test: Any

    @classmethod
    def load(cls, name: str) -> MultiLabel:
        archive = read(f"ml_{name}")
        return cls(*(sparse(archive, part) for part in ("X_train", "Y_train", "X_test", "Y_test")))

    def held_out(self, seed: int = 0) -> MultiLabel:
        """Learn from four fifths of the training rows, score the others."""
        order = np.random.default_rng(seed).permutation(self.X.shape[0])
        out, kept = np.split(order, [len(order) // 5])
        return MultiLabel(self.X[kept], self.Y[kept], self.X[out], self.Y[out])

    def fit(self, model: Any, observe: Callable[[dict[str, float]], bool | None] | None = None) -> Any:
        """Fit a model of the rows' features alone; ``observe`` gets the figures of the scored rows at each sweep."""
        X_test = prepare_features(self.X_test, model.users.normalize, model.users.fit_intercept).astype(np.float32)

        def after(sweep: Any) -> bool | None:
            scores = (X_test @ sweep.state.left_parameters) @ sweep.state.right.T
            return observe(multilabel_figures(scores, self.Y_test)) if observe else None

        return model.fit(self.Y, user_features=self.X, callbacks=[after] if observe else [])


def multilabel_figures(scores: Any, truth: Any) -> dict[str, float]:
    """precision@1..5 and nDCG@1..5 over rows with a label, in percent."""
    values = multilabel_metrics(scores, truth, ks=KS, n_threads=1)
    return {name: 100 * values[name] for name in COLUMNS}


Point = dict[str, Any]


def search(
    points: Iterable[Point],
    fit: Callable[[Point, Callable[[dict[str, float]], bool]], Any],
    patience: int | None,
    label: str = "",
) -> list[dict[str, Any]]:
    """Validation figures of every point after every sweep.

    ``fit(point, observe)`` trains and calls ``observe`` with the figures after each sweep; a point is left after
    ``patience`` sweeps in which none of ``CHOSEN_BY`` became better (never, if None).
    """
    tried = []
    for point in points:
        curves: dict[str, list[float]] = {name: [] for name in CHOSEN_BY}

        def observe(figures: dict[str, float], curves: dict[str, list[float]] = curves) -> bool:
            for name, curve in curves.items():
                curve.append(figures[name])
            best = max(int(np.argmax(curve)) for curve in curves.values())
            return patience is not None and len(curve) - 1 - best >= patience

        fit(point, observe)
        tried.append({"point": point, **curves})
        print(label, point, ", ".join(f"{name} {max(curve):.2f}" for name, curve in curves.items()), flush=True)
    return tried


def chosen(tried: list[dict[str, Any]], name: str) -> tuple[Point, int]:
    """The point and the number of sweeps with the highest figure."""
    best = max(tried, key=lambda entry: max(entry[name]))
    return best["point"], int(np.argmax(best[name])) + 1


def powers(*exponents: float) -> tuple[float, ...]:
    return tuple(2.0**exponent for exponent in exponents)


def described(
    point: Point, tried: Iterable[dict[str, Any]], sizes: Callable[[Point], Point] = lambda point: point
) -> str:
    """A point of a grid in a table's cell, powers of two as such, values at an end of those tried marked.

    ``sizes`` gives a point whose values are numbers, where they are not.
    """
    ends = edges.at_ends(sizes(point), (sizes(entry["point"]) for entry in tried))
    return ", ".join(f"{name} {_power(value)}{edges.MARK if name in ends else ''}" for name, value in point.items())


def swept(sweeps: int) -> str:
    """A number of sweeps, marked where more were not tried."""
    return f"{sweeps}{edges.MARK if sweeps == SWEEPS else ''}"


def _power(value: Any) -> str:
    if isinstance(value, float) and value > 0 and float(np.log2(value)).is_integer() and value != 1:
        return f"2^{int(np.log2(value))}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def table(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """A Markdown table; numbers get two digits."""
    head = list(head)
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in rows:
        cells = (f"{cell:.2f}" if isinstance(cell, float) else str(cell) for cell in row)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def stored_rows(folder: Path, name: str, needed: bool = False) -> list[dict[str, Any]]:
    """The rows of an earlier run; none, or the end with a sentence if they are ``needed``, where there was none."""
    path = folder / f"{name}.json"
    if needed and not path.exists():
        sys.exit(f"{path} does not exist: run the script without --report first.")
    return json.loads(path.read_text())["rows"] if path.exists() else []


def replace_row(folder: Path, name: str, keys: tuple[str, ...], row: dict[str, Any]) -> list[dict[str, Any]]:
    """The stored rows with ``row`` instead of that with the same keys: what is not run now is kept."""
    return [old for old in stored_rows(folder, name) if any(old[key] != row[key] for key in keys)] + [row]


def write(folder: Path, name: str, record: Any, text: str) -> None:
    """Write <name>.json and .md into the folder, and show the table."""
    (folder / f"{name}.json").write_text(json.dumps(record, indent=1))
    (folder / f"{name}.md").write_text(text)
    print(text, flush=True)
