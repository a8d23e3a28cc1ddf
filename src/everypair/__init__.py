"""EveryPair learns from every pair: the few that were observed and all the rest."""

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
    weigh_dislikes,
)
from everypair.plots import plot_history, plot_sensitivity, report
from everypair.training.interruption import InterruptedTraining
from everypair.tuning import tune

__version__ = "0.1.0"
__all__ = [
    "BPR",
    "MLRM",
    "Blend",
    "EnsembleMF",
    "Explanation",
    "InterruptedTraining",
    "ItemItem",
    "MultiLabelMF",
    "OneClassMF",
    "Popularity",
    "SubsampledMF",
    "__version__",
    "plot_history",
    "plot_sensitivity",
    "report",
    "tune",
    "weigh_dislikes",
]
