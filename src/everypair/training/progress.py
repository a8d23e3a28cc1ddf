"""What a person sees while a model trains: a progress bar, and a word when kernels are being compiled."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

import numpy as np
import scipy.sparse as sp

from everypair.data.pairs import Pairs
from everypair.features.laplacian import Laplacian
from everypair.features.matrix import Features
from everypair.problem.embedding import SideInformation
from everypair.problem.negatives import Negatives
from everypair.problem.objective import Objective
from everypair.problem.ridge import Ridge
from everypair.solvers.alternating import Factors
from everypair.solvers.loop import Solver, Sweep

COMPILING = "compiling kernels, first run only …"
PATIENCE_SECONDS = 1.0  # loading compiled kernels from disk takes less


class Progress:
    """A bar over sweeps on standard error if ``verbose``; otherwise only a word on slow compilation."""

    def __init__(self, total: int, verbose: bool) -> None:
        self.total = total
        self.verbose = verbose
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Progress:
        if self.verbose:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("{task.fields[note]}"),
                console=Console(stderr=True),
            )
            self._task = self._bar.add_task("sweeps", total=self.total, note="")
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def say(self, sentence: str) -> None:
        """Print a sentence if somebody is watching."""
        if self._bar is not None:
            self._bar.console.print(sentence)
        elif sys.stderr.isatty():
            print(sentence, file=sys.stderr)

    def advance(self, sweep: Sweep) -> None:
        """Show a finished sweep: a callback of the training loop."""
        if self._bar is not None:
            metrics = "".join(f"  {name} {value:.4f}" for name, value in sweep.metrics.items() if name == "ndcg@10")
            self._bar.update(self._task, completed=sweep.iteration, note=f"objective {sweep.objective:.6g}{metrics}")


def compile_first(
    make_solver: Callable[[Objective], Solver], objective: Objective, columns: int, progress: Progress
) -> None:
    """Run one sweep on two pairs, so that compilation is over (and announced) before the clock starts."""
    dtype = objective.dtype
    pairs = Pairs.from_matrix(np.eye(2), dtype=dtype)
    value = objective.negatives.value
    tiny_value = (np.ones((2, 1)), np.ones((2, 1))) if isinstance(value, tuple) else 0.0
    tiny = type(objective)(
        pairs,
        objective.loss,
        Negatives.from_scheme(pairs, 1.0, "constant", tiny_value),
        Ridge.checked(1.0, 0.0),
        dtype=dtype,
        known=(_on_two_entities(objective.known[0], dtype), _on_two_entities(objective.known[1], dtype)),
    )
    left, right = (np.ones((len(embedding.ridge), columns), dtype) for embedding in tiny.embeddings)
    ones = np.ones((2, columns), dtype)
    start = Factors(ones, ones, left_parameters=left, right_parameters=right)
    announcement = threading.Timer(PATIENCE_SECONDS, progress.say, [COMPILING])
    announcement.daemon = True
    announcement.start()
    try:
        make_solver(tiny).step(start)
    finally:
        announcement.cancel()


def _on_two_entities(known: SideInformation | None, dtype: Any) -> SideInformation | None:
    """Return side information of the same kinds about two entities."""
    if known is None:
        return None
    features = graph = None
    if known.features is not None:
        features = Features(np.eye(2) if known.features.dense is not None else sp.eye_array(2, format="csr"), dtype)
    if known.graph is not None:
        graph = Laplacian.from_similarity(np.ones((2, 2)), dtype=dtype)
    return SideInformation(features, 1.0, known.own, graph, 1.0)
