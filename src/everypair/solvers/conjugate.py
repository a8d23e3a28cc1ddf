"""Preconditioned conjugate gradients inside a trust region: min ⟨G,S⟩ + ½⟨S,HS⟩ over ‖S‖_P ≤ Δ.

The preconditioner P approximates H; lengths are measured in its norm, ‖S‖_P² = ⟨S,PS⟩, which the recurrences keep
without ever forming PS. With the residual R = −G − HS the model's value is ½(⟨G,S⟩ − ⟨R,S⟩).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.problem.gram import inner

Array = NDArray[Any]
Product = Callable[[Array], tuple[Array, Array]]


@dataclass(frozen=True)
class ModelStep:
    """A step S, its image N = ES, the model's value there, ‖S‖_P and how many products it took."""

    step: Array
    image: Array
    model: float
    length: float
    products: int
    at_boundary: bool


def conjugate_gradient(
    product: Product,
    precondition: Callable[[Array], Array],
    gradient: Array,
    rows: int,
    *,
    radius: float = math.inf,
    tol: float = 0.1,
    max_steps: int = 50,
) -> ModelStep:
    """Solve for the step until the preconditioned residual is ``tol`` times the gradient, or the boundary is reached.

    ``product(D)`` returns (HD, ED); ``rows`` is the number of rows of ED.
    """
    step = np.zeros_like(gradient)
    image = np.zeros((rows, gradient.shape[1]), gradient.dtype)
    residual = -gradient
    scaled = precondition(residual)
    size = first = inner(residual, scaled)  # ‖R‖² in the norm of P⁻¹
    direction = scaled.copy()
    step_step = step_direction = 0.0
    direction_direction = size
    products, at_boundary = 0, False
    while products < max_steps and size > tol * tol * first and size > 0:
        curved, lifted = product(direction)
        products += 1
        curvature = inner(direction, curved)
        length = size / curvature if curvature > 0 else math.inf
        grown = step_step + 2 * length * step_direction + length * length * direction_direction
        if not grown < radius * radius:
            at_boundary = True
            room = radius * radius - step_step
            root = math.sqrt(step_direction**2 + direction_direction * max(room, 0.0))
            length = room / (step_direction + root) if math.isfinite(radius) else 0.0
            grown = radius * radius if math.isfinite(radius) else step_step
        weight = gradient.dtype.type(length)
        step += weight * direction
        image += weight * lifted
        residual -= weight * curved
        if at_boundary:
            step_step = grown
            break
        scaled = precondition(residual)
        before, size = size, inner(residual, scaled)
        share = size / before
        direction *= gradient.dtype.type(share)
        direction += scaled
        step_direction = share * (step_direction + length * direction_direction)
        direction_direction = size + share * share * direction_direction
        step_step = grown
    model = 0.5 * (inner(gradient, step) - inner(residual, step))
    return ModelStep(step, image, model, math.sqrt(max(step_step, 0.0)), products, at_boundary)
