"""A model on held-out data: ranking quality, and what side information adds to it."""

from everypair.evaluate.ranking import ScoresUsers, ranking_metrics
from everypair.evaluate.side_report import FeatureReport, feature_report

__all__ = ["FeatureReport", "ScoresUsers", "feature_report", "ranking_metrics"]
