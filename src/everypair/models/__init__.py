"""What people use: recommenders, their floor, multi-label classifiers and completion of matrices."""

from everypair.models.completion import MLRM
from everypair.models.multilabel import MultiLabelMF
from everypair.models.recommend import BPR, EnsembleMF, Explanation, OneClassMF, Popularity, SubsampledMF

__all__ = ["BPR", "MLRM", "EnsembleMF", "Explanation", "MultiLabelMF", "OneClassMF", "Popularity", "SubsampledMF"]
