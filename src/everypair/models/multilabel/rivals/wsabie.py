"""WSABIE: features and labels embedded together by the WARP loss (Weston, Bengio & Usunier, 2010 and 2011)."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.check import integer, is_number
from everypair.data.labels import Labels
from everypair.kernels.warp import warp_epoch
from everypair.models.multilabel.base import MultiLabelClassifier

Array = NDArray[Any]


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
    epochs : passes of as many steps as there are positives.
    unlabeled, normalize, fit_intercept, threshold, random_state : as in :class:`~everypair.MultiLabelMF`.
    n_threads : threads of scoring.

    Attributes
    ----------
    coef_ : W (d × k), the intercept's row last.
    label_factors_ : V (L × k).
    history_ : one dict per epoch; ``"objective"`` is the mean WARP loss of its steps.

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

    def __init__(
        self,
        rank: int = 50,
        margin: float = 1.0,
        learning_rate: float = 0.003,
        max_norm: float = 2.0,
        epochs: int = 30,
        unlabeled: str = "negative",
        normalize: bool = True,
        fit_intercept: bool = True,
        threshold: float | str = "auto",
        random_state: Any = None,
        n_threads: int | None = None,
    ) -> None:
        self.rank = rank
        self.margin = margin
        self.learning_rate = learning_rate
        self.max_norm = max_norm
        self.epochs = epochs
        self.unlabeled = unlabeled
        self.normalize = normalize
        self.fit_intercept = fit_intercept
        self.threshold = threshold
        self.random_state = random_state
        self.n_threads = n_threads

    def _fit(self, X: Any, labels: Labels, sample_weight: Array | None, random: np.random.Generator) -> None:
        rank, epochs = integer("rank", self.rank), integer("epochs", self.epochs)
        for name in ("margin", "learning_rate", "max_norm"):
            value = getattr(self, name)
            if not is_number(value) or not 0 < value < np.inf:
                raise ValueError(f"{name} must be a positive number, got {value!r}.")
        n, L = labels.shape
        positives, negatives = labels.positives, _known_negatives(labels)
        owners = np.repeat(np.arange(n), np.diff(positives.indptr))
        sums = np.zeros(positives.nnz + 1)
        np.cumsum(np.ones(positives.nnz) if sample_weight is None else sample_weight[owners], out=sums[1:])
        features = sp.csr_array(X)
        state = random.integers(1, 2**63, size=1).astype(np.uint64)
        W, V = (random.standard_normal((rows, rank)) / np.sqrt(rank) for rows in (features.shape[1], L))
        self.coef_, self.label_factors_ = (_shortened(M, self.max_norm).astype(X.dtype) for M in (W, V))
        harmonic = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, L + 1))])
        self.history_: list[dict[str, float]] = []
        start = perf_counter()
        for _ in range(epochs):
            objective = warp_epoch(
                positives.nnz, features.indptr, features.indices, features.data,
                positives.indptr, positives.indices, owners, sums,
                labels.known is None, negatives.indptr, negatives.indices, harmonic,
                float(self.margin), float(self.learning_rate), float(self.max_norm),
                self.coef_, self.label_factors_, state,
            )  # fmt: skip
            self.history_.append({"objective": objective, "seconds": perf_counter() - start})
        self.n_iter_ = epochs

    def _scores(self, X: Any) -> Array:
        return np.asarray((X @ self.coef_) @ self.label_factors_.T)

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
