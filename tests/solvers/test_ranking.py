"""MLRM on n × m matrices equals the algorithms with the explicit convert matrix, iterate by iterate."""

from itertools import combinations

import numpy as np
import pytest

from everypair.data.observed import Observed
from everypair.problem.completion.bilinear import Bilinear
from everypair.problem.completion.ranking import RankingProblem
from everypair.solvers.completion import shrinkage
from everypair.solvers.completion.ranking import RankingAlternation, RankingState
from everypair.solvers.completion.shrinkage import Shrinkage
from everypair.solvers.loop import Status, StopRules, run

TIGHT = StopRules(4000, 0.0)


def convert_matrix(m):
    """𝓛: a column e_p − e_q for every pair p < q, in the paper's order."""
    pairs = list(combinations(range(m), 2))
    L = np.zeros((m, len(pairs)))
    for column, (p, q) in enumerate(pairs):
        L[p, column], L[q, column] = 1, -1
    return L


def shrink(E, t):
    U, s, Vt = np.linalg.svd(E, full_matrices=False)
    return U * np.maximum(s - t, 0) @ Vt


def soft(X, t):
    return np.sign(X) * np.maximum(np.abs(X) - t, 0)


class Explicit:
    """The paper's algorithms with R = Y₀𝓛 and B = 𝓛ᵀC, and the threshold λ2/Lp of a proximal step."""

    def __init__(self, Y0, A, C, l1, l2, l3=None):
        n, m = Y0.shape
        self.L = convert_matrix(m)
        self.R = Y0 @ self.L
        self.A = np.eye(n) if A is None else A
        self.B = self.L.T @ (np.eye(m) if C is None else C)
        self.l1, self.l2, self.l3 = l1, l2, l3
        self.Lp = np.linalg.norm(self.A, 2) ** 2 * np.linalg.norm(self.B, 2) ** 2
        self.M, self.N = np.zeros_like(self.R), np.zeros((self.A.shape[1], self.B.shape[1]))

    def side(self, N):
        return self.A @ N @ self.B.T

    def local(self):
        X = self.side(self.N)
        self.M = shrink(self.R - X, self.l1)
        self.N = soft(self.N - self.A.T @ (self.M + X - self.R) @ self.B / self.Lp, self.l2 / self.Lp)

    def transductive(self):
        self.M = shrink(self.R, self.l1)

    def global_(self):
        X = self.side(self.N)
        self.M = shrink((self.R + X) / 2, self.l1 / 2)
        self.N = soft(self.N - self.A.T @ (X - self.M) @ self.B / self.Lp, self.l2 / self.Lp)

    def noise(self):
        X = self.side(self.N)
        Z = (self.R - self.M - X) / (1 + self.l3)
        self.M = shrink(self.R - X - Z, self.l1)
        self.N = soft(self.N - self.A.T @ (self.M + X + Z - self.R) @ self.B / self.Lp, self.l2 / self.Lp)

    def value(self, variant):
        gap = self.M - self.R
        if variant == "global":
            fit = np.sum((self.side(self.N) - self.M) ** 2) + np.sum(gap**2)
        elif variant == "transductive":
            fit = np.sum(gap**2)
        else:
            fit = np.sum((gap + self.side(self.N)) ** 2)
            if variant == "noise":  # at the best Z
                fit *= self.l3 / (1 + self.l3)
        penalty = self.l1 * np.linalg.norm(self.M, "nuc") + self.l2 * np.abs(self.N).sum()
        return penalty + fit / 2


def example(seed=0, n=9, m=7, a=4, c=3, sides="both"):
    random = np.random.default_rng(seed)
    Y = random.standard_normal((n, m))
    mask = random.random((n, m)) < 0.6
    mask[2], mask[:, 3] = False, False  # a row and a column that were never observed
    A = random.standard_normal((n, a)) if sides in ("both", "left") else None
    C = random.standard_normal((m, c)) if sides in ("both", "right") else None
    observed = Observed.from_matrix(Y, mask)
    problem = RankingProblem(observed, Bilinear(observed.shape, A, C, centred=True))
    return problem, np.where(mask, Y, 0), A, C


REGS = {"nuclear_reg": 2.0, "l1_reg": 1.5}
NOISE = 0.7


def solver_of(problem, variant, accelerate=False, **changes):
    noise = NOISE if variant == "noise" else None
    return RankingAlternation(problem, variant, **{**REGS, **changes}, noise_reg=noise, accelerate=accelerate)


@pytest.mark.parametrize("sides", ["both", "left", "right"])
@pytest.mark.parametrize("variant", ["local", "global", "noise"])
def test_every_iterate_is_that_of_the_explicit_algorithm(variant, sides):
    problem, Y0, A, C = example(sides=sides)
    explicit = Explicit(Y0, A, C, *REGS.values(), NOISE)
    solver, state = solver_of(problem, variant), RankingState.zero(problem)
    for _ in range(40):
        state = solver.step(state)
        getattr(explicit, variant.replace("global", "global_"))()
        np.testing.assert_allclose(state.low_rank.dense() @ explicit.L, explicit.M, atol=1e-8)
        np.testing.assert_allclose(state.weights, explicit.N, atol=1e-8)
        assert state.objective == pytest.approx(explicit.value(variant), rel=1e-10)
    assert np.abs(explicit.N).max() > 0  # there was something to compare
    assert state.low_rank.rank > 0


def test_the_transductive_variant_is_one_shrinkage():
    problem, Y0, _, _ = example(sides="none")
    explicit = Explicit(Y0, None, None, 2.0, 0.0)
    explicit.transductive()
    outcome = run(solver_of(problem, "transductive"), RankingState.zero(problem), TIGHT)
    assert (outcome.status, len(outcome.history)) == (Status.SOLVED, 1)
    np.testing.assert_allclose(outcome.state.low_rank.dense() @ explicit.L, explicit.M, atol=1e-8)
    assert outcome.state.objective == pytest.approx(explicit.value("transductive"), rel=1e-10)


def test_scores_are_read_out_by_the_exact_pseudo_inverse():
    """M̃ + A N CᵀΠ = R̂ 𝓛⁺; the paper's 𝓛ᵀ/(m − 1) is the same times m/(m − 1)."""
    problem, Y0, A, C = example()
    explicit, solver, state = (
        Explicit(Y0, A, C, *REGS.values()),
        solver_of(problem, "local"),
        RankingState.zero(problem),
    )
    for _ in range(10):
        explicit.local()
        state = solver.step(state)
    ours = state.low_rank.dense() + problem.side.dense(state.weights)
    fitted = explicit.M + explicit.side(explicit.N)
    np.testing.assert_allclose(ours, fitted @ np.linalg.pinv(explicit.L), atol=1e-8)
    np.testing.assert_allclose(ours * 7 / 6, fitted @ explicit.L.T / 6, atol=1e-8)
    np.testing.assert_allclose(ours.sum(axis=1), 0, atol=1e-8)


@pytest.mark.parametrize("variant", ["local", "global", "noise"])
def test_without_momentum_no_step_raises_the_objective(variant):
    problem, *_ = example(seed=1)
    solver, state, values = solver_of(problem, variant), RankingState.zero(problem), []
    for _ in range(300):
        state = solver.step(state)
        values.append(state.objective)
    assert (np.diff(values) <= 1e-10 * values[0]).all()
    assert values[-1] < 0.99 * values[0]


@pytest.mark.parametrize("sides", ["both", "left", "right"])
@pytest.mark.parametrize("variant", ["local", "global", "noise"])
def test_momentum_reaches_the_same_optimum_sooner(variant, sides):
    problem, *_ = example(seed=2, sides=sides)
    slow, fast = (
        run(solver_of(problem, variant, accelerate), RankingState.zero(problem), StopRules(6000, 1e-15))
        for accelerate in (False, True)
    )
    assert fast.state.objective == pytest.approx(slow.state.objective, rel=1e-8)
    np.testing.assert_allclose(fast.state.low_rank.dense(), slow.state.low_rank.dense(), atol=1e-4)
    np.testing.assert_allclose(
        problem.side.dense(fast.state.weights), problem.side.dense(slow.state.weights), atol=1e-4
    )
    steps = [
        next(t for t, entry in enumerate(outcome.history) if entry["objective"] <= slow.state.objective * (1 + 1e-7))
        for outcome in (slow, fast)
    ]
    assert steps[1] <= steps[0]


@pytest.mark.parametrize("variant", ["local", "global"])
def test_optimality_conditions(variant):
    """0 ∈ λ1 ∂‖M‖_* + G_M and 0 ∈ λ2 ∂‖N‖₁ + G_N, in pair space."""
    problem, Y0, A, C = example(seed=3)
    regs = {"nuclear_reg": 2.0, "l1_reg": 6.0}
    outcome = run(solver_of(problem, variant, True, **regs), RankingState.zero(problem), StopRules(20000, 1e-16))
    e = Explicit(Y0, A, C, *regs.values())
    M, N = outcome.state.low_rank.dense() @ e.L, outcome.state.weights
    X = e.side(N)
    if variant == "local":
        by_m = M + X - e.R
        by_n = e.A.T @ by_m @ e.B
    else:
        by_m = 2 * M - X - e.R
        by_n = e.A.T @ (X - M) @ e.B
    U, s, Vt = np.linalg.svd(M, full_matrices=False)
    kept = s > 1e-6
    sub = -by_m / e.l1  # must be UVᵀ plus something of norm ≤ 1 orthogonal to both
    inner = sub - U[:, kept] @ Vt[kept]
    assert np.abs(U[:, kept].T @ inner).max() < 1e-4
    assert np.abs(inner @ Vt[kept].T).max() < 1e-4
    assert np.linalg.norm(inner, 2) <= 1 + 1e-4
    active = np.abs(N) > 1e-6
    np.testing.assert_allclose(-by_n[active], e.l2 * np.sign(N[active]), atol=1e-3)
    assert np.abs(by_n[~active]).max(initial=0) <= e.l2 * (1 + 1e-3)
    assert active.any()
    assert not active.all()


def test_noise_is_the_local_variant_with_larger_regularisation():
    problem, *_ = example(seed=4)
    rules = StopRules(20000, 1e-16)
    noise = run(solver_of(problem, "noise"), RankingState.zero(problem), rules).state
    times = (1 + NOISE) / NOISE
    same = solver_of(problem, "local", **{name: times * value for name, value in REGS.items()})
    local = run(same, RankingState.zero(problem), rules).state
    np.testing.assert_allclose(noise.low_rank.dense(), local.low_rank.dense(), atol=1e-5)
    np.testing.assert_allclose(problem.side.dense(noise.weights), problem.side.dense(local.weights), atol=1e-5)
    assert noise.objective == pytest.approx(local.objective * NOISE / (1 + NOISE), rel=1e-9)


@pytest.mark.parametrize("variant", ["local", "global", "noise"])
def test_truncated_shrinkage_takes_the_same_way(variant, monkeypatch):
    monkeypatch.setattr(shrinkage, "WIDE", shrinkage.KRYLOV)
    problem, *_ = example(seed=5, n=60, m=50, a=6, c=5)
    states = []
    for method in ("exact", "truncated"):
        solver = RankingAlternation(
            problem, variant, 25.0, 5.0, NOISE if variant == "noise" else None, False, Shrinkage(method, tol=1e-11)
        )
        state = RankingState.zero(problem)
        for _ in range(15):
            state = solver.step(state)
        states.append(state)
    assert 0 < states[0].low_rank.rank < 40
    np.testing.assert_allclose(states[0].low_rank.dense(), states[1].low_rank.dense(), atol=1e-8)
    np.testing.assert_allclose(states[0].weights, states[1].weights, atol=1e-8)


def test_from_the_strongest_regularisation_on_nothing_is_left():
    problem, *_ = example(seed=6)
    nuclear, l1 = problem.strongest()
    state = RankingAlternation(problem, "local", nuclear * 1.001, l1 * 1.001).step(RankingState.zero(problem))
    assert state.low_rank.rank == 0
    assert not state.weights.any()
    state = RankingAlternation(problem, "local", nuclear * 0.99, l1).step(RankingState.zero(problem))
    assert state.low_rank.rank == 1
    state = RankingAlternation(problem, "local", nuclear * 1.001, l1 * 0.99).step(RankingState.zero(problem))
    assert np.count_nonzero(state.weights) == 1


def test_one_and_two_threads_give_the_same_bits():
    random = np.random.default_rng(0)
    mask = random.random((700, 600)) < 0.1
    A = random.standard_normal((700, 5))
    Y = A @ random.standard_normal((5, 600)) + 0.1 * random.standard_normal((700, 600))
    observed = Observed.from_matrix(Y, mask)
    results = []
    for threads in (1, 2):
        problem = RankingProblem(observed, Bilinear(observed.shape, A, None, centred=True), threads)
        solver = RankingAlternation(problem, "local", 900.0, 5e4, shrink=Shrinkage("truncated"))
        state = RankingState.zero(problem)
        for _ in range(5):
            state = solver.step(state)
        results.append(state)
    assert results[0].low_rank.rank > 0
    assert np.array_equal(results[0].low_rank.left, results[1].low_rank.left)
    assert np.array_equal(results[0].weights, results[1].weights)
    assert results[0].objective == results[1].objective
