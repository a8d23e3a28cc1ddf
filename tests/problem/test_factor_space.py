"""F(U, V) in factor space against the sum over every pair, and its derivatives against differences of that sum."""

import numpy as np
import pytest

from everypair.problem.factor_space import FactorObjective
from everypair.problem.outside import OUTSIDE

from .brute import PLAIN_LOSSES, Case, build, start

CASES = [
    *(Case(loss=loss, scheme="arrays", value=value) for loss in PLAIN_LOSSES for value in ("minus", "low_rank")),
    Case(scheme="left_count", targets="explicit"),
]


def everywhere(dense, left, right):
    """Σ_Ω c ℓ(y, s) + Σ_{∉Ω} p_i q_j ℓ(ỹ, s)."""
    loss, scores = PLAIN_LOSSES[dense.loss][0], left @ right.T
    others = np.outer(dense.p, dense.q) * loss(dense.values, scores)
    return np.where(dense.stored, dense.weights * loss(dense.targets, scores), others).sum()


def slope(value, at, direction, step=1e-5):
    return (value(at + step * direction) - value(at - step * direction)) / (2 * step)


@pytest.mark.parametrize("outside", OUTSIDE)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_value_gradient_and_product(case, outside):
    problem = build(case, reg=(0.0, 0.0))
    plain, dense = problem.objective, problem.dense
    F = FactorObjective(
        problem.pairs, plain.loss, plain.negatives, problem.ridge, OUTSIDE[outside], dtype=np.float64
    )  # fmt: skip
    written_out = dense.value if outside == "squared" else lambda *factors: everywhere(dense, *factors)
    factors = start(dense, scale=0.5)
    assert F.value(*factors) == pytest.approx(float(written_out(*factors)), rel=1e-12)
    random = np.random.default_rng(2)
    for side in (0, 1):

        def at(this, side=side):
            return (this, factors[1]) if side == 0 else (factors[0], this)

        direction = random.normal(size=factors[side].shape)
        gradient = F.gradient(side, *factors)
        numeric = slope(lambda this: written_out(*at(this)), factors[side], direction)
        assert np.sum(gradient * direction) == pytest.approx(numeric, rel=1e-5, abs=1e-6)
        if case.loss != "squared_hinge":  # whose curvature jumps
            bent = slope(lambda this: F.gradient(side, *at(this)), factors[side], direction)  # noqa: B023
            np.testing.assert_allclose(F.product(side, direction, *factors), bent, rtol=1e-5, atol=1e-6)
