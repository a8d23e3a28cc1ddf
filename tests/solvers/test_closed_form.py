"""LEML's Claims 1 and 2: the closed form is the best Z of its rank, the limit of alternation, and that of CPLST."""

import numpy as np
import pytest
import scipy.sparse as sp

from everypair.data.pairs import Pairs
from everypair.features.matrix import Features
from everypair.models.multilabel.rivals import CPLST
from everypair.problem.embedding import SideInformation
from everypair.problem.layout import Layout
from everypair.problem.negatives import Negatives
from everypair.problem.objective import Objective
from everypair.problem.ridge import Ridge
from everypair.solvers import closed_form
from everypair.solvers.alternating import Alternating
from everypair.solvers.closed_form import low_rank_regression
from everypair.solvers.loop import StopRules, run
from everypair.solvers.side import SideSteps
from everypair.training.start import random_start

RANK = 3


def problem(n=60, d=12, labels=9, seed=0):
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, d)) * (random.random((n, d)) < 0.5)
    Y = (X @ random.standard_normal((d, labels)) + random.standard_normal((n, labels)) > 1).astype(float)
    return X, Y


X, Y = problem()


def claim(X, Y, rank):
    """Claim 1 as printed (with V_X for V_Xᵀ)."""
    left, values, right = np.linalg.svd(X, full_matrices=False)
    kept = values > 1e-10 * values[0]
    U, S, V = np.linalg.svd(left[:, kept].T @ Y, full_matrices=False)
    return right[kept].T / values[kept] @ (U[:, :rank] * S[:rank]) @ V[:rank]


def error(Z, X=X, Y=Y):
    return 0.5 * np.linalg.norm(Y - X @ Z) ** 2


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("n", [60, 8])  # more rows than features, and fewer
def test_it_is_claim_1(form, n):
    W, H = low_rank_regression(form(X[:n]), form(Y[:n]), RANK)
    assert W.shape == (12, RANK)
    assert H.shape == (9, RANK)
    np.testing.assert_allclose(W @ H.T, claim(X[:n], Y[:n], RANK), atol=1e-10)


def test_no_other_matrix_of_that_rank_is_better():
    W, H = low_rank_regression(X, Y, RANK)
    random = np.random.default_rng(1)
    for size in (1e-3, 0.1, 1.0):
        for _ in range(20):
            other = (W + size * random.standard_normal(W.shape)) @ (H + size * random.standard_normal(H.shape)).T
            assert error(other) > error(W @ H.T)


def test_full_rank_is_least_squares_of_least_norm():
    twice = np.hstack([X, X])  # many solutions
    W, H = low_rank_regression(twice, Y, 50)
    np.testing.assert_allclose(W @ H.T, np.linalg.pinv(twice) @ Y, atol=1e-10)


def alternated(X, ridge, seed=0):
    """Alternating minimisation for every label known and the squared loss."""
    pairs = Pairs.from_matrix(Y, dtype=np.float64)
    negatives = Negatives.from_scheme(pairs, 1.0)
    objective = Objective(
        pairs, "squared", negatives, Ridge.checked(ridge, 0), dtype=np.float64,
        side_information=(SideInformation(Features(X), ridge, own=False), None),
    )  # fmt: skip
    solver = Alternating(objective, None, SideSteps("tron", steps=4, cg_tol=1e-6, cg_steps=200))
    start = random_start(objective, Layout(RANK), np.random.default_rng(seed))
    return run(solver, start, StopRules(400, 1e-14))


def test_alternating_minimisation_reaches_it_as_the_ridge_vanishes():
    best = error(claim(X, Y, RANK))
    outcome = alternated(X, 1e-9)
    assert outcome.history[0]["objective"] > best * 1.001  # there was something to do
    assert outcome.state.objective == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_with_orthogonal_rows_of_features_every_start_leads_to_the_global_optimum(seed):
    """XᵀX = I: Z = the leading singular values of XᵀY, each less λ, is the best of its rank under λ‖Z‖ (trace norm)."""
    columns, ridge = np.linalg.qr(X)[0], 0.3
    left, values, right = np.linalg.svd(columns.T @ Y, full_matrices=False)
    shrunk = np.maximum(values[:RANK] - ridge, 0)
    best = error((left[:, :RANK] * shrunk) @ right[:RANK], columns) + ridge * shrunk.sum()
    assert shrunk.min() > 0
    assert alternated(columns, ridge, seed).state.objective == pytest.approx(best, rel=1e-9)


def test_cplst_is_the_same_matrix():
    """Claim 2; CPLST shifts labels by their means, so both learn the shifted labels."""
    shifted = Y - Y.mean(axis=0)
    model = CPLST(rank=RANK, reg=0.0, normalize=False, fit_intercept=False, threshold=0.5).fit(X, Y)
    W, H = low_rank_regression(X, shifted, RANK)
    np.testing.assert_allclose(model.codes_ @ model.decoder_.T, W @ H.T, atol=1e-8)


@pytest.mark.parametrize("n", [60, 8])
def test_the_gram_matrix_gives_the_same_as_the_dense_svd(monkeypatch, n):
    expected = claim(X[:n], Y[:n], RANK)
    monkeypatch.setattr(closed_form, "DENSE_ENTRIES", 0)
    for form in (np.asarray, sp.csr_array):
        W, H = low_rank_regression(form(X[:n]), Y[:n], RANK)
        np.testing.assert_allclose(W @ H.T, expected, atol=1e-7)


def test_randomized_svd_where_large_comes_close(monkeypatch):
    monkeypatch.setattr(closed_form, "DENSE_ENTRIES", 0)
    monkeypatch.setattr(closed_form, "EXACT_SIDE", 0)
    W, H = low_rank_regression(sp.csr_array(X), sp.csr_array(Y), RANK)
    assert error(W @ H.T) == pytest.approx(error(claim(X, Y, RANK)), rel=1e-6)
    again = low_rank_regression(sp.csr_array(X), sp.csr_array(Y), RANK)
    np.testing.assert_array_equal(again[0], W)
    monkeypatch.setattr(closed_form, "LEADING", 6)
    W, H = low_rank_regression(X, Y, RANK)
    assert error(claim(X, Y, RANK)) < error(W @ H.T) < error(0 * W @ H.T)
