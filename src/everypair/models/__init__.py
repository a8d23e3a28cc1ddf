"""What people use: recommenders, their floor, and multi-label classifiers."""

from everypair.models.bpr import BPR
from everypair.models.ensemble import EnsembleMF
from everypair.models.explanation import Explanation
from everypair.models.multilabel import MultiLabelMF
from everypair.models.one_class import OneClassMF
from everypair.models.popularity import Popularity
from everypair.models.subsampled import SubsampledMF

__all__ = ["BPR", "EnsembleMF", "Explanation", "MultiLabelMF", "OneClassMF", "Popularity", "SubsampledMF"]
