"""Matrices completed from some of their entries: ranking loss, nuclear norms, side information."""

from everypair.models.completion.fnnm import FNNM
from everypair.models.completion.fpca import FPCA
from everypair.models.completion.imc import IMC
from everypair.models.completion.maxide import Maxide
from everypair.models.completion.mlrm import MLRM
from everypair.models.completion.simc import SIMC

__all__ = ["FNNM", "FPCA", "IMC", "MLRM", "SIMC", "Maxide"]
