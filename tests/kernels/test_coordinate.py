import numpy as np
import pytest
import scipy.sparse as sp

from everypair.kernels.coordinate import exchange_column, stored_values, update_column

M, N, K, T = 9, 7, 4, 2
TOLERANCE = {np.float32: 2e-5, np.float64: 1e-12}


@pytest.fixture(params=[np.float32, np.float64])
def data(request):
    """A problem with an empty and a full row, as arrays of one number per stored pair and as dense matrices."""
    rng = np.random.default_rng(0)
    stored = rng.random((M, N)) < 0.5
    stored[2], stored[4] = False, True
    csr = sp.csr_array(stored)
    dense = {
        "U": rng.normal(size=(M, K)),
        "V": rng.normal(size=(N, K)),
        "c": rng.lognormal(size=(M, N)),
        "y": rng.normal(size=(M, N)),
        "z": rng.normal(size=(M, N)),
        "p": rng.uniform(0.1, 2, M),
        "q": rng.uniform(0.1, 1, N),
        "lam": rng.uniform(0.1, 1, M),
    }
    dense = {name: array.astype(request.param).astype(np.float64) for name, array in dense.items()}
    return dense | {
        "dtype": request.param,
        "stored": stored,
        "indptr": csr.indptr.astype(np.int64),
        "indices": csr.indices.astype(np.int32),
    }


def on_pairs(data, dense):
    return dense[data["stored"]].astype(data["dtype"])


def vectors(data, *names):
    return [data[name].astype(data["dtype"]) for name in names]


def best_column_twin(data, t):
    """argmin over column t of U of Σ_Ω ½ c (y − s)² + Σ_{∉Ω} ½ p q (z − s)² + ½ λ u²: dense weighted least squares."""
    others = np.arange(K) != t
    rest = data["U"][:, others] @ data["V"][:, others].T
    weights = np.where(data["stored"], data["c"], np.outer(data["p"], data["q"]))
    wanted = np.where(data["stored"], data["y"], data["z"]) - rest
    v = data["V"][:, t]
    return (weights * wanted) @ v / (weights @ v**2 + data["lam"])


def update(data, chunks, ridge=1.0, t=T):
    dtype = data["dtype"]
    others = np.arange(K) != t
    rest = data["U"][:, others] @ data["V"][:, others].T
    v = data["V"][:, t]
    pull = ((data["z"] - rest) * data["q"]) @ v
    u = data["U"][:, t].astype(dtype)
    p, q, lam = vectors(data, "p", "q", "lam")
    for start, stop in chunks:
        update_column(
            start, stop, data["indptr"], data["indices"], on_pairs(data, data["c"]),
            on_pairs(data, data["y"] - data["z"]), on_pairs(data, data["y"] - rest), p, q, (ridge * lam).astype(dtype),
            v.astype(dtype), float(data["q"] @ v**2), pull[start:stop].astype(dtype), float(np.finfo(dtype).eps), u,
        )  # fmt: skip
    return u


def test_update_is_the_optimum_over_every_pair(data):
    u = update(data, [(0, 4), (4, M)])
    assert u.dtype == data["dtype"]
    tolerance = TOLERANCE[data["dtype"]]
    np.testing.assert_allclose(u, best_column_twin(data, T), rtol=tolerance, atol=tolerance)


def test_chunks_do_not_change_a_bit(data):
    assert np.array_equal(update(data, [(0, M)]), update(data, [(i, i + 1) for i in range(M)]))


def test_rows_without_curvature_stay(data):
    data["V"][:, T] = 0
    assert np.array_equal(update(data, [(0, M)], ridge=0.0), data["U"][:, T].astype(data["dtype"]))
    assert not update(data, [(0, M)], ridge=1.0).any()


def test_a_curvature_that_is_nothing_but_rounding_is_not_used(data):
    """A full row whose stored pairs weigh nothing: p Σ q v² − p Σ_Ω q v² is zero up to rounding."""
    data["c"][4] = 0
    u = update(data, [(0, M)], ridge=0.0)
    assert u[4] == data["U"][4, T].astype(data["dtype"])
    assert u[5] != data["U"][5, T].astype(data["dtype"])


def test_exchange_takes_one_column_out_and_puts_another_back(data):
    tolerance = TOLERANCE[data["dtype"]]
    residual = on_pairs(data, data["y"])
    U, V = vectors(data, "U", "V")
    columns = [np.ascontiguousarray(factors[:, t]) for t in (0, 1) for factors in (U, V)]
    for chunk in ((0, 4), (4, M)):
        exchange_column(*chunk, data["indptr"], data["indices"], *columns, residual)
    expected = data["y"] + np.outer(data["U"][:, 1], data["V"][:, 1]) - np.outer(data["U"][:, 0], data["V"][:, 0])
    np.testing.assert_allclose(residual, expected[data["stored"]], rtol=tolerance, atol=tolerance)


def test_stored_values(data):
    residual = data["y"] - data["U"] @ data["V"].T
    p, q = vectors(data, "p", "q")
    values = np.full(M, 77.0)
    for chunk in ((0, 4), (4, M)):
        stored_values(
            *chunk, data["indptr"], data["indices"], on_pairs(data, data["c"]), on_pairs(data, data["y"] - data["z"]),
            on_pairs(data, residual), p, q, values,
        )  # fmt: skip
    terms = data["c"] * residual**2 - np.outer(data["p"], data["q"]) * (data["z"] - data["U"] @ data["V"].T) ** 2
    expected = 0.5 * np.where(data["stored"], terms, 0).sum(axis=1)
    np.testing.assert_allclose(values, expected, rtol=1e-5, atol=TOLERANCE[data["dtype"]])
    assert values[2] == 0
