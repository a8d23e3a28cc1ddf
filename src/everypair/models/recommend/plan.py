"""What is to be trained, from parameters and counts alone: the same plan whether the pairs are here or on a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from everypair.data.pairs import Counted
from everypair.models.parameters import stop_rules
from everypair.models.recommend.defaults import auto_negative_weight, auto_reg, rank_for
from everypair.models.recommend.factorization import check_rank
from everypair.problem.layout import Layout
from everypair.problem.losses import Loss
from everypair.problem.negatives import Negatives, resolve_value
from everypair.problem.ridge import Ridge
from everypair.solvers.choose import Newton
from everypair.solvers.loop import StopRules


@dataclass(frozen=True)
class Plan:
    """The objective but for its pairs, the solver and when it stops."""

    loss: Loss
    layout: Layout
    negatives: Negatives
    negative_weight: float
    negative_loss: str
    ridge: Ridge
    solver: str | Newton
    rules: StopRules
    dtype: np.dtype[Any]
    random: np.random.Generator

    @classmethod
    def of(cls, values: SimpleNamespace, counts: Counted, negative_loss: str = "squared") -> Plan:
        """Resolve what is ``"auto"`` by the counts of the pairs; ``values`` are checked parameters."""
        rank = rank_for(counts.n_active, counts.shape) if values.rank is None else values.rank
        check_rank(rank, counts.shape)
        weight = auto_negative_weight(values.negative_weight, counts, values.loss)
        value = resolve_value(values.negative_value, values.loss)
        return cls(
            values.loss,
            Layout(rank, values.biases),
            Negatives.from_scheme(counts, weight, values.negative_scheme, value),
            weight,
            negative_loss,
            Ridge.checked(auto_reg(values.reg, counts, values.loss), values.reg_exponent),
            values.solver,
            stop_rules(values),
            values.dtype,
            values.random_state,
        )
