"""``MultiLabelMF(solver="svd")``: the squared loss on every pair without a ridge has a closed form."""

from __future__ import annotations

from typing import Any

import numpy as np

from everypair.models.multilabel.low_rank import LowRankLabels
from everypair.models.multilabel.problem import LabelProblem, Terms
from everypair.problem.losses import get_loss
from everypair.solvers.closed_form import low_rank_regression
from everypair.solvers.loop import Status


def closed_form(model: Any, problem: LabelProblem, rank: int, seed: int) -> LowRankLabels:
    """The best W and H of a rank, and F there."""
    if problem.labels.known is not None:
        raise ValueError('solver="svd" needs every label known: use solver="auto" with missing labels.')
    W, H = low_rank_regression(*problem.weighted(), rank, seed)
    terms = Terms(get_loss("squared"), False, 1.0, 0.0)
    value = problem.objective(terms, 0.0, np.float64, model.n_threads).value(W, H)
    return LowRankLabels(
        feature_weights=W.astype(model.dtype), label_factors=H.astype(model.dtype), kernel_map=None, reg=0.0,
        negative_weight=1.0, negative_value=0.0, negative_loss="squared",
        history=[{"iteration": 1, "objective": value}], objective=value, status=Status.SOLVED,
    )  # fmt: skip
