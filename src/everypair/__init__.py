"""EveryPair learns from every pair: the few that were observed and all the rest."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
        weigh_dislikes,
    )
    from everypair.models.recommend.two_tower import TwoTower as TwoTower
    from everypair.plots import plot_history, plot_sensitivity
    from everypair.plots.report import report
    from everypair.training.interruption import InterruptedTraining
    from everypair.tuning import tune

__version__ = "0.1.0"
__all__ = [
    "BPR",
    "MLRM",
    "Blend",
    "Checkpoint",
    "EnsembleMF",
    "Explanation",
    "InterruptedTraining",
    "ItemItem",
    "MultiLabelMF",
    "OneClassMF",
    "Popularity",
    "SubsampledMF",
    "__version__",
    "load",
    "plot_history",
    "plot_sensitivity",
    "report",
    "tune",
    "weigh_dislikes",
]
_HOMES = {
    "InterruptedTraining": "everypair.training.interruption",
    "TwoTower": "everypair.models.recommend.two_tower",  # not in __all__: it needs the extra "neural"
    "tune": "everypair.tuning",
    **dict.fromkeys(("plot_history", "plot_sensitivity", "report"), "everypair.plots"),
}  # of the names that are not models
_ROOMS = ("data", "evaluate", "features", "metrics", "models", "plots", "testing", "tuning")

if not TYPE_CHECKING:  # what is imported above is all that a type checker should see

    def __getattr__(name: str) -> Any:
        """Import models, and the rooms they come from, when they are first asked for."""
        if name in _HOMES or name in __all__:
            return getattr(import_module(_HOMES.get(name, "everypair.models")), name)
        if name in _ROOMS:
            return import_module(f"everypair.{name}")
        raise AttributeError(f"module 'everypair' has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__, *_HOMES, *_ROOMS})
