import math

import numpy as np
import pytest

from everypair.problem.gram import DOT_ROWS, inner
from everypair.solvers.conjugate import conjugate_gradient

ROWS, COLUMNS, LIFTED = 6, 5, 8


def system(seed=0, condition=30.0):
    """A positive definite H on 6 × 5 matrices, P near it, a gradient and an E."""
    random = np.random.default_rng(seed)
    size = ROWS * COLUMNS
    basis = np.linalg.qr(random.normal(size=(size, size)))[0]
    hessian = basis @ np.diag(np.geomspace(1, condition, size)) @ basis.T
    scale = np.diag(random.uniform(0.5, 2, size))
    lift = random.normal(size=(LIFTED, ROWS))
    return hessian, hessian + scale, random.normal(size=(ROWS, COLUMNS)), lift


def solve(hessian, preconditioner, gradient, lift, **options):
    def product(direction):
        return (hessian @ direction.ravel()).reshape(direction.shape), lift @ direction

    def precondition(residual):
        return np.linalg.solve(preconditioner, residual.ravel()).reshape(residual.shape)

    return conjugate_gradient(product, precondition, gradient, LIFTED, **options)


def model(hessian, gradient, step):
    return np.sum(gradient * step) + 0.5 * step.ravel() @ hessian @ step.ravel()


def norm(preconditioner, step):
    return math.sqrt(step.ravel() @ preconditioner @ step.ravel())


@pytest.mark.parametrize("seed", range(3))
def test_ends_at_the_solution_of_the_newton_system(seed):
    hessian, preconditioner, gradient, lift = system(seed)
    found = solve(hessian, preconditioner, gradient, lift, tol=1e-13, max_steps=100)
    exact = np.linalg.solve(hessian, -gradient.ravel()).reshape(gradient.shape)
    np.testing.assert_allclose(found.step, exact, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(found.image, lift @ exact, rtol=1e-9, atol=1e-9)
    assert found.model == pytest.approx(0.5 * np.sum(gradient * exact), rel=1e-12)
    assert not found.at_boundary


@pytest.mark.parametrize("steps", [1, 2, 5, 20])
@pytest.mark.parametrize("radius", [math.inf, 1.0, 0.2])
def test_model_image_and_length_on_the_way(steps, radius):
    hessian, preconditioner, gradient, lift = system()
    found = solve(hessian, preconditioner, gradient, lift, radius=radius, tol=0.0, max_steps=steps)
    assert found.products <= steps
    assert found.model == pytest.approx(model(hessian, gradient, found.step), rel=1e-12)
    np.testing.assert_allclose(found.image, lift @ found.step, rtol=1e-12, atol=1e-13)
    assert found.length == pytest.approx(norm(preconditioner, found.step), rel=1e-9)


@pytest.mark.parametrize("share", [0.01, 0.3, 0.9, 0.999])
def test_ends_on_the_boundary_where_the_solution_lies_outside(share):
    hessian, preconditioner, gradient, lift = system(condition=300.0)
    exact = np.linalg.solve(hessian, -gradient.ravel())
    radius = share * norm(preconditioner, exact)
    found = solve(hessian, preconditioner, gradient, lift, radius=radius, tol=1e-12, max_steps=100)
    assert found.at_boundary
    assert found.length == pytest.approx(radius, rel=1e-12)
    assert norm(preconditioner, found.step) == pytest.approx(radius, rel=1e-9)
    shortest = -np.linalg.solve(preconditioner, gradient.ravel())
    cauchy = radius * shortest / norm(preconditioner, shortest)
    length = -np.sum(gradient.ravel() * shortest) / (shortest @ hessian @ shortest)
    if length * norm(preconditioner, shortest) < radius:
        cauchy = length * shortest
    assert found.model <= model(hessian, gradient, cauchy.reshape(gradient.shape)) + 1e-12


def test_the_region_does_not_matter_where_the_solution_lies_inside():
    hessian, preconditioner, gradient, lift = system()
    exact = np.linalg.solve(hessian, -gradient.ravel())
    radius = 1.001 * norm(preconditioner, exact)
    inside = solve(hessian, preconditioner, gradient, lift, radius=radius, tol=1e-12, max_steps=100)
    free = solve(hessian, preconditioner, gradient, lift, tol=1e-12, max_steps=100)
    assert np.array_equal(inside.step, free.step)
    assert not inside.at_boundary


def test_as_many_steps_as_there_are_different_eigenvalues():
    random = np.random.default_rng(0)
    size = ROWS * COLUMNS
    basis = np.linalg.qr(random.normal(size=(size, size)))[0]
    hessian = basis @ np.diag(random.choice([1.0, 3.0, 10.0], size)) @ basis.T
    gradient, lift = random.normal(size=(ROWS, COLUMNS)), random.normal(size=(LIFTED, ROWS))
    assert solve(hessian, np.eye(size), gradient, lift, tol=1e-9, max_steps=100).products == 3
    assert solve(hessian, hessian, gradient, lift, tol=1e-9, max_steps=100).products == 1
    assert solve(hessian, np.eye(size), gradient, lift, tol=1e-9, max_steps=2).products == 2


def test_the_tolerance_is_met_no_later_than_needed():
    hessian, preconditioner, gradient, lift = system(condition=1000.0)
    preconditioner = np.eye(len(hessian))

    def residual(found):
        return np.linalg.norm(-gradient.ravel() - hessian @ found.step.ravel()) / np.linalg.norm(gradient)

    found = solve(hessian, preconditioner, gradient, lift, tol=0.05, max_steps=100)
    before = solve(hessian, preconditioner, gradient, lift, tol=0.0, max_steps=found.products - 1)
    assert residual(found) <= 0.05 < residual(before)


def test_no_gradient_no_step():
    hessian, preconditioner, gradient, lift = system()
    found = solve(hessian, preconditioner, 0 * gradient, lift)
    assert not found.step.any()
    assert (found.model, found.products, found.length) == (0, 0, 0)


@pytest.mark.parametrize("curvature", [0.0, -1.0])
def test_without_curvature_it_goes_to_the_boundary_or_stays(curvature):
    size = ROWS * COLUMNS
    _, _, gradient, lift = system()
    hessian = curvature * np.eye(size)
    found = solve(hessian, np.eye(size), gradient, lift, radius=2.0)
    np.testing.assert_allclose(found.step, -2 * gradient / np.linalg.norm(gradient), rtol=1e-12)
    assert found.model == pytest.approx(model(hessian, gradient, found.step))
    unlimited = solve(hessian, np.eye(size), gradient, lift)
    assert not unlimited.step.any()
    assert unlimited.length == 0


def test_inner_products_are_accurate_in_single_precision():
    random = np.random.default_rng(0)
    a, b = (random.normal(size=(3 * DOT_ROWS + 1, 5)).astype(np.float32) for _ in range(2))
    exact = math.fsum((a.astype(np.float64) * b.astype(np.float64)).ravel())
    assert inner(a, b) == pytest.approx(exact, abs=1e-8 * float(np.abs(a * b).sum()))
    assert inner(a[:0], b[:0]) == 0
