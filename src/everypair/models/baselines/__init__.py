"""Multi-label methods to compare with: one model per label, label compression, and ranking by sampling."""

from everypair.models.baselines.bayesian_compressed_sensing import BayesianCompressedSensing
from everypair.models.baselines.binary_relevance import BinaryRelevance
from everypair.models.baselines.cplst import CPLST
from everypair.models.baselines.plst import PLST
from everypair.models.baselines.wsabie import WSABIE

__all__ = ["CPLST", "PLST", "WSABIE", "BayesianCompressedSensing", "BinaryRelevance"]
