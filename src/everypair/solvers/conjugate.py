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

from everypair.problem.gram import inner
from everypair.types import Array

Product = Callable[[Array], tuple[Array, Array]]
Precondition = Callable[[Array], Array]


@dataclass(frozen=True)
class ModelStep:
    """A step S, its image N = ES, the model's value there, ‖S‖_P and how many products it took."""

    step: Array
    image: Array
    model: float
    length: float
    products: int
    at_boundary: bool


class ConjugateGradient:
    """The method one step at a time: ask for H times ``direction`` while it ``wants_more``, then :meth:`advance`."""

    def __init__(self, gradient: Array, precondition: Precondition, radius: float = math.inf, tol: float = 0.1) -> None:
        self.gradient, self.radius, self.tol = gradient, radius, tol
        self.step = np.zeros_like(gradient)
        self.residual = -gradient
        scaled = precondition(self.residual)
        self.size = self.first = inner(self.residual, scaled)  # ‖R‖² in the norm of P⁻¹
        self.direction = scaled.copy()
        self.step_step = self.step_direction = 0.0
        self.direction_direction = self.size
        self.products, self.at_boundary = 0, False

    def wants_more(self, max_steps: int) -> bool:
        """Whether the residual is still too large and the boundary was not reached."""
        small = not (self.size > self.tol * self.tol * self.first and self.size > 0)
        return self.products < max_steps and not small and not self.at_boundary

    def advance(self, curved: Array, precondition: Precondition) -> Any:
        """Go on by a length along ``direction``, whose product ``curved`` is; return the length."""
        self.products += 1
        # the length to the minimum along the direction, and ‖S‖² there
        curvature = inner(self.direction, curved)
        length = self.size / curvature if curvature > 0 else math.inf
        grown = self.step_step + 2 * length * self.step_direction + length * length * self.direction_direction
        if not grown < self.radius * self.radius:
            # the positive root of ‖S + αD‖ = Δ; without a region nothing bounds the step, which then stays
            self.at_boundary = True
            room = self.radius * self.radius - self.step_step
            root = math.sqrt(self.step_direction**2 + self.direction_direction * max(room, 0.0))
            length = room / (self.step_direction + root) if math.isfinite(self.radius) else 0.0
            grown = self.radius * self.radius if math.isfinite(self.radius) else self.step_step
        # the step, its residual and the next conjugate direction
        weight = self.gradient.dtype.type(length)
        self.step += weight * self.direction
        self.residual -= weight * curved
        if not self.at_boundary:
            scaled = precondition(self.residual)
            before, self.size = self.size, inner(self.residual, scaled)
            share = self.size / before
            self.direction = self.direction * self.gradient.dtype.type(share)  # new: it may be its own image
            self.direction += scaled
            self.step_direction = share * (self.step_direction + length * self.direction_direction)
            self.direction_direction = self.size + share * share * self.direction_direction
        self.step_step = grown
        return weight

    @property
    def model(self) -> float:
        """The model's value at the step."""
        return 0.5 * (inner(self.gradient, self.step) - inner(self.residual, self.step))

    @property
    def length(self) -> float:
        """‖S‖_P."""
        return math.sqrt(max(self.step_step, 0.0))


def conjugate_gradient(
    product: Product,
    precondition: Precondition,
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
    method = ConjugateGradient(gradient, precondition, radius, tol)
    image = np.zeros((rows, gradient.shape[1]), gradient.dtype)
    while method.wants_more(max_steps):
        curved, lifted = product(method.direction)
        image += method.advance(curved, precondition) * lifted
    return ModelStep(method.step, image, method.model, method.length, method.products, method.at_boundary)
