"""Recommenders: factors of users and items, and the floor to compare with."""

from everypair.models.recommend.blend.blend import Blend
from everypair.models.recommend.dislikes import weigh_dislikes
from everypair.models.recommend.explanation import Explanation
from everypair.models.recommend.item_item import ItemItem
from everypair.models.recommend.one_class import OneClassMF
from everypair.models.recommend.popularity import Popularity
from everypair.models.recommend.rivals.bpr import BPR
from everypair.models.recommend.rivals.ensemble import EnsembleMF
from everypair.models.recommend.rivals.subsampled import SubsampledMF

__all__ = [
    "BPR",
    "Blend",
    "EnsembleMF",
    "Explanation",
    "ItemItem",
    "OneClassMF",
    "Popularity",
    "SubsampledMF",
    "weigh_dislikes",
]
