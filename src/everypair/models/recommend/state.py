"""What recommenders learn, as frozen values: one class per kind of model, each adding to the one before."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from everypair.data.ids import Ids
from everypair.data.sampling import Sampling
from everypair.data.weighting import DegreeWeighting
from everypair.features.feature_map import FeatureMap
from everypair.models.codec import storable
from everypair.models.serve_only import TRAINING_ONLY
from everypair.models.state_checks import check_array, check_count, check_matrix
from everypair.problem.layout import Layout
from everypair.problem.losses import Loss
from everypair.problem.negatives import Negatives
from everypair.problem.ridge import Ridge
from everypair.solvers.loop import Status
from everypair.types import Array

storable(Layout)
storable(DegreeWeighting)


@dataclass(frozen=True, kw_only=True)
class NamedState:
    """Ids of users and items, both or neither: a model fitted on a matrix knows positions only."""

    user_ids: Ids | None = None
    item_ids: Ids | None = None


@storable
@dataclass(frozen=True, kw_only=True)
class FactorState(NamedState):
    """Factors of both sides and the interactions they were learnt from."""

    left_factors: Array
    right_factors: Array
    interactions: Any

    def check(self) -> None:
        """Refuse factors that do not fit each other or the interactions."""
        check_array("left_factors", self.left_factors, None, None)
        check_array("right_factors", self.right_factors, None, self.left_factors.shape[1])
        if self.left_factors.dtype != self.right_factors.dtype:
            raise ValueError("left_factors and right_factors must have one dtype.")
        check_matrix("interactions", self.interactions, self.shape)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of users and of items."""
        return len(self.left_factors), len(self.right_factors)


@storable
@dataclass(frozen=True, kw_only=True)
class TrainedState(FactorState):
    """Factors that sweeps have learnt: one dict per sweep, the last objective, why training stopped."""

    rank: int
    history: list[dict[str, Any]] = field(metadata=TRAINING_ONLY)
    objective: float | None
    status: Status

    @property
    def n_iter(self) -> int:
        """Number of sweeps."""
        return len(self.history)


@storable
@dataclass(frozen=True, kw_only=True)
class RankingState(TrainedState):
    """What fold-in by stochastic ranking needs besides."""

    learning_rate: float
    reg: float
    fold_in_seed: int

    def check(self) -> None:
        """Factors, and the item's bias in the last column."""
        super().check()
        check_count("rank", self.rank, self.left_factors.shape[1] - 1)


@storable
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
    targets: Array | None = field(metadata=TRAINING_ONLY)
    layout: Layout
    feature_weights: tuple[Array | None, Array | None]
    feature_maps: tuple[FeatureMap | None, FeatureMap | None]
    feature_reg: tuple[float | None, float | None]
    own_vectors: tuple[bool, bool]
    graphs: tuple[bool, bool]
    weighting: DegreeWeighting | None = None

    def check(self) -> None:
        """Factors, and everything that has an entry per user, item, stored pair or factor."""
        super().check()
        check_count("rank", self.layout.rank)
        check_count("columns", self.layout.columns * self._side_by_side, self.left_factors.shape[1])
        for side, (size, weights) in enumerate(zip(self.shape, (self.negatives.left, self.negatives.right))):
            check_array("negatives", weights, size)
            if isinstance(self.negatives.value, tuple):
                check_array("negatives", self.negatives.value[side], size, self.negatives.value[0].shape[1])
            if self.feature_weights[side] is not None:
                check_array("feature_weights", self.feature_weights[side], None, self.left_factors.shape[1])
        if self.targets is not None:
            check_array("targets", self.targets, self.interactions.nnz)

    @property
    def _side_by_side(self) -> int:
        """Number of models whose factors stand side by side."""
        return 1

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


@storable
@dataclass(frozen=True, kw_only=True)
class OneClassState(FactorizationState):
    """Every pair counts: the mean weight of a negative."""

    negative_weight: float


@storable
@dataclass(frozen=True, kw_only=True)
class SubsampledState(FactorizationState):
    """How negatives were drawn and, where they are kept, which (−1 at every drawn pair)."""

    sampling: Sampling
    n_sampled: int
    sampled_value: float
    sampled: Any = field(metadata=TRAINING_ONLY)
    fold_in_seed: int

    def check(self) -> None:
        """Factors, and weights of users and items to draw."""
        super().check()
        check_array("sampling", self.sampling.left, len(self.left_factors))
        check_array("sampling", self.sampling.right, len(self.right_factors))
        if self.sampled is not None:
            check_matrix("sampled", self.sampled, self.shape)


@storable
@dataclass(frozen=True, kw_only=True)
class EnsembleState(SubsampledState):
    """Several subsampled models side by side: their number and the seeds of their fold-ins."""

    n_models: int
    fold_in_seeds: tuple[int, ...]

    def check(self) -> None:
        """Factors of as many models as there are seeds."""
        check_count("n_models", self.n_models, len(self.fold_in_seeds))
        super().check()

    @property
    def _side_by_side(self) -> int:
        return self.n_models
