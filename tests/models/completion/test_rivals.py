"""FNNM, FPCA, SIMC, Maxide and IMC: as printed, optimal where they stop, close to a planted truth."""

import numpy as np
import pytest

from everypair.data.observed import Observed
from everypair.metrics import completion_metrics
from everypair.models.completion import MLRM
from everypair.models.completion.rivals import FNNM, FPCA, IMC, SIMC, Maxide
from everypair.problem.completion.bilinear import Bilinear
from everypair.problem.completion.masked import MaskedProblem
from everypair.solvers.completion.feature_nuclear import FeatureNuclear, MaskedState
from everypair.solvers.completion.fixed_point import FixedPoint, FixedPointState, distance
from everypair.solvers.loop import Status


def shrink(E, t):
    U, s, Vt = np.linalg.svd(E, full_matrices=False)
    return U * np.maximum(s - t, 0) @ Vt


def soft(X, t):
    return np.sign(X) * np.maximum(np.abs(X) - t, 0)


def example(seed=0, n=14, m=11, a=4, c=3):
    """Low rank plus side information, 60 % observed, a little noise."""
    random = np.random.default_rng(seed)
    A, C = (np.linalg.qr(random.standard_normal(shape))[0] for shape in ((n, a), (m, c)))
    N = random.standard_normal((a, c)) * (random.random((a, c)) < 0.6)
    low = random.standard_normal((n, 2)) @ random.standard_normal((2, m))
    Y = low + 8 * A @ N @ C.T + 0.1 * random.standard_normal((n, m))
    return Y, random.random((n, m)) < 0.6, A, C


def nuclear_condition(gradient, matrix, reg, atol):
    """−gradient/reg ∈ ∂‖matrix‖_*: UVᵀ on the range, of norm ≤ 1 off it."""
    U, s, Vt = np.linalg.svd(matrix, full_matrices=False)
    kept = s > 1e-6 * max(1.0, s[0])
    rest = -gradient / reg - U[:, kept] @ Vt[kept]
    assert kept.any()
    assert np.abs(U[:, kept].T @ rest).max() < atol
    assert np.abs(rest @ Vt[kept].T).max() < atol
    assert np.linalg.norm(rest, 2) < 1 + atol


def l1_condition(gradient, weights, reg, atol):
    active = np.abs(weights) > 1e-6
    assert active.any()
    assert not active.all()
    np.testing.assert_allclose(-gradient[active], reg * np.sign(weights[active]), atol=atol * reg)
    assert np.abs(gradient[~active]).max() < reg * (1 + atol)


@pytest.mark.parametrize("steps", [(0.1, 0.1), (1.0, 1.0), (1.9, 1.9)])
def test_fnnm_is_algorithm_2_iterate_by_iterate(steps):
    Y, mask, A, C = example()
    observed = Observed.from_matrix(Y, mask)
    problem = MaskedProblem(observed, Bilinear(Y.shape, A, C))
    solver, state = FeatureNuclear(problem, 1.5, 0.8, *steps), MaskedState.zero(problem)
    M, N = np.zeros_like(Y), np.zeros((4, 3))
    (one, two), values = steps, []
    for _ in range(60):
        M = shrink(M - one * np.where(mask, M + A @ N @ C.T - Y, 0), 1.5 * one)
        N = soft(N - two * A.T @ np.where(mask, M + A @ N @ C.T - Y, 0) @ C, 0.8 * two)
        state = solver.step(state)
        np.testing.assert_allclose(state.low_rank.dense(), M, atol=1e-8)
        np.testing.assert_allclose(state.weights, N, atol=1e-8)
        gap = np.where(mask, M + A @ N @ C.T - Y, 0)
        value = 1.5 * np.linalg.norm(M, "nuc") + 0.8 * np.abs(N).sum() + 0.5 * np.sum(gap**2)
        assert state.objective == pytest.approx(value, rel=1e-9)
        values.append(value)
    assert (np.diff(values) <= 1e-10 * values[0]).all()


def test_fnnm_is_optimal_where_it_stops():
    Y, mask, A, C = example(1)
    model = FNNM(nuclear_reg=1.5, l1_reg=1.0, tol=1e-14, max_iter=20000).fit(Y, mask, left_features=A, right_features=C)
    M = model.left_vectors_ * model.singular_values_ @ model.right_vectors_.T
    N = model.side_weights_.toarray()
    gradient = np.where(mask, M + A @ N @ C.T - Y, 0)
    nuclear_condition(gradient, M, 1.5, 1e-3)
    l1_condition(A.T @ gradient @ C, N, 1.0, 1e-3)
    np.testing.assert_allclose(model.complete(), M + A @ N @ C.T, atol=1e-10)


def test_fnnm_steps_follow_the_norms_of_features_and_longer_ones_are_refused():
    Y, mask, A, C = example(2)
    objectives = [
        FNNM(nuclear_reg=1.5, l1_reg=0.8 * scale, tol=1e-13, max_iter=5000)
        .fit(Y, mask, left_features=scale * A, right_features=C)
        .objective_
        for scale in (1.0, 30.0)
    ]
    assert objectives[0] == pytest.approx(objectives[1], rel=1e-6)
    for options, words in (
        ({"feature_step": 0.1}, "feature_step must be a number between 0 and"),
        ({"low_rank_step": 2.0}, "low_rank_step must be"),
        ({"low_rank_step": -1}, "low_rank_step must be"),
    ):
        with pytest.raises(ValueError, match=words):
            FNNM(nuclear_reg=1.5, l1_reg=0.8, **options).fit(Y, mask, left_features=30 * A, right_features=C)
    FNNM(nuclear_reg=1.5, l1_reg=0.8, feature_step=0.1, orthonormal=True, max_iter=3).fit(
        Y, mask, left_features=30 * A, right_features=C
    )


@pytest.mark.parametrize("step", [0.5, 1.0, 1.7])
def test_fpca_ends_at_the_fixed_point_of_the_last_value(step):
    Y, mask, *_ = example(3)
    model = FPCA(nuclear_reg=0.7, step=step, tol=1e-9, max_iter=20000).fit(Y, mask)
    assert model.status_ is Status.SOLVED
    X = model.complete()
    gradient = np.where(mask, X - Y, 0)
    np.testing.assert_allclose(X, shrink(X - gradient, 0.7), atol=1e-6)
    nuclear_condition(gradient, X, 0.7, 1e-5)


def test_fpca_goes_down_with_mu_and_a_warm_start_does_not():
    Y, mask, *_ = example(3)
    problem = MaskedProblem(Observed.from_matrix(Y, mask), Bilinear(Y.shape, None, None))
    state, seen = FixedPointState(FPCA()._start(problem).low_rank), []
    for _ in range(200):
        state = FixedPoint(problem, 0.5).step(state)
        seen.append(state.mu)
    assert seen[0] > 0.5
    assert (np.diff(seen) <= 0).all()
    assert seen[-1] == 0.5
    assert FixedPoint(problem, 0.4).step(state.fresh()).mu == 0.4


def test_distance_of_two_matrices_in_factors():
    Y, mask, *_ = example()
    one, two = (FPCA(nuclear_reg=reg, max_iter=20).fit(Y, mask) for reg in (0.5, 2.0))
    from everypair.problem.completion.low_rank import LowRank

    factors = [LowRank(m.left_vectors_, m.singular_values_, m.right_vectors_) for m in (one, two)]
    assert distance(*factors) == pytest.approx(np.linalg.norm(one.complete() - two.complete()))


def test_simc_keeps_what_was_observed_and_is_optimal():
    """Among feasible directions nothing is better: small random moves off Ω and of N do not lower the objective."""
    Y, mask, A, C = example(4)
    model = SIMC(nuclear_reg=1.0, l1_reg=1.0, tol=1e-7, max_iter=20000).fit(Y, mask, left_features=A, right_features=C)
    assert model.status_ is Status.SOLVED
    M, N = model.complete(), model.side_weights_.toarray()
    np.testing.assert_allclose(M[mask], Y[mask], atol=1e-4)
    M = np.where(mask, Y, M)

    def value(M, N):
        return 0.5 * np.sum((A @ N @ C.T - M) ** 2) + np.linalg.norm(M, "nuc") + np.abs(N).sum()

    here, random = value(M, N), np.random.default_rng(0)
    assert model.objective_ == pytest.approx(here, rel=1e-4)
    for size in (1e-1, 1e-2):
        for _ in range(200):
            off = size * random.standard_normal(M.shape) * ~mask
            assert value(M + off, N + size * random.standard_normal(N.shape)) > here - 1e-6
            assert value(M, N + size * random.standard_normal(N.shape)) > here - 1e-6
    l1_condition(A.T @ (A @ N @ C.T - M) @ C, N, 1.0, 1e-2)


def test_maxide_is_optimal():
    Y, mask, A, C = example(5)
    model = Maxide(nuclear_reg=1.0, tol=1e-14, max_iter=5000).fit(Y, mask, left_features=A, right_features=C)
    Z = model.side_weights_.toarray()
    nuclear_condition(A.T @ np.where(mask, A @ Z @ C.T - Y, 0) @ C, Z, 1.0, 1e-4)
    assert (np.diff([entry["objective"] for entry in model.history_]) <= 1e-12).all()
    np.testing.assert_allclose(model.complete(), A @ Z @ C.T, atol=1e-10)


@pytest.mark.parametrize("sides", ["both", "left", "right"])
def test_imc_is_stationary_and_with_enough_rank_it_is_maxide(sides):
    Y, mask, A, C = example(6)
    A, C = (A if sides != "right" else None), (C if sides != "left" else None)
    imc = IMC(rank=8, reg=1.0, tol=1e-13, max_iter=3000).fit(Y, mask, left_features=A, right_features=C)
    maxide = Maxide(nuclear_reg=1.0, orthonormal=False, tol=1e-14, max_iter=20000).fit(
        Y, mask, left_features=A, right_features=C
    )
    assert imc.objective_ == pytest.approx(maxide.objective_, rel=1e-6)
    Z = imc.side_weights_.toarray()
    A, C = np.eye(14) if A is None else A, np.eye(11) if C is None else C
    nuclear_condition(A.T @ np.where(mask, A @ Z @ C.T - Y, 0) @ C, Z, 1.0, 2e-2)


def planted(share=0.4, seed=0):
    random = np.random.default_rng(seed)
    A, C = random.standard_normal((120, 6)), random.standard_normal((80, 5))
    side = A @ random.standard_normal((6, 5)) @ C.T
    low = random.standard_normal((120, 3)) @ random.standard_normal((3, 80))
    return side, low, random.random((120, 80)) < share, A, C


def test_a_planted_matrix_from_two_fifths_of_its_entries():
    """FNNM on low rank + side information, IMC on the side information alone: below 5 %; MLRM ranks, and says so."""
    side, low, mask, A, C = planted()
    Y = side + low
    error = np.linalg.norm(
        (
            FNNM(nuclear_reg=1.0, l1_reg=0.1, orthonormal=True, max_iter=1000)
            .fit(Y, mask, left_features=A, right_features=C)
            .complete()
            - Y
        )[~mask]
    )
    assert error < 0.05 * np.linalg.norm(Y[~mask])
    gap = IMC(rank=5, reg=0.1).fit(side, mask, left_features=A, right_features=C).complete() - side
    assert np.linalg.norm(gap[~mask]) < 0.05 * np.linalg.norm(side[~mask])
    ranked = MLRM().fit(Y, mask, left_features=A, right_features=C)
    found = completion_metrics(ranked.complete(), np.sign(Y), ~mask)
    assert found["row_auc"] > 0.9
    error = np.linalg.norm((ranked.complete() - Y)[~mask]) / np.linalg.norm(Y[~mask])
    assert 0.1 < error < 0.6  # values are not what its loss is for


def test_simc_is_solved_only_where_it_is_whatever_the_units_of_features():
    random = np.random.default_rng(0)
    A = np.column_stack([random.normal(size=8), 30 * random.normal(size=8)])  # one feature 30 times longer
    C = random.normal(size=(6, 2))
    Y = A @ np.diag([1, 0.05]) @ C.T
    Y[random.random(Y.shape) > 0.6] = np.nan
    model = SIMC(nuclear_reg=0.1, l1_reg=0.1).fit(Y, left_features=A, right_features=C)
    assert model.status_ is Status.SOLVED
    assert model.objective_ == pytest.approx(1.30384, rel=1e-3)  # by an interior-point method
    assert model.n_iter_ < 100
    for seed in range(10):
        random = np.random.default_rng(seed)
        A, C = random.normal(size=(7, 3)) * 10 ** random.uniform(-1, 1, 3), random.normal(size=(6, 2))
        Y = np.where(random.random((7, 6)) < 0.6, random.normal(size=(7, 6)), np.nan)
        loose, tight = (
            SIMC(nuclear_reg=0.3, l1_reg=0.2, tol=tol, max_iter=20000).fit(Y, left_features=A, right_features=C)
            for tol in (1e-4, 1e-7)
        )
        assert loose.objective_ == pytest.approx(tight.objective_, rel=1e-3)


@pytest.mark.parametrize("scale", [1e61, 1e160, 1e300])
def test_values_whose_squares_overflow(scale):
    with pytest.raises(ValueError, match=r"Y holds values beyond 1e\+60.*rescale it"):
        FPCA().fit(np.ones((4, 3)) * scale)
