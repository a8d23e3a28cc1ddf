"""The one training path of every estimator that iterates: kernels compiled and announced, then the loop."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol, TypeVar, runtime_checkable

from everypair.progress import Progress
from everypair.solvers.loop import Callback, Outcome, Solver, Standing, Status, StopRules, Sweep, run
from everypair.solvers.state import State
from everypair.training.interruption import warn_interrupted

S = TypeVar("S", bound=State)
COMPILING = "compiling kernels, first run only …"
PATIENCE_SECONDS = 1.0  # loading compiled kernels from disk takes less


@runtime_checkable
class Keeper(Protocol):
    """What keeps a training on disk, given among the callbacks (see :class:`everypair.Checkpoint`).

    ``sharded``: it keeps shards of factors that are on a cluster.
    """

    sharded: bool

    def resume(self, identity: Any, solver: Any, rules: StopRules) -> Standing[Any] | None:
        """Return where an earlier run of the same training stood, and tell the solver what it knew there."""
        ...

    def keep(self, identity: Any, solver: Any, standing: Standing[Any]) -> None:
        """Told after every sweep."""
        ...


def train(
    solver: Solver[S],
    start: S,
    rules: StopRules,
    *,
    warm_up: Callable[[], object] | None = None,
    validate: Callable[[S], dict[str, float]] | None = None,
    monitor: str = "ndcg@10",
    callbacks: tuple[Callback, ...] = (),
    verbose: bool = False,
    identity: Any = None,
) -> Outcome[S]:
    """Run ``solver`` from ``start`` until a rule stops it, and show how it goes.

    ``warm_up`` takes the solver's steps on next to nothing, so that compilation is over (and announced) before the
    clock starts. ``validate`` measures a state after every sweep; ``monitor`` names the metric that ``patience``
    watches and the progress bar shows. A warm start is a ``start`` that was learnt before. Ctrl-C keeps the sweeps that
    are done and warns; before the first of them it raises ``KeyboardInterrupt``.
    ``identity`` is what the result depends on, an estimator and its checked data: a :class:`Keeper` among the callbacks
    goes on with a training of the same identity only.
    """
    keeper, callbacks = _keeper(callbacks)
    with Progress(rules.max_iter, "sweeps", not verbose, at_most=True, last_line=True) as progress:
        if warm_up is not None:
            _announced(warm_up, progress)
        resumed = None if keeper is None else keeper.resume(identity, solver, rules)
        outcome = run(
            solver, start, rules, validate=validate, monitor=monitor,
            callbacks=(shown_sweeps(progress, monitor), *callbacks), resumed=resumed,
            keep=None if keeper is None else partial(keeper.keep, identity, solver),
        )  # fmt: skip
    if outcome.status is Status.INTERRUPTED:
        if not outcome.history:
            raise KeyboardInterrupt
        warn_interrupted(f"the model is what {len(outcome.history)} of {rules.max_iter} sweeps have learnt.")
    return outcome


def shown_sweeps(progress: Progress, monitor: str = "") -> Callback:
    """A callback that shows every finished sweep with its objective and the monitored metric."""

    def advance(sweep: Sweep) -> None:
        metric = f"  {monitor} {sweep.metrics[monitor]:.4f}" if monitor in sweep.metrics else ""
        progress.reach(sweep.iteration, f"objective {sweep.objective:.6g}{metric}")

    return advance


def check_keeper(callbacks: tuple[Any, ...], sharded: bool) -> None:
    """Refuse a checkpoint of one machine on a cluster, and the other way round, before any work."""
    for callback in callbacks:
        if isinstance(callback, Keeper) and callback.sharded != sharded:
            if sharded:
                raise ValueError("on a cluster a training is kept by a ShardCheckpoint: from everypair.distribute.")
            raise ValueError("a ShardCheckpoint belongs to a training on a cluster: use Checkpoint here.")


def _keeper(callbacks: tuple[Any, ...]) -> tuple[Keeper | None, tuple[Callback, ...]]:
    """The one keeper among callbacks, and the others."""
    keepers = [callback for callback in callbacks if isinstance(callback, Keeper)]
    if len(keepers) > 1:
        raise ValueError(f"give one checkpoint, not {len(keepers)}.")
    others = tuple(callback for callback in callbacks if not isinstance(callback, Keeper))
    return (keepers[0] if keepers else None), others


def _announced(warm_up: Callable[[], object], progress: Progress) -> None:
    announcement = threading.Timer(PATIENCE_SECONDS, progress.say, [COMPILING])
    announcement.daemon = True
    announcement.start()
    try:
        warm_up()
    finally:
        announcement.cancel()
