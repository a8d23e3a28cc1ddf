"""What the scripts of this folder share: data, methods with their grids, the choice of parameters, results.

A share ω of all entries, drawn uniformly, is observed; everything else is the test. The regularisation is that with the
best AUC (two values), r² (ratings) or average precision (labels) at a held-out fifth of the *observed* entries of the
first draw, by shares of the value from which on a model is zero; all draws then use it. Nothing is chosen by the test.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).parents[1]))
from datasets import read, sparse

from everypair.data.observed import Observed
from everypair.features import SpectralFeatures
from everypair.features.row_scale import RowScale
from everypair.metrics import completion_metrics
from everypair.models.completion import MLRM
from everypair.models.completion.rivals import FNNM, FPCA, IMC, SIMC, Maxide

RESULTS = Path(__file__).parent / "results"
HELD_OUT = 0.2
NUCLEAR, L1, REG = (1.0, 0.5, 0.2, 0.05), (0.1, 0.03, 0.01, 0.003), (0.01, 0.03, 0.1, 0.3)
FURTHER = (*NUCLEAR, 0.02, 0.01)
SEARCH = {"max_iter": 60, "tol": 1e-3}


@dataclass(frozen=True)
class Case:
    """A matrix that is known as a whole (``truth``), or at ``known`` entries, and features of both sides."""

    name: str
    truth: Any
    left: Any = None
    right: Any = None
    known: Any = None

    def draw(self, rate: float, seed: int) -> Any:
        """Which entries are observed: a share of the known ones."""
        chosen = np.random.default_rng(seed).random(self.truth.shape) < rate
        return chosen if self.known is None else chosen & self.known

    def hidden(self, mask: Any) -> Any:
        return ~mask if self.known is None else self.known & ~mask


def interactions(name: str, power: float = 0.5) -> Case:
    """Drug × target, with features from both similarities: AAᵀ is the similarity up to 90 % of its spectrum.

    ``power=0`` gives orthonormal features instead.
    """
    archive = read("dti_yamanishi")
    key = {"Enzymes": "e", "GPCRs": "gpcr"}[name]
    features = SpectralFeatures(0.9, power, symmetrize=True)
    sides = [features.fit_transform(archive[f"{key}_{side}_sim"]) for side in ("drug", "target")]
    return Case(name, archive[f"{key}_Y"].astype(float), *sides)


def ratings() -> Case:
    """ml100k; the test are its own ratings that are not observed."""
    archive = read("ml100k")
    truth = np.zeros(tuple(archive["shape"]))
    truth[archive["user"], archive["item"]] = archive["rating"]
    return Case("ml100k", truth, archive["user_features"], archive["item_features"], truth > 0)


def labels(name: str, prepared: bool = False) -> Case:
    """All rows of a multi-label data set; features in columns of unit length, C = I.

    ``prepared``: z-scores, or rare features more and rows of unit length where X is sparse, and a constant.
    """
    archive = read(f"ml_{name}")
    X, Y = (sp.vstack([sparse(archive, f"{part}_{half}") for half in ("train", "test")]) for part in "XY")
    if prepared:
        rows = RowScale.of(X.astype(float))(X.astype(float))
        rows = rows.toarray() if sp.issparse(rows) else rows
        return Case(name, Y.toarray().astype(float), np.column_stack([rows, np.ones(len(rows))]))
    dense = X.toarray().astype(float)
    lengths = np.linalg.norm(dense, axis=0)
    kept = dense[:, lengths > 0] / lengths[lengths > 0]
    features = SpectralFeatures(0.9, power=0.5).fit_transform(kept) if kept.shape[1] > 300 else kept
    return Case(name, Y.toarray().astype(float), features)


def generated(n: int = 60, m: int = 40) -> Case:
    """A small matrix of two values that features explain in part: for a run that only shows that everything runs."""
    random = np.random.default_rng(0)
    left, right = random.standard_normal((n, 5)), random.standard_normal((m, 4))
    score = left @ random.standard_normal((5, 4)) @ right.T + random.standard_normal((n, m))
    return Case("generated", (score > 2).astype(float), left, right)


@dataclass(frozen=True)
class Method:
    """How a model is made and whether it sees features; limits of a fit and shares of λ1 where these are chosen."""

    make: Callable[..., Any]
    features: bool = True
    search: dict[str, Any] = field(default_factory=lambda: SEARCH)
    nuclear: tuple[float, ...] = NUCLEAR
    l1: tuple[float, ...] = L1

    def fit(self, case: Case, mask: Any, regularisation: dict[str, float], **limits: Any) -> Any:
        sides = {"left_features": case.left, "right_features": case.right} if self.features else {}
        return self.make(**regularisation, **limits).fit(case.truth, mask, **sides)

    def grid(self, case: Case, mask: Any) -> list[tuple[dict[str, float], bool]]:
        """Points of the grid and whether they lie at one of its ends, from strong to weak."""
        model = self.make()
        observed = Observed.from_matrix(case.truth, mask)
        sides = (case.left, case.right) if self.features else (None, None)
        strongest = model._strongest(model._prepare(model._data(observed, *sides)))
        names = [name for name in model.regularisers if strongest[name] > 0]
        shares = {"nuclear_reg": self.nuclear, "l1_reg": self.l1, "reg": REG}
        idle = {name: 0.0 for name in model.regularisers if name not in names}
        points = []
        for chosen in product(*(shares[name] for name in names)):
            ends = any(_at_end(name, share, shares[name]) for name, share in zip(names, chosen))
            values = {name: share * strongest[name] for name, share in zip(names, chosen)}
            points.append(({**idle, **values}, ends))
        return points


def _at_end(name: str, share: float, shares: tuple[float, ...]) -> bool:
    """Whether a grid could go on from here; a nuclear norm of share 1 is M = 0, beyond which there is nothing."""
    return share == shares[-1] or (share == shares[0] and name != "nuclear_reg")


def mlrm(variant: str) -> Callable[..., Any]:
    return lambda **options: MLRM(**{"variant": variant, **options})


def longer(make: Callable[..., Any], features: bool = True, search: int = 150, **fixed: Any) -> Method:
    """A method whose fits go on until they converge, nearly so where it is chosen, and a grid that goes on."""
    limits = {"max_iter": search, "tol": 1e-3}
    return Method(lambda **options: make(**{**fixed, **options}), features, limits, FURTHER, (*L1, 0.001, 0.0003))


METHODS = {
    # whole fits, as 60 iterations would end on the way of its continuation, and a grid that goes on
    "FPCA": Method(FPCA, features=False, search={}, nuclear=FURTHER),
    "SIMC": Method(SIMC),
    "FNNM": Method(FNNM),
    "IMC": Method(IMC),
    "Maxide": Method(lambda **options: Maxide(**{"orthonormal": False, **options})),
    "MLRM": Method(mlrm("local")),
    "MLRM'": Method(mlrm("noise")),
    "MLRM global": Method(mlrm("global")),
    "MLRM transductive": Method(mlrm("transductive"), features=False),
}

PLAIN = {"coding": None, "accelerate": False, "max_iter": 3000}  # as printed: zeros where nothing is known, no momentum
PLAIN_STEPS = "FNNM, plain steps"  # of the paper, for their number, at FNNM's point
PRINTED = {
    **{name: METHODS[name] for name in ("FPCA", "IMC")},
    "SIMC": longer(SIMC, search=60, max_iter=1000),
    "FNNM": longer(FNNM, search=60, accelerate=True, max_iter=2000),
    PLAIN_STEPS: longer(FNNM, max_iter=3000),
    "MLRM": longer(mlrm("local"), **PLAIN),
    "MLRM'": longer(mlrm("noise"), **PLAIN),
    "MLRM global": longer(mlrm("global"), **PLAIN),
    "MLRM transductive": longer(mlrm("transductive"), features=False, **PLAIN),
}


def measure(case: Case, model: Any, where: Any) -> dict[str, float]:
    completed = model.complete()
    if case.known is not None:
        completed = np.clip(completed, 1, 5)
    return completion_metrics(completed, case.truth, where)


def choose(case: Case, method: Method, mask: Any, metric: str) -> tuple[dict[str, float], bool]:
    """The point of the grid that is best at a held-out fifth of the observed entries, and whether it is at an end."""
    out = mask & (np.random.default_rng(10_000).random(mask.shape) < HELD_OUT)
    kept = mask & ~out
    best: tuple[float, dict[str, float], bool] | None = None
    for point, at_end in method.grid(case, kept):
        quality = measure(case, method.fit(case, kept, point, **method.search), out)[metric]
        if best is None or quality > best[0]:
            best = quality, point, at_end
    assert best is not None
    return best[1], best[2]


def run_cell(
    case: Case, name: str, rate: float, draws: int, metric: str, figures: tuple[str, ...],
    before: dict[str, Any] | None = None, methods: dict[str, Method] = METHODS,
) -> dict[str, Any]:  # fmt: skip
    """One method at one rate: chosen once, measured on every draw; a cell ``before`` keeps its choice and its draws."""
    method, start = methods[name], time.process_time()
    if before is None:
        point, at_end = choose(case, method, case.draw(rate, 0), metric)
        cell: dict[str, Any] = {"regularisation": point, "at_end_of_grid": at_end}
        cell |= {"choosing_cpu": time.process_time() - start, "runs": []}
    else:
        cell = {**before, "runs": list(before["runs"])}
    for seed in range(len(cell["runs"]), draws):
        mask, start = case.draw(rate, seed), time.process_time()
        model = method.fit(case, mask, cell["regularisation"])
        seconds = time.process_time() - start
        found = measure(case, model, case.hidden(mask))
        cell["runs"].append({**{key: found[key] for key in figures}, "cpu": seconds, "iterations": model.n_iter_})
    return cell


def mean_and_spread(cell: dict[str, Any], figure: str) -> tuple[float, float]:
    values = [run[figure] for run in cell["runs"]]
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")


class Store:
    """Results of a script as JSON, kept after every cell; what is there, or in ``others``, is not run again."""

    def __init__(
        self, name: str, smoke: bool, others: tuple[str, ...] = (), folder: Path = RESULTS, anew: bool = False
    ) -> None:
        self.path = None if smoke else folder / f"{name}.json"
        self.anew, self.made = anew, set[str]()
        self.cells: dict[str, Any] = {}
        self.others: dict[str, Any] = {}
        if self.path is not None and self.path.exists():
            self.cells = json.loads(self.path.read_text())
        for other in others:
            path = folder / f"{other}.json"
            if not smoke and path.exists():
                self.others |= json.loads(path.read_text())

    def known(self) -> dict[str, Any]:
        """All cells, those of other scripts included."""
        return {**self.others, **self.cells}

    def get(self, key: str, make: Callable[[dict[str, Any] | None], dict[str, Any]], draws: int = 1) -> dict[str, Any]:
        """The cell of ``key``, made where it is not known; one of fewer than ``draws`` draws gets the others."""
        before = None if self.anew and key not in self.made else self.known().get(key)
        self.made.add(key)
        if before is None or len(before["runs"]) < draws:
            cell = make(before)
            if self.path is not None:
                self._keep(key, cell)
            self.cells[key] = cell
            print(key, {k: round(v, 4) for k, v in cell["runs"][0].items()}, flush=True)
        return self.known()[key]

    def _keep(self, key: str, cell: dict[str, Any]) -> None:
        """Write the cell beside what is in the file by now: several runs of a script may work on it at once."""
        assert self.path is not None
        self.path.parent.mkdir(exist_ok=True)
        folder = os.open(self.path.parent, os.O_RDONLY)
        fcntl.flock(folder, fcntl.LOCK_EX)
        if self.path.exists():
            self.cells = json.loads(self.path.read_text())
        unfinished = self.path.with_suffix(".part")
        unfinished.write_text(json.dumps({**self.cells, key: cell}, indent=1) + "\n")
        unfinished.replace(self.path)  # a run that is ended while writing spoils nothing
        os.close(folder)

    def write(self, name: str, lines: list[str]) -> None:
        text = "\n".join(lines) + "\n"
        print(text)
        if self.path is not None:
            (self.path.parent / name).write_text(text)


def arguments(description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--smoke", action="store_true", help="generated data, one draw, nothing written")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of results (beside the script)")
    parser.add_argument("--anew", action="store_true", help="also what is stored")
    parser.add_argument("--plot", action="store_true", help="write a figure too (needs the extra plot)")
    return parser
