"""Newton's method for one label after the other against the same steps in dense numpy."""

import numpy as np
import pytest
import scipy.sparse as sp

from everypair.kernels.binary import ARMIJO, FLAT, ROUNDING, SHORTEST, fit_binary
from everypair.problem.losses import LOSSES, get_loss

from ..problem.brute import DISLIKE_TARGETS, PLAIN_LOSSES

ROWS, FEATURES, LABELS = 40, 7, 5
EXACT = {"tol": 1e-10, "max_iter": 60, "max_cg": 1000}


def problem(everything, dtype=np.float64):
    """Sparse rows, weights, and labels: one that nobody has, one of everybody, one of which nothing is known."""
    random = np.random.default_rng(0)
    X = random.standard_normal((ROWS, FEATURES)) * (random.random((ROWS, FEATURES)) < 0.5)
    X[3] = 0
    Y = X @ random.standard_normal((FEATURES, LABELS)) + random.standard_normal((ROWS, LABELS)) > 0.5
    known = np.ones(Y.shape, bool) if everything else random.random(Y.shape) < 0.6
    Y[:, 1], Y[:, 2], known[:, 3] = False, True, everything
    return X.astype(dtype), Y, known, random.random(ROWS) + 0.1


def solve(loss, X, Y, known, c, everything, reg, tol, max_iter, max_cg, chunks=((0, 2), (2, LABELS))):
    stored = Y if everything else known
    columns = sp.csc_array(stored)
    values = np.concatenate([Y[stored[:, l], l] for l in range(LABELS)]).astype(np.float32)
    rows = sp.csr_array(X)
    W, steps, gaps = np.full((LABELS, FEATURES), 77.0), np.full(LABELS, 77), np.full(LABELS, 77.0)
    for start, stop in chunks:
        fit_binary(
            start, stop, get_loss(loss).code, reg, tol, max_iter, max_cg, rows.indptr, rows.indices, rows.data, c,
            columns.indptr, columns.indices, values, everything, 1.0, DISLIKE_TARGETS[loss], W, steps, gaps,
        )  # fmt: skip
    return W, steps, gaps


def twin(loss, X, y, c, reg, tol, max_iter, max_cg):
    """w, Newton steps, ‖g‖ / ‖g at 0‖ and the lengths of the steps, for one label on its known rows."""
    value, slope, curvature = PLAIN_LOSSES[loss]
    X, w, lengths, gap = X.astype(np.float64), np.zeros(X.shape[1]), [], 0.0

    def f(at):
        return c @ value(y, X @ at) + 0.5 * reg * at @ at

    def gradient(at):
        return X.T @ (c * slope(y, X @ at)) + reg * at

    first = np.linalg.norm(gradient(w))
    for step in range(max_iter + 1):
        g = gradient(w)
        norm = np.linalg.norm(g)
        gap = norm / first if first > 0 else 0.0
        if norm <= tol * first or step == max_iter:
            break
        hessian = (X.T * (c * curvature(y, X @ w))) @ X + reg * np.eye(len(w))
        goal = 0.3 * tol * first if loss == "squared" else min(0.1, np.sqrt(norm / first)) * norm
        direction = jacobi_cg(hessian, -g, goal, max_cg)
        length = 1.0
        while length > SHORTEST:
            trial = w + length * direction
            flat = gradient(trial) @ direction <= -FLAT * (g @ direction) and f(trial) <= f(w) * (1 + ROUNDING)
            if f(trial) <= f(w) + ARMIJO * length * (g @ direction) or flat:
                break
            length /= 2
        else:
            break
        w = trial
        lengths.append(length)
    return w, step, gap, lengths


def jacobi_cg(matrix, residual, goal, steps):
    """Solve matrix·x = residual from zero, preconditioned by the diagonal, until the residual's norm meets the goal."""
    x, diagonal = np.zeros_like(residual), np.diag(matrix)
    p = residual / diagonal
    rz = residual @ p
    for _ in range(steps):
        image = matrix @ p
        alpha = rz / (p @ image)
        x = x + alpha * p
        residual = residual - alpha * image
        if np.linalg.norm(residual) <= goal:
            break
        rz, old = residual @ (residual / diagonal), rz
        p = residual / diagonal + rz / old * p
    return x


def expected(loss, X, Y, known, c, reg, tol, max_iter, max_cg):
    answers = []
    for label in range(LABELS):
        rows = known[:, label]
        y = np.where(Y[rows, label], 1.0, DISLIKE_TARGETS[loss])
        answers.append(twin(loss, X[rows], y, c[rows], reg, tol, max_iter, max_cg))
    return [np.array(part) for part in list(zip(*answers))[:3]] + [[length for *_, each in answers for length in each]]


@pytest.mark.parametrize("everything", [True, False])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("max_iter", "max_cg"), [(1, 1), (2, 2), (3, 1000)])
def test_steps_like_the_twin(loss, everything, max_iter, max_cg):
    X, Y, known, c = problem(everything)
    options = {"reg": 0.3, "tol": 1e-9, "max_iter": max_iter, "max_cg": max_cg}
    W, steps, gaps = solve(loss, X, Y, known, c, everything, **options)
    plain_W, plain_steps, plain_gaps, _ = expected(loss, X, Y, known, c, **options)
    np.testing.assert_allclose(W, plain_W, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(steps, plain_steps)
    np.testing.assert_allclose(gaps, plain_gaps, rtol=1e-6, atol=1e-10)


@pytest.mark.parametrize("everything", [True, False])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_gradient_vanishes_where_the_twin_ends(loss, everything):
    X, Y, known, c = problem(everything)
    W, steps, gaps = solve(loss, X, Y, known, c, everything, reg=0.3, **EXACT)
    plain_W, *_ = expected(loss, X, Y, known, c, reg=0.3, **EXACT)
    np.testing.assert_allclose(W, plain_W, rtol=1e-7, atol=1e-9)
    assert (gaps <= 1e-10).all()
    if not everything:
        assert not W[3].any()  # nothing is known of it
        assert steps[3] == 0
    y = np.where(Y, 1.0, DISLIKE_TARGETS[loss])
    slopes = PLAIN_LOSSES[loss][1](y, X @ W.T) * known * c[:, None]
    np.testing.assert_allclose(X.T @ slopes + 0.3 * W.T, 0, atol=1e-7)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_line_search_like_the_twin(loss):
    """With rows and weights of very different sizes a full Newton step overshoots where curvature has vanished."""
    X, Y, known, _ = problem(True)
    random = np.random.default_rng(4)
    X, c = X * random.lognormal(sigma=1.5, size=(ROWS, 1)), random.lognormal(sigma=2, size=ROWS)
    options = {"reg": 1e-3, "tol": 1e-5, "max_iter": 12, "max_cg": 1000}
    W, steps, _ = solve(loss, X, Y, known, c, True, **options)
    plain_W, plain_steps, _, lengths = expected(loss, X, Y, known, c, **options)
    assert min(lengths) < 1
    np.testing.assert_array_equal(steps, plain_steps)
    np.testing.assert_allclose(W, plain_W, rtol=1e-6, atol=1e-8)


def test_single_precision_rows_follow_the_twin():
    X, Y, known, c = problem(False, dtype=np.float32)
    W, *_ = solve("logistic", X, Y, known, c, False, reg=0.3, **EXACT)
    plain_W, *_ = expected("logistic", X, Y, known, c, reg=0.3, **EXACT)
    np.testing.assert_allclose(W, plain_W, rtol=1e-7, atol=1e-9)  # rows alone are rounded, weights are float64


def test_chunks_do_not_change_a_bit():
    data = problem(False)
    one = solve("squared_hinge", *data, False, reg=0.3, **EXACT, chunks=[(0, LABELS)])
    many = solve("squared_hinge", *data, False, reg=0.3, **EXACT, chunks=[(l, l + 1) for l in range(LABELS)])
    for left, right in zip(one, many):
        assert np.array_equal(left, right)
