"""What people use: recommenders and their floor."""

from everypair.models.explanation import Explanation
from everypair.models.one_class import OneClassMF
from everypair.models.popularity import Popularity

__all__ = ["Explanation", "OneClassMF", "Popularity"]
