"""SLEEC (Bhatia, Jain, Kar, Varma and Jain, NIPS 2015): nearest neighbours in an embedding of labels.

    in each cluster of rows    Z = argmin Σ_{(i,j) ∈ Ω} (y_i·y_j − z_i·z_j)²       Ω: each row and its nearest by labels
                               V = argmin ‖Z − XV‖² + λ‖V‖² + μ‖XV‖₁
    a new row                  z = xV in its nearest cluster, s = the mean y of the rows whose x_i V are nearest to z

The y_i have unit length in Z. Z comes from singular value projection, M ← P_k(M − P_Ω(M − YYᵀ)), which never raises the
objective; V from the alternating direction method of multipliers. Scores are the mean over several clusterings.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from everypair import check
from everypair.models.codec import storable
from everypair.models.multilabel.base import LabelledRows, LinearClassifier
from everypair.models.multilabel.rivals.ridge import RidgeSolver
from everypair.models.parameters import Seeded, estimator, number, or_auto, parameter
from everypair.models.state_checks import check_array
from everypair.parallel import Chunk, even_chunks, run_chunks, single_threaded_blas
from everypair.progress import Progress
from everypair.solvers.loop import Callback
from everypair.types import Array

CLUSTER_ROWS = 6000
PROJECTIONS = 30  # of M
SPLITS = 20  # rounds of alternating directions
BLOCK = 512


@storable
@dataclass(frozen=True)
class EmbeddedCluster:
    """V (d × k), the x_i V of the cluster's rows, and their labels."""

    regressor: Array
    embedded: Array
    labels: Any

    def __post_init__(self) -> None:
        check_array("embedded", self.embedded, self.labels.shape[0], self.regressor.shape[1])

    def scores(self, X: Any, neighbours: int) -> Array:
        """The mean labels of the nearest rows."""
        Z = np.asarray(X @ self.regressor)
        distances = np.square(self.embedded).sum(axis=1) - 2 * (Z @ self.embedded.T)
        count = min(neighbours, len(self.embedded))
        nearest = np.argpartition(distances, count - 1, axis=1)[:, :count]
        members = sp.csr_array(
            (np.ones(nearest.size, Z.dtype), nearest.ravel(), np.arange(0, nearest.size + 1, count)), distances.shape
        )
        return np.asarray((members @ self.labels).toarray()) / count


@storable
@dataclass(frozen=True)
class LabelNeighbours:
    """For every clustering the centers (C × d) and what was learnt in each cluster."""

    centers: tuple[Array, ...]
    clusters: tuple[tuple[EmbeddedCluster, ...], ...]
    neighbours: int
    n_labels: int

    def __post_init__(self) -> None:
        for centers, clusters in zip(self.centers, self.clusters, strict=True):
            check_array("centers", centers, len(clusters), None)

    def scores(self, X: Any) -> Array:
        """The mean over clusterings of what the nearest cluster says."""
        total = np.zeros((X.shape[0], self.n_labels), X.dtype)
        for centers, clusters in zip(self.centers, self.clusters):
            distances = np.square(centers).sum(axis=1) - 2 * np.asarray(X @ centers.T)
            home = distances.argmin(axis=1)
            for number_, cluster in enumerate(clusters):
                rows = np.flatnonzero(home == number_)
                if len(rows):
                    total[rows] += cluster.scores(X[rows], self.neighbours)
        return np.asarray(total / len(self.clusters))


@estimator
class SLEEC(Seeded, LinearClassifier):
    """Nearest neighbours in an embedding that keeps the nearest neighbours of labels; it exists to be compared with.

    Examples
    --------
    >>> X = np.repeat(np.eye(3), 20, axis=0)
    >>> Y = np.repeat(np.eye(6, dtype=int)[:3] + np.eye(6, dtype=int)[3:], 20, axis=0)
    >>> SLEEC(rank=3, random_state=0).fit(X, Y).predict(X[[0, 59]]).tolist()
    [[1, 0, 0, 1, 0, 0], [0, 0, 1, 0, 0, 1]]
    """

    rank: int = parameter(100, "length k of embeddings.", check.integer)
    n_clusters: int | str = parameter(
        "auto", 'clusters of rows; ``"auto"``: one for each 6,000.', or_auto(check.integer)
    )
    n_learners: int = parameter(5, "clusterings, of which one is enough where there is one cluster.", check.integer)
    kept_neighbours: int = parameter(100, "rows nearest by labels whose products are kept.", check.integer)
    neighbours: int = parameter(20, "rows that a new one gets its labels from.", check.integer)
    reg: float = parameter(0.1, "λ.", number(above=0))
    l1_reg: float = parameter(1e-3, "μ.", number(least=0))
    verbose: bool = parameter(False, "show progress.", check.flag)

    def _fit(
        self,
        rows: LabelledRows,
        parameters: SimpleNamespace,
        random: np.random.Generator,
        callbacks: tuple[Callback, ...],
    ) -> LabelNeighbours:
        X, labels, sample_weight = rows
        n = labels.shape[0]
        count = min(parameters.n_clusters or max(1, round(n / CLUSTER_ROWS)), n)
        learners = 1 if count == 1 else parameters.n_learners
        centers, clusters = [], []
        with Progress(learners * count, "clusters", quiet=not parameters.verbose) as progress:
            for learner in range(learners):
                center, home = _clusters(X, count, int(random.integers(2**31)))
                learnt = []
                for cluster in range(count):
                    members = np.flatnonzero(home == cluster)
                    weights = None if sample_weight is None else sample_weight[members]
                    Y = labels.positives[members]
                    learnt.append(_cluster(X[members], Y, weights, parameters, random))
                    progress.reach(learner * count + cluster + 1)
                centers.append(center.astype(X.dtype))
                clusters.append(tuple(learnt))
        return LabelNeighbours(tuple(centers), tuple(clusters), parameters.neighbours, labels.shape[1])


def _clusters(X: Any, count: int, seed: int) -> tuple[Array, Array]:
    if count == 1:
        return np.asarray(X.mean(axis=0)).reshape(1, -1), np.zeros(X.shape[0], np.int64)
    from sklearn.cluster import KMeans

    with single_threaded_blas():
        found = KMeans(count, n_init=1, random_state=seed).fit(X)
    return found.cluster_centers_, found.labels_


def _cluster(X: Any, Y: Any, weights: Array | None, parameters: SimpleNamespace, random: Any) -> EmbeddedCluster:
    with single_threaded_blas():
        Z = embedding(Y, parameters.rank, parameters.kept_neighbours, random, parameters.n_threads)
        V = sparse_regression(X, Z, parameters.reg, parameters.l1_reg, weights).astype(X.dtype)
        return EmbeddedCluster(V, np.asarray(X @ V), Y.astype(X.dtype))


def label_products(Y: Any, kept: int, n_threads: int) -> Any:
    """Products of labels of unit length, of each row with the nearest and of these with it."""
    lengths = np.sqrt(np.asarray(Y.sum(axis=1), np.float64)).ravel()
    unit = sp.csr_array(sp.diags_array(1 / np.maximum(lengths, 1)) @ Y.astype(np.float64))
    n = Y.shape[0]
    count = min(kept, n)

    def nearest(chunk: Chunk, worker: int) -> Any:
        products = np.asarray((unit[slice(*chunk)] @ unit.T).toarray())
        return np.argpartition(-products, count - 1, axis=1)[:, :count]

    columns = np.concatenate(run_chunks(nearest, even_chunks(n, BLOCK), n_threads))
    pattern = sp.csr_array((np.ones(columns.size), columns.ravel(), np.arange(0, columns.size + 1, count)), (n, n))
    pattern = sp.csr_array(pattern + pattern.T)
    rows = np.repeat(np.arange(n), np.diff(pattern.indptr))
    pattern.data = _products(unit, rows, pattern.indices)
    return pattern


def _products(unit: Any, rows: Array, columns: Array) -> Array:
    """u_i·u_j of pairs of sparse rows."""
    parts = [
        np.asarray(unit[rows[a:b]].multiply(unit[columns[a:b]]).sum(axis=1)).ravel()
        for a, b in even_chunks(len(rows), 2**16)
    ]
    return np.concatenate(parts)


def embedding(Y: Any, rank: int, kept: int, random: np.random.Generator, n_threads: int) -> Array:
    """Z by singular value projection, from 0."""
    products = label_products(Y, kept, n_threads)
    n, rank = Y.shape[0], min(rank, Y.shape[0])
    rows = np.repeat(np.arange(n), np.diff(products.indptr))
    Z = np.zeros((n, rank))
    basis = scipy.linalg.qr(random.standard_normal((n, rank)), mode="economic", check_finite=False)[0]
    for _ in range(PROJECTIONS):
        missing = products.data - pair_products(Z, rows, products.indices)
        gap = sp.csr_array((missing, products.indices, products.indptr), shape=(n, n))
        Z, basis = _leading(gap, Z, basis)
    return Z


def pair_products(Z: Array, rows: Array, columns: Array) -> Array:
    """z_i·z_j of pairs."""
    parts = [np.einsum("ij,ij->i", Z[rows[a:b]], Z[columns[a:b]]) for a, b in even_chunks(len(rows), 2**15)]
    return np.concatenate(parts)


def _leading(gap: Any, Z: Array, basis: Array) -> tuple[Array, Array]:
    """The best Z of M + gap, M = ZZᵀ: two steps of subspace iteration from the basis before, negative values cut."""

    def applied(block: Array) -> Array:
        return np.asarray(gap @ block) + Z @ (Z.T @ block)

    for _ in range(2):
        basis = scipy.linalg.qr(applied(basis), mode="economic", check_finite=False)[0]
    values, vectors = scipy.linalg.eigh(basis.T @ applied(basis), check_finite=False)
    basis = basis @ vectors
    return basis * np.sqrt(np.maximum(values, 0)), basis


def sparse_regression(X: Any, Z: Array, reg: float, l1_reg: float, weights: Array | None = None) -> Array:
    """V by alternating directions: V ← ridge of a − u, a ← shrunk mean of Z and XV + u, u ← u + XV − a."""
    step = 1.0
    if not l1_reg:
        return RidgeSolver(X, reg, weights).weights(Z)
    solver = RidgeSolver(X, 2 * reg / step, weights)
    a, u = Z, np.zeros_like(Z)
    for _ in range(SPLITS):
        V = solver.weights(a - u)
        fitted = np.asarray(X @ V)
        mixed = (2 * Z + step * (fitted + u)) / (2 + step)
        a = np.sign(mixed) * np.maximum(np.abs(mixed) - l1_reg / (2 + step), 0)
        u = u + fitted - a
    return V
