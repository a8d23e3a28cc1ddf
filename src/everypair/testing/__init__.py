"""The tests every model passes, for subclasses to run."""

from everypair.testing.blocks import block_matrix, group_of
from everypair.testing.classifier import ClassifierContract
from everypair.testing.classifier_basis import labelled_rows
from everypair.testing.completion import CompletionContract
from everypair.testing.contract import EstimatorContract
from everypair.testing.recommender import RecommenderContract
from everypair.testing.refusal import refused

__all__ = [
    "ClassifierContract",
    "CompletionContract",
    "EstimatorContract",
    "RecommenderContract",
    "block_matrix",
    "group_of",
    "labelled_rows",
    "refused",
]
