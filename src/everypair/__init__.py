"""EveryPair learns from every pair: the few that were observed and all the rest."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from everypair.data import read_events, split_entries
    from everypair.evaluate.ranking_metrics import ranking_metrics
    from everypair.models.checkpoint import Checkpoint
    from everypair.models.completion import MLRM, GaussianRatings, KernelCompletion, NeighborMF
    from everypair.models.files import load
    from everypair.models.multilabel import KernelLabels, MultiLabelMF
    from everypair.models.recommend.blend.blend import Blend
    from everypair.models.recommend.content_items import ContentItems
    from everypair.models.recommend.content_users import ContentUsers
    from everypair.models.recommend.counts import Popularity
    from everypair.models.recommend.item_item import ItemItem
    from everypair.models.recommend.one_class import OneClassMF
    from everypair.models.recommend.rivals.bpr import BPR
    from everypair.models.recommend.rivals.ensemble import EnsembleMF
    from everypair.models.recommend.rivals.subsampled import SubsampledMF
    from everypair.models.recommend.side import Side
    from everypair.models.recommend.two_tower import TwoTower
    from everypair.neural.optimizers.gauss_newton import GaussNewton
    from everypair.plots import plot_history
    from everypair.plots.report import report
    from everypair.solvers.choose import Newton
    from everypair.training.interruption import InterruptedTraining
    from everypair.tuning import tune

__version__ = "0.1.0.dev0"
__all__ = [
    "BPR",
    "MLRM",
    "Blend",
    "Checkpoint",
    "ContentItems",
    "ContentUsers",
    "EnsembleMF",
    "GaussNewton",
    "GaussianRatings",
    "InterruptedTraining",
    "ItemItem",
    "KernelCompletion",
    "KernelLabels",
    "MultiLabelMF",
    "NeighborMF",
    "Newton",
    "OneClassMF",
    "Popularity",
    "Side",
    "SubsampledMF",
    "TwoTower",
    "__version__",
    "load",
    "plot_history",
    "ranking_metrics",
    "read_events",
    "report",
    "split_entries",
    "tune",
]
_HOMES = {
    "Checkpoint": "models.checkpoint",
    "GaussNewton": "neural.optimizers.gauss_newton",
    "InterruptedTraining": "training.interruption",
    "Newton": "solvers.choose",
    "Side": "models.recommend.side",
    "load": "models.files",
    "plot_history": "plots",
    "ranking_metrics": "evaluate",
    "read_events": "data",
    "report": "plots",
    "split_entries": "data",
    "tune": "tuning",
}  # of the names that are no estimators, whose homes are in the registry
_ROOMS = ("data", "evaluate", "features", "metrics", "models", "plots", "testing", "tuning")

if not TYPE_CHECKING:  # what is imported above is all that a type checker should see

    def __getattr__(name: str) -> Any:
        """Import estimators, and the rooms they come from, when they are first asked for."""
        if name in _ROOMS:
            return import_module(f"everypair.{name}")
        if name in _HOMES:
            return getattr(import_module(f"everypair.{_HOMES[name]}"), name)
        if name in __all__:
            from everypair.models.registry import estimator_class

            return estimator_class(name)
        raise AttributeError(f"module 'everypair' has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*__all__, *_ROOMS})
