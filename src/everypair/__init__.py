"""EveryPair learns from every pair: the few that were observed and all the rest."""

from typing import TYPE_CHECKING, Any

from everypair.models import (
    BPR,
    MLRM,
    Blend,
    EnsembleMF,
    Explanation,
    ItemItem,
    MultiLabelMF,
    OneClassMF,
    Popularity,
    SubsampledMF,
)

if TYPE_CHECKING:
    from everypair.models.recommend.two_tower import TwoTower

__version__ = "0.1.0"
__all__ = [
    "BPR",
    "MLRM",
    "Blend",
    "EnsembleMF",
    "Explanation",
    "ItemItem",
    "MultiLabelMF",
    "OneClassMF",
    "Popularity",
    "SubsampledMF",
    "TwoTower",
    "__version__",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import what needs an extra when it is first asked for."""
        if name == "TwoTower":
            from everypair.models.recommend.two_tower import TwoTower

            return TwoTower
        raise AttributeError(f"module 'everypair' has no attribute {name!r}")
