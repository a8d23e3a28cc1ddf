"""EveryPair learns from every pair: the few that were observed and all the rest."""

from everypair.models import (
    BPR,
    MLRM,
    Blend,
    Checkpoint,
    EnsembleMF,
    Explanation,
    ItemItem,
    MultiLabelMF,
    OneClassMF,
    Popularity,
    SubsampledMF,
    load,
)

__version__ = "0.1.0"
__all__ = [
    "BPR",
    "MLRM",
    "Blend",
    "Checkpoint",
    "EnsembleMF",
    "Explanation",
    "ItemItem",
    "MultiLabelMF",
    "OneClassMF",
    "Popularity",
    "SubsampledMF",
    "__version__",
    "load",
]
