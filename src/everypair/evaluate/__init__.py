"""A model on held-out data: ranking quality, and what side information adds to it."""

from everypair.evaluate.by_events import ItemGroup, recall_by_events
from everypair.evaluate.compare import Comparison, compare
from everypair.evaluate.feature_report import FeatureReport, feature_report
from everypair.evaluate.list_metrics import list_metrics
from everypair.evaluate.ranking_metrics import ScoresUsers, ranking_metrics

__all__ = [
    "Comparison",
    "FeatureReport",
    "ItemGroup",
    "ScoresUsers",
    "compare",
    "feature_report",
    "list_metrics",
    "ranking_metrics",
    "recall_by_events",
]
