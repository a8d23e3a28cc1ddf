"""Matrices completed from some of their entries: ranking loss, nuclear norms, kernels, side information."""

from everypair.models.completion.kernel_completion import KernelCompletion
from everypair.models.completion.mlrm import MLRM

__all__ = ["MLRM", "KernelCompletion"]
