"""``MultiLabelMF.fit(…, client=…)``: rows, their features and labels in shards on a Dask cluster."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from everypair.distribute.answering.sharded_factors import gathered_rows
from everypair.distribute.cluster import Cluster, files_of
from everypair.distribute.feature_rows import FeatureRows, rows_here
from everypair.distribute.reading.label_columns import SharedColumns
from everypair.distribute.reading.label_files import LabelFiles
from everypair.distribute.sharded_pairs import ShardedPairs, pairs_from_matrix
from everypair.distribute.solving.set_up import ShardTerms
from everypair.distribute.solving.train import train_on_cluster
from everypair.distribute.tasks import Tasks
from everypair.features.preparation import Preparation
from everypair.models.multilabel.learner import MONITOR, LabelTraining
from everypair.models.multilabel.parameters import LabelSettings, checked_label_weight
from everypair.models.multilabel.problem import CountedLabels, LabelProblem, LabelTerms
from everypair.problem.negatives import Negatives
from everypair.problem.ridge import Ridge
from everypair.solvers.half_step import RowSteps
from everypair.solvers.loop import Outcome
from everypair.solvers.state import Factors

SUFFIXES = (".parquet", ".txt", ".txt.gz", ".npz")
SAMPLED_ROWS = 20_000  # that the ridge and the threshold are found on, here
LABEL_STEPS = RowSteps(newton=2, cg=10)  # of H in a sweep


@dataclass(frozen=True)
class RowsThere:
    """Labelled rows that are learnt from on a cluster: a problem that the client has, or files that workers have read.

    ``labels`` are what rules for negatives and the ridge have to know of all of them, ``sample`` the rows that the
    ridge and the threshold are found on, here: all of them where they are few.
    """

    cluster: Cluster
    tasks: Tasks
    labels: LabelProblem | CountedLabels
    sample: LabelProblem
    files: LabelFiles | None = None
    early_end = (
        f"the search of reg, here on at most {SAMPLED_ROWS:,} rows, ended early, and the model is one sweep of the "
        "cluster over all rows from the best of it."
    )

    @classmethod
    def here(cls, client: Any, problem: LabelProblem, random: np.random.Generator) -> RowsThere:
        """Rows that the client has."""
        cluster = _checked(client)
        if cluster.read:
            raise ValueError("read= are options for files: leave them out with a matrix X.")
        count, sample = problem.X.shape[0], problem
        if count > SAMPLED_ROWS:
            sample = problem.rows(np.sort(random.choice(count, SAMPLED_ROWS, replace=False)))
        return cls(cluster, cluster.tasks(), problem, sample)

    @classmethod
    def in_files(
        cls, client: Any, folder: Any, parameters: SimpleNamespace, random: np.random.Generator
    ) -> tuple[RowsThere, SharedColumns, Preparation]:
        """Rows in a folder of files, what their columns are, and how features were prepared, told by the sample."""
        if parameters.kernel is not None or parameters.unlabeled != "negative":
            raise ValueError('files of labelled rows go with kernel=None and unlabeled="negative" alone.')
        cluster = _checked(client)
        tasks, paths = cluster.tasks(), files_of(folder, SUFFIXES, "Parquet, XC or npz")
        files = LabelFiles.read(tasks, paths, cluster.read)
        rows = files.sampled_rows(SAMPLED_ROWS, random)
        raw = files.rows_here(rows)[0] if parameters.normalize is None else None
        preparation = Preparation.of(raw, parameters.normalize, parameters.fit_intercept)
        files = files.prepared(preparation, parameters.dtype)
        counts = files.label_counts
        weights = checked_label_weight(parameters.label_weight, len(counts))
        if weights is None:
            weights = np.ones(len(counts))
        X, labels = files.rows_here(rows)
        sample = LabelProblem.of(X, labels, None, weights)
        there = cls(cluster, tasks, CountedLabels(files.n_rows, counts, weights), sample, files)
        return there, files.shared, preparation

    def check(self, settings: LabelSettings, terms: LabelTerms) -> None:
        """Refuse what a cluster does not do."""
        if settings.solver not in ("auto", "tron"):
            raise ValueError(f'on a cluster solver must be "auto" or "tron", got {settings.solver!r}.')
        if terms.same and self.sample.labels.known is None:
            raise ValueError(
                'a tenth or more of all labels are set, or negative_loss is "same": every pair then has the loss '
                'itself, which a cluster does not do. Set negative_loss="squared", or fit on one machine.'
            )

    def train(self, settings: LabelSettings, training: LabelTraining) -> Outcome[Factors]:
        """Train there; W (in the place of θ) and H come back."""
        pairs, negatives, features = self._parts(training.terms, training.reg, settings.dtype)
        ridge, watch = Ridge.checked(training.reg, 0.0), training.watch
        terms = ShardTerms(training.terms.loss, negatives, ridge, training.layout, settings.dtype, (features, None))
        validate, (estimator, *others) = watch.validate, watch.identity

        def brought_here(state: Factors) -> Factors:
            (weights,) = self.tasks.wait([state.left_parameters])
            right = gathered_rows(self.tasks, state.right)
            return replace(state, left=weights, right=right, left_parameters=weights)

        outcome, _ = train_on_cluster(
            pairs, terms, LABEL_STEPS, training.rules, training.random, accelerate=False, right=training.right,
            identity=(estimator, self.labels, *others),
            validate=None if validate is None else lambda state: validate(brought_here(state)),
            monitor=MONITOR, callbacks=watch.callbacks, verbose=settings.verbose,
        )  # fmt: skip
        return replace(outcome, state=brought_here(outcome.state))

    def _parts(self, terms: LabelTerms, reg: float, dtype: Any) -> tuple[ShardedPairs, Negatives, FeatureRows | None]:
        """Pairs and features in shards, and negatives."""
        if isinstance(self.labels, LabelProblem):
            pairs, negatives, _, informed = self.labels.parts(terms, reg, dtype)
            sharded = pairs_from_matrix(self.tasks, pairs, self.cluster.shards)
            return sharded, negatives, rows_here((informed, None))[0]
        assert self.files is not None
        ones, weights = np.ones(self.labels.n_rows), self.labels.label_weights
        sharded, features = self.files.sharded(self.cluster.shards, weights, reg, dtype)
        return sharded, Negatives(ones, terms.weight * weights, terms.value, (ones, weights)), features


def _checked(client: Any) -> Cluster:
    cluster = Cluster.of(client)
    if cluster.gather is False:
        raise ValueError("W and H of a MultiLabelMF always come back: leave gather=False out.")
    return cluster
