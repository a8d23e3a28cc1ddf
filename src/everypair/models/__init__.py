"""What people use: recommenders, their floor, and multi-label classifiers."""

from everypair.models.multilabel import MultiLabelMF
from everypair.models.recommend import BPR, EnsembleMF, Explanation, OneClassMF, Popularity, SubsampledMF

__all__ = ["BPR", "EnsembleMF", "Explanation", "MultiLabelMF", "OneClassMF", "Popularity", "SubsampledMF"]
