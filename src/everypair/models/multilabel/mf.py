"""MultiLabelMF: multi-label learning with a linear model of low rank, every label counting or only the known ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from scipy.special import expit
from sklearn.utils.metaestimators import available_if

from everypair import check
from everypair.data.ids import Ids
from everypair.data.label_names import check_rows_together, named_labels
from everypair.data.labels import Labels
from everypair.distribute.solving.train import check_keeper
from everypair.features.kernel_map import KernelMap
from everypair.features.nystrom import Kernel
from everypair.metrics.multilabel import multilabel_metrics
from everypair.models.estimator import FittedAttribute
from everypair.models.multilabel.base import LabelledRows, MultiLabelClassifier
from everypair.models.multilabel.clustered import RowsThere, check_files, check_there, is_folder
from everypair.models.multilabel.learner import Learner
from everypair.models.multilabel.parameters import check_parameters, checked_label_weight
from everypair.models.multilabel.problem import LabelProblem
from everypair.problem.layout import LEFT
from everypair.problem.losses import Loss, get_loss
from everypair.solvers.loop import Callback, checked_callbacks
from everypair.solvers.state import Factors
from everypair.types import Array


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
    n_threads : threads to use here, all cores by default; workers of a cluster use those they were started with.
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

    rank_ = FittedAttribute("model")
    reg_ = FittedAttribute("model")
    negative_loss_ = FittedAttribute("model")
    negative_weight_ = FittedAttribute("model")
    negative_value_ = FittedAttribute("model")
    feature_weights_ = FittedAttribute("model")
    label_factors_ = FittedAttribute("model")
    history_ = FittedAttribute("model")
    objective_ = FittedAttribute("model")
    status_ = FittedAttribute("model")
    n_iter_ = FittedAttribute("model")

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
        then be a folder of Parquet, XC or npz files, each with some of the rows, and y is left out: what
        :func:`~everypair.data.read_multilabel` reads, with its options in ``Cluster(read=…)``.
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
        learner = Learner(self)
        if there is not None:
            check_there(self, learner.terms(there.labels), problem.labels.known)
        watched = None if validation is None else self._checked_validation(*_pair(validation), problem.labels, names)
        clock = learner.clock(tried)
        choice, threshold, cut_short, spectrum = learner.search(tried, clock)
        learnt = None
        if check.is_number(self.threshold):
            threshold = float(self.threshold)
        elif threshold is None:
            threshold, learnt = learner.threshold(tried, choice, for_threshold, clock)
        validate = None if watched is None else self._validator(*watched, kernel_map)
        if learnt is None:
            learnt = learner.learn(
                problem, choice, for_fit, clock.limit(), spectrum, validate, callbacks, cut_short, watched, there
            )
        self._keep(replace(learnt, kernel_map=kernel_map), y, threshold, names)
        return self

    def _rows_in_files(self, folder: Any, client: Any) -> tuple[RowsThere, Any, Ids | None]:
        """Rows that workers have read, a matrix without rows in the place of y, and the labels' names."""
        self._check_common_parameters()
        weigh = partial(checked_label_weight, self.label_weight)
        there = RowsThere.in_files(client, folder, weigh, self)
        assert there.files is not None
        columns = there.files.shared
        self.n_features_in_ = columns.n_features
        self.__dict__.pop("feature_names_in_", None)
        if columns.by_name and columns.feature_names is not None:
            self.feature_names_in_ = np.array(columns.feature_names, object)
        names = None if columns.label_names is None else Ids(columns.label_names)
        return there, sp.csr_array((0, columns.n_labels), dtype=np.int8), names

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
        rank = Learner(self).rank(problem)
        if rank > max(n_features, n_labels):
            raise ValueError(
                f"rank={rank} is larger than the number of features, {n_features}, and of labels, {n_labels}: "
                f"at most {min(n_features, n_labels)} makes sense."
            )
        problem.check_weights(self.dtype)

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
