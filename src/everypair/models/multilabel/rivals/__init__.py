"""Multi-label methods to compare with: one model per label, labels compressed, embedded or ranked, trees."""

from everypair.models.multilabel.rivals.bayesian_compressed_sensing import BayesianCompressedSensing
from everypair.models.multilabel.rivals.binary_relevance import BinaryRelevance
from everypair.models.multilabel.rivals.compressed_sensing import CompressedSensing
from everypair.models.multilabel.rivals.cplst import CPLST
from everypair.models.multilabel.rivals.fast_xml import FastXML
from everypair.models.multilabel.rivals.label_cca import LabelCCA
from everypair.models.multilabel.rivals.plst import PLST
from everypair.models.multilabel.rivals.sleec import SLEEC
from everypair.models.multilabel.rivals.wsabie import WSABIE

__all__ = [
    "CPLST",
    "PLST",
    "SLEEC",
    "WSABIE",
    "BayesianCompressedSensing",
    "BinaryRelevance",
    "CompressedSensing",
    "FastXML",
    "LabelCCA",
]
