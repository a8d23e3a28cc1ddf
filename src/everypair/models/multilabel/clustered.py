"""``MultiLabelMF.fit(…, client=…)``: rows, their features and labels in shards on a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.distribute.cluster import Cluster
from everypair.distribute.set_up import Terms as ClusterTerms
from everypair.distribute.sharded_model import gathered_rows
from everypair.distribute.sharded_pairs import pairs_from_matrix
from everypair.distribute.train import train_on_cluster
from everypair.models.multilabel.problem import LabelProblem, Terms
from everypair.problem.layout import Layout
from everypair.solvers.half_step import RowSteps
from everypair.solvers.loop import Outcome, StopRules
from everypair.solvers.state import Factors

Array = NDArray[Any]
SEARCHED_ROWS = 20_000  # that the ridge and the threshold are found on, here
LABEL_STEPS = RowSteps(newton=2, cg=10)  # of H in a sweep


def learn_on_cluster(
    model: Any,
    problem: LabelProblem,
    terms: Terms,
    reg: float,
    rank: int,
    client: Any,
    rules: StopRules,
    random: np.random.Generator,
    validate: Callable[[Factors], dict[str, float]] | None,
    **options: Any,
) -> Outcome[Factors]:
    """Train there; the state that comes back has W in the place of θ, and H, both here."""
    cluster = Cluster.of(client)
    tasks = cluster.tasks()
    dtype = np.dtype(model.dtype)
    stored, negatives, ridge, informed = problem.parts(terms, reg, dtype)
    pairs = pairs_from_matrix(tasks, stored, cluster.shards)

    def here(state: Factors) -> Factors:
        (weights,) = tasks.wait([state.left_parameters])
        right = gathered_rows(tasks, state.right)
        return replace(state, left=weights, right=right, left_parameters=weights)

    outcome, _ = train_on_cluster(
        tasks, pairs, ClusterTerms(terms.loss, negatives, ridge, Layout(rank), dtype, (informed, None)), LABEL_STEPS,
        rules, random, accelerate=False, identity=(model,),
        validator=None if validate is None else lambda sides: lambda state: validate(here(state)), **options,
    )  # fmt: skip
    return replace(outcome, state=here(outcome.state))


def check_there(model: Any, problem: LabelProblem, terms: Terms) -> None:
    """Refuse what a cluster does not do, before any work."""
    if model.solver not in ("auto", "tron"):
        raise ValueError(f'on a cluster solver must be "auto" or "tron", got {model.solver!r}.')
    if problem.every_pair(terms):
        raise ValueError(
            'a tenth or more of all labels are set, or negative_loss is "same": every pair then has the loss itself, '
            'which a cluster does not do. Set negative_loss="squared", or fit on one machine.'
        )


def searched_rows(problem: LabelProblem, random: np.random.Generator) -> LabelProblem:
    """The rows that the ridge and the threshold are found on: all of them where they are few."""
    count = problem.X.shape[0]
    if count <= SEARCHED_ROWS:
        return problem
    return problem.rows(np.sort(random.choice(count, SEARCHED_ROWS, replace=False)))
