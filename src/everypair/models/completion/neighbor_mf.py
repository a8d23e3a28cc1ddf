"""NeighborMF: logistic factors of tested pairs, smooth over nearest neighbours (NRLMF with a mask)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from everypair import check
from everypair.data.observed import Observed
from everypair.models.completion.answering import read_source
from everypair.models.completion.data import checked_validation
from everypair.models.completion.kernel_side import KernelSide, checked_kernel, read_sides
from everypair.models.completion.neighbor_state import NeighborFactors
from everypair.models.completion.neighbors import mean_of_nearest, neighbor_laplacian
from everypair.models.completion.trained import TrainedCompletion, measuring
from everypair.models.parameters import Seeded, checked, estimator, number, parameter, stop_rules
from everypair.parallel import resolve_threads, single_threaded_blas
from everypair.problem.completion.low_rank import load_kernels
from everypair.solvers.completion.neighborhood import AdaptiveSteps, NeighborhoodProblem, NeighborhoodState
from everypair.solvers.loop import Callback, checked_callbacks
from everypair.training.train import train
from everypair.types import Array64


@estimator
class NeighborMF(TrainedCompletion, Seeded):
    """Tested pairs of two values: Σ_Ω w (log(1 + e^s) − y s) + ½λ(‖U‖² + ‖V‖²) + ½α(tr UᵀL_rU + tr VᵀL_cV), s = u·v.

    Factors are alike where entities are each other's neighbours; one without an observed positive gets the mean of its
    nearest with a positive, and so does a new one. That assumes that every row and column *has* positives, as in
    collections of known interactions: where many rows are truly empty it promises them too much. Pairs that were not
    tested cost nothing (in the paper they are negatives).

    Attributes after ``fit``
    ------------------------
    history_, objective_, status_, n_iter_ : one dict per step, the last value, why training stopped.
    row_ids_, column_ids_ : names of rows and columns where Y was a data frame, else ``None``.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> drugs, targets = random.standard_normal((40, 3)), random.standard_normal((30, 3))
    >>> binds = (drugs @ targets.T > 1).astype(float)
    >>> tested = random.random(binds.shape) < 0.5
    >>> model = NeighborMF(random_state=0).fit(binds, tested, left_features=drugs, right_features=targets)
    >>> round(model.score(binds, ~tested), 2)  # AUC at pairs that were not tested
    0.97
    """

    kernel: str | tuple[str, str] = parameter(
        "rbf", '``"rbf"`` for features, ``"similarity"`` for similarities, as in ``KernelCompletion``.', checked_kernel
    )
    rank: int = parameter(30, "number of factors, at most the smaller side.", check.integer)
    positive_weight: float = parameter(5.0, "c, the weight of a positive.", number(above=0))
    reg: float = parameter(0.5, "λ.", number(least=0))
    graph_reg: float = parameter(0.5, "α.", number(least=0))
    neighbors: int = parameter(5, "k, the nearest that count.", check.integer)
    learning_rate: float = parameter(0.5, "θ, the length of AdaGrad's steps.", number(above=0))
    max_iter: int = parameter(100)

    fitted_class: ClassVar[type] = NeighborFactors
    regularisers: ClassVar[tuple[str, ...]] = ("reg", "graph_reg")

    def fit(
        self,
        Y: Any,
        mask: Any = None,
        *,
        left_features: Any = None,
        right_features: Any = None,
        validation: Any = None,
        callbacks: Iterable[Callback] = (),
    ) -> Self:
        """Learn from the observed entries of Y, of two values; arguments are those of the other completion models."""
        parameters, callbacks = checked(self), checked_callbacks(callbacks)
        rules = stop_rules(parameters)
        source = read_source(Y, mask, left_features, right_features, validation)
        observed = source.observed
        if observed.levels is None:
            if np.ptp(observed.values) == 0:
                raise ValueError("the observed entries of Y have one value only: NeighborMF needs pairs of both kinds.")
            raise ValueError("NeighborMF is for observed entries of two values: take KernelCompletion or FNNM.")
        held_out = checked_validation(source.validation, observed, rules.patience)
        threads = resolve_threads(self.n_threads)
        with single_threaded_blas():
            sides = read_sides(source, parameters.kernel)
            left, right = (
                None if side is None else neighbor_laplacian(side, parameters.neighbors, threads) for side in sides
            )
            low, high = observed.levels
            problem = NeighborhoodProblem(
                observed.with_values((observed.values - low) / (high - low)), parameters.positive_weight,
                parameters.reg, parameters.graph_reg, (left, right), threads,
            )  # fmt: skip
            start = NeighborhoodState.drawn(
                observed.shape, min(parameters.rank, *observed.shape), parameters.random_state
            )

            def fitted(state: NeighborhoodState) -> NeighborFactors:
                return _fitted(observed, problem, state, sides, parameters.neighbors)

            outcome = train(
                AdaptiveSteps(problem, parameters.learning_rate), start, rules, callbacks=callbacks,
                verbose=self.verbose, warm_up=load_kernels,
                validate=None if held_out is None else measuring(held_out, observed.levels, fitted, threads),
                monitor="auc", identity=(self, observed, sides, held_out),
            )  # fmt: skip
        self.state_ = source.named(fitted(outcome.state).after(outcome))
        return self


def _fitted(
    observed: Observed,
    problem: NeighborhoodProblem,
    state: NeighborhoodState,
    sides: tuple[KernelSide | None, KernelSide | None],
    neighbors: int,
) -> NeighborFactors:
    """Where training stands, with factors of neighbours for entities without a positive."""
    positive = problem.observed.values > 0
    known = [np.unique(index[positive]).astype(np.int64) for index in (observed.rows, observed.indices)]
    left, right = (
        _filled(factors, side, some, neighbors) for factors, side, some in zip((state.left, state.right), sides, known)
    )
    assert observed.levels is not None
    return NeighborFactors(
        observed=observed.to_csr(), left=left, right=right, left_known=known[0], right_known=known[1],
        left_side=sides[0], right_side=sides[1], neighbors=neighbors, low=observed.levels[0], high=observed.levels[1],
    )  # fmt: skip


def _filled(factors: Array64, side: KernelSide | None, known: NDArray[np.int64], neighbors: int) -> Array64:
    missing = np.setdiff1d(np.arange(len(factors)), known)
    if side is None or not len(missing):
        return factors
    out = factors.copy()
    out[missing] = mean_of_nearest(side.values(missing, slice(None)), factors, known, neighbors)
    return out
