"""Exact Newton steps on blocks of a row's coordinates against dense numpy."""

import numpy as np
import pytest

from everypair.kernels.row_newton import ARMIJO, MAX_HALVINGS
from everypair.solvers.half_step import RowSteps

from ..problem.brute import PLAIN_LOSSES, loss_named
from .test_row_newton import M, N, rows_of

RANK = 6  # with blocks of 3 and of 6, as in the solver's tests: every size is a kernel to compile
KINDS = [("squared", True), ("logistic", False), ("squared_hinge", False), ("pseudo_huber", True)]
kinds = pytest.mark.parametrize(("loss", "imputed"), KINDS)


def solve(loss, imputed, rows, block, sweeps, tol=0.0, chunks=((0, 3), (3, M))):
    kernel = RowSteps(block=block).kernel(rows["V"].shape[1])
    dtype = rows["V"].dtype
    loops = loss_named(loss).loops(rows["c"].dtype, dtype)
    U, values, moved = rows["U"].copy(), np.full(M, 77.0), np.empty(M, bool)
    for start, stop in chunks:
        mine = U[start:stop].copy()
        pulls = rows["p"][start:stop, None] * (rows["b"][start:stop] if imputed else rows["b"])
        kernel(
            loops, start, stop, rows["indptr"], rows["indices"], rows["c"], rows["y"], rows["z"], rows["V"],
            rows["q"], rows["p"], rows["lam"], rows["sigma"], rows["free"], pulls, mine, values[start:stop],
            moved[start:stop], sweeps, 0, tol, 0.0, float(np.finfo(dtype).eps), np.empty((6, N), dtype),
        )  # fmt: skip
        assert np.array_equal(mine[~moved[start:stop]], U[start:stop][~moved[start:stop]])
        U[start:stop] = mine
    return U, values


def block_newton(loss, c, y, z, w, V, diagonal, pull, free, u, block, sweeps, tol):
    """Lower f(u) = Σ [c ℓ(y, s) − ½ w (z − s)²] + ½ u·(D u) − pull·u, s = Vu, over one block after the other.

    Returns u, the sum over the stored pairs there and the length of every step that was taken.
    """
    value, slope, curvature = PLAIN_LOSSES[loss]

    def stored(at):
        return np.sum(c * value(y, V @ at) - 0.5 * w * (z - V @ at) ** 2)

    def f(at):
        return stored(at) + 0.5 * at @ (diagonal * at) - pull @ at

    lengths = []
    for sweep in range(sweeps):
        norm = 0.0
        for begin in range(0, len(u), block):
            B = np.arange(begin, begin + block)[free[begin : begin + block] > 0]
            s = V @ u
            g = V[:, B].T @ (c * slope(y, s) - w * (s - z)) + diagonal[B] * u[B] - pull[B]
            hessian = (V[:, B].T * (c * curvature(y, s) - w)) @ V[:, B] + np.diag(diagonal[B])
            step = np.zeros_like(u)
            step[B] = -np.linalg.solve(hessian, g)
            descent = g @ step[B]
            norm -= descent
            length = 1.0
            for _ in range(MAX_HALVINGS):
                if f(u + length * step) - f(u) <= ARMIJO * length * descent + 1e-14 * abs(f(u)):
                    u = u + length * step
                    lengths.append(length)
                    break
                length /= 2
        if sweep == 0:
            first_norm = norm
        if norm <= tol**2 * first_norm:
            break
    return u, stored(u), lengths


def solve_twin(loss, imputed, rows, block, sweeps, tol=0.0):
    rows = {name: array if array.dtype.kind == "i" else array.astype(np.float64) for name, array in rows.items()}
    answers = []
    for i in range(M):
        mine = slice(rows["indptr"][i], rows["indptr"][i + 1])
        j = rows["indices"][mine]
        answers.append(
            block_newton(
                loss, rows["c"][mine], rows["y"][mine], rows["z"][mine] if imputed else rows["z"][0],
                rows["p"][i] * rows["q"][j], rows["V"][j], rows["p"][i] * rows["sigma"] + rows["lam"][i],
                rows["p"][i] * rows["b"][i if imputed else 0], rows["free"], rows["U"][i], block, sweeps, tol,
            )
        )  # fmt: skip
    U, values, lengths = zip(*answers)
    return np.array(U), np.array(values), lengths


@kinds
@pytest.mark.parametrize(("sweeps", "tol"), [(1, 0.0), (3, 0.0), (50, 0.05)])
def test_kernel_like_the_twin(loss, imputed, sweeps, tol):
    rows = rows_of(loss, imputed, rank=RANK)
    U, values = solve(loss, imputed, rows, 3, sweeps, tol)
    expected, expected_values, _ = solve_twin(loss, imputed, rows, 3, sweeps, tol)
    np.testing.assert_allclose(U, expected, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(values, expected_values, rtol=1e-9, atol=1e-10)


def test_one_block_of_all_coordinates_is_the_exact_optimum():
    rows = rows_of("squared", False, rank=RANK)
    U, _ = solve("squared", False, rows, RANK, 1)
    for i in range(M):
        mine = slice(rows["indptr"][i], rows["indptr"][i + 1])
        V, w = rows["V"][rows["indices"][mine]], rows["p"][i] * rows["q"][rows["indices"][mine]]
        matrix = (V.T * (rows["c"][mine] - w)) @ V + np.diag(rows["p"][i] * rows["sigma"] + rows["lam"][i])
        vector = V.T @ (rows["c"][mine] * rows["y"][mine] - w * rows["z"][0]) + rows["p"][i] * rows["b"][0]
        np.testing.assert_allclose(U[i], np.linalg.solve(matrix, vector), rtol=1e-9, atol=1e-10)
    assert np.array_equal(solve("squared", False, rows, 5 * RANK, 1)[0], U)


def test_a_block_that_does_not_divide_the_rank_is_the_next_smaller_one_that_does():
    rows = rows_of("squared", False, rank=RANK)
    for left, right in zip(solve("squared", False, rows, 4, 2), solve("squared", False, rows, 3, 2)):
        assert np.array_equal(left, right)


def test_directions_without_curvature_stay():
    """A row without pairs, weight and ridge has a matrix of zeros: no step, and nothing that is not a number."""
    rows = rows_of("squared", False, rank=RANK, ridge=0.0)
    rows["p"][0] = 0
    U, values = solve("squared", False, rows, 3, 2)
    assert np.array_equal(U[0], rows["U"][0])
    assert values[0] == 0
