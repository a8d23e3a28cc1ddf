"""MultiLabelMF: multi-label learning with a linear model of low rank, every label counting or only the known ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import validate_data

from everypair import check
from everypair.data.labels import Labels
from everypair.features.kernel_map import KernelMap
from everypair.features.nystrom import Kernel
from everypair.features.scaling import prepare_features
from everypair.metrics.multilabel import multilabel_metrics
from everypair.models.multilabel import defaults
from everypair.models.multilabel.base import MultiLabelClassifier
from everypair.models.multilabel.problem import LabelProblem, Terms
from everypair.models.recommend.factorization import random_start
from everypair.parallel import resolve_threads
from everypair.problem.losses import Loss, get_loss
from everypair.problem.objective import LEFT, Objective
from everypair.solvers.alternating import Factors
from everypair.solvers.choose import BLOCK_METHODS, solver_maker
from everypair.solvers.closed_form import low_rank_regression
from everypair.solvers.loop import Callback, Outcome, Status, StopRules, checked_callbacks, run
from everypair.training.progress import Progress, compile_first

Array = NDArray[Any]
SOLVERS = ("auto", *BLOCK_METHODS, "svd")
CLOSED_FORM = "Solved in closed form."
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
        data, that ranks held-out rows best; this takes about as long as three more fits.
    fit_intercept, normalize : scale rows of X to length 1, then append a constant 1, penalised like any feature.
    kernel, n_landmarks, gamma : ``"rbf"``, ``"linear"`` or a function: learn from kernel features over so many
        landmarks instead of X, exactly where X has no more distinct rows than that; ``gamma`` in units of 1/σ² and
        ``"auto"`` for 1/d, see :class:`~everypair.features.NystromFeatures`. With kernel values k(x) and coefficients A
        the ridge is ½ λ tr(AᵀKA); LEML's kernel extension has ½ λ ‖A‖².
    solver : ``"auto"`` and ``"tron"`` alternate trust-region Newton steps on W and H; ``"newton-linesearch"`` and
        ``"gradient"`` are there to be compared; ``"svd"`` is the closed form of the squared loss with every label known
        and no ridge (``reg=0``, or ``"auto"``, which is 0 there).
    threshold : ``predict`` says 1 where the score exceeds it: a number, or ``"auto"`` to find it on a held-out tenth of
        the rows, which costs one more fit (with fewer than 50 rows: 0, and ½ for the squared loss).
    max_iter, tol, patience, time_limit : stop after so many sweeps, at a relative decrease of the objective below
        ``tol``, after ``patience`` sweeps without a better nDCG@5 of the validation rows, or after so many seconds.
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

    rank_: int
    reg_: float
    kernel_map_: KernelMap | None
    history_: list[dict[str, Any]]
    objective_: float | None
    status_: Status | str
    _watch: tuple[Any, tuple[Callback, ...]] | None = None  # while fit runs: validation rows and callbacks
    _multiples: tuple[float, float] | None = None  # while fit runs: what was found for reg="auto"

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
        y: Any,
        sample_weight: Any = None,
        mask: Any = None,
        *,
        validation: Any = None,
        callbacks: Iterable[Callback] = (),
    ) -> Self:
        """Learn from features X (n × d) and labels y (n × L of zeros and ones), both sparse or dense.

        ``sample_weight`` and ``mask`` are those of every multi-label classifier here. ``validation``, a pair (X, Y) of
        other rows, is measured after each sweep and stops the training if ``patience`` is set. A callback gets a
        :class:`~everypair.solvers.loop.Sweep` and stops the training by returning ``True``. Ctrl-C keeps what was
        learnt.
        """
        if self.patience is not None and validation is None:
            raise ValueError("patience needs validation data: fit(X, Y, validation=(X_other, Y_other)).")
        self._watch = (validation, checked_callbacks(callbacks))
        try:
            super().fit(X, y, sample_weight, mask)
        finally:
            self._watch = self._multiples = None
        return self

    def _fit(self, X: Any, labels: Labels, sample_weight: Array | None, random: np.random.Generator) -> None:
        loss = get_loss(self.loss)
        problem = self._problem(X, labels, sample_weight, random)
        if self.solver == "svd":
            self._solve(problem, int(random.integers(2**31)))
            return
        multiples = 1.0, 1.0
        if self.reg == "auto":
            multiples = self._multiples or self._searched(problem, loss)
        self.reg_ = multiples[0] * problem.reg_unit(loss) if isinstance(self.reg, str) else float(self.reg)
        terms = self._terms(problem, loss, multiples[1])
        self.negative_loss_ = "same" if terms.same or labels.known is not None else "squared"
        self.negative_weight_, self.negative_value_ = terms.weight, terms.value
        objective = problem.objective(terms, self.reg_, self.rank_, np.dtype(self.dtype), self.n_threads)
        self._keep(self._train(objective, random_start(objective, self.rank_, random)))

    def _train(self, objective: Objective, start: Factors) -> Outcome:
        rules = StopRules.checked(self.max_iter, self.tol, self.patience, self.time_limit)
        validation, callbacks = self._watch or (None, ())
        validate = None if validation is None else self._validator(*_pair(validation))
        make_solver = self._solver_maker()
        with Progress(rules.max_iter, self.verbose) as progress:
            compile_first(make_solver, objective, self.rank_, progress)
            return run(
                make_solver(objective), start, rules, validate=validate, monitor=MONITOR,
                callbacks=(progress.advance, *callbacks),
            )  # fmt: skip

    def _keep(self, outcome: Outcome) -> None:
        self.feature_weights_, self.label_factors_ = outcome.state.parameters(LEFT), outcome.state.right
        self.history_, self.n_iter_ = outcome.history, len(outcome.history)
        self.objective_, self.status_ = outcome.state.objective, outcome.status

    def _solver_maker(self) -> Callable[[Objective], Any]:
        name = "tron" if self.solver == "auto" else self.solver
        return solver_maker(name, self.rank_, 1, 0, resolve_threads(self.n_threads))

    def _solve(self, problem: LabelProblem, seed: int) -> None:
        """The closed form."""
        if problem.labels.known is not None:
            raise ValueError('solver="svd" needs every label known: use solver="auto" with missing labels.')
        W, H = low_rank_regression(*problem.weighted(), self.rank_, seed)
        self.rank_, self.reg_ = W.shape[1], 0.0
        self.negative_loss_, self.negative_weight_, self.negative_value_ = "squared", 1.0, 0.0
        self.feature_weights_, self.label_factors_ = W.astype(self.dtype), H.astype(self.dtype)
        objective = problem.objective(
            Terms(get_loss("squared"), False, 1.0, 0.0), 0.0, self.rank_, np.float64, self.n_threads
        )
        self.objective_ = objective.value(W, H)
        self.history_ = [{"iteration": 1, "objective": self.objective_}]
        self.status_ = CLOSED_FORM
        self.n_iter_ = 1

    def _terms(self, problem: LabelProblem, loss: Loss, times: float = 1.0) -> Terms:
        return Terms.resolve(
            loss, problem, self.unlabeled == "missing", self.negative_loss, self.negative_weight,
            self.negative_value, times,
        )  # fmt: skip

    def _searched(self, problem: LabelProblem, loss: Loss) -> tuple[float, float]:
        """Multiples of the unit ridge and of the negative weight that rank held-out rows best."""
        problem = problem.compact()

        def measure(steps: list[tuple[float, float]]) -> list[float] | None:
            return defaults.held_out_quality(problem.labels, self._score_path(problem, loss, steps))

        reg = defaults.best_multiple(lambda multiples: measure([(multiple, 1.0) for multiple in multiples]))
        weighted = loss.name == "logistic" and self.negative_weight == "auto" and self.unlabeled == "negative"
        if reg is None or not weighted or self._terms(problem, loss).same:
            return reg or 1.0, 1.0
        once, twice = measure([(reg, 1.0), (reg, 2.0)]) or (0.0, 0.0)
        return reg, 2.0 if twice > once else 1.0

    def _score_path(
        self, problem: LabelProblem, loss: Loss, steps: list[tuple[float, float]]
    ) -> Callable[[Array, Array], Iterator[Array]]:
        """Fit one (ridge, weight) after the other, each from where the last one ended, and score held-out rows."""
        dtype = np.dtype(self.dtype)

        def scores(kept: Array, held: Array) -> Iterator[Array]:
            part, others = problem.rows(kept), problem.X[held].astype(dtype, copy=False)
            state = None
            for reg, weight in steps:
                terms = self._terms(part, loss, weight)
                objective = part.objective(terms, reg * part.reg_unit(loss), self.rank_, dtype, self.n_threads)
                start = state or random_start(objective, self.rank_, np.random.default_rng(0))
                state = run(self._solver_maker()(objective), start, SEARCH_RULES).state
                yield np.asarray((others @ state.parameters(LEFT)) @ state.right.T)

        return scores

    def _learnt_threshold(
        self, X: Any, labels: Labels, sample_weight: Array | None, random: np.random.Generator
    ) -> float:
        """As in the base class, but the ridge is chosen once, for this fit and for that of the threshold."""
        model = clone(self).set_params(verbose=False, patience=None)
        model.n_labels_ = self.n_labels_
        if self.reg == "auto" and self.solver != "svd":
            problem = self._problem(X, labels, sample_weight, np.random.default_rng(0))
            self._multiples = model._multiples = self._searched(problem, get_loss(self.loss))
        return MultiLabelClassifier._learnt_threshold(model, X, labels, sample_weight, random)

    def _problem(
        self, X: Any, labels: Labels, sample_weight: Array | None, random: np.random.Generator
    ) -> LabelProblem:
        """What is learnt from: rows (or their kernel features), labels and weights; settles the rank."""
        n_labels = labels.shape[1]
        self.kernel_map_ = None
        if self.kernel is not None:
            seed = int(random.integers(2**31))
            self.kernel_map_ = KernelMap.fit(X, self.kernel, self.n_landmarks, self.gamma, self.fit_intercept, seed)
            X = self.kernel_map_(X)
        self.rank_ = defaults.auto_rank(X.shape, n_labels) if isinstance(self.rank, str) else int(self.rank)
        if self.rank_ > max(X.shape[1], n_labels):
            raise ValueError(
                f"rank={self.rank_} is larger than the number of features, {X.shape[1]}, and of labels, {n_labels}: "
                f"at most {min(X.shape[1], n_labels)} makes sense."
            )
        return LabelProblem.of(X, labels, sample_weight, self._checked_label_weight(n_labels))

    def _scores(self, X: Any) -> Array:
        features = X if self.kernel_map_ is None else self.kernel_map_(X)
        weights = self.feature_weights_
        return np.asarray((features.astype(weights.dtype, copy=False) @ weights) @ self.label_factors_.T)

    def _validator(self, X: Any, Y: Any) -> Callable[[Factors], dict[str, float]]:
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32])
        features = prepare_features(X, self.normalize, self.fit_intercept)
        truth = Labels.from_y(Y, self.unlabeled)
        if truth.shape != (X.shape[0], self.n_labels_):
            raise ValueError(
                f"validation must be (X, Y) with a row of Y for each row of X and {self.n_labels_} labels, got Y of "
                f"shape {truth.shape} for {X.shape[0]} rows."
            )

        def validate(state: Factors) -> dict[str, float]:
            self.feature_weights_, self.label_factors_ = state.parameters(LEFT), state.right
            scores = np.concatenate(self._by_blocks(features, lambda block: block))
            measured = multilabel_metrics(scores, truth.positives, n_threads=self.n_threads)
            return {name: value for name, value in measured.items() if name.startswith(("precision", "ndcg"))}

        return validate

    def _natural_threshold(self) -> float:
        return 0.5 * (1.0 + get_loss(self.loss).dislike_target)

    @available_if(lambda model: model.loss == "logistic")
    def predict_proba(self, X: Any) -> Array:
        """1 / (1 + e^{−s}), n × L; only for the logistic loss.

        The probability of a label as far as the loss goes: a ridge pulls it to ½, and a ``negative_weight`` or
        ``negative_value`` of one's own shifts it for all labels alike. Calibrate it where numbers matter.
        """
        return np.asarray(expit(self.predict_scores(X)))

    def _check_common_parameters(self) -> None:
        super()._check_common_parameters()
        StopRules.checked(self.max_iter, self.tol, self.patience, self.time_limit)
        check.float_dtype(self.dtype)
        loss = get_loss(self.loss)
        if self.rank != "auto":
            check.integer("rank", self.rank)
        _check_number("reg", self.reg)
        _check_number("negative_weight", self.negative_weight)
        if self.negative_value != "auto" and not (
            check.is_number(self.negative_value) and np.isfinite(self.negative_value)
        ):
            raise ValueError(f'negative_value must be a finite number or "auto", got {self.negative_value!r}.')
        if self.negative_loss not in ("auto", "squared", "same"):
            raise ValueError(f'negative_loss must be "auto", "squared" or "same", got {self.negative_loss!r}.')
        if self.unlabeled == "missing" and (self.negative_loss == "squared" or self.negative_value != "auto"):
            raise ValueError(
                'with unlabeled="missing" a known negative has the loss itself and its target: leave negative_loss and '
                "negative_value alone (negative_weight weighs known negatives)."
            )
        if not isinstance(self.solver, str) or self.solver not in SOLVERS:
            raise ValueError(f"solver must be one of {', '.join(map(repr, SOLVERS))}, got {self.solver!r}.")
        if self.kernel is not None and self.kernel not in ("rbf", "linear") and not callable(self.kernel):
            raise ValueError(f'kernel must be None, "rbf", "linear" or a function, got {self.kernel!r}.')
        check.integer("n_landmarks", self.n_landmarks)
        _check_number("gamma", self.gamma)
        if self.gamma != "auto" and (self.gamma == 0 or self.kernel != "rbf"):
            raise ValueError(f'gamma must be "auto", or positive with kernel="rbf", got {self.gamma!r}.')
        if self.solver == "svd":
            self._check_closed_form(loss)

    def _check_closed_form(self, loss: Loss) -> None:
        plain = {"reg": 0, "negative_weight": 1, "negative_value": 0}
        for name, value in plain.items():
            given = getattr(self, name)
            if given != "auto" and given != value:
                raise ValueError(f'solver="svd" needs {name}={value} (or "auto"), got {given!r}: use solver="auto".')
        if loss.name != "squared" or self.label_weight is not None:
            raise ValueError('solver="svd" is for loss="squared" without label_weight: use solver="auto".')

    def _checked_label_weight(self, n_labels: int) -> Array | None:
        if self.label_weight is None:
            return None
        weights = np.asarray(self.label_weight, np.float64)
        if weights.shape != (n_labels,):
            raise ValueError(
                f"label_weight must have one weight per label, shape ({n_labels},), got shape {weights.shape}."
            )
        if not np.isfinite(weights).all() or weights.min() <= 0:
            raise ValueError("label_weight must be finite and positive; leave out labels that should not count.")
        return weights


def _check_number(name: str, value: Any) -> None:
    if value != "auto" and not (check.is_number(value) and 0 <= value < np.inf):
        raise ValueError(f'{name} must be a finite number ≥ 0 or "auto", got {value!r}.')


def _pair(validation: Any) -> tuple[Any, Any]:
    if not isinstance(validation, tuple | list) or len(validation) != 2:
        raise ValueError("validation must be a pair (X, Y) of other rows and their labels.")
    return validation[0], validation[1]
