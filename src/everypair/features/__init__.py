"""Raw side information → X and L: scaling, landmarks and kernels, groups of features, similarity graphs."""

from everypair.features.knn import knn_graph
from everypair.features.nystrom import NystromFeatures
from everypair.features.spectral import SpectralFeatures

__all__ = ["NystromFeatures", "SpectralFeatures", "knn_graph"]
