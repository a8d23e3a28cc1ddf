"""Solvers of the completion models: nuclear norms, shrinkage, ranking loss."""
