"""What recommenders learn, as frozen values: one class per kind of model, each adding to the one before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from everypair.data.ids import Ids
from everypair.data.sampling import Sampling
from everypair.data.weighting import DegreeWeighting
from everypair.features.feature_map import FeatureMap
from everypair.models.parts import part
from everypair.problem.layout import Layout
from everypair.problem.losses import Loss
from everypair.problem.negatives import Negatives
from everypair.problem.ridge import Ridge
from everypair.solvers.loop import Status

Array = NDArray[Any]
part(Layout)
part(DegreeWeighting)


@dataclass(frozen=True, kw_only=True)
class NamedState:
    """Ids of users and items, both or neither: a model fitted on a matrix knows positions only."""

    user_ids: Ids | None = None
    item_ids: Ids | None = None


@part
@dataclass(frozen=True, kw_only=True)
class FactorState(NamedState):
    """Factors of both sides and the interactions they were learnt from."""

    left_factors: Array
    right_factors: Array
    interactions: Any


@part
@dataclass(frozen=True, kw_only=True)
class TrainedState(FactorState):
    """Factors that sweeps have learnt: one dict per sweep, the last objective, why training stopped."""

    rank: int
    history: list[dict[str, Any]]
    objective: float | None
    status: Status

    @property
    def n_iter(self) -> int:
        """Number of sweeps."""
        return len(self.history)


@part
@dataclass(frozen=True, kw_only=True)
class RankingState(TrainedState):
    """What fold-in by stochastic ranking needs besides."""

    learning_rate: float
    reg: float
    fold_in_seed: int


@part
@dataclass(frozen=True, kw_only=True)
class FactorizationState(TrainedState):
    """The terms of the objective, which fold-in and explanations need, and what features have learnt.

    ``targets`` are explicit ones, in the order of the interactions. Pairs of (left, right) entries say what each side
    has: feature weights W, the map from raw features to X, own vectors, a graph. ``weighting`` is that of stored pairs.
    """

    loss: Loss
    negatives: Negatives
    negative_loss: str
    ridge: Ridge
    targets: Array | None
    layout: Layout
    feature_weights: tuple[Array | None, Array | None]
    feature_maps: tuple[FeatureMap | None, FeatureMap | None]
    feature_reg: tuple[float | None, float | None]
    own_vectors: tuple[bool, bool]
    graphs: tuple[bool, bool]
    weighting: DegreeWeighting | None = None

    @property
    def reg(self) -> tuple[float, float]:
        """The (left, right) ridges."""
        return self.ridge.reg

    @property
    def biases(self) -> bool:
        """Whether the factors have bias columns."""
        return self.layout.biases

    @property
    def left_feature_weights(self) -> Array | None:
        """W of the left side."""
        return self.feature_weights[0]

    @property
    def right_feature_weights(self) -> Array | None:
        """W of the right side."""
        return self.feature_weights[1]


@part
@dataclass(frozen=True, kw_only=True)
class OneClassState(FactorizationState):
    """Every pair counts: the mean weight of a negative."""

    negative_weight: float


@part
@dataclass(frozen=True, kw_only=True)
class SubsampledState(FactorizationState):
    """How negatives were drawn and, where they are kept, which (−1 at every drawn pair)."""

    sampling: Sampling
    n_sampled: int
    sampled_value: float
    sampled: Any
    fold_in_seed: int


@part
@dataclass(frozen=True, kw_only=True)
class EnsembleState(SubsampledState):
    """Several subsampled models side by side: their number and the seeds of their fold-ins."""

    n_models: int
    fold_in_seeds: tuple[int, ...]
