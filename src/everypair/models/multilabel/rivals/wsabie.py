"""WSABIE: features and labels embedded together by the WARP loss (Weston, Bengio & Usunier, 2010 and 2011)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from everypair.check import integer, is_number
from everypair.data.labels import Labels
from everypair.models.codec import storable
from everypair.models.estimator import FittedAttribute
from everypair.models.multilabel.base import LabelledRows, MultiLabelClassifier
from everypair.models.serve_only import TRAINING_ONLY
from everypair.solvers.loop import Callback, Status, StopRules, checked_callbacks
from everypair.solvers.rivals.pairwise import WarpRanking
from everypair.solvers.state import Factors
from everypair.training.train import train
from everypair.types import Array


@storable
@dataclass(frozen=True)
class TrainedLabels:
    """s = (x W) · v_l: W, V, and how training went."""

    feature_weights: Array
    label_factors: Array
    history: list[dict[str, Any]] = field(metadata=TRAINING_ONLY)
    status: Status

    @property
    def n_iter(self) -> int:
        """Number of passes."""
        return len(self.history)

    def scores(self, X: Any) -> Array:
        """(X W) Vᵀ."""
        return np.asarray((X @ self.feature_weights) @ self.label_factors.T)


class WSABIE(MultiLabelClassifier):
    """Rank a row's positive labels at the top: s_il = (x_i W)·v_l, by sampled steps on the WARP loss.

    A step draws a positive label and negatives until one violates the margin; the sooner it is found, the more labels
    are ranked above the positive and the greater the step, see :mod:`everypair.kernels.warp`. Only positives drive it;
    with missing labels the negatives come from the known ones. Training is sequential stochastic gradient on one
    thread: the same seed gives the same bits. It exists to be compared with :class:`~everypair.MultiLabelMF`.

    Scores order labels within a row and have no scale of their own: ``threshold="auto"`` finds a cut, top-k needs none.

    Parameters
    ----------
    rank : dimension k of the embedding.
    margin : by how much a positive's score should exceed a negative's.
    learning_rate : η of the steps; it and the margin are set by hand for the data, as the authors do.
    max_norm : C, the greatest length of a row of W and of V.
    max_iter : passes of as many steps as there are positives.
    time_limit : stop after so many seconds of training.
    unlabeled, normalize, fit_intercept, threshold, random_state : as in :class:`~everypair.MultiLabelMF`.
    n_threads : threads of scoring.
    verbose : show progress.

    Attributes
    ----------
    feature_weights_ : W (d × k), the intercept's row last.
    label_factors_ : V (L × k).
    history_, status_, n_iter_ : one dict per pass, whose ``"objective"`` is the mean WARP loss of its steps, why
        training stopped, and the number of passes.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.repeat(np.eye(3), 20, axis=0)  # three kinds of rows, each with two labels of six
    >>> Y = np.repeat(np.eye(6)[:3] + np.eye(6)[3:], 20, axis=0)
    >>> model = WSABIE(rank=4, learning_rate=0.05, random_state=0).fit(X, Y)
    >>> labels, scores = model.predict_topk(X[[0, 59]], k=2)
    >>> np.sort(labels).tolist()
    [[0, 3], [2, 5]]
    """

    feature_weights_ = FittedAttribute("model")
    label_factors_ = FittedAttribute("model")
    history_ = FittedAttribute("model")
    status_ = FittedAttribute("model")
    n_iter_ = FittedAttribute("model")

    def __init__(
        self,
        rank: int = 50,
        margin: float = 1.0,
        learning_rate: float = 0.003,
        max_norm: float = 2.0,
        max_iter: int = 30,
        time_limit: float | None = None,
        unlabeled: str = "negative",
        normalize: bool = True,
        fit_intercept: bool = True,
        threshold: float | str = "auto",
        random_state: Any = None,
        n_threads: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.rank = rank
        self.margin = margin
        self.learning_rate = learning_rate
        self.max_norm = max_norm
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.unlabeled = unlabeled
        self.normalize = normalize
        self.fit_intercept = fit_intercept
        self.threshold = threshold
        self.random_state = random_state
        self.n_threads = n_threads
        self.verbose = verbose

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, mask: Any = None, *, callbacks: Iterable[Callback] = ()
    ) -> Self:
        """Learn as every multi-label classifier here; a callback gets a :class:`~everypair.solvers.loop.Sweep`."""
        self._fit_all(X, y, sample_weight, mask, checked_callbacks(callbacks))
        return self

    def _fit(self, rows: LabelledRows, random: np.random.Generator, callbacks: tuple[Callback, ...]) -> TrainedLabels:
        rules = StopRules.checked(self.max_iter, 0.0, None, self.time_limit)
        rank = integer("rank", self.rank)
        for name in ("margin", "learning_rate", "max_norm"):
            value = getattr(self, name)
            if not is_number(value) or not 0 < value < np.inf:
                raise ValueError(f"{name} must be a positive number, got {value!r}.")
        X, labels, sample_weight = rows
        features = sp.csr_array(X)
        seed = random.integers(1, 2**63, size=1).astype(np.uint64)
        sizes = features.shape[1], labels.shape[1]
        W, V = (random.standard_normal((size, rank)) / np.sqrt(rank) for size in sizes)
        start = Factors(_shortened(W, self.max_norm).astype(X.dtype), _shortened(V, self.max_norm).astype(X.dtype))

        def solver_on(features: Any, labels: Labels, weights: Array | None, seed: Array) -> WarpRanking:
            return WarpRanking(
                features, labels.positives, _known_negatives(labels), labels.known is None, weights,
                float(self.margin), float(self.learning_rate), float(self.max_norm), seed,
            )  # fmt: skip

        def warm_up() -> object:
            tiny = Labels.from_y(np.eye(2))
            ones = np.ones((2, rank), X.dtype)
            return solver_on(sp.csr_array(np.eye(2, dtype=X.dtype)), tiny, None, seed.copy()).step(Factors(ones, ones))

        outcome = train(
            solver_on(features, labels, sample_weight, seed), start, rules, warm_up=warm_up, callbacks=callbacks,
            verbose=self.verbose, identity=(self, rows),
        )  # fmt: skip
        return TrainedLabels(outcome.state.left, outcome.state.right, outcome.history, outcome.status)

    def _natural_threshold(self) -> float:
        return 0.0


def _known_negatives(labels: Labels) -> sp.csr_array:
    """The known negatives of each row; an empty matrix where every entry is known and none need be listed."""
    if labels.known is None:
        return sp.csr_array(labels.shape, dtype=np.float32)
    negatives = labels.known.copy()
    negatives.data = 1 - negatives.data
    negatives.eliminate_zeros()
    return negatives


def _shortened(matrix: Array, limit: float) -> Array:
    """Rows scaled to length ``limit`` where they are longer."""
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    return matrix * np.minimum(1, limit / lengths)
