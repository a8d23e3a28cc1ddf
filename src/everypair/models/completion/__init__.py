"""Matrices completed from some of their entries: ranking loss, nuclear norms, side information."""

from everypair.models.completion.mlrm import MLRM
from everypair.models.completion.rivals.fnnm import FNNM
from everypair.models.completion.rivals.fpca import FPCA
from everypair.models.completion.rivals.imc import IMC
from everypair.models.completion.rivals.maxide import Maxide
from everypair.models.completion.rivals.simc import SIMC

__all__ = ["FNNM", "FPCA", "IMC", "MLRM", "SIMC", "Maxide"]
