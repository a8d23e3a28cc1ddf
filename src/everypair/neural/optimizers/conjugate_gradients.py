"""Preconditioned conjugate gradients on A s = b from s = 0, over trees of arrays.

Stops when ‖r‖_M ≤ tol ‖b‖_M, ‖r‖²_M = ⟨r, M⁻¹r⟩, or after so many steps.
"""

from __future__ import annotations

from collections.abc import Callable

from everypair.neural.trees import Both, inner, plus, zeros_like


def conjugate_gradients(
    product: Callable[[Both], Both], preconditioned: Callable[[Both], Both], b: Both, steps: int, tol: float
) -> tuple[Both, Both]:
    """(s, what is left of b): ``product`` is A·, ``preconditioned`` M⁻¹·.

    >>> import numpy as np
    >>> A, b = np.diag([1.0, 4.0]), (np.array([2.0]), np.array([4.0]))
    >>> split = lambda x: (x[:1], x[1:])
    >>> product = lambda x: split(A @ np.concatenate(x))
    >>> s, left = conjugate_gradients(product, lambda x: x, b, steps=2, tol=0.0)
    >>> np.concatenate(s).round(12).tolist()
    [2.0, 1.0]
    """
    step, residual, above = zeros_like(b), b, preconditioned(b)
    direction, size = above, inner(b, above)
    first = size
    for _ in range(steps):
        if size <= tol**2 * first:
            break
        curved = product(direction)
        length = size / inner(direction, curved)
        step = plus(step, length, direction)
        residual = plus(residual, -length, curved)
        above = preconditioned(residual)
        before, size = size, inner(residual, above)
        direction = plus(above, size / before, direction)
    return step, residual
