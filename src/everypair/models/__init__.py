"""What people use: recommenders and their floor."""

from everypair.models.one_class import Explanation, OneClassMF
from everypair.models.popularity import Popularity

__all__ = ["Explanation", "OneClassMF", "Popularity"]
