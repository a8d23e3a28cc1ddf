"""MultiLabelMF: multi-label learning with a linear model of low rank, every label counting or only the known ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.utils.metaestimators import available_if

from everypair import check
from everypair.data.ids import Ids
from everypair.data.label_names import check_rows_together, named_labels
from everypair.data.labels import Labels
from everypair.distribute.train import check_keeper
from everypair.features.kernel_map import KernelMap
from everypair.features.nystrom import Kernel
from everypair.metrics.multilabel import multilabel_metrics
from everypair.models.checkpoint import Checkpoint
from everypair.models.multilabel import defaults
from everypair.models.multilabel.base import LabelledRows, MultiLabelClassifier
from everypair.models.multilabel.closed_form import closed_form
from everypair.models.multilabel.clustered import RowsThere, check_files, check_there, is_folder
from everypair.models.multilabel.low_rank import LowRankLabels
from everypair.models.multilabel.parameters import check_parameters, checked_label_weight
from everypair.models.multilabel.problem import CountedLabels, LabelProblem, Shares, Terms
from everypair.models.multilabel.ridge_search import Choice, RidgeSearch
from everypair.models.multilabel.threshold import best_threshold, held_out_rows
from everypair.models.stateful import Learnt
from everypair.problem.layout import LEFT, Layout
from everypair.problem.losses import Loss, get_loss
from everypair.problem.objective import Objective
from everypair.solvers.choose import solver_maker
from everypair.solvers.loop import Callback, Solver, Status, StopRules, checked_callbacks, run
from everypair.solvers.preconditioner import Spectrum
from everypair.solvers.state import Factors
from everypair.training.clock import Clock
from everypair.training.interruption import warn_interrupted
from everypair.training.start import random_start
from everypair.training.train import train
from everypair.training.warm_up import sweep_on_two_pairs

Array = NDArray[Any]
SEARCH_RULES = StopRules(max_iter=5, tol=1e-3)  # of each candidate of reg="auto"
MONITOR = "ndcg@5"


class MultiLabelMF(MultiLabelClassifier):
    """Scores s_il = x_i W · h_l of rank k: F = Σ_Ω ℓ(y, s) + ½ w Σ_{∉Ω} (ỹ − s)² + ½ λ (‖W‖² + ‖H‖²).

    Parameters
    ----------
    rank : k; ``"auto"`` is the number of labels, at most 100.
    loss : ``"logistic"``, ``"squared"``, ``"squared_hinge"`` or a :class:`~everypair.problem.losses.Loss`.
    unlabeled : ``"negative"``: whatever is not 1 in Y is a negative, and Ω are the positives. ``"missing"``: only known
        labels count and make up Ω (stored entries of a sparse Y, all but NaN of a dense one, or those of the mask).
    negative_loss : ``"squared"``: a negative costs ½ w (ỹ − s)², and a sweep as much as the positives. ``"same"``: it
        has the loss itself, and a sweep costs as much as all pairs. ``"auto"``: the first, unless more than a tenth of
        all labels are positive. Known negatives of ``unlabeled="missing"`` always have the loss itself.
    negative_weight, negative_value : w and ỹ. ``"auto"``: under the logistic loss the square that agrees with the loss
        at the share of positives, see :mod:`everypair.models.multilabel.defaults`; otherwise 1 and the loss's own
        target of a negative.
    label_weight : weights l_j > 0 of the labels, or ``None`` for ones.
    reg : λ, also that of the trace norm of WHᵀ; ``"auto"`` takes the one of several values, set by the size of the
        data, that ranks held-out rows best, each learnt with a few sweeps.
    fit_intercept, normalize : scale rows of X to length 1, then append a constant 1, penalised like any feature.
    kernel, n_landmarks, gamma : ``"rbf"``, ``"linear"`` or a function: learn from kernel features over so many
        landmarks instead of X, exactly where X has no more distinct rows than that; ``gamma`` in units of 1/σ² and
        ``"auto"`` for 1/d, see :class:`~everypair.features.NystromFeatures`.
    kernel_penalty : the ridge of scores k(x)ᵀA h_l, k(x) the kernel values with the landmarks and K those among them:
        ``"rkhs"`` is ½ λ tr(AᵀKA), that of the functions the kernel makes; ``"weights"`` is ½ λ ‖A‖², LEML's kernel
        extension (its remark on kernels takes k(x) as features).
    solver : ``"auto"`` and ``"tron"`` alternate trust-region Newton steps on W and H (momentum between sweeps gained
        nothing in the ten sweeps of a default fit); ``"newton-linesearch"`` and ``"gradient"`` are there to be
        compared; ``"svd"`` is the closed form of the squared loss with every label known and no ridge (``reg=0``, or
        ``"auto"``, which is 0 there).
    threshold : ``predict`` says 1 where the score exceeds it: a number, or ``"auto"`` to find it on held-out rows:
        those of ``reg="auto"``, otherwise a tenth, which costs one more fit (with fewer than 50 rows: 0, and ½ for the
        squared loss).
    max_iter, tol, patience, time_limit : stop after so many sweeps, at a relative decrease of the objective below
        ``tol``, after ``patience`` sweeps without a better nDCG@5 of the validation rows, or after so many seconds, of
        which the searches of ``reg`` and ``threshold`` take at most a half each of what is left.
    random_state : seed of the start (and of the landmarks); the same seed gives the same bits on any number of threads.
    n_threads : threads to use, all cores by default.
    dtype : ``"float32"`` or ``"float64"``.
    verbose : show progress.

    Attributes
    ----------
    feature_weights_ : W (d × k), the intercept's row last; a row per landmark with a kernel.
    label_factors_ : H (L × k).
    rank_, reg_, negative_loss_, negative_weight_, negative_value_ : what was used.
    history_, objective_, status_, n_iter_ : one dict per sweep, the last objective, why training stopped, sweeps.
    classes_, n_labels_, threshold_, n_features_in_, feature_names_in_ : as in every multi-label classifier here.

    Examples
    --------
    >>> X = np.repeat(np.eye(3), 20, axis=0)  # three kinds of rows, each with two labels of six
    >>> Y = np.repeat(np.eye(6, dtype=int)[:3] + np.eye(6, dtype=int)[3:], 20, axis=0)
    >>> model = MultiLabelMF(random_state=0).fit(X, Y)
    >>> model.predict(X[[0, 59]]).tolist()
    [[1, 0, 0, 1, 0, 0], [0, 0, 1, 0, 0, 1]]
    >>> labels, scores = model.predict_topk(X[[0]], k=2)
    >>> sorted(labels[0].tolist())
    [0, 3]
    """

    rank_ = Learnt("model")
    reg_ = Learnt("model")
    negative_loss_ = Learnt("model")
    negative_weight_ = Learnt("model")
    negative_value_ = Learnt("model")
    feature_weights_ = Learnt("model")
    label_factors_ = Learnt("model")
    history_ = Learnt("model")
    objective_ = Learnt("model")
    status_ = Learnt("model")
    n_iter_ = Learnt("model")

    def __init__(
        self,
        rank: int | str = "auto",
        loss: str | Loss = "logistic",
        unlabeled: str = "negative",
        negative_loss: str = "auto",
        negative_weight: float | str = "auto",
        negative_value: float | str = "auto",
        label_weight: Any = None,
        reg: float | str = "auto",
        fit_intercept: bool = True,
        normalize: bool = True,
        kernel: Kernel | None = None,
        n_landmarks: int = 1000,
        gamma: float | str = "auto",
        kernel_penalty: str = "rkhs",
        solver: str = "auto",
        threshold: float | str = "auto",
        max_iter: int = 10,
        tol: float = 1e-4,
        patience: int | None = None,
        time_limit: float | None = None,
        random_state: Any = None,
        n_threads: int | None = None,
        dtype: str = "float32",
        verbose: bool = False,
    ) -> None:
        self.rank = rank
        self.loss = loss
        self.unlabeled = unlabeled
        self.negative_loss = negative_loss
        self.negative_weight = negative_weight
        self.negative_value = negative_value
        self.label_weight = label_weight
        self.reg = reg
        self.fit_intercept = fit_intercept
        self.normalize = normalize
        self.kernel = kernel
        self.n_landmarks = n_landmarks
        self.gamma = gamma
        self.kernel_penalty = kernel_penalty
        self.solver = solver
        self.threshold = threshold
        self.max_iter = max_iter
        self.tol = tol
        self.patience = patience
        self.time_limit = time_limit
        self.random_state = random_state
        self.n_threads = n_threads
        self.dtype = dtype
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        mask: Any = None,
        *,
        validation: Any = None,
        callbacks: Iterable[Callback] = (),
        client: Any = None,
    ) -> Self:
        """Learn from features X (n × d) and labels y (n × L of zeros and ones), both sparse or dense.

        Labels have names where y is a data frame with named columns, or lists of strings, ``[["war", "love"], []]``.
        ``sample_weight`` and ``mask`` are those of every multi-label classifier here. ``validation``, a pair (X, Y) of
        other rows, is measured after each sweep and stops the training if ``patience`` is set. A callback gets a
        :class:`~everypair.solvers.loop.Sweep` and stops the training by returning ``True``. Ctrl-C keeps what was
        learnt and warns; in a search it ends that with the best so far and takes one sweep from there.

        ``client``, a ``distributed.Client`` or a :class:`~everypair.distribute.Cluster`, trains on a Dask cluster: rows
        are cut into shards, W and H come back. ``reg`` and ``threshold`` are found on 20,000 of the rows, here. X may
        then be a folder of XC or npz files, each with some of the rows and all columns, and y is left out.
        """
        if self.patience is not None and validation is None:
            raise ValueError("patience needs validation data: fit(X, Y, validation=(X_other, Y_other)).")
        callbacks = checked_callbacks(callbacks)
        check_keeper(callbacks, client)
        for_fit, for_threshold = check.generator(self.random_state).spawn(2)
        there, names, kernel_map = None, None, None
        if is_folder(X):
            check_files(self, client, y=y, sample_weight=sample_weight, mask=mask)
            there, y, names = self._rows_in_files(X, client)
            problem = tried = there.searched(for_threshold)
            self._check_problem(problem)
        else:
            y, names, mask = self._named(X, y, mask)
            problem, kernel_map = self._problem(self._checked_rows(X, y, sample_weight, mask), for_fit)
            tried = problem
            if client is not None:
                there = RowsThere.here(client, problem)
                tried = there.searched(for_threshold)
        if there is not None:
            check_there(self, self._terms(there.labels, get_loss(self.loss)), problem.labels.known)
        watched = None if validation is None else self._checked_validation(*_pair(validation), problem.labels, names)
        clock = self._clock(tried)
        choice, threshold, cut_short, spectrum = self._searched(tried, clock)
        learnt = None
        if check.is_number(self.threshold):
            threshold = float(self.threshold)
        elif threshold is None:
            threshold, learnt = self._threshold_of(tried, choice, for_threshold, clock)
        validate = None if watched is None else self._validator(*watched, kernel_map)
        if learnt is None:
            learnt = self._learn(
                problem, choice, for_fit, clock.limit(), spectrum, validate, callbacks, cut_short, watched, there
            )
        self._keep(replace(learnt, kernel_map=kernel_map), y, threshold, names)
        return self

    def _rows_in_files(self, folder: Any, client: Any) -> tuple[RowsThere, Any, Ids | None]:
        """Rows that workers have read, a matrix without rows in the place of y, and the labels' names."""
        self._check_common_parameters()
        weigh = partial(checked_label_weight, self.label_weight)
        there = RowsThere.in_files(client, folder, weigh, self.normalize, self.fit_intercept)
        assert there.files is not None
        told = there.files.told[0]
        self.n_features_in_ = told.n_features
        names = None if told.label_names is None else Ids(told.label_names)
        return there, sp.csr_array((0, len(told.label_counts)), dtype=np.int8), names

    def _problem(self, rows: LabelledRows, random: np.random.Generator) -> tuple[LabelProblem, KernelMap | None]:
        """What is learnt from: rows (or their kernel features), labels and weights."""
        X, labels, sample_weight = rows
        kernel_map = None
        if self.kernel is not None:
            seed = int(random.integers(2**31))
            whiten = self.kernel_penalty == "rkhs"
            kernel_map = KernelMap.fit(X, self.kernel, self.n_landmarks, self.gamma, self.fit_intercept, seed, whiten)
            X = kernel_map(X)
        problem = LabelProblem.of(X, labels, sample_weight, checked_label_weight(self.label_weight, labels.shape[1]))
        self._check_problem(problem)
        return problem, kernel_map

    def _check_problem(self, problem: LabelProblem) -> None:
        n_labels, n_features = problem.labels.shape[1], problem.X.shape[1]
        rank = self._rank(problem.X.shape, n_labels)
        if rank > max(n_features, n_labels):
            raise ValueError(
                f"rank={rank} is larger than the number of features, {n_features}, and of labels, {n_labels}: "
                f"at most {min(n_features, n_labels)} makes sense."
            )
        problem.check_weights(self.dtype)

    def _clock(self, problem: LabelProblem) -> Clock:
        """What is left of the time limit, from when kernels are compiled."""
        if self.time_limit is not None and self.solver != "svd":
            objective = self._objective(problem, self._terms(problem, get_loss(self.loss)), Choice())
            sweep_on_two_pairs(self._make_solver, objective, self._rank(problem.X.shape, problem.labels.shape[1]))()
        return Clock.start(self.time_limit)

    def _searched(
        self, problem: LabelProblem, clock: Clock
    ) -> tuple[Choice, float | None, Factors | None, Spectrum | None]:
        """The ridge (and weight of negatives) that ranks held-out rows best, and the threshold found on them.

        Then what the best candidate has learnt where Ctrl-C has cut the search short, and XᵀRX decomposed.
        """
        if self.reg != "auto" or self.solver == "svd":
            return Choice(), None, None, None
        loss, layout = get_loss(self.loss), Layout(self._rank(problem.X.shape, problem.labels.shape[1]))
        search_clock = Clock.start(clock.limit(0.5))

        def learn(part: LabelProblem, choice: Choice, state: Factors | None, spectrum: Spectrum | None) -> Factors:
            objective = self._objective(part, self._terms(part, loss, choice.weight), choice)
            start = state or random_start(objective, layout, np.random.default_rng(0))
            rules = replace(SEARCH_RULES, time_limit=search_clock.limit())
            outcome = run(self._make_solver(objective, spectrum), start, rules)
            if outcome.status is Status.INTERRUPTED:
                raise KeyboardInterrupt
            return outcome.state

        search = RidgeSearch(problem, learn, np.dtype(self.dtype), search_clock)
        weighted = loss.probabilistic and self.negative_weight == "auto" and self.unlabeled == "negative"
        choice = search.best(weighted and not self._terms(problem, loss).same)
        threshold = search.threshold(choice) if isinstance(self.threshold, str) else None
        return choice, threshold, search.learnt(choice) if search.interrupted else None, search.spectrum

    def _threshold_of(
        self, problem: LabelProblem, choice: Choice, random: np.random.Generator, clock: Clock
    ) -> tuple[float, LowRankLabels | None]:
        """Learn without a tenth of the rows and find the threshold on them.

        Where Ctrl-C comes meanwhile, the second is what was learnt by then.
        """
        held = held_out_rows(problem.labels)
        if held is None or clock.left() <= 0:
            return self._natural_threshold(), None
        others = problem.rows(held)
        model = self._learn(problem.rows(~held), choice, random, clock.limit(0.5))
        threshold = best_threshold(self._all_scores(model, others.X), others.labels, others.row_weights)
        return threshold, model if model.status is Status.INTERRUPTED else None

    def _learn(
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
        layout = Layout(self._rank(problem.X.shape, problem.labels.shape[1]))
        if self.solver == "svd":
            if any(isinstance(callback, Checkpoint) for callback in callbacks):
                raise ValueError('solver="svd" has no sweeps to keep: leave the checkpoint out.')
            return closed_form(self, problem, layout.rank, int(random.integers(2**31)))
        rules = StopRules.checked(self.max_iter, self.tol, self.patience if validate else None, time_limit)
        labels = problem if there is None else there.labels
        terms, reg = self._terms(labels, get_loss(self.loss), choice.weight), self._ridge(labels, choice)
        options: dict[str, Any] = {"monitor": MONITOR, "callbacks": callbacks, "verbose": self.verbose}
        if there is not None:
            right = None if cut_short is None else cut_short.right
            if cut_short is not None:
                rules = replace(rules, max_iter=1)
            outcome = there.learn(self, terms, reg, layout.rank, rules, random, validate, right, **options)
        else:
            objective = self._objective(problem, terms, choice)
            start = random_start(objective, layout, random)
            if cut_short is not None:  # its left side may be in other coordinates, and is solved first
                right = cut_short.right.copy()
                start, rules = replace(start, right=right, right_parameters=right), replace(rules, max_iter=1)
            outcome = train(
                self._make_solver(objective, spectrum), start, rules, validate=validate,
                warm_up=sweep_on_two_pairs(self._make_solver, objective, layout.columns),
                identity=(self, problem, watched), **options,
            )  # fmt: skip
        status = outcome.status
        if cut_short is not None:
            status = Status.INTERRUPTED
            warn_interrupted("the search of reg ended early and the model is one sweep from the best of it.")
        return LowRankLabels(
            feature_weights=outcome.state.parameters(LEFT), label_factors=outcome.state.right, kernel_map=None,
            reg=reg, negative_weight=terms.weight, negative_value=terms.value,
            negative_loss="same" if terms.same or problem.labels.known is not None else "squared",
            history=outcome.history, objective=outcome.state.objective, status=status,
        )  # fmt: skip

    def _rank(self, features: tuple[int, int], n_labels: int) -> int:
        return defaults.auto_rank(features, n_labels) if isinstance(self.rank, str) else int(self.rank)

    def _ridge(self, problem: LabelProblem | CountedLabels, choice: Choice) -> float:
        return choice.ridge * problem.reg_unit(get_loss(self.loss)) if isinstance(self.reg, str) else float(self.reg)

    def _terms(self, problem: Shares, loss: Loss, times: float = 1.0) -> Terms:
        return Terms.resolve(
            loss, problem, self.unlabeled == "missing", self.negative_loss, self.negative_weight,
            self.negative_value, times,
        )  # fmt: skip

    def _objective(self, problem: LabelProblem, terms: Terms, choice: Choice) -> Objective:
        return problem.objective(terms, self._ridge(problem, choice), np.dtype(self.dtype), self.n_threads)

    def _make_solver(self, objective: Objective, spectrum: Spectrum | None = None) -> Solver[Factors]:
        return solver_maker("tron" if self.solver == "auto" else self.solver, 0, 1, 0, spectrum)(objective)

    def _checked_validation(self, X: Any, Y: Any, labels: Labels, names: Ids | None) -> tuple[Any, Labels]:
        check_rows_together(X, Y)
        X = self._validated(X)
        truth = Labels.from_y(Y if names is None else named_labels(Y, names)[0], self.unlabeled)
        n_labels = labels.shape[1]
        if truth.shape != (X.shape[0], n_labels):
            raise ValueError(
                f"validation must be (X, Y) with a row of Y for each row of X and {n_labels} labels, got Y of "
                f"shape {truth.shape} for {X.shape[0]} rows."
            )
        return self._prepared(X), truth

    def _validator(self, X: Any, truth: Labels, kernel_map: KernelMap | None) -> Callable[[Factors], dict[str, float]]:
        features = X if kernel_map is None else kernel_map(X)

        def validate(state: Factors) -> dict[str, float]:
            W = state.parameters(LEFT)
            scores = np.asarray((features.astype(W.dtype, copy=False) @ W) @ state.right.T)
            measured = multilabel_metrics(scores, truth.positives, n_threads=self.n_threads)
            return {name: value for name, value in measured.items() if name.startswith(("precision", "ndcg"))}

        return validate

    def _natural_threshold(self) -> float:
        return 0.5 * (1.0 + get_loss(self.loss).dislike_target)

    @available_if(lambda model: get_loss(model.loss).probabilistic)
    def predict_proba(self, X: Any) -> Array:
        """1 / (1 + e^{−s}), n × L; only for the logistic loss.

        The probability of a label as far as the loss goes: a ridge pulls it to ½, and a ``negative_weight`` or
        ``negative_value`` of one's own shifts it for all labels alike. Calibrate it where numbers matter.
        """
        return np.asarray(expit(self.predict_scores(X)))

    def _check_common_parameters(self) -> None:
        super()._check_common_parameters()
        check_parameters(self)


def _pair(validation: Any) -> tuple[Any, Any]:
    if not isinstance(validation, tuple | list) or len(validation) != 2:
        raise ValueError("validation must be a pair (X, Y) of other rows and their labels.")
    return validation[0], validation[1]
