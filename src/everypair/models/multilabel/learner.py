"""What the settings of a MultiLabelMF mean for data at hand: its ridge and threshold found, W and H learnt.

search of λ and w on held-out rows  →  threshold on the same rows  →  training on all of them, wherever these are
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from everypair.models.checkpoint import Checkpoint
from everypair.models.multilabel import defaults
from everypair.models.multilabel.low_rank import LowRankLabels
from everypair.models.multilabel.parameters import LabelSettings
from everypair.models.multilabel.problem import CountedLabels, LabelProblem, LabelTerms, Shares
from everypair.models.multilabel.ridge_search import Choice, RidgeSearch
from everypair.models.multilabel.scoring import all_scores
from everypair.models.multilabel.threshold import best_threshold, held_out_rows
from everypair.problem.layout import LEFT, Layout
from everypair.problem.losses import get_loss
from everypair.problem.objective import Objective
from everypair.solvers.choose import solver_maker
from everypair.solvers.closed_form import low_rank_regression
from everypair.solvers.loop import Callback, Outcome, Solver, Status, StopRules, run
from everypair.solvers.preconditioner import Spectrum
from everypair.solvers.state import Factors
from everypair.training.clock import Clock
from everypair.training.interruption import warn_interrupted
from everypair.training.start import random_start
from everypair.training.train import train
from everypair.training.warm_up import sweep_on_two_pairs
from everypair.types import Array

SEARCH_RULES = StopRules(max_iter=5, tol=1e-3)  # of each candidate of reg="auto"
MONITOR = "ndcg@5"


@dataclass(frozen=True)
class LabelWatch:
    """Who looks on while W and H are learnt: a measure of other rows, and functions of a sweep.

    ``identity`` is what a checkpoint tells trainings apart by, besides the rows: the estimator and the other rows.
    """

    validate: Callable[[Factors], dict[str, float]] | None = None
    callbacks: tuple[Callback, ...] = ()
    identity: tuple[Any, ...] = (None,)


@dataclass(frozen=True)
class LabelTraining:
    """One training: what is minimised, from where (random label factors unless ``right`` is given), until when."""

    terms: LabelTerms
    reg: float
    layout: Layout
    rules: StopRules
    random: np.random.Generator
    watch: LabelWatch
    right: Array | None = None
    spectrum: Spectrum | None = None


class LabelPlace(Protocol):
    """Where labelled rows are, and where they are learnt from."""

    early_end: str  # what is said of a model whose search was cut short

    @property
    def labels(self) -> LabelProblem | CountedLabels:
        """What rules for negatives and the ridge have to know of all rows."""
        ...

    @property
    def sample(self) -> LabelProblem:
        """The rows that the ridge and the threshold are found on, here."""
        ...

    def check(self, settings: LabelSettings, terms: LabelTerms) -> None:
        """Refuse what cannot be learnt there, before any work."""
        ...

    def train(self, settings: LabelSettings, training: LabelTraining) -> Outcome[Factors]:
        """Learn W and H from all rows."""
        ...


@dataclass(frozen=True)
class RowsHere:
    """Rows in memory, learnt from by threads."""

    sample: LabelProblem
    early_end = "the search of reg ended early and the model is one sweep from the best of it."

    @property
    def labels(self) -> LabelProblem:
        """All of them."""
        return self.sample

    def check(self, settings: LabelSettings, terms: LabelTerms) -> None:
        """The closed form needs every label."""
        if settings.solver == "svd" and self.sample.labels.known is not None:
            raise ValueError('solver="svd" needs every label known: use solver="auto" with missing labels.')

    def train(self, settings: LabelSettings, training: LabelTraining) -> Outcome[Factors]:
        """Learn W and H."""
        objective = self.sample.objective(training.terms, training.reg, settings.dtype, settings.n_threads)
        start = random_start(objective, training.layout, training.random)
        if training.right is not None:
            right = training.right.copy()
            start = replace(start, right=right, right_parameters=right)
        watch, (estimator, *others) = training.watch, training.watch.identity
        return train(
            solver_of(settings, objective, training.spectrum), start, training.rules, validate=watch.validate,
            warm_up=_warm_up(settings, objective, training.layout), monitor=MONITOR, callbacks=watch.callbacks,
            verbose=settings.verbose, identity=(estimator, self.sample, *others),
        )  # fmt: skip


class SearchResult(NamedTuple):
    """The choice that ranks held-out rows best, the threshold found on them, and XᵀRX decomposed.

    ``cut_short`` is what the best candidate has learnt where Ctrl-C has ended the search early.
    """

    choice: Choice = Choice()
    threshold: float | None = None
    cut_short: Factors | None = None
    spectrum: Spectrum | None = None


class Learner:
    """Learns with checked settings from the rows of a place."""

    def __init__(self, settings: LabelSettings, place: LabelPlace) -> None:
        self.settings, self.place = settings, place
        place.check(settings, self.terms(place.labels))

    def fit(
        self, random: np.random.Generator, for_threshold: np.random.Generator, watch: LabelWatch
    ) -> tuple[LowRankLabels, float]:
        """Return what is learnt, and the threshold."""
        clock = self.clock()
        result = self.search(clock)
        threshold, learnt = self.settings.threshold, None
        if threshold is None:
            threshold = result.threshold
        if threshold is None:
            threshold, learnt = self.threshold(result.choice, for_threshold, clock)
        if learnt is None:
            learnt = self.learn(self.place, result, random, clock.limit(), watch)
        return learnt, threshold

    def clock(self) -> Clock:
        """What is left of the time limit, from when kernels are compiled."""
        settings, sample = self.settings, self.place.sample
        if settings.rules.time_limit is not None and settings.solver != "svd":
            objective = self._objective(sample, self.terms(sample), Choice())
            _warm_up(settings, objective, self.layout(sample))()
        return Clock.start(settings.rules.time_limit)

    def search(self, clock: Clock) -> SearchResult:
        """The ridge (and weight of negatives) that ranks held-out rows best, and the threshold found on them."""
        settings, sample = self.settings, self.place.sample
        if settings.reg is not None or settings.solver == "svd":
            return SearchResult()
        layout, search_clock = self.layout(sample), Clock.start(clock.limit(0.5))

        def learn(part: LabelProblem, choice: Choice, state: Factors | None, spectrum: Spectrum | None) -> Factors:
            objective = self._objective(part, self.terms(part, choice.weight), choice)
            start = state or random_start(objective, layout, np.random.default_rng(0))
            rules = replace(SEARCH_RULES, time_limit=search_clock.limit())
            outcome = run(solver_of(settings, objective, spectrum), start, rules)
            if outcome.status is Status.INTERRUPTED:
                raise KeyboardInterrupt
            return outcome.state

        search = RidgeSearch(sample, learn, settings.dtype, search_clock)
        free = settings.loss.probabilistic and settings.negative_weight is None and not settings.only_known
        choice = search.best(free and not self.terms(sample).same)
        threshold = search.threshold(choice) if settings.threshold is None else None
        return SearchResult(choice, threshold, search.learnt(choice) if search.interrupted else None, search.spectrum)

    def threshold(
        self, choice: Choice, random: np.random.Generator, clock: Clock
    ) -> tuple[float, LowRankLabels | None]:
        """Learn without a tenth of the rows and find the threshold on them.

        Where Ctrl-C comes meanwhile, the second is what was learnt by then.
        """
        sample = self.place.sample
        held = held_out_rows(sample.labels)
        if held is None or clock.left() <= 0:
            return self.settings.natural_threshold, None
        others = sample.rows(held)
        learnt = self.learn(RowsHere(sample.rows(~held)), SearchResult(choice), random, clock.limit(0.5), LabelWatch())
        scores = all_scores(learnt, others.X, self.settings.n_threads)
        threshold = best_threshold(scores, others.labels, others.row_weights)
        return threshold, learnt if learnt.status is Status.INTERRUPTED else None

    def learn(
        self,
        place: LabelPlace,
        result: SearchResult,
        random: np.random.Generator,
        time_limit: float | None,
        watch: LabelWatch,
    ) -> LowRankLabels:
        """Train with the ridge that was chosen, or solve the closed form; one sweep where the search was cut short."""
        settings, layout = self.settings, self.layout(place.sample)
        if settings.solver == "svd":
            if any(isinstance(callback, Checkpoint) for callback in watch.callbacks):
                raise ValueError('solver="svd" has no sweeps to keep: leave the checkpoint out.')
            return closed_form(settings, place.sample, layout.rank, int(random.integers(2**31)))
        patience = settings.rules.patience if watch.validate else None
        rules = replace(settings.rules, patience=patience, time_limit=time_limit)
        right = None
        if result.cut_short is not None:  # its left side may be in other coordinates, and is solved first
            rules, right = replace(rules, max_iter=1), result.cut_short.right
        terms = self.terms(place.labels, result.choice.weight)
        reg = self.reg(place.labels, result.choice)
        outcome = place.train(settings, LabelTraining(terms, reg, layout, rules, random, watch, right, result.spectrum))
        status = outcome.status
        if result.cut_short is not None:
            status = Status.INTERRUPTED
            warn_interrupted(place.early_end)
        same = terms.same or place.sample.labels.known is not None
        return LowRankLabels(
            feature_weights=outcome.state.parameters(LEFT), label_factors=outcome.state.right, kernel_map=None,
            reg=reg, negative_weight=terms.weight, negative_value=terms.value,
            negative_loss="same" if same else "squared", history=outcome.history,
            objective=outcome.state.objective, status=status,
        )  # fmt: skip

    def layout(self, problem: LabelProblem) -> Layout:
        """W and H of rank k."""
        rank = self.settings.rank
        return Layout(defaults.auto_rank(problem.X.shape, problem.labels.shape[1]) if rank is None else rank)

    def terms(self, labels: Shares, times: float = 1.0) -> LabelTerms:
        """What a negative costs; ``times`` multiplies the weight that a square gets."""
        return LabelTerms.resolve(self.settings, labels, times)

    def reg(self, labels: LabelProblem | CountedLabels, choice: Choice) -> float:
        """λ."""
        reg = self.settings.reg
        return choice.ridge * labels.reg_unit(self.settings.loss) if reg is None else reg

    def _objective(self, problem: LabelProblem, terms: LabelTerms, choice: Choice) -> Objective:
        return problem.objective(terms, self.reg(problem, choice), self.settings.dtype, self.settings.n_threads)


def closed_form(settings: LabelSettings, problem: LabelProblem, rank: int, seed: int) -> LowRankLabels:
    """The best W and H under the squared loss on every pair without a ridge, and F there."""
    W, H = low_rank_regression(*problem.weighted(), rank, seed)
    terms = LabelTerms(get_loss("squared"), False, 1.0, 0.0)
    value = problem.objective(terms, 0.0, np.float64, settings.n_threads).value(W, H)
    return LowRankLabels(
        feature_weights=W.astype(settings.dtype), label_factors=H.astype(settings.dtype), kernel_map=None, reg=0.0,
        negative_weight=1.0, negative_value=0.0, negative_loss="squared",
        history=[{"iteration": 1, "objective": value}], objective=value, status=Status.SOLVED,
    )  # fmt: skip


def solver_of(settings: LabelSettings, objective: Objective, spectrum: Spectrum | None = None) -> Solver[Factors]:
    """The solver of W and H in turn."""
    name = "tron" if settings.solver == "auto" else settings.solver
    return solver_maker(name, 0, 0, spectrum)(objective)


def _warm_up(settings: LabelSettings, objective: Objective, layout: Layout) -> Callable[[], object]:
    return sweep_on_two_pairs(lambda tiny: solver_of(settings, tiny), objective, layout.columns)
