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

    def __post_init__(self) -> None:
        """Refuse what is no number or no switch."""
        or_auto(number(least=0))("feature_reg", self.feature_reg)
        check.number("graph_reg", self.graph_reg, least=0)
        check.one_of("cold", self.cold, KINDS_OF_COLD)
        for name in ("own_vectors", "normalize", "fit_intercept", "normalize_graph"):
            check.flag(name, getattr(self, name))

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
        if matrix is None and laplacian is None:
            return SideData(None, None, self.cold)
        reg = None if isinstance(self.feature_reg, str) else float(self.feature_reg)
        information = SideInformation(matrix, reg, bool(self.own_vectors), laplacian, float(self.graph_reg))
        return SideData(information, feature_map, self.cold)


storable(Side)


class SideData(NamedTuple):
    """What is known of a side, how later features are read, and what makes factors of them."""

    information: SideInformation | None
    feature_map: FeatureMap | None
    cold: str


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
