"""What people use: recommenders and their floor."""

from everypair.models.bpr import BPR
from everypair.models.ensemble import EnsembleMF
from everypair.models.explanation import Explanation
from everypair.models.one_class import OneClassMF
from everypair.models.popularity import Popularity
from everypair.models.subsampled import SubsampledMF

__all__ = ["BPR", "EnsembleMF", "Explanation", "OneClassMF", "Popularity", "SubsampledMF"]
