"""Completion models that MLRM is compared with."""

from everypair.models.completion.rivals.fnnm import FNNM
from everypair.models.completion.rivals.fpca import FPCA
from everypair.models.completion.rivals.imc import IMC
from everypair.models.completion.rivals.maxide import Maxide
from everypair.models.completion.rivals.simc import SIMC

__all__ = ["FNNM", "FPCA", "IMC", "SIMC", "Maxide"]
