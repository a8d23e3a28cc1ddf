"""What MultiLabelMF learns: scores of low rank, s_il = x_i W · h_l."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from everypair.features.nystrom import KernelMap
from everypair.features.preparation import Preparation
from everypair.models.codec import storable
from everypair.models.serve_only import TRAINING_ONLY
from everypair.solvers.loop import Status
from everypair.types import Array


@storable
@dataclass(frozen=True, kw_only=True)
class LowRankLabels:
    """s = x W · h_l (x prepared, and kernel features where there is a map): W, H, what was used and how it went."""

    feature_weights: Array
    label_factors: Array
    kernel_map: KernelMap | None
    reg: float
    negative_loss: str
    negative_weight: float
    negative_value: float
    history: list[dict[str, Any]] = field(metadata=TRAINING_ONLY)
    objective: float | None
    status: Status
    preparation: Preparation | None = None

    @property
    def rank(self) -> int:
        """k."""
        return int(self.label_factors.shape[1])

    @property
    def n_iter(self) -> int:
        """Number of sweeps."""
        return len(self.history)

    def scores(self, X: Any) -> Array:
        """X W Hᵀ."""
        features = X if self.kernel_map is None else self.kernel_map(X)
        weights = self.feature_weights
        return np.asarray((features.astype(weights.dtype, copy=False) @ weights) @ self.label_factors.T)
