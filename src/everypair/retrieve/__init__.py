"""Exact blocked top-k retrieval with filters."""

from everypair.retrieve.scores import Scores
from everypair.retrieve.similar import most_similar
from everypair.retrieve.topk import top_k

__all__ = ["Scores", "most_similar", "top_k"]
