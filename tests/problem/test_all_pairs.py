"""The loss itself on every pair, against the sum written out over a dense matrix."""

import numpy as np
import pytest
import scipy.sparse as sp

from everypair.data.pairs import Pairs
from everypair.features.laplacian import Laplacian
from everypair.features.matrix import Features
from everypair.problem import all_pairs
from everypair.problem.all_pairs import AllPairs
from everypair.problem.embedding import SideInformation
from everypair.problem.layout import Layout
from everypair.problem.losses import get_loss
from everypair.problem.negatives import Negatives
from everypair.problem.objective import Objective
from everypair.problem.ridge import Ridge
from everypair.solvers.alternating import Alternating
from everypair.solvers.side import SideSteps
from everypair.solvers.state import Factors

from .brute import COLUMNS, PLAIN_LOSSES, Case, build, start
from .test_objective import difference

CASES = [
    *(Case(loss=loss, scheme="arrays", biases="biased") for loss in PLAIN_LOSSES),
    Case(scheme="arrays", value="low_rank", targets="explicit"),
    Case(value="zero", scheme="left_count"),
]
every_case = pytest.mark.parametrize("case", CASES, ids=str)


def every_pair(problem, known=(None, None), n_threads=1):
    """Return the objective over every pair of a brute-force problem."""
    plain, dense = problem.objective, problem.dense
    return Objective(
        problem.pairs, plain.loss, plain.negatives, problem.ridge,
        layout=Layout(COLUMNS - 2 * dense.biased, dense.biased),
        dtype=plain.dtype, n_threads=n_threads, side_information=known, negative_loss="same",
    )  # fmt: skip


def pair_sum(dense, scores):
    """Σ_Ω c ℓ(y, s) + Σ_{∉Ω} p_i q_j ℓ(ỹ, s)."""
    loss = PLAIN_LOSSES[dense.loss][0]
    observed = dense.weights * loss(dense.targets, scores)
    others = np.outer(dense.p, dense.q) * loss(dense.values, scores)
    return np.where(dense.stored, observed, others).sum(axis=(-2, -1))


def written_out(dense, left, right):
    """F of Table sides; any leading axes of the factors are kept."""
    value = pair_sum(dense, left @ np.swapaxes(right, -1, -2))
    for side, (lam, factors) in enumerate(zip(dense.ridge, (left, right))):
        value = value + 0.5 * np.sum(lam[:, None] * factors[..., dense.learnt(side)] ** 2, axis=(-2, -1))
    return value


def clear_start(dense):
    """Random factors with no pair at all near the hinge's kink."""
    for seed in range(1, 200):
        left, right = start(dense, seed=seed)
        targets = np.where(dense.stored, dense.targets, dense.values)
        if dense.loss != "squared_hinge" or np.abs(1 - targets * (left @ right.T)).min() > 0.03:
            return left, right
    raise AssertionError("no start is clear of the kink")


@every_case
def test_value_gradient_and_hessian_vector(case):
    problem = build(case)
    dense, objective = problem.dense, every_pair(problem)
    factors = clear_start(dense)
    assert objective.value(*factors) == pytest.approx(written_out(dense, *factors), rel=1e-12)
    for side, this in enumerate(factors):
        learnt = dense.learnt(side)
        coordinates = np.eye(this.size).reshape(-1, *this.shape)

        def value(moved, side=side):
            return written_out(dense, *((moved, factors[1]) if side == 0 else (factors[0], moved)))

        def slope(moved, side=side):
            return objective.gradient(side, *((moved, factors[1]) if side == 0 else (factors[0], moved)))

        slopes = difference(value, this, coordinates)
        gradient = objective.gradient(side, *factors)
        np.testing.assert_allclose(gradient[:, learnt], slopes.reshape(this.shape)[:, learnt], rtol=1e-8, atol=1e-9)
        assert not gradient[:, ~learnt].any()

        direction = np.random.default_rng(2).normal(size=this.shape)
        bent = difference(slope, this, direction * learnt)
        product = objective.hessian_vector(side, direction, *factors)
        np.testing.assert_allclose(product, bent, rtol=1e-8, atol=1e-9)
        assert not product[:, ~learnt].any()


@every_case
def test_along_and_column_curvatures(case):
    problem = build(case)
    dense, objective = problem.dense, every_pair(problem)
    left, right = clear_start(dense)
    direction = np.random.default_rng(3).normal(size=left.shape)
    pairs = AllPairs(objective.rows[0], left, right)
    value = pairs.along(direction)
    for length in (0.0, 0.3, -2.0):
        assert value(length) == pytest.approx(pair_sum(dense, (left + length * direction) @ right.T), rel=1e-12)
    curvature = PLAIN_LOSSES[dense.loss][2]
    scores = left @ right.T
    others = np.outer(dense.p, dense.q) * curvature(dense.values, scores)
    expected = np.where(dense.stored, dense.weights * curvature(dense.targets, scores), others)
    np.testing.assert_allclose(pairs.column_curvatures(), expected.sum(axis=0), rtol=1e-12)


@pytest.mark.parametrize("value", ["minus", "low_rank"])
def test_the_squared_loss_is_the_objective_through_gram_matrices(value):
    problem = build(Case(loss="squared", scheme="arrays", value=value, biases="biased"))
    plain, dear = problem.objective, every_pair(problem)
    factors = start(problem.dense)
    assert dear.value(*factors) == pytest.approx(plain.value(*factors), rel=1e-12)
    for side, direction in enumerate(start(problem.dense, seed=5)):
        np.testing.assert_allclose(dear.gradient(side, *factors), plain.gradient(side, *factors), atol=1e-11)
        np.testing.assert_allclose(
            dear.hessian_vector(side, direction, *factors), plain.hessian_vector(side, direction, *factors), atol=1e-11
        )
    states = [
        Alternating(objective, None, side_steps=SideSteps(cg_tol=1e-10, cg_steps=200)).step(Factors(*factors))
        for objective in (plain, dear)
    ]
    assert states[1].objective == pytest.approx(states[0].objective, rel=1e-8)
    np.testing.assert_allclose(states[1].left @ states[1].right.T, states[0].left @ states[0].right.T, atol=1e-3)


def side_information(kind, size):
    random = np.random.default_rng(size)
    if kind == "table":
        return None, size
    matrix = np.where(random.random((size, 4)) < 0.7, random.normal(size=(size, 4)), 0)
    features = Features(sp.csr_array(matrix))
    if kind == "linear":
        return SideInformation(features, 0.3, own=False), 4
    graph = Laplacian.from_similarity(random.random((size, size)), dtype=np.float64)
    return SideInformation(features, 0.3, graph=graph, graph_reg=0.1), size + 4


@pytest.mark.parametrize("kinds", [("table", "table"), ("linear", "table"), ("linear", "both")], ids="-".join)
@pytest.mark.parametrize("loss", PLAIN_LOSSES)
def test_sweeps_end_where_both_gradients_vanish(loss, kinds):
    problem = build(Case(loss=loss, scheme="left_count"), shape=(12, 9), reg=(0.5, 0.5))
    (left_known, left_size), (right_known, right_size) = (
        side_information(kind, size) for kind, size in zip(kinds, (12, 9))
    )
    objective = every_pair(problem, (left_known, right_known))
    random = np.random.default_rng(4)
    theta = random.normal(size=(left_size, COLUMNS)), random.normal(size=(right_size, COLUMNS))
    left, right = objective.factors(0, theta[0]), objective.factors(1, theta[1])
    penalty = sum(objective.embeddings[side].penalty(theta[side], (left, right)[side]) for side in (0, 1))
    assert objective.value(*theta) == pytest.approx(pair_sum(problem.dense, left @ right.T) + penalty, rel=1e-12)

    def steepness(state):
        parameters = state.parameters(0), state.parameters(1)
        return max(np.abs(objective.gradient(side, *parameters)).max() for side in (0, 1))

    state = Factors(left, right, left_parameters=theta[0], right_parameters=theta[1])
    solver = Alternating(objective, None, side_steps=SideSteps(cg_tol=1e-3, cg_steps=100))
    begin, last = steepness(state), objective.value(*theta)
    for _ in range(400):
        state = solver.step(state)
        assert state.objective == pytest.approx(objective.value(state.parameters(0), state.parameters(1)), rel=1e-10)
        assert state.objective <= last * (1 + 1e-12)
        last = state.objective
        if steepness(state) < 1e-6 * begin:
            return
    pytest.fail(f"the gradient only fell from {begin} to {steepness(state)}")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_and_kept_curvatures_do_not_change_a_bit(dtype, monkeypatch):
    problem = build(Case(value="low_rank"), shape=(5000, 40), dtype=dtype)
    factors = start(problem.dense, dtype=dtype)
    results = []
    monkeypatch.setattr(all_pairs, "BLOCK_PAIRS", 1 << 14)  # 13 blocks of left rows, 14 of right rows
    for n_threads, kept in ((1, all_pairs.KEPT_BYTES), (2, all_pairs.KEPT_BYTES), (3, 0)):
        monkeypatch.setattr(all_pairs, "KEPT_BYTES", kept)
        objective = every_pair(problem, n_threads=n_threads)
        results.append(
            [
                objective.value(*factors),
                *(objective.gradient(side, *factors) for side in (0, 1)),
                *(objective.hessian_vector(side, factors[side], *factors) for side in (0, 1)),
            ]
        )
    wide = [array.astype(np.float64) for array in factors]
    assert results[0][0] == pytest.approx(written_out(problem.dense, *wide), rel=1e-10 if dtype == np.float64 else 1e-5)
    for other in results[1:]:
        for one, two in zip(results[0], other):
            assert np.array_equal(one, two)


def test_weight_zero_leaves_the_stored_pairs_alone():
    pairs = Pairs.from_matrix([[1, 0], [0, 2]], dtype=np.float64)
    negatives = Negatives.from_scheme(pairs, 0.0, value=-1)
    objective = Objective(pairs, "logistic", negatives, Ridge.checked(0, 0), dtype=np.float64, negative_loss="same")
    left, right = np.array([[1.0], [2.0]]), np.array([[3.0], [-1.0]])
    expected = get_loss("logistic").value([1.0, 1.0], [3.0, -2.0]) @ [1.0, 2.0]
    assert objective.value(left, right) == pytest.approx(float(expected), rel=1e-12)
