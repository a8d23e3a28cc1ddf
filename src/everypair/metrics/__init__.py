"""Ranking, multi-label and completion metrics: pure functions of scores and truth."""

from everypair.metrics.completion import completion_metrics, entry_metrics
from everypair.metrics.functions import (
    auc,
    coverage_at_k,
    hit_rate_at_k,
    map_at_k,
    mean_average_precision,
    mean_precision_at_k,
    mrr_at_k,
    ndcg_at_k,
    nhlu,
    precision_at_k,
    recall_at_k,
)
from everypair.metrics.held_out import HeldOut
from everypair.metrics.lists import beyond_accuracy
from everypair.metrics.means import Metrics
from everypair.metrics.multilabel import multilabel_metrics, propensities
from everypair.metrics.stream import stream_metrics

__all__ = [
    "HeldOut",
    "Metrics",
    "auc",
    "beyond_accuracy",
    "completion_metrics",
    "coverage_at_k",
    "entry_metrics",
    "hit_rate_at_k",
    "map_at_k",
    "mean_average_precision",
    "mean_precision_at_k",
    "mrr_at_k",
    "multilabel_metrics",
    "ndcg_at_k",
    "nhlu",
    "precision_at_k",
    "propensities",
    "recall_at_k",
    "stream_metrics",
]
