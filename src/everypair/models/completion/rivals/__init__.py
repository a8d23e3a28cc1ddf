"""Completion models that MLRM is compared with."""
