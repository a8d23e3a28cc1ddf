"""EnsembleMF: the mean score of several subsampled factorizations, as one factorization."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from everypair import check
from everypair.models.checkpoint import Checkpoint
from everypair.models.codec import storable
from everypair.models.estimator import FittedAttribute
from everypair.models.parameters import checked, estimator, parameter
from everypair.models.recommend.attributes import FactorizationAttributes
from everypair.models.recommend.recommender import Recommender
from everypair.models.recommend.rivals.subsampled import (
    SampledFactors,
    SubsampledMF,
    SubsampledParameters,
    SubsampledState,
)
from everypair.models.state_checks import check_count
from everypair.problem.layout import LEFT
from everypair.solvers.loop import Callback, Status, checked_callbacks
from everypair.training.interruption import inner_fits, warn_interrupted
from everypair.types import Array


@storable
@dataclass(frozen=True, kw_only=True)
class EnsembleState(SampledFactors):
    """Several subsampled models side by side: the seeds of their fold-ins."""

    fold_in_seeds: tuple[int, ...]

    @property
    def n_models(self) -> int:
        """Number of members."""
        return len(self.fold_in_seeds)

    def check(self) -> None:
        """Factors of as many members as there are seeds."""
        check_count("columns", self.layout.columns * self.n_models, self.user_factors.shape[1])
        self.member(0).check()

    def member(self, number: int) -> SubsampledState:
        """Member ``number`` (from 0), cut from the factors; it answers everything but ``explain``."""
        width = self.layout.columns
        columns = slice(number * width, (number + 1) * width)
        shared = {field.name: getattr(self, field.name) for field in fields(SampledFactors)}
        whole = SubsampledState(**shared, sampled=None)
        return replace(
            whole,
            user_factors=self.user_factors[:, columns] * self.user_factors.dtype.type(self.n_models),
            item_factors=np.ascontiguousarray(self.item_factors[:, columns]),
            feature_weights=(None, None),
            fold_in_seed=self.fold_in_seeds[number],
        )

    def vectors(self, side: int) -> Array:
        """The members' vectors side by side."""
        return np.concatenate([self.member(number).vectors(side) for number in range(self.n_models)], axis=1)

    def fold_in(
        self,
        side: int,
        rows: Any,
        weights: ArrayLike | None,
        values: ArrayLike | None,
        centers: Array | None,
        targets: Array | None,
        n_threads: int,
    ) -> Array:
        """The members' fold-ins side by side, those of users divided by their number."""
        members = (self.member(number) for number in range(self.n_models))
        parts = [member.fold_in(side, rows, weights, values, centers, targets, n_threads) for member in members]
        folded = np.concatenate(parts, axis=1)
        return folded / folded.dtype.type(self.n_models) if side == LEFT else folded


@estimator
class EnsembleMF(SubsampledParameters, FactorizationAttributes, Recommender):
    """Average subsampled models: S = (1/N) Σ_s U_s V_sᵀ = U Vᵀ with U = [U_1, …, U_N]/N and V = [V_1, …, V_N].

    The N models differ in their negatives and their start, by seeds drawn from ``random_state``. No score matrix is
    formed: the mean is one factorization with N·rank factors, and all methods work on it. Only those factors are kept,
    N·rank·(m + n) numbers; fold-in cuts them into the members' again and concatenates the members' fold-ins.

    ``time_limit`` is that of all members; those that were trained within it are averaged. ``patience`` stops each
    member by itself.

    Attributes
    ----------
    user_factors_, item_factors_ : U (m × N·k) and V (n × N·k).
    n_models_ : how many were trained.
    history_ : the sweeps of all members, each with its ``"model"`` (from 1) and the ``"seconds"`` of all before it.
    objective_, status_ : the mean of the members' objectives and why the last one stopped.

    Examples
    --------
    >>> import numpy as np
    >>> blocks = np.kron(np.eye(2), np.ones((6, 5)))  # two groups of users, two of items
    >>> blocks[0, 0] = 0                              # one event was not observed
    >>> model = EnsembleMF(n_models=5, rank=2, ratio=0.5, random_state=0).fit(blocks)
    >>> model.user_factors_.shape
    (12, 10)
    >>> items, scores = model.recommend([0], n=1)
    >>> int(items[0, 0])
    0
    """

    n_models: int = parameter(20, "number N of subsampled models.", check.integer)

    fitted_class: ClassVar[type] = EnsembleState
    n_models_ = FittedAttribute()

    def fit(
        self, interactions: Any, *, targets: Any = None, validation: Any = None, callbacks: Iterable[Callback] = ()
    ) -> Self:
        """Train the members one after the other; the arguments are those of :meth:`SubsampledMF.fit`.

        A callback sees the sweeps of every member; returning ``True`` ends the whole training, as does Ctrl-C (which
        warns), and the members trained so far are averaged. A :class:`~everypair.Checkpoint` keeps a file per member,
        its number appended to the name.
        """
        values = checked(self)
        callbacks = checked_callbacks(callbacks)
        begin = time.perf_counter()
        members: list[SubsampledState] = []
        status = Status.MAX_ITER
        for number, seed in enumerate(values.random_state.integers(2**63, size=values.n_models).tolist(), 1):
            left = self.time_limit
            if members and left is not None:
                left -= time.perf_counter() - begin
                if left <= 0:
                    status = Status.TIME_LIMIT
                    break
            member = SubsampledMF(**self._member_parameters(random_state=seed, time_limit=left))
            own = [one.numbered(number) if isinstance(one, Checkpoint) else one for one in callbacks]
            try:
                with inner_fits():
                    member.fit(interactions, targets=targets, validation=validation, callbacks=own)
            except KeyboardInterrupt:
                if not members:
                    raise
                status = Status.INTERRUPTED
                break
            members.append(member.state_)
            status = member.state_.status
            if status in (Status.CALLBACK, Status.INTERRUPTED):
                break
        self.state_ = _mean(members, status)
        if status is Status.INTERRUPTED:
            warn_interrupted(f"the model is the mean of {len(members)} of {values.n_models} members.")
        return self

    def _member_parameters(self, **changed: Any) -> dict[str, Any]:
        shared = self.get_params(deep=False)
        del shared["n_models"]
        return {**shared, **changed}


def _mean(members: list[SubsampledState], status: Status) -> EnsembleState:
    history: list[dict[str, Any]] = []
    for number, member in enumerate(members, 1):
        before = history[-1]["seconds"] if history else 0.0
        history += [{**entry, "model": number, "seconds": entry["seconds"] + before} for entry in member.history]
    objectives = [member.objective for member in members if member.objective is not None]
    shared = {field.name: getattr(members[0], field.name) for field in fields(SampledFactors)}
    return EnsembleState(
        **{
            **shared,
            "user_factors": np.concatenate([member.user_factors for member in members], axis=1) / len(members),
            "item_factors": np.concatenate([member.item_factors for member in members], axis=1),
            "history": history,
            "objective": float(np.mean(objectives)) if objectives else None,
            "status": status,
        },
        fold_in_seeds=tuple(member.fold_in_seed for member in members),
    )
