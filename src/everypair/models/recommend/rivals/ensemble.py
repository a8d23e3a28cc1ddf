"""EnsembleMF: the mean score of several subsampled factorizations, as one factorization."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from everypair import check
from everypair.models.checkpoint import Checkpoint
from everypair.models.estimator import FittedAttribute
from everypair.models.recommend.explanation import Explanation
from everypair.models.recommend.naming import fits
from everypair.models.recommend.rivals.subsampled import SubsampledMF
from everypair.models.recommend.state import EnsembleState, SubsampledState
from everypair.problem.layout import LEFT
from everypair.problem.losses import Loss
from everypair.solvers.loop import Callback, Status, StopRules, checked_callbacks
from everypair.training.interruption import inner_fits, warn_interrupted
from everypair.types import Array


class EnsembleMF(SubsampledMF):
    """Average subsampled models: S = (1/N) Σ_s U_s V_sᵀ = U Vᵀ with U = [U_1, …, U_N]/N and V = [V_1, …, V_N].

    The N models differ in their negatives and their start, by seeds drawn from ``random_state``. No score matrix is
    formed: the mean is one factorization with N·rank factors, and all methods work on it. Only those factors are kept,
    N·rank·(m + n) numbers; fold-in cuts them into the members' again and concatenates the members' fold-ins.

    Parameters
    ----------
    n_models : number N of subsampled models.
    time_limit : seconds for all of them; the members that were trained within it are averaged.
    rank, loss, … : of every member, see :class:`~everypair.SubsampledMF`; ``patience`` stops each member by itself.

    Attributes
    ----------
    left_factors_, right_factors_ : U (m × N·k) and V (n × N·k).
    n_models_ : how many were trained.
    history_ : the sweeps of all members, each with its ``"model"`` (from 1) and the ``"seconds"`` of all before it.
    objective_, status_ : the mean of the members' objectives and why the last one stopped.

    Examples
    --------
    >>> import numpy as np
    >>> blocks = np.kron(np.eye(2), np.ones((6, 5)))  # two groups of users, two of items
    >>> blocks[0, 0] = 0                              # one event was not observed
    >>> model = EnsembleMF(n_models=5, rank=2, ratio=0.5, random_state=0).fit(blocks)
    >>> model.left_factors_.shape
    (12, 10)
    >>> items, scores = model.recommend([0], n=1)
    >>> int(items[0, 0])
    0
    """

    state_: EnsembleState
    n_models_ = FittedAttribute()

    def __init__(
        self,
        n_models: int = 20,
        rank: int = 64,
        loss: str | Loss = "squared",
        scheme: str = "uniform",
        ratio: float = 1.0,
        negative_value: float | str = "auto",
        resample: bool = False,
        reg: float | tuple[float, float] = 0.1,
        reg_exponent: float | str = "count",
        biases: bool = False,
        solver: str = "auto",
        max_iter: int = 50,
        tol: float = 3e-4,
        cg_steps: int = 3,
        patience: int | None = None,
        time_limit: float | None = None,
        random_state: Any = None,
        n_threads: int | None = None,
        dtype: str = "float32",
        verbose: bool = False,
    ) -> None:
        super().__init__(
            rank, loss, scheme, ratio, negative_value, resample, reg, reg_exponent, biases, solver=solver,
            max_iter=max_iter, tol=tol, cg_steps=cg_steps, patience=patience, time_limit=time_limit,
            random_state=random_state, n_threads=n_threads, dtype=dtype, verbose=verbose,
        )  # fmt: skip
        self.n_models = n_models

    @fits
    def fit(  # type: ignore[override]  # no side information
        self,
        interactions: Any,
        *,
        targets: Any = None,
        validation: Any = None,
        callbacks: Iterable[Callback] = (),
    ) -> Self:
        """Train the members one after the other; the arguments are those of :meth:`SubsampledMF.fit`.

        A callback sees the sweeps of every member; returning ``True`` ends the whole training, as does Ctrl-C (which
        warns), and the
        members trained so far are averaged. A :class:`~everypair.Checkpoint` keeps a file per member, its number
        appended to the name.
        """
        n_models = check.integer("n_models", self.n_models)
        StopRules.checked(self.max_iter, self.tol, self.patience, self.time_limit)
        random = check.generator(self.random_state)
        callbacks = checked_callbacks(callbacks)
        begin = time.perf_counter()
        members: list[SubsampledMF] = []
        status = Status.MAX_ITER
        for number, seed in enumerate(random.integers(2**63, size=n_models).tolist(), 1):
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
            members.append(member)
            status = member.state_.status
            if status in (Status.CALLBACK, Status.INTERRUPTED):
                break
        self._average(members, status)
        if status is Status.INTERRUPTED:
            warn_interrupted(f"the model is the mean of {len(members)} of {n_models} members.")
        return self

    def explain(self, user: Any, item: Any, n: int | None = None) -> Explanation:
        """Refused: the members' negatives, which carry a part of every score, are not kept."""
        check_is_fitted(self)
        raise NotImplementedError("EnsembleMF does not keep what explains its scores; use SubsampledMF or OneClassMF.")

    def _average(self, members: list[SubsampledMF], status: Status) -> None:
        history: list[dict[str, Any]] = []
        for number, member in enumerate(members, 1):
            before = history[-1]["seconds"] if history else 0.0
            history += [{**entry, "model": number, "seconds": entry["seconds"] + before} for entry in member.history_]
        objectives = [member.objective_ for member in members if member.objective_ is not None]
        shared = {field.name: getattr(members[0].state_, field.name) for field in fields(SubsampledState)}
        self.state_ = EnsembleState(
            **{
                **shared,
                "left_factors": np.concatenate([member.left_factors_ for member in members], axis=1) / len(members),
                "right_factors": np.concatenate([member.right_factors_ for member in members], axis=1),
                "sampled": None,  # of no use to the mean
                "history": history,
                "objective": float(np.mean(objectives)) if objectives else None,
                "status": status,
            },
            n_models=len(members),
            fold_in_seeds=tuple(member.state_.fold_in_seed for member in members),
        )

    def _member(self, number: int) -> SubsampledMF:
        """Member ``number`` (from 0), cut from the concatenated factors; it answers everything but ``explain``."""
        state = self.state_
        member = SubsampledMF(**self._member_parameters())
        width = state.left_factors.shape[1] // state.n_models
        columns = slice(number * width, (number + 1) * width)
        shared = {field.name: getattr(state, field.name) for field in fields(SubsampledState)}
        member.state_ = replace(
            SubsampledState(**shared),
            left_factors=state.left_factors[:, columns] * state.left_factors.dtype.type(state.n_models),
            right_factors=np.ascontiguousarray(state.right_factors[:, columns]),
            fold_in_seed=state.fold_in_seeds[number],
        )
        return member

    def _member_parameters(self, **changed: Any) -> dict[str, Any]:
        shared = self.get_params(deep=False)
        del shared["n_models"]
        return {**shared, **changed}

    def _fold_in(
        self,
        side: int,
        rows: Any,
        weights: ArrayLike | None,
        values: ArrayLike | None,
        centers: Array | None,
        targets: Array | None,
    ) -> Array:
        members = (self._member(number) for number in range(self.n_models_))
        parts = [member._fold_in(side, rows, weights, values, centers, targets) for member in members]
        folded = np.concatenate(parts, axis=1)
        return folded / folded.dtype.type(self.n_models_) if side == LEFT else folded

    def _comparable(self, side: int) -> Array:
        check_is_fitted(self)
        return np.concatenate([self._member(number)._comparable(side) for number in range(self.n_models_)], axis=1)
