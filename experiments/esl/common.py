"""What the scripts of this folder share: data, the paper's setting, CPU time on one core, results."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # not on Windows: run one process at a time there
    fcntl = None  # type: ignore[assignment]

sys.path.insert(0, str(Path(__file__).parents[1]))
import datasets
import numpy as np
from pages import on_page
from smoke import parse

from everypair.data import Pairs
from everypair.metrics import stream_metrics
from everypair.models.recommend.defaults import auto_negative_weight
from everypair.neural.inputs import Inputs
from everypair.neural.layers import Layers
from everypair.neural.objective import TowerObjective
from everypair.neural.penalties import Penalties
from everypair.neural.towers import Perceptron
from everypair.problem.losses import get_loss
from everypair.problem.negatives import Negatives

RESULTS = Path(__file__).parent / "results"
OMEGA = {"ml1m": 2.0**-4}  # Table 3; elsewhere the library's rule
LAMBDA = 4.0  # Table 3, ml1m
PAPERS = "_9to1"  # ending of the name of a data set that is split as in the paper
GLOROT = "_glorot"  # ending of a data set's name: rows of ids start as those of a matrix by Glorot do, not at 0.1

__all__ = [
    "RESULTS", "cpu", "figures", "load", "merged", "on_page", "one_core", "parse", "start_of", "tower_objective",
    "write",
]  # fmt: skip


def load(data: str) -> tuple[Any, Any]:
    """(train, test): ml1m a public 80/20, citeulike_t as published (P = 10), the others and ml1m_9to1 9:1."""
    data = data.removesuffix(GLOROT)
    if data == "ml1m":
        archive = datasets.read("ml1m")
        return tuple(datasets.at_least(datasets.sparse(archive, name), 1) for name in ("pos_train", "pos_test"))
    if data == "citeulike_t":
        archive = datasets.read("citeulike_t")
        return tuple(datasets.at_least(datasets.sparse(archive, name), 1) for name in ("train_p10", "test_p10"))
    if data == "citations":
        return datasets.split_entries(
            datasets.at_least(datasets.sparse(datasets.read("citeulike_t"), "citations_sym"), 1), 0.1, random_state=0
        )
    return datasets.split(data.removesuffix(PAPERS))


def tower_objective(train: Any, data: str, widths: tuple[int, ...], rank: int, dtype: Any = np.float32) -> Any:
    """The paper's objective: one-hot ids, ELU, logistic loss, ỹ = −1, uniform weights, ridge on all parameters."""
    pairs, loss = Pairs.from_matrix(train), get_loss("logistic")
    omega = OMEGA.get(data.removesuffix(GLOROT).removesuffix(PAPERS)) or auto_negative_weight("auto", pairs, loss)
    negatives = Negatives.from_scheme(pairs, omega, "uniform", -1.0)
    layers = Layers(widths, rank)
    towers = tuple(Perceptron(Inputs(size), layers, np.dtype(dtype)) for size in pairs.shape)
    if data.endswith(GLOROT):
        towers = tuple(replace(tower, scale=np.sqrt(2 / (tower.n_rows + layers.first))) for tower in towers)
    reg = Penalties(LAMBDA, LAMBDA, LAMBDA, LAMBDA)  # of everything, biases too
    return TowerObjective(pairs, loss, negatives, towers, (reg, reg), dtype=dtype)


def start_of(objective: Any, seed: int = 0) -> Any:
    """The same random parameters for every method."""
    random = np.random.default_rng(seed)
    return tuple(tower.start(random) for tower in objective.towers)


def figures(left: Any, right: Any, train: Any, test: Any, ks: tuple[int, ...] = (5,)) -> dict[str, float]:
    """Ranking metrics of factors; items of the training set are not ranked. map@k is the paper's mean of precisions."""
    found = stream_metrics(lambda rows: left[rows] @ right.T, train, test, ks, n_threads=1)
    papers = {f"map@{k}": found[f"mean_precision@{k}"] for k in ks}
    return {name: float(value) for name, value in (found | papers).items()}


def one_core(smoke: bool) -> None:
    """Keep this process on one core, jax's threads included, but in a smoke run: CPU time is then time on one core."""
    if not smoke and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def cpu() -> float:
    """CPU seconds of this process."""
    return time.process_time()


def write(folder: Path, name: str, record: Any, text: str | None = None) -> None:
    """Write <name>.json and, with a text, <name>.md."""
    (folder / f"{name}.json").write_text(json.dumps(record))
    if text is not None:
        (folder / f"{name}.md").write_text(text)


def merged(folder: Path, name: str, about: dict[str, Any], key: str, entries: dict[str, Any]) -> None:
    """Put ``about``, and ``entries`` under ``key``, into <name>.json; entries of other names stay as they are."""
    path = folder / f"{name}.json"
    with open(Path(tempfile.gettempdir()) / f"everypair-{name}.lock", "w") as lock:
        if fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_EX)
        record = json.loads(path.read_text()) if path.exists() else {}
        record |= about
        record[key] = record.get(key, {}) | entries
        fresh = path.with_suffix(".fresh")
        fresh.write_text(json.dumps(record))
        fresh.replace(path)
