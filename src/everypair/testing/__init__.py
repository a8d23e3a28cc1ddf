"""The tests every model passes, for subclasses to run."""

from everypair.testing.recommender import RecommenderContract, block_matrix, group_of, refused

__all__ = ["RecommenderContract", "block_matrix", "group_of", "refused"]
