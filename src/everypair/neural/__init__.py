"""Two-tower networks trained on every pair: s_ij = f(x_i) · g(z_j). Needs the extra ``everypair[neural]`` (jax)."""

from __future__ import annotations

try:
    import jax  # noqa: F401
except ImportError as missing:
    raise ImportError("TwoTower needs jax, which is not installed: pip install everypair[neural].") from missing
