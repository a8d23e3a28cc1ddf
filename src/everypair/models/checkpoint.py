"""Checkpoints: where training stands, on disk after every few sweeps, and gone on from with the same bits.

A checkpoint holds everything the next sweep depends on: the solver's state (momentum included), what the solver keeps
besides (random numbers, sums of squares), the history, the best sweep so far and how long ago it was. It is a file like
a model's, written atomically, and without the data: those are given again, and compared by fingerprints.
"""

from __future__ import annotations

import os
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from everypair.check import integer
from everypair.models.codec import Arrays, decode, encode, storable
from everypair.problem.completion.low_rank import LowRank
from everypair.problem.gram import Gram
from everypair.solvers.completion.feature_nuclear import MaskedState
from everypair.solvers.completion.fixed_point import FixedPointState
from everypair.solvers.completion.gaussian_rows import GaussianRowsState
from everypair.solvers.completion.inductive import InductiveState
from everypair.solvers.completion.interactive import InteractiveState
from everypair.solvers.completion.maxide import WeightsState
from everypair.solvers.completion.neighborhood import NeighborhoodState
from everypair.solvers.completion.ranking import RankingState
from everypair.solvers.loop import Remembering, Standing, StopRules, Sweep, Volatile
from everypair.solvers.momentum import MomentumState
from everypair.solvers.state import Factors
from everypair.store import ModelFileError, read_file, write_file
from everypair.training.fingerprint import fingerprint

KIND = "checkpoint"
FREE = ("max_iter", "time_limit", "n_threads", "verbose")  # parameters that change no sweep
KEYS = {"class", "parameters", "data", "standing", "memory"}

for _cls in (
    FixedPointState, Factors, GaussianRowsState, Gram, InductiveState, InteractiveState, LowRank, MaskedState,
    MomentumState, NeighborhoodState, RankingState, WeightsState,
):  # fmt: skip
    storable(_cls, f"solver.{_cls.__name__}")


class Checkpoint:
    """Keep a training in a file after every so many sweeps; give it among the callbacks of ``fit``.

    Where the file exists, ``fit`` goes on from it and ends with the bits of a training that was never interrupted. That
    needs the same data and the same parameters (``max_iter``, ``time_limit``, ``n_threads`` and ``verbose`` may
    differ) and a number as ``random_state``; a checkpoint of anything else is refused, not overwritten. The file stays
    when training ends, so that a greater ``max_iter`` goes on from it. What comes before the sweeps, such as a search
    for ``reg="auto"``, is done again.

    Parameters
    ----------
    path : the file.
    every : number of sweeps between two writes.

    Examples
    --------
    >>> import tempfile
    >>> from everypair import OneClassMF
    >>> blocks = np.kron(np.eye(2), np.ones((6, 5)))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     keep = Checkpoint(f"{folder}/run.ckpt", every=2)
    ...     part = OneClassMF(rank=2, tol=0, max_iter=5, random_state=0).fit(blocks, callbacks=[keep])
    ...     whole = OneClassMF(rank=2, tol=0, max_iter=8, random_state=0).fit(blocks, callbacks=[keep])
    >>> len(whole.history_)
    8
    >>> fresh = OneClassMF(rank=2, tol=0, max_iter=8, random_state=0).fit(blocks)
    >>> np.array_equal(whole.user_factors_, fresh.user_factors_)
    True
    """

    sharded = False

    def __init__(self, path: Any, every: int = 5) -> None:
        self.path = Path(path)
        self.every = integer("every", every)
        self._known: tuple[Any, dict[str, Any]] | None = None  # the training under way and its fingerprints

    def __call__(self, sweep: Sweep) -> None:
        """Nothing: a sweep does not show all that has to be kept, so training calls :meth:`resume` and :meth:`keep`."""

    def numbered(self, number: int) -> Checkpoint:
        """A checkpoint of one of several trainings: the number is appended to the file's name."""
        return Checkpoint(self.path.with_name(f"{self.path.name}.{number}"), self.every)

    def resume(self, identity: Any, solver: Any, rules: StopRules) -> Standing[Any] | None:
        """Return where the training stood when the file was written, ``None`` without a file."""
        _check_resumable(identity, solver)
        if not os.path.lexists(self.path):
            if not self.path.absolute().parent.is_dir():
                raise FileNotFoundError(f"the folder of the checkpoint {self.path} does not exist: create it first.")
            return None
        kind, values, arrays = read_file(self.path, mmap=False)
        if kind != KIND or set(values) != KEYS:
            raise ModelFileError(f"{self.path} is a {kind}, not a checkpoint: choose another path.")
        self._compare(values, identity)
        try:
            standing = _checked(Standing(**decode(values["standing"], arrays)))
            memory = decode(values["memory"], arrays)
        except Exception as failure:  # whatever cannot be built from a file is the file's fault
            raise ModelFileError(f"{self.path} cannot be read: {failure}") from failure
        if len(standing.history) > rules.max_iter:
            raise ValueError(
                f"{self.path} is at sweep {len(standing.history)}, beyond max_iter={rules.max_iter}: raise max_iter, "
                "or delete the file to start anew."
            )
        if memory is not None:
            solver.recall(memory, standing.state)
        return standing

    def keep(self, identity: Any, solver: Any, standing: Standing[Any]) -> None:
        """Write the file if it is time to."""
        if len(standing.history) % self.every:
            return
        arrays: Arrays = {}
        content = {one.name: getattr(standing, one.name) for one in fields(standing)}
        values = {
            **self._identity(identity),
            "standing": encode(content, "standing", arrays),
            "memory": encode(solver.memory() if isinstance(solver, Remembering) else None, "memory", arrays),
        }
        write_file(self.path, KIND, values, arrays)

    def _compare(self, values: dict[str, Any], identity: Any) -> None:
        now = self._identity(identity)
        if values["class"] != now["class"]:
            raise self._other(f"a {values['class']}, not a {now['class']}")
        before = values["parameters"]
        changed = sorted(
            name for name in {*before, *now["parameters"]} if before.get(name) != now["parameters"].get(name)
        )
        if changed:
            raise self._other(f"other parameters ({', '.join(changed)})")
        if values["data"] != now["data"]:
            raise self._other("other data")

    def _identity(self, identity: Any) -> dict[str, Any]:
        """Fingerprints of an estimator's parameters, each by its own, and of the data; taken once."""
        if self._known is None or self._known[0] is not identity:
            model, *data = identity
            parameters = {name: value for name, value in model.get_params(deep=False).items() if name not in FREE}
            prints = {name: fingerprint(value) for name, value in parameters.items()}
            self._known = (identity, {"class": type(model).__name__, "parameters": prints, "data": fingerprint(data)})
        return self._known[1]

    def _other(self, what: str) -> ValueError:
        return ValueError(
            f"{self.path} is a checkpoint of another training: {what}. Delete it to start anew, or choose another path."
        )


def _checked(standing: Standing[Any]) -> Standing[Any]:
    """Where a training stood, if its history and its numbers are such."""
    history = standing.history
    if not isinstance(history, list) or not all(isinstance(entry, dict) for entry in history):
        raise ValueError("its history is not a list of sweeps.")
    for name in ("best", "stale"):
        if not isinstance(getattr(standing, name), int | float):
            raise ValueError(f"{name} is not a number.")
    return standing


def _check_resumable(identity: Any, solver: Any) -> None:
    if identity is None or isinstance(solver, Volatile):
        name = (
            type(solver).__name__ if identity is None else f"{type(identity[0]).__name__} with {type(solver).__name__}"
        )
        raise ValueError(f"a checkpoint cannot hold all that {name} keeps between sweeps: train it without one.")
    parameters = identity[0].get_params(deep=False)
    if "random_state" in parameters and not isinstance(parameters["random_state"], int | np.integer):
        raise ValueError(
            f"a checkpoint needs a number as random_state, got {parameters['random_state']!r}: otherwise the training "
            "that goes on is another one."
        )
