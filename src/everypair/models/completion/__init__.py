"""Matrices completed from some of their entries: ranking loss, nuclear norms, side information."""

from everypair.models.completion.mlrm import MLRM

__all__ = ["MLRM"]
