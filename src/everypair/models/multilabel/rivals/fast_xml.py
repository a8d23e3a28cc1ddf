"""FastXML (Prabhu and Varma, KDD 2014): trees that split rows so that each half agrees on a ranking of labels."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sp

from everypair import check
from everypair.kernels.fast_xml import grow_tree, tree_scores
from everypair.models.codec import storable
from everypair.models.multilabel.base import LabelledRows, LinearClassifier
from everypair.models.parameters import Seeded, estimator, number, parameter
from everypair.parallel import Chunk, run_chunks
from everypair.progress import Progress
from everypair.solvers.loop import Callback
from everypair.types import Array

PASSES = 20  # of coordinate descent
TOL = 0.1  # share of the first violation of optimality at which it ends


@storable
@dataclass(frozen=True)
class LabelTrees:
    """Nodes of all trees, from ``roots`` on: ``children``, and ``indices`` and ``values`` of each by ``indptr``."""

    roots: Array
    children: Array
    indptr: Array
    indices: Array
    values: Array
    n_features: int
    n_labels: int
    dtype: np.dtype[Any]

    def __post_init__(self) -> None:
        nodes, children = len(self.indptr) - 1, self.children
        inner = children[:, 0] >= 0
        own = np.arange(nodes)[:, None]
        fits = (
            children.shape == (nodes, 2)
            and (children[inner] > own[inner]).all()
            and (children < nodes).all()
            and (children[~inner] == -1).all()
            and self.indptr[0] == 0
            and (np.diff(self.indptr) >= 0).all()
            and self.indptr[-1] == len(self.indices) == len(self.values)
            and (not len(self.roots) or 0 <= self.roots.min() <= self.roots.max() < nodes)
            and (not len(self.indices) or self.indices.min() >= 0)
        )
        if fits:
            owner = np.repeat(inner, np.diff(self.indptr))
            limits = np.where(owner, self.n_features, self.n_labels)
            fits = bool((self.indices < limits).all())
        if not fits:
            raise ValueError("these are no trees: nodes, features or labels point outside.")

    @classmethod
    def joined(cls, trees: list[Any], n_features: int, n_labels: int, dtype: Any) -> LabelTrees:
        """All trees one behind the other."""
        sizes = [len(children) for children, *_ in trees]
        roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
        children = [np.where(children < 0, -1, children + root) for (children, *_), root in zip(trees, roots)]
        lengths = np.concatenate([np.diff(indptr) for _, indptr, *_ in trees])
        return cls(
            roots, np.concatenate(children).astype(np.int32), np.concatenate([[0], np.cumsum(lengths)]),
            np.concatenate([indices for *_, indices, _ in trees]), np.concatenate([values for *_, values in trees]),
            n_features, n_labels, np.dtype(dtype),
        )  # fmt: skip

    def scores(self, X: Any) -> Array:
        """The mean share of every label in the leaves that a row reaches."""
        rows = sp.csr_array(X, dtype=np.float64)
        scores = np.zeros((rows.shape[0], self.n_labels))
        tree_scores(
            rows.indptr, rows.indices, rows.data, self.n_features, self.roots, self.children, self.indptr,
            self.indices, self.values, scores,
        )  # fmt: skip
        return np.asarray((scores / len(self.roots)).astype(self.dtype))


@estimator
class FastXML(Seeded, LinearClassifier):
    """An ensemble of trees: nodes split by sparse logistic regression on sides that agree on rankings (nDCG).

    A leaf keeps the share of its rows that have each label; a score is the mean over all trees. Trees are grown in
    parallel, each from its own seed; see :mod:`everypair.kernels.fast_xml` for what a node does. It exists to be
    compared with :class:`~everypair.KernelLabels`.

    Examples
    --------
    >>> X = np.repeat(np.eye(3), 20, axis=0)
    >>> Y = np.repeat(np.eye(6, dtype=int)[:3] + np.eye(6, dtype=int)[3:], 20, axis=0)
    >>> FastXML(n_trees=10, threshold=0.5, random_state=0).fit(X, Y).predict(X[[0, 59]]).tolist()
    [[1, 0, 0, 1, 0, 0], [0, 0, 1, 0, 0, 1]]
    """

    n_trees: int = parameter(50, "number of trees.", check.integer)
    largest_leaf: int = parameter(10, "a node with no more rows is a leaf.", check.integer)
    leaf_labels: int = parameter(100, "labels that a leaf keeps, at most.", check.integer)
    cost: float = parameter(1.0, "C, the weight of the logistic loss beside ‖w‖₁.", number(above=0))
    normalize: bool = parameter(False)
    verbose: bool = parameter(False, "show progress.", check.flag)

    def _fit(
        self,
        rows: LabelledRows,
        parameters: SimpleNamespace,
        random: np.random.Generator,
        callbacks: tuple[Callback, ...],
    ) -> LabelTrees:
        X, labels, sample_weight = rows
        features = sp.csr_array(X, dtype=np.float64)
        Y = labels.positives
        n, n_labels = labels.shape
        weights = np.ones(n) if sample_weight is None else sample_weight / sample_weight.mean()
        ideal = np.concatenate([[np.inf], np.cumsum(1 / np.log2(2.0 + np.arange(n_labels)))])
        scale = weights / ideal[np.diff(Y.indptr)]
        seeds = random.integers(2**31, size=parameters.n_trees)

        with Progress(parameters.n_trees, "trees", quiet=not parameters.verbose) as progress:
            done: list[int] = []

            def work(chunk: Chunk, worker: int) -> Any:
                tree = grow_tree(
                    seeds[chunk[0]], features.indptr, features.indices, features.data, features.shape[1], Y.indptr,
                    Y.indices, n_labels, weights, scale, parameters.largest_leaf, parameters.leaf_labels,
                    parameters.cost, PASSES, TOL,
                )  # fmt: skip
                done.append(chunk[0])
                if worker == 0:
                    progress.reach(len(done))
                return tree

            trees = run_chunks(work, [(tree, tree + 1) for tree in range(parameters.n_trees)], parameters.n_threads)
        return LabelTrees.joined(trees, features.shape[1], n_labels, X.dtype)
