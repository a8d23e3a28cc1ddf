"""Other libraries' objectives as special cases of ours, so that one Objective can judge all of them.

With all stored values equal to x > 0:

implicit, ALS      Σ_Ω αx (1 − s)² + Σ_{∉Ω} s² + λ (‖U‖² + ‖V‖²) = 2 F with weights αx, negative weight 1, ridge λ
cmfrec, implicit   the same with weights 1 + αx
irspack, iALS      ½ Σ_Ω x (1 − s)² + ½ α₀ Σ_{all} s² + ½ λ (Σ_i (α₀ n + N_i)^ν ‖u_i‖² + …), and for one pair
                   ½ x (1 − s)² + ½ α₀ s² = ½ (x + α₀)(s − x/(x + α₀))² + ½ xα₀/(x + α₀),
                   so weights x + α₀, targets t = x/(x + α₀), negative weight α₀, and with ν = 0 the ridge is λ

irspack's is implicit's in other units: with factors √t U, √t V it is α₀t² times implicit's objective at (U, V) with
αx = (x + α₀)/α₀ and the ridge λ/(α₀t).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from everypair.data import Pairs
from everypair.problem import Negatives, Objective, Ridge


def implicit_objective(interactions: Any, alpha: float, reg: float, **options: Any) -> Objective:
    """½ of the objective of ``implicit.als.AlternatingLeastSquares(alpha=alpha, regularization=reg)``."""
    pairs = Pairs.from_matrix(alpha * interactions, dtype=options.get("dtype", np.float32))
    return Objective(pairs, "squared", Negatives.from_scheme(pairs, 1.0), Ridge.checked(reg, 0.0), **options)


def irspack_targets(interactions: Any, alpha0: float) -> tuple[Any, Any]:
    """Weights x + α₀ and targets x/(x + α₀) of the stored pairs."""
    weights, targets = interactions.copy(), interactions.copy()
    weights.data = interactions.data + alpha0
    targets.data = interactions.data / (interactions.data + alpha0)
    return weights, targets


def irspack_objective(interactions: Any, alpha0: float, reg: float, **options: Any) -> Objective:
    """The objective of irspack's ``IALSRecommender(alpha0=alpha0, reg=reg, nu=0)``, less a constant."""
    weights, targets = irspack_targets(interactions, alpha0)
    pairs = Pairs.from_matrix(weights, targets, dtype=options.get("dtype", np.float32))
    return Objective(pairs, "squared", Negatives.from_scheme(pairs, alpha0), Ridge.checked(reg, 0.0), **options)


def irspack_units(alpha: float, reg: float) -> tuple[float, float, float]:
    """α₀, the ridge and √t with which irspack minimises implicit's objective on stored ones, for √t (U, V)."""
    alpha0 = 1 / (alpha - 1)
    target = 1 / (1 + alpha0)
    return alpha0, reg * alpha0 * target, target**0.5
