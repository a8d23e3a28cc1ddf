"""Kernel ridge regression: in closed form, through landmarks, and of a matrix with holes by conjugate gradients."""
