import numpy as np
import pytest
import scipy.sparse as sp

from everypair.kernels.row_newton import FLOOR, solve_rows

from ..problem.brute import PLAIN_LOSSES, loss_named
from .twins import newton_cg

M, N = 8, 30


def rows_of(loss, imputed, rank=5, dtype=np.float64, scale=1.0, ridge=0.3, seed=0):
    """Arguments of the kernel for rows of 0, 1, 2, ... and all pairs."""
    rng = np.random.default_rng(seed)
    pattern = np.zeros((M, N), bool)
    for row, count in enumerate([0, 1, 2, 4, 7, 9, 16, N]):
        pattern[row, rng.choice(N, count, replace=False)] = True
    csr = sp.csr_array(pattern)
    signs = [-1.0, 0.0] if loss == "squared" else [-1.0, 1.0]
    q = rng.uniform(0.05, 0.4, N)
    V = rng.normal(size=(N, rank))
    _, basis = np.linalg.eigh((V * q[:, None]).T @ V)
    V = V @ basis  # its weighted Gram matrix is diagonal, as the kernel expects
    arrays = {
        "c": rng.lognormal(size=csr.nnz),
        "y": rng.choice([1.0, *signs], csr.nnz),
        "z": rng.normal(size=csr.nnz) if imputed else np.array([-0.7]),
        "V": V,
        "q": q,
        "p": rng.uniform(0.3, 2, M),
        "lam": ridge * rng.uniform(0.5, 2, M),
        "sigma": q @ V**2,
        "free": np.ones(rank),
        "b": rng.normal(size=(M if imputed else 1, rank)),
        "U": scale * rng.normal(size=(M, rank)),
    }
    arrays = {name: array.astype(dtype) for name, array in arrays.items()}
    return {"indptr": csr.indptr.astype(np.int64), "indices": csr.indices.astype(np.int32), **arrays}


def solve(loss, imputed, rows, newton, cg, newton_tol=0.0, cg_tol=0.0, chunks=((0, 3), (3, M))):
    chosen = loss_named(loss)
    dtype = rows["V"].dtype
    loops = chosen.loops(rows["c"].dtype, dtype)
    U, values, moved = rows["U"].copy(), np.full(M, 77.0), np.empty(M, bool)
    for start, stop in chunks:
        block = U[start:stop].copy()
        pulls = rows["p"][start:stop, None] * (rows["b"][start:stop] if imputed else rows["b"])
        solve_rows(
            loops, start, stop, rows["indptr"], rows["indices"], rows["c"], rows["y"], rows["z"], rows["V"],
            rows["q"], rows["p"], rows["lam"], rows["sigma"], rows["free"], pulls, block, values[start:stop],
            moved[start:stop], newton, cg, newton_tol, cg_tol, float(np.finfo(dtype).eps), np.empty((6, N), dtype),
        )  # fmt: skip
        assert np.array_equal(block[~moved[start:stop]], U[start:stop][~moved[start:stop]])
        U[start:stop] = block
    return U, values


def solve_twin(loss, imputed, rows, newton, cg, newton_tol=0.0, cg_tol=0.0):
    rows = {name: array if array.dtype.kind == "i" else array.astype(np.float64) for name, array in rows.items()}
    U, values, lengths = [], [], []
    for i in range(M):
        mine = slice(rows["indptr"][i], rows["indptr"][i + 1])
        j = rows["indices"][mine]
        diagonal = rows["p"][i] * rows["sigma"] + rows["lam"][i]
        precondition = np.diag(rows["free"] / np.maximum(diagonal, FLOOR * diagonal.max()))
        u, value, taken = newton_cg(
            loss, rows["c"][mine], rows["y"][mine], rows["z"][mine] if imputed else rows["z"][0],
            rows["p"][i] * rows["q"][j], rows["V"][j], np.diag(diagonal), rows["p"][i] * rows["b"][i if imputed else 0],
            precondition, rows["U"][i], newton, cg, newton_tol, cg_tol,
        )  # fmt: skip
        U.append(u)
        values.append(value)
        lengths.append(taken)
    return np.array(U), np.array(values), lengths


TO_THE_END = (40, 30, 1e-9, 1e-3)
STEPS = [(1, 1, 0.0, 0.0), (1, 2, 0.0, 0.0), (3, 2, 0.0, 0.0), (2, 5, 0.0, 0.3), (9, 4, 0.2, 0.1), TO_THE_END]
# Where steps go on until ‖∇f‖ is a billionth of what it was, rounding decides who takes one more: what is left of the
# way is at most ‖∇f‖ over the least curvature, 1e-9 · 30 / 0.15.
NEARLY_SOLVED = 2e-7


@pytest.mark.parametrize("imputed", [False, True])
@pytest.mark.parametrize("loss", PLAIN_LOSSES)
@pytest.mark.parametrize("steps", STEPS, ids=str)
def test_kernel_like_the_twin(loss, imputed, steps):
    rows = rows_of(loss, imputed)
    U, values = solve(loss, imputed, rows, *steps)
    expected, expected_values, _ = solve_twin(loss, imputed, rows, *steps)
    atol = NEARLY_SOLVED if steps == TO_THE_END else 1e-10
    np.testing.assert_allclose(U, expected, rtol=1e-9, atol=atol)
    np.testing.assert_allclose(values, expected_values, rtol=1e-9, atol=atol)


def test_another_rank():
    rows = rows_of("logistic", False, rank=3)
    U, values = solve("logistic", False, rows, 2, 2)
    expected, expected_values, _ = solve_twin("logistic", False, rows, 2, 2)
    np.testing.assert_allclose(U, expected, rtol=1e-9)
    np.testing.assert_allclose(values, expected_values, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("loss", PLAIN_LOSSES)
def test_directions_the_other_side_does_not_span_are_preconditioned_by_the_floor(loss):
    rows = rows_of(loss, False, ridge=0.0)
    rows["V"][:, 1] *= 1e-5
    rows["sigma"] = rows["q"] @ rows["V"] ** 2
    assert rows["sigma"][1] < FLOOR * rows["sigma"].max()
    rows["b"][0, 1] = 0
    U, _ = solve(loss, False, rows, 1, 2)
    expected, _, _ = solve_twin(loss, False, rows, 1, 2)
    np.testing.assert_allclose(U[1:], expected[1:], rtol=1e-7, atol=1e-8)


def test_row_without_pairs_is_solved_exactly():
    rows = rows_of("logistic", True)
    U, values = solve("logistic", True, rows, 1, 1)
    expected = rows["p"][0] * rows["b"][0] / (rows["p"][0] * rows["sigma"] + rows["lam"][0])
    np.testing.assert_allclose(U[0], expected, rtol=1e-14)
    assert values[0] == 0


def test_row_without_pairs_is_solved_exactly_in_weak_directions_too():
    rows = rows_of("logistic", False, ridge=0.0)
    rows["sigma"] = np.array([1.0, 1e-8, 1e-12, 0.0, 2.0])
    rows["b"] = np.array([[0.5, 1e-4, 1e-6, 0.0, 1.0]])
    U, _ = solve("logistic", False, rows, 1, 1)
    np.testing.assert_allclose(U[0], [0.5, 1e4, 1e6, 0.0, 0.5], rtol=1e-14)


def test_row_without_pairs_weight_and_ridge_goes_to_the_origin():
    rows = rows_of("logistic", False, ridge=0.0)
    rows["p"][0] = 0
    U, _ = solve("logistic", False, rows, 1, 1)
    assert not U[0].any()
