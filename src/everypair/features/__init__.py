"""Raw side information → X and L: tables, text and edge lists, scaling, landmarks and kernels, similarity graphs."""

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
