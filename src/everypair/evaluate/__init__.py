"""A model on held-out data."""

from everypair.evaluate.ranking import ScoresUsers, ranking_metrics

__all__ = ["ScoresUsers", "ranking_metrics"]
