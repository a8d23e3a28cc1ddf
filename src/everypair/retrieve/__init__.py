"""Exact blocked top-k retrieval with filters."""

from everypair.retrieve.similar import most_similar
from everypair.retrieve.streamed import top_k_of_blocks
from everypair.retrieve.topk import top_k

__all__ = ["most_similar", "top_k", "top_k_of_blocks"]
