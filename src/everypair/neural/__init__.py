"""Two-tower networks trained on every pair: s_ij = f(x_i) · g(z_j). Towers brought along need jax."""
