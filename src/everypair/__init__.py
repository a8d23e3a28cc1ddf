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
    )
    from everypair.plots import plot_history, plot_sensitivity, report
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
]
_HOMES = {
    "InterruptedTraining": "everypair.training.interruption",
    "tune": "everypair.tuning",
    **dict.fromkeys(("plot_history", "plot_sensitivity", "report"), "everypair.plots"),
}  # of the names that are not models
_ROOMS = ("data", "evaluate", "features", "metrics", "models", "plots", "testing", "tuning")

if not TYPE_CHECKING:  # what is imported above is all that a type checker should see

    def __getattr__(name: str) -> Any:
        """Import models, and the rooms they come from, when they are first asked for."""
        if name in __all__:
            return getattr(import_module(_HOMES.get(name, "everypair.models")), name)
        if name in _ROOMS:
            return import_module(f"everypair.{name}")
        raise AttributeError(f"module 'everypair' has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__, *_ROOMS})
