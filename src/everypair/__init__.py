"""EveryPair learns from every pair: the few that were observed and all the rest."""

from everypair.models import Explanation, OneClassMF, Popularity

__version__ = "0.1.0"
__all__ = ["Explanation", "OneClassMF", "Popularity", "__version__"]
