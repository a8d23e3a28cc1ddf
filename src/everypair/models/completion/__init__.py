"""Matrices completed from some of their entries: ranking loss, nuclear norms, kernels, side information."""

from everypair.models.completion.gaussian_ratings import GaussianRatings
from everypair.models.completion.kernel_completion import KernelCompletion
from everypair.models.completion.mlrm import MLRM
from everypair.models.completion.neighbor_mf import NeighborMF

__all__ = ["MLRM", "GaussianRatings", "KernelCompletion", "NeighborMF"]
