"""NRLMF with a mask: value and slope beside loops, steps on one and two threads."""

import numpy as np
import pytest

from everypair.data.observed import Observed
from everypair.models.completion import NeighborMF
from everypair.models.completion.kernel_side import KernelSide
from everypair.models.completion.neighbors import neighbor_laplacian
from everypair.solvers.completion.neighborhood import AdaptiveSteps, NeighborhoodProblem, NeighborhoodState

RNG = np.random.default_rng(0)
N, M, K = 14, 11, 3
Y = np.where(RNG.random((N, M)) < 0.5, (RNG.random((N, M)) < 0.4).astype(float), np.nan)
X = RNG.standard_normal((N, 4))


def similar(n):
    A = RNG.standard_normal((n, 4))
    return np.exp(-np.square(A[:, None] - A[None]).sum(axis=2) / 8)


S, T = similar(N), similar(M)


def problem(threads=1):
    sides = [KernelSide.of(kernel, "features", len(kernel), "similarity", None) for kernel in (S, T)]
    graphs = tuple(neighbor_laplacian(side, 3, threads) for side in sides)
    return NeighborhoodProblem(Observed.from_matrix(Y), 5.0, 0.3, 0.7, graphs, threads), sides


def plain_laplacian(kernel, k):
    n = len(kernel)
    near = np.zeros((n, n))
    for i in range(n):
        others = sorted((j for j in range(n) if j != i), key=lambda j: -kernel[i, j])[:k]
        near[i, others] = kernel[i, others]
    return np.diag(near.sum(axis=0) + near.sum(axis=1)) - near - near.T


def plain_value(U, V, graphs):
    total = 0.0
    for i in range(N):
        for j in range(M):
            if not np.isnan(Y[i, j]):
                s = U[i] @ V[j]
                total += (5 if Y[i, j] else 1) * (np.log1p(np.exp(s)) - Y[i, j] * s)
    for factors, graph in zip((U, V), graphs):
        total += 0.15 * np.sum(factors**2) + 0.35 * np.trace(factors.T @ graph @ factors)
    return total


def test_value_and_slopes():
    one, sides = problem()
    U, V = RNG.standard_normal((N, K)), RNG.standard_normal((M, K))
    graphs = [plain_laplacian(side.known / side.total, 3) for side in sides]
    np.testing.assert_allclose(one.value(U, V), plain_value(U, V, graphs))
    for side, factors in enumerate((U, V)):
        slope, step = one.slope(side, U, V), 1e-6
        for place in ((0, 0), (3, 2), (len(factors) - 1, 1)):
            moved = [U.copy(), V.copy()]
            moved[side][place] += step
            above = plain_value(*moved, graphs)
            moved[side][place] -= 2 * step
            np.testing.assert_allclose(slope[place], (above - plain_value(*moved, graphs)) / (2 * step), rtol=1e-4)


def test_steps_fall_and_threads_change_no_bit():
    ends = []
    for threads in (1, 2):
        state = NeighborhoodState.drawn((N, M), K, np.random.default_rng(1))
        solver, values = AdaptiveSteps(problem(threads)[0], 0.1), []
        for _ in range(60):
            state = solver.step(state)
            values.append(state.objective)
        assert values[-1] < 0.7 * values[0]
        ends.append(state)
    assert np.array_equal(ends[0].left, ends[1].left)
    assert np.array_equal(ends[0].right, ends[1].right)


def test_rows_without_a_positive_are_the_mean_of_their_neighbours():
    shown = Y.copy()
    shown[2] = np.where(np.isnan(shown[2]), np.nan, 0)
    shown[5] = np.nan
    model = NeighborMF(kernel="similarity", rank=K, neighbors=2, random_state=0)
    model.fit(shown, left_features=S, right_features=T)
    state = model.state_
    assert not {2, 5} & set(state.left_known)
    for row in (2, 5):
        near = sorted(state.left_known, key=lambda j: -S[row, j])[:2]
        weights = S[row, near] ** 2
        np.testing.assert_allclose(state.left[row], weights @ state.left[near] / weights.sum())
    new = model.complete(left_features=S[[5]])
    np.testing.assert_allclose(new[0], model.complete()[5])
    with pytest.raises(ValueError, match="two values"):
        model.fit(X)


def test_values_are_between_the_two_of_the_matrix():
    model = NeighborMF(rank=K, random_state=0).fit(2 * Y - 1, left_features=X)
    assert np.all(np.abs(model.complete()) < 1)
    assert model.score(2 * Y - 1) > 0.9
    plain = NeighborMF(rank=K, random_state=0).fit(Y, left_features=X)
    np.testing.assert_allclose(model.complete(), 2 * plain.complete() - 1)
