"""Raw side information → X and L: tables, text and edge lists, scaling, landmarks and kernels, similarity graphs."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from everypair.features.edges import edge_graph
    from everypair.features.knn import knn_graph
    from everypair.features.learned_metric import LearnedMetric
    from everypair.features.nystrom import NystromFeatures
    from everypair.features.spectral import SpectralFeatures
    from everypair.features.table import FeatureTable, TableFeatures, table_features

__all__ = [
    "FeatureTable",
    "LearnedMetric",
    "NystromFeatures",
    "SpectralFeatures",
    "TableFeatures",
    "edge_graph",
    "knn_graph",
    "table_features",
]
_HOMES = {
    "FeatureTable": "table",
    "LearnedMetric": "learned_metric",
    "NystromFeatures": "nystrom",
    "SpectralFeatures": "spectral",
    "TableFeatures": "table",
    "edge_graph": "edges",
    "knn_graph": "knn",
    "table_features": "table",
}  # some need scikit-learn, which models that only answer do without

if not TYPE_CHECKING:  # what is imported above is all that a type checker should see

    def __getattr__(name: str) -> Any:
        """Import what is asked for when it is first asked for."""
        if name in _HOMES:
            return getattr(import_module(f"everypair.features.{_HOMES[name]}"), name)
        raise AttributeError(f"module 'everypair.features' has no attribute {name!r}")
