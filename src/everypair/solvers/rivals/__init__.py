"""Solvers that exist to be compared: coordinate descent, stochastic gradients, pairwise ranking."""
