"""What people use: recommenders, their floor, multi-label classifiers and completion of matrices."""

from everypair.models.checkpoint import Checkpoint
from everypair.models.completion import MLRM
from everypair.models.files import load
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
    weigh_dislikes,
)

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
    "load",
    "weigh_dislikes",
]
