"""``MultiLabelMF.fit(…, client=…)``: rows, their features and labels in shards on a Dask cluster."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from everypair.distribute.answering.sharded_factors import gathered_rows
from everypair.distribute.cluster import Cluster, files_of
from everypair.distribute.feature_rows import FeatureRows, rows_here
from everypair.distribute.reading.label_files import LabelFiles
from everypair.distribute.sharded_pairs import ShardedPairs, pairs_from_matrix
from everypair.distribute.solving.set_up import ShardTerms
from everypair.distribute.solving.train import train_on_cluster
from everypair.distribute.tasks import Tasks
from everypair.models.multilabel.problem import CountedLabels, LabelProblem, Terms
from everypair.problem.layout import Layout
from everypair.problem.negatives import Negatives
from everypair.problem.ridge import Ridge
from everypair.solvers.half_step import RowSteps
from everypair.solvers.loop import Outcome, StopRules
from everypair.solvers.state import Factors
from everypair.types import Array

SUFFIXES = (".parquet", ".txt", ".txt.gz", ".npz")
SEARCHED_ROWS = 20_000  # that the ridge and the threshold are found on, here
LABEL_STEPS = RowSteps(newton=2, cg=10)  # of H in a sweep


@dataclass(frozen=True)
class RowsThere:
    """Labelled rows that are learnt from on a cluster: a problem that the client has, or files that workers have read.

    ``labels`` tell what rules for negatives and the ridge have to know of all of them.
    """

    cluster: Cluster
    tasks: Tasks
    labels: LabelProblem | CountedLabels
    files: LabelFiles | None = None

    @classmethod
    def here(cls, client: Any, problem: LabelProblem) -> RowsThere:
        """Rows that the client has."""
        cluster = _checked(client)
        if cluster.read:
            raise ValueError("read= are options for files: leave them out with a matrix X.")
        return cls(cluster, cluster.tasks(), problem)

    @classmethod
    def in_files(cls, client: Any, folder: Any, label_weight: Any, model: Any) -> RowsThere:
        """Rows in a folder of files; ``label_weight`` makes weights of a number of labels."""
        cluster = _checked(client)
        tasks, paths = cluster.tasks(), files_of(folder, SUFFIXES, "Parquet, XC or npz")
        files = LabelFiles.read(tasks, paths, cluster.read, model.normalize, model.fit_intercept, np.dtype(model.dtype))
        counts = files.label_counts
        weights = label_weight(len(counts))
        weights = np.ones(len(counts)) if weights is None else np.asarray(weights, np.float64)
        return cls(cluster, tasks, CountedLabels(files.n_rows, counts, weights), files)

    def searched(self, random: np.random.Generator) -> LabelProblem:
        """The rows that the ridge and the threshold are found on, here: all of them where they are few."""
        if self.files is not None:
            X, labels = self.files.sample(SEARCHED_ROWS, random)
            return LabelProblem.of(X, labels, None, self.labels.label_weights)
        assert isinstance(self.labels, LabelProblem)
        count = self.labels.X.shape[0]
        if count <= SEARCHED_ROWS:
            return self.labels
        return self.labels.rows(np.sort(random.choice(count, SEARCHED_ROWS, replace=False)))

    def parts(self, terms: Terms, reg: float, dtype: Any) -> tuple[ShardedPairs, Negatives, FeatureRows | None, Any]:
        """Pairs and features in shards, negatives, and what tells these data from others."""
        if isinstance(self.labels, LabelProblem):
            pairs, negatives, _, informed = self.labels.parts(terms, reg, dtype)
            sharded = pairs_from_matrix(self.tasks, pairs, self.cluster.shards)
            return sharded, negatives, rows_here((informed, None))[0], self.labels
        assert self.files is not None
        ones, weights = np.ones(self.labels.n_rows), self.labels.label_weights
        sharded, features = self.files.sharded(self.cluster.shards, weights, reg, dtype)
        negatives = Negatives(ones, terms.weight * weights, terms.value, (ones, weights))
        return sharded, negatives, features, self.labels

    def learn(
        self,
        model: Any,
        terms: Terms,
        reg: float,
        rank: int,
        rules: StopRules,
        random: np.random.Generator,
        validate: Callable[[Factors], dict[str, float]] | None,
        right: Array | None = None,
        **options: Any,
    ) -> Outcome[Factors]:
        """Train there, from these label factors where they are given; W (in the place of θ) and H come back."""
        dtype = np.dtype(model.dtype)
        pairs, negatives, features, data = self.parts(terms, reg, dtype)

        def here(state: Factors) -> Factors:
            (weights,) = self.tasks.wait([state.left_parameters])
            right = gathered_rows(self.tasks, state.right)
            return replace(state, left=weights, right=right, left_parameters=weights)

        outcome, _ = train_on_cluster(
            pairs,
            ShardTerms(terms.loss, negatives, Ridge.checked(reg, 0.0), Layout(rank), dtype, (features, None)),
            LABEL_STEPS, rules, random, accelerate=False, right=right, identity=(model, data),
            validate=None if validate is None else lambda state: validate(here(state)), **options,
        )  # fmt: skip
        return replace(outcome, state=here(outcome.state))


def _checked(client: Any) -> Cluster:
    cluster = Cluster.of(client)
    if cluster.gather is False:
        raise ValueError("W and H of a MultiLabelMF always come back: leave gather=False out.")
    return cluster


def is_folder(X: Any) -> bool:
    """Whether rows are given as files."""
    return isinstance(X, str | os.PathLike)


def check_there(model: Any, terms: Terms, known: Any) -> None:
    """Refuse what a cluster does not do, before any work; ``known`` are the known entries where labels are missing."""
    if model.solver not in ("auto", "tron"):
        raise ValueError(f'on a cluster solver must be "auto" or "tron", got {model.solver!r}.')
    if terms.same and known is None:
        raise ValueError(
            'a tenth or more of all labels are set, or negative_loss is "same": every pair then has the loss itself, '
            'which a cluster does not do. Set negative_loss="squared", or fit on one machine.'
        )


def check_files(model: Any, client: Any, **given: Any) -> None:
    """Refuse what files of labelled rows do not go with."""
    if client is None:
        raise ValueError("files of labelled rows are read on a cluster: give client=…, or read_multilabel(path) first.")
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"{name} belongs to a matrix X: leave it out with files of labelled rows.")
    if model.kernel is not None or model.unlabeled != "negative":
        raise ValueError('files of labelled rows go with kernel=None and unlabeled="negative" alone.')
