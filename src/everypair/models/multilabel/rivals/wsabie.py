"""WSABIE: features and labels embedded together by the WARP loss (Weston, Bengio & Usunier, 2010 and 2011)."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sp

from everypair import check
from everypair.data.labels import Labels
from everypair.models.codec import storable
from everypair.models.estimator import FittedAttribute
from everypair.models.multilabel.base import LabelledRows
from everypair.models.multilabel.rivals.sweeping import SweepingClassifier
from everypair.models.parameters import estimator, number, parameter
from everypair.models.serve_only import TRAINING_ONLY
from everypair.solvers.loop import Callback, Status, StopRules
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


@estimator
class WSABIE(SweepingClassifier):
    """Rank a row's positive labels at the top: s_il = (x_i W)·v_l, by sampled steps on the WARP loss.

    A step draws a positive label and negatives until one violates the margin; the sooner it is found, the more labels
    are ranked above the positive and the greater the step, see :mod:`everypair.kernels.warp`. Only positives drive it;
    with missing labels the negatives come from the known ones. Training is sequential stochastic gradient on one
    thread: the same seed gives the same bits. It exists to be compared with :class:`~everypair.MultiLabelMF`.

    Scores order labels within a row and have no scale of their own: ``threshold="auto"`` finds a cut, top-k needs none.

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

    rank: int = parameter(50, "dimension k of the embedding.", check.integer)
    margin: float = parameter(1.0, "by how much a positive's score should exceed a negative's.", number(above=0))
    learning_rate: float = parameter(
        0.003, "η of the steps; it and the margin are set by hand for the data, as the authors do.", number(above=0)
    )
    max_norm: float = parameter(2.0, "C, the greatest length of a row of W and of V.", number(above=0))
    max_iter: int = parameter(30, "passes of as many steps as there are positives.", check.integer)

    feature_weights_ = FittedAttribute("model")
    label_factors_ = FittedAttribute("model")

    def _fit(
        self,
        rows: LabelledRows,
        parameters: SimpleNamespace,
        random: np.random.Generator,
        callbacks: tuple[Callback, ...],
    ) -> TrainedLabels:
        X, labels, sample_weight = rows
        features, rank, limit = sp.csr_array(X), parameters.rank, parameters.max_norm
        seed = random.integers(1, 2**63, size=1).astype(np.uint64)
        sizes = features.shape[1], labels.shape[1]
        W, V = (random.standard_normal((size, rank)) / np.sqrt(rank) for size in sizes)
        start = Factors(_shortened(W, limit).astype(X.dtype), _shortened(V, limit).astype(X.dtype))

        def solver_on(features: Any, labels: Labels, weights: Array | None, seed: Array) -> WarpRanking:
            return WarpRanking(
                features, labels.positives, _known_negatives(labels), labels.known is None, weights,
                parameters.margin, parameters.learning_rate, limit, seed,
            )  # fmt: skip

        def warm_up() -> object:
            tiny = Labels.from_y(np.eye(2))
            ones = np.ones((2, rank), X.dtype)
            return solver_on(sp.csr_array(np.eye(2, dtype=X.dtype)), tiny, None, seed.copy()).step(Factors(ones, ones))

        outcome = train(
            solver_on(features, labels, sample_weight, seed), start,
            StopRules(parameters.max_iter, 0.0, None, parameters.time_limit), warm_up=warm_up, callbacks=callbacks,
            verbose=parameters.verbose, identity=(self, rows),
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
