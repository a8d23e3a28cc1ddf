"""Recommenders: factors of users and items, and the floor to compare with."""

from everypair.models.recommend.bpr import BPR
from everypair.models.recommend.ensemble import EnsembleMF
from everypair.models.recommend.explanation import Explanation
from everypair.models.recommend.one_class import OneClassMF
from everypair.models.recommend.popularity import Popularity
from everypair.models.recommend.subsampled import SubsampledMF

__all__ = ["BPR", "EnsembleMF", "Explanation", "OneClassMF", "Popularity", "SubsampledMF"]
