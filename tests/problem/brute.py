"""The objective written out over every pair in plain float64 numpy, and small problems of every kind to try it on.

Nothing here uses the library's own formulas for weights, ridge, losses or Gram matrices.
"""

import math
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import expit

from everypair.data.pairs import Pairs
from everypair.features.laplacian import Laplacian
from everypair.features.matrix import Features
from everypair.problem.embedding import SideInformation
from everypair.problem.layout import Layout
from everypair.problem.losses import Loss, get_loss
from everypair.problem.negatives import Negatives
from everypair.problem.objective import Objective
from everypair.problem.ridge import Ridge

COLUMNS = 5  # of the factors in every problem, bias columns included: each width is a kernel to compile

PLAIN_LOSSES = {
    "squared": (lambda y, s: 0.5 * (y - s) ** 2, lambda y, s: s - y, lambda y, s: np.ones(np.broadcast(y, s).shape)),
    "logistic": (
        lambda y, s: np.logaddexp(0, -y * s),
        lambda y, s: -y * expit(-y * s),
        lambda y, s: y * y * expit(y * s) * expit(-y * s),
    ),
    "squared_hinge": (
        lambda y, s: 0.5 * np.maximum(0, 1 - y * s) ** 2,
        lambda y, s: -y * np.maximum(0, 1 - y * s),
        lambda y, s: y * y * (y * s < 1),
    ),
    "pseudo_huber": (
        lambda y, s: np.hypot(1, y - s) - 1,
        lambda y, s: (s - y) / np.hypot(1, y - s),
        lambda y, s: np.hypot(1, y - s) ** -3,
    ),
}
DISLIKE_TARGETS = {"squared": 0.0, "logistic": -1.0, "squared_hinge": -1.0, "pseudo_huber": -0.5}


@cache
def loss_named(name):
    """Return a built-in loss, or ``"pseudo_huber"``, which is written the way a user writes one."""
    if name != "pseudo_huber":
        return get_loss(name)
    return Loss(
        name,
        value=lambda y, s: math.sqrt(1.0 + (y - s) ** 2) - 1.0,
        slope=lambda y, s: (s - y) / math.sqrt(1.0 + (y - s) ** 2),
        curvature=lambda y, s: (1.0 + (y - s) ** 2) ** -1.5,
        dislike_target=-0.5,
        negative_value=0.0,
    )


class Case(NamedTuple):
    """One kind of problem."""

    loss: str = "logistic"
    scheme: str = "constant"
    value: str = "minus"
    weights: str = "random"
    targets: str = "default"
    dislikes: str = "disliked"
    biases: str = "unbiased"

    def __str__(self):
        return "-".join(self)


SCHEMES = ("constant", "left_count", "right_rarity", "popular", "unpopular", "arrays")
VALUES = ("zero", "minus", "low_rank")
EVERY_CASE = [  # weights are ones or random by turns: no two of the other choices go with one kind of weights only
    Case(loss, scheme, value, ("unit", "random")[number.bit_count() % 2], targets, dislikes, biases)
    for number, (loss, scheme, value, targets, dislikes, biases) in enumerate(
        product(PLAIN_LOSSES, SCHEMES, VALUES, ("default", "explicit"), ("liked", "disliked"), ("unbiased", "biased"))
    )
]


@dataclass(frozen=True)
class Known:
    """What is known of one side besides its pairs: features X and a graph of similarities, dense."""

    features: np.ndarray | None = None
    feature_reg: float = 0.0
    own: bool = True
    similarity: np.ndarray | None = None
    graph_reg: float = 0.0
    normalized: bool = False

    def side_information(self, dtype=np.float64, dense=False):
        """The same, the way the library takes it."""
        matrix = self.features if self.features is None or dense else sp.csr_array(self.features)
        graph = self.similarity
        return SideInformation(
            None if matrix is None else Features(matrix, dtype),
            self.feature_reg,
            self.own,
            None if graph is None else Laplacian.from_similarity(graph, normalized=self.normalized, dtype=dtype),
            self.graph_reg,
        )

    def factors(self, theta, constant=None):
        """U = T, XW or T + XW, with a column of ones at ``constant``; leading axes of θ are kept."""
        if self.features is None:
            return theta
        d = self.features.shape[1]
        factors = self.features @ theta[..., -d:, :] + (theta[..., :-d, :] if self.own else 0)
        if constant is not None:
            factors[..., constant] = 1
        return factors

    def ridge(self, own):
        """λ of every row of θ, where own vectors have ``own``."""
        if self.features is None:
            return own
        return np.concatenate([own if self.own else own[:0], np.full(self.features.shape[1], self.feature_reg)])

    def roughness(self, factors):
        """Σ_{i<j} S_ij ‖u_i − u_j‖² over pairs of neighbours, of u_i / √degree where normalised."""
        if self.similarity is None:
            return 0.0
        links = (self.similarity + self.similarity.T) / 2
        np.fill_diagonal(links, 0)
        if self.normalized:
            degrees = links.sum(axis=1)
            factors = factors / np.sqrt(np.where(degrees > 0, degrees, 1))[:, None]
        return sum(
            links[i, j] * np.sum((factors[..., i, :] - factors[..., j, :]) ** 2, axis=-1)
            for i in range(len(links))
            for j in range(i)
        )


NOTHING_KNOWN = (Known(), Known())


@dataclass(frozen=True)
class Dense:
    """An m × n problem with one entry per pair in every matrix."""

    loss: str
    stored: np.ndarray
    weights: np.ndarray
    targets: np.ndarray
    p: np.ndarray
    q: np.ndarray
    values: np.ndarray
    ridge: tuple
    biased: bool
    known: tuple = NOTHING_KNOWN

    def learnt(self, side):
        """Columns of one side that are learnt: all but the constant one that carries the other side's bias."""
        free = np.ones(COLUMNS, bool)
        if self.biased:
            free[COLUMNS - 1 - side] = False
        return free

    def factors(self, side, theta):
        """U or V at the parameters of a side."""
        return self.known[side].factors(theta, COLUMNS - 1 - side if self.biased else None)

    def value(self, left, right):
        """F at the parameters of both sides, summed pair by pair; any leading axes are kept."""
        thetas = np.asarray(left, np.float64), np.asarray(right, np.float64)
        left, right = (self.factors(side, theta) for side, theta in enumerate(thetas))
        scores = left @ np.swapaxes(right, -1, -2)
        observed = self.weights * PLAIN_LOSSES[self.loss][0](self.targets, scores)
        others = 0.5 * np.outer(self.p, self.q) * (self.values - scores) ** 2
        ridge = [
            0.5 * np.sum(lam[:, None] * theta[..., self.learnt(side)] ** 2, axis=(-2, -1))
            for side, (lam, theta) in enumerate(zip(self.ridge, thetas))
        ]
        graph = [
            0.5 * known.graph_reg * known.roughness(factors[..., self.learnt(side)])
            for side, (known, factors) in enumerate(zip(self.known, (left, right)))
        ]
        return np.where(self.stored, observed, others).sum(axis=(-2, -1)) + sum(ridge) + sum(graph)


class Problem(NamedTuple):
    """A library objective, the same thing written out, and what both were made from."""

    objective: Objective
    dense: Dense
    pairs: Pairs
    signed: np.ndarray
    ridge: Ridge
    targets: sp.csr_array | None


def build(
    case,
    *,
    shape=(7, 6),
    seed=0,
    negative_weight=0.4,
    reg=(0.1, 0.3),
    exponent=0.5,
    dtype=np.float64,
    n_threads=1,
    loss=None,
    known=NOTHING_KNOWN,
    dense_features=False,
):
    """Build a problem: row 0 is full, row 1 empty, row 2 and the last column hold dislikes only where there are any.

    ``loss`` replaces the library's loss, not the one written out. ``known`` is the (left, right) side information, with
    features given to the library as a dense array if ``dense_features``, else as a sparse one.
    """
    rng = np.random.default_rng(seed)
    m, n = shape
    stored = rng.random(shape) < 0.45
    stored[0], stored[1] = True, False
    weights = np.where(stored, 1.0 if case.weights == "unit" else rng.lognormal(sigma=1, size=shape), 0.0)
    sign = np.ones(shape)
    if case.dislikes == "disliked":
        sign[rng.random(shape) < 0.25] = -1
        sign[2], sign[:, -1] = -1, -1
    signed = sign * weights
    targets = np.where(sign > 0, 1.0, DISLIKE_TARGETS[case.loss])
    explicit = None
    if case.targets == "explicit":
        targets = rng.choice([-1.0, 0.0, 0.5, 1.0, 2.0], size=shape)
        explicit = sp.csr_array((targets[stored], np.nonzero(stored)), shape=shape)
        assert explicit.nnz == stored.sum()  # its zeros are stored
    low_rank = rng.normal(size=(m, 2)), rng.normal(size=(n, 2)) * 0.5
    value = {"zero": 0.0, "minus": -0.7, "low_rank": low_rank}[case.value]
    scheme, p, q = _scheme(case.scheme, signed > 0, rng)
    p, q = p / p.mean(), q * negative_weight / q.mean()

    pairs = Pairs.from_matrix(sp.csr_array(signed), explicit, dtype)
    negatives = Negatives.from_scheme(pairs, negative_weight, scheme, value)
    ridge = Ridge.checked(reg, exponent)
    biased = case.biases == "biased"
    objective = Objective(
        pairs,
        loss or loss_named(case.loss),
        negatives,
        ridge,
        layout=Layout(COLUMNS - 2 * biased, biased),
        dtype=dtype,
        n_threads=n_threads,
        side_information=tuple(side.side_information(dtype, dense_features) for side in known),
    )

    def rounded(array):
        return np.asarray(array).astype(dtype).astype(np.float64)

    if exponent == "count":
        lam = [reg[side] * np.maximum(1, (signed > 0).sum(axis=1 - side)) for side in (0, 1)]
    else:
        lam = [
            reg[0] * (weights.sum(axis=1) + p * q.sum()) ** exponent,
            reg[1] * (weights.sum(axis=0) + q * p.sum()) ** exponent,
        ]
    values = rounded(low_rank[0]) @ rounded(low_rank[1]).T if case.value == "low_rank" else np.full(shape, value)
    dense = Dense(
        loss=case.loss,
        stored=stored,
        weights=rounded(weights),
        targets=rounded(targets),
        p=rounded(p),
        q=rounded(q),
        values=rounded(values),
        ridge=tuple(rounded(side.ridge(own)) for side, own in zip(known, lam)),
        biased=biased,
        known=known,
    )
    return Problem(objective, dense, pairs, signed, ridge, explicit)


def _scheme(name, positive, rng):
    m, n = positive.shape
    ones = np.ones(m), np.ones(n)
    counts = np.maximum(1, positive.sum(axis=1)), np.maximum(1, positive.sum(axis=0))
    if name == "constant":
        return "uniform", *ones
    if name == "left_count":
        return "user-count", np.maximum(counts[0], 1), ones[1]
    if name == "right_rarity":
        return "item-rarity", ones[0], m - positive.sum(axis=0)
    if name == "popular":
        return ("item-count", 0.5), ones[0], np.maximum(counts[1], 1) ** 0.5
    if name == "unpopular":
        return ("item-count", -0.7), ones[0], counts[1] ** -0.7
    p, q = rng.uniform(0.1, 2, m), rng.uniform(0.1, 2, n)
    p[3] = 0
    return (p, q), p, q


def start(dense, *, seed=1, scale=1.0, dtype=np.float64):
    """Random parameters, with constant columns where there are biases and no stored pair at the hinge's kink."""
    rng = np.random.default_rng(seed)
    while True:
        left, right = (scale * 0.6 * rng.normal(size=(len(lam), COLUMNS)) for lam in dense.ridge)
        if dense.biased:
            left[:, -1] = 1
            right[:, -2] = 1
        scores = dense.factors(0, left) @ dense.factors(1, right).T
        from_kink = np.abs(1 - dense.targets * scores)
        many = dense.stored.sum() > 1000  # too many pairs to keep all of them clear; only their bits are compared
        if dense.loss != "squared_hinge" or many or from_kink[dense.stored].min() > 0.03:
            return left.astype(dtype), right.astype(dtype)
