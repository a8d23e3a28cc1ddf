"""What the parameters of a MultiLabelMF mean for data at hand: its ridge and threshold found, W and H learnt.

search of λ and w on held-out rows  →  threshold on the same rows  →  training on all of them, here or on a cluster
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from everypair.models.checkpoint import Checkpoint
from everypair.models.multilabel import defaults
from everypair.models.multilabel.closed_form import closed_form
from everypair.models.multilabel.clustered import SEARCHED_ROWS, RowsThere
from everypair.models.multilabel.low_rank import LowRankLabels
from everypair.models.multilabel.problem import CountedLabels, LabelProblem, Shares, Terms
from everypair.models.multilabel.ridge_search import Choice, RidgeSearch
from everypair.models.multilabel.threshold import best_threshold, held_out_rows
from everypair.problem.layout import LEFT, Layout
from everypair.problem.losses import get_loss
from everypair.problem.objective import Objective
from everypair.solvers.choose import solver_maker
from everypair.solvers.loop import Callback, Solver, Status, StopRules, run
from everypair.solvers.preconditioner import Spectrum
from everypair.solvers.state import Factors
from everypair.training.clock import Clock
from everypair.training.interruption import warn_interrupted
from everypair.training.start import random_start
from everypair.training.train import train
from everypair.training.warm_up import sweep_on_two_pairs

SEARCH_RULES = StopRules(max_iter=5, tol=1e-3)  # of each candidate of reg="auto"
MONITOR = "ndcg@5"


class Learner:
    """Learns with the parameters of ``model``, which are checked already."""

    def __init__(self, model: Any) -> None:
        self.model, self.loss, self.dtype = model, get_loss(model.loss), np.dtype(model.dtype)

    def rank(self, problem: LabelProblem) -> int:
        """k."""
        rank = self.model.rank
        return defaults.auto_rank(problem.X.shape, problem.labels.shape[1]) if isinstance(rank, str) else int(rank)

    def terms(self, problem: Shares, times: float = 1.0) -> Terms:
        """What a negative costs; ``times`` multiplies the weight that a square gets."""
        model = self.model
        return Terms.resolve(
            self.loss, problem, model.unlabeled == "missing", model.negative_loss, model.negative_weight,
            model.negative_value, times,
        )  # fmt: skip

    def ridge(self, problem: LabelProblem | CountedLabels, choice: Choice) -> float:
        """λ."""
        reg = self.model.reg
        return choice.ridge * problem.reg_unit(self.loss) if isinstance(reg, str) else float(reg)

    def clock(self, problem: LabelProblem) -> Clock:
        """What is left of the time limit, from when kernels are compiled."""
        if self.model.time_limit is not None and self.model.solver != "svd":
            objective = self._objective(problem, self.terms(problem), Choice())
            sweep_on_two_pairs(self._solver, objective, self.rank(problem))()
        return Clock.start(self.model.time_limit)

    def search(
        self, problem: LabelProblem, clock: Clock
    ) -> tuple[Choice, float | None, Factors | None, Spectrum | None]:
        """The ridge (and weight of negatives) that ranks held-out rows best, and the threshold found on them.

        Then what the best candidate has learnt where Ctrl-C has cut the search short, and XᵀRX decomposed.
        """
        model = self.model
        if model.reg != "auto" or model.solver == "svd":
            return Choice(), None, None, None
        layout, search_clock = Layout(self.rank(problem)), Clock.start(clock.limit(0.5))

        def learn(part: LabelProblem, choice: Choice, state: Factors | None, spectrum: Spectrum | None) -> Factors:
            objective = self._objective(part, self.terms(part, choice.weight), choice)
            start = state or random_start(objective, layout, np.random.default_rng(0))
            rules = replace(SEARCH_RULES, time_limit=search_clock.limit())
            outcome = run(self._solver(objective, spectrum), start, rules)
            if outcome.status is Status.INTERRUPTED:
                raise KeyboardInterrupt
            return outcome.state

        search = RidgeSearch(problem, learn, self.dtype, search_clock)
        weighted = self.loss.probabilistic and model.negative_weight == "auto" and model.unlabeled == "negative"
        choice = search.best(weighted and not self.terms(problem).same)
        threshold = search.threshold(choice) if isinstance(model.threshold, str) else None
        return choice, threshold, search.learnt(choice) if search.interrupted else None, search.spectrum

    def threshold(
        self, problem: LabelProblem, choice: Choice, random: np.random.Generator, clock: Clock
    ) -> tuple[float, LowRankLabels | None]:
        """Learn without a tenth of the rows and find the threshold on them.

        Where Ctrl-C comes meanwhile, the second is what was learnt by then.
        """
        held = held_out_rows(problem.labels)
        if held is None or clock.left() <= 0:
            return self.model._natural_threshold(), None
        others = problem.rows(held)
        learnt = self.learn(problem.rows(~held), choice, random, clock.limit(0.5))
        threshold = best_threshold(self.model._all_scores(learnt, others.X), others.labels, others.row_weights)
        return threshold, learnt if learnt.status is Status.INTERRUPTED else None

    def learn(
        self,
        problem: LabelProblem,
        choice: Choice,
        random: np.random.Generator,
        time_limit: float | None,
        spectrum: Spectrum | None = None,
        validate: Callable[[Factors], dict[str, float]] | None = None,
        callbacks: tuple[Callback, ...] = (),
        cut_short: Factors | None = None,
        watched: Any = None,
        there: RowsThere | None = None,
    ) -> LowRankLabels:
        """Train with the chosen ridge, or solve the closed form; one sweep from where a search was ``cut_short``."""
        model, layout = self.model, Layout(self.rank(problem))
        if model.solver == "svd":
            if any(isinstance(callback, Checkpoint) for callback in callbacks):
                raise ValueError('solver="svd" has no sweeps to keep: leave the checkpoint out.')
            return closed_form(model, problem, layout.rank, int(random.integers(2**31)))
        rules = StopRules.checked(model.max_iter, model.tol, model.patience if validate else None, time_limit)
        if cut_short is not None:
            rules = replace(rules, max_iter=1)
        labels = problem if there is None else there.labels
        terms, reg = self.terms(labels, choice.weight), self.ridge(labels, choice)
        options: dict[str, Any] = {"monitor": MONITOR, "callbacks": callbacks, "verbose": model.verbose}
        if there is not None:
            right = None if cut_short is None else cut_short.right
            outcome = there.learn(model, terms, reg, layout.rank, rules, random, validate, right, **options)
        else:
            objective = self._objective(problem, terms, choice)
            start = random_start(objective, layout, random)
            if cut_short is not None:  # its left side may be in other coordinates, and is solved first
                right = cut_short.right.copy()
                start = replace(start, right=right, right_parameters=right)
            outcome = train(
                self._solver(objective, spectrum), start, rules, validate=validate,
                warm_up=sweep_on_two_pairs(self._solver, objective, layout.columns),
                identity=(model, problem, watched), **options,
            )  # fmt: skip
        status = outcome.status
        if cut_short is not None:
            status = Status.INTERRUPTED
            warn_interrupted(_ended_early(there))
        return LowRankLabels(
            feature_weights=outcome.state.parameters(LEFT), label_factors=outcome.state.right, kernel_map=None,
            reg=reg, negative_weight=terms.weight, negative_value=terms.value,
            negative_loss="same" if terms.same or problem.labels.known is not None else "squared",
            history=outcome.history, objective=outcome.state.objective, status=status,
        )  # fmt: skip

    def _objective(self, problem: LabelProblem, terms: Terms, choice: Choice) -> Objective:
        return problem.objective(terms, self.ridge(problem, choice), self.dtype, self.model.n_threads)

    def _solver(self, objective: Objective, spectrum: Spectrum | None = None) -> Solver[Factors]:
        solver = self.model.solver
        return solver_maker("tron" if solver == "auto" else solver, 0, 0, spectrum)(objective)


def _ended_early(there: RowsThere | None) -> str:
    if there is None:
        return "the search of reg ended early and the model is one sweep from the best of it."
    return (
        f"the search of reg, here on at most {SEARCHED_ROWS:,} rows, ended early, and the model is one sweep of the "
        "cluster over all rows from the best of it."
    )
