"""Exact blocked top-k retrieval with filters."""

from everypair.retrieve.scored_rows import ScoredRows
from everypair.retrieve.similar import most_similar
from everypair.retrieve.topk import top_k

__all__ = ["ScoredRows", "most_similar", "top_k"]
