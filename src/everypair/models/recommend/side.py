"""What is known of a side besides its events, checked and made ready: features, a graph, and their ridges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from everypair import check
from everypair.features.feature_map import FeatureMap
from everypair.features.laplacian import Laplacian
from everypair.features.matrix import Features
from everypair.models.codec import storable
from everypair.models.parameters import number, or_auto
from everypair.models.recommend.cold import KINDS as KINDS_OF_COLD
from everypair.models.recommend.positions import KINDS
from everypair.problem.embedding import SideInformation


@dataclass(frozen=True, kw_only=True)
class Side:
    """How the features and the graph of users, or of items, are used: U = T + XW, ½ λ_f ‖W‖², ½ λ_g tr(UᵀLU).

    Parameters
    ----------
    own_vectors : whether every entity has an own vector t_i besides; otherwise XW alone.
    feature_reg : the ridge λ_f of W; ``"auto"`` goes by the size of X and the ridge of own vectors.
    normalize : scale every row of the features to length 1.
    fit_intercept : append a constant 1 to the features.
    graph_reg : the weight λ_g of the graph.
    normalize_graph : whether L is normalised by the nodes' degrees.
    cold : how those without events get factors from features, beside own vectors: by a ``"linear"`` or a ``"kernel"``
        ridge regression on features of the factors that training found (:mod:`everypair.models.recommend.cold`), or
        ``"weights"``, the XW of training. Without own vectors, and for models that stay on a cluster, it is XW.
    joint : whether features take part in training; otherwise it sees events alone, and features only say by ``cold``
        who newcomers are, where own vectors of those with few events begin as well.

    Examples
    --------
    >>> from everypair import OneClassMF
    >>> Side(own_vectors=False).own_vectors, OneClassMF(items=Side(feature_reg=2.0)).items.feature_reg
    (False, 2.0)
    """

    own_vectors: bool = True
    feature_reg: float | str = "auto"
    normalize: bool = False
    fit_intercept: bool = False
    graph_reg: float = 0.1
    normalize_graph: bool = False
    cold: str = "linear"
    joint: bool = True

    def __post_init__(self) -> None:
        """Refuse what is no number or no switch."""
        or_auto(number(least=0))("feature_reg", self.feature_reg)
        check.number("graph_reg", self.graph_reg, least=0)
        check.one_of("cold", self.cold, KINDS_OF_COLD)
        for name in ("own_vectors", "normalize", "fit_intercept", "normalize_graph", "joint"):
            check.flag(name, getattr(self, name))
        if not self.joint and not (self.own_vectors and self.cold != "weights"):
            raise ValueError(
                "Side(joint=False) learns own vectors from events and regresses them on features: leave own_vectors at "
                'True and cold at "linear" or "kernel".'
            )

    def read(self, side: int, features: Any, graph: Any, entities: int, dtype: Any) -> SideData:
        """Check what is known of ``entities`` users (side 0) or items, and make it ready for training."""
        kind = KINDS[side]
        feature_map, matrix, laplacian = None, None, None
        if features is not None:
            feature_map = FeatureMap.of(features, f"{kind}_features", self.normalize, self.fit_intercept)
            matrix = Features(feature_map(features, entities, dtype), dtype)
        elif not self.own_vectors:
            raise ValueError(
                f"{kind}s=Side(own_vectors=False) needs {kind}_features: nothing else is left to learn from."
            )
        if graph is not None:
            name = f"{kind}_graph"
            laplacian = Laplacian.from_similarity(graph, normalized=self.normalize_graph, dtype=dtype, name=name)
            if laplacian.matrix.shape[0] != entities:
                raise ValueError(
                    f"{name} must be {entities} × {entities}, one row per entity, got {laplacian.matrix.shape}."
                )
        trained = matrix if self.joint else None
        if trained is None and laplacian is None:
            return SideData(None, feature_map, self.cold, matrix)
        reg = None if isinstance(self.feature_reg, str) else float(self.feature_reg)
        information = SideInformation(trained, reg, bool(self.own_vectors), laplacian, float(self.graph_reg))
        return SideData(information, feature_map, self.cold, matrix)


storable(Side)


class SideData(NamedTuple):
    """What is known of a side in training, how later features are read, what makes factors of them, and X."""

    information: SideInformation | None
    feature_map: FeatureMap | None
    cold: str
    features: Features | None = None

    @property
    def joint(self) -> bool:
        """Whether training has learnt weights of the features."""
        return self.information is not None and self.information.features is not None

    @property
    def own(self) -> bool:
        """Whether there are own vectors."""
        return self.information is None or self.information.own


def check_side(name: str, value: Any) -> Side:
    """Refuse what is no :class:`Side`."""
    if not isinstance(value, Side):
        raise TypeError(f"{name} must be everypair.Side(…), got {value!r}.")
    return value


def read_sides(
    sides: tuple[Side, Side], shape: tuple[int, int], features: tuple[Any, Any], graphs: tuple[Any, Any], dtype: Any
) -> tuple[SideData, SideData]:
    """What is known of users and of items."""
    users, items = (
        sides[side].read(side, features[side], graphs[side], shape[side], dtype) for side in range(len(KINDS))
    )
    return users, items
