"""What people use: recommenders, their floor, and multi-label classifiers."""

from everypair.models.multilabel import MultiLabelMF
from everypair.models.recommend import (
    BPR,
    Blend,
    EnsembleMF,
    Explanation,
    ItemItem,
    OneClassMF,
    Popularity,
    SubsampledMF,
)

__all__ = [
    "BPR",
    "Blend",
    "EnsembleMF",
    "Explanation",
    "ItemItem",
    "MultiLabelMF",
    "OneClassMF",
    "Popularity",
    "SubsampledMF",
]
