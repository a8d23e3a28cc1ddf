"""A network beside a linear map: derivatives, the start as the linear model, new entities, id dropout."""

import numpy as np
import pytest
import scipy.sparse as sp

from everypair import GaussNewton, OneClassMF, Side, TwoTower
from everypair.data.pairs import Pairs
from everypair.features.matrix import Features
from everypair.neural.inputs import Inputs
from everypair.neural.layers import Layers
from everypair.neural.linear_path import LinearPath, straight
from everypair.neural.objective import TowerObjective
from everypair.neural.optimizers.choose import make_optimizer
from everypair.neural.optimizers.kronecker import SMALL, preconditioner
from everypair.neural.penalties import Penalties
from everypair.neural.towers import Perceptron
from everypair.neural.trees import inner, leafwise, leaves, plus
from everypair.problem.losses import get_loss
from everypair.problem.negatives import Negatives
from everypair.testing import block_matrix
from everypair.testing.journey import from_json_and_arrays

FLOAT64 = np.dtype(np.float64)
STILL = {"max_iter": 1, "learning_rate": 1e-30, "dtype": "float64", "random_state": 0, "id_dropout": 0.0}


def groups_and_noise():
    random = np.random.default_rng(0)
    return np.hstack([np.repeat(np.eye(3), [8, 7, 6], axis=0), random.normal(size=(21, 2))])


def small_objective(seed=0):
    """Users with ids alone, items with a linear path, on random pairs; and parameters where nothing is zero."""
    random = np.random.default_rng(seed)
    matrix = (random.random((9, 7)) < 0.4) * 1.0
    matrix[2], matrix[:, 3] = 0, 0
    pairs, X = Pairs.from_matrix(matrix, dtype=FLOAT64), Features(sp.csr_array(random.normal(size=(7, 4))))
    network = Perceptron(Inputs(7, ids=False, features=X), Layers((5,), 3), FLOAT64)
    towers = straight(Inputs(9), 3, FLOAT64), LinearPath(straight(Inputs(7, features=X), 3, FLOAT64), network)
    own = [random.uniform(0.1, 1, (size, 1)) for size in matrix.shape]
    reg = Penalties(own[0], 0, 0), Penalties(0, 0.3, 0.4, own=own[1], linear=0.2)
    negatives = Negatives.from_scheme(pairs, 0.3, "uniform", -1.0)
    objective = TowerObjective(pairs, get_loss("logistic"), negatives, towers, reg, dtype=FLOAT64)
    theta = tuple(tower.start(random) for tower in towers)
    theta = leafwise(lambda leaf: leaf + 0.3 * random.normal(size=leaf.shape), theta)
    return objective, theta, matrix, own, random


def scores_by_hand(objective, theta):
    X = objective.towers[1].network.inputs.features.matrix.toarray()
    linear, network = theta[1]["linear"], theta[1]["network"]
    z = X @ network["features"] + network["biases"][0]
    hidden = np.where(z > 0, z, np.expm1(np.minimum(z, 0)))
    V = linear["ids"] + X @ linear["features"] + hidden @ network["matrices"][0] + network["biases"][1]
    return theta[0]["ids"] @ V.T


def test_the_objective_is_the_sum_over_all_pairs():
    objective, theta, matrix, own, _ = small_objective()
    scores = scores_by_hand(objective, theta)
    expected = np.where(matrix > 0, np.logaddexp(0, -scores), 0.15 * (scores + 1) ** 2).sum()
    linear, network = theta[1]["linear"], theta[1]["network"]
    expected += 0.5 * (np.sum(own[0] * theta[0]["ids"] ** 2) + np.sum(own[1] * linear["ids"] ** 2))
    expected += 0.1 * np.sum(linear["features"] ** 2) + 0.15 * np.sum(network["features"] ** 2)
    expected += 0.2 * np.sum(network["matrices"][0] ** 2)
    assert objective.at(theta).value == pytest.approx(expected, rel=1e-12)


def test_gradient_and_products_are_those_of_differences():
    objective, theta, _, _, random = small_objective()
    point = objective.at(theta)
    one, other = (leafwise(lambda leaf: random.normal(size=leaf.shape), theta) for _ in range(2))
    step = 1e-5
    slope = (objective.at(plus(theta, step, one)).value - objective.at(plus(theta, -step, one)).value) / (2 * step)
    assert inner(objective.gradient(point), one) == pytest.approx(slope, rel=1e-7)
    product = objective.product(point, one)
    assert inner(product, other) == pytest.approx(inner(objective.product(point, other), one), rel=1e-10)
    flat = leafwise(lambda leaf: np.zeros_like(leaf), theta)
    flat[0]["ids"][:] = random.normal(size=flat[0]["ids"].shape)  # U is linear in it: the product is the Hessian's
    change = [objective.gradient(objective.at(plus(theta, sign * step, flat))) for sign in (1, -1)]
    hessian = (change[0][0]["ids"] - change[1][0]["ids"]) / (2 * step)
    np.testing.assert_allclose(objective.product(point, flat)[0]["ids"], hessian, rtol=1e-6, atol=1e-8)


def test_the_preconditioner_is_its_blocks_inverted():
    """diag(c) ⊗ G for ids and features of the linear part and of the network, A ⊗ G and m G above it, written out."""
    objective, theta, _, own, random = small_objective()
    point, damping = objective.at(theta), 0.7
    residual = leafwise(lambda leaf: random.normal(size=leaf.shape), theta)
    left, right = preconditioner(objective, point, np.random.default_rng(3))(residual, damping)
    roots = objective.curvature_root(point, np.random.default_rng(3))
    X = objective.towers[1].network.inputs.features.matrix.toarray()
    G = [root.T @ root / len(root) for root in roots]
    traces = [objective.row_curvatures(point, side) for side in (0, 1)]
    c = [np.diag(one / one.mean()) for one in traces]
    described = np.diag(np.diag(c[1]) @ X**2)
    network = theta[1]["network"]
    z = X @ network["features"] + network["biases"][0]
    hidden, slope = np.where(z > 0, z, np.expm1(z)), np.where(z > 0, 1, np.exp(z))
    delta = (roots[1] @ network["matrices"][0].T) * slope
    below = delta.T @ delta / len(delta)
    cases = [
        (left["ids"], residual[0]["ids"], np.kron(c[0], G[0]), np.repeat(own[0], 3)),
        (right["linear"]["ids"], residual[1]["linear"]["ids"], np.kron(c[1], G[1]), np.repeat(own[1], 3)),
        (right["linear"]["features"], residual[1]["linear"]["features"], np.kron(described, G[1]), 0.2),
        (right["network"]["features"], residual[1]["network"]["features"], np.kron(described, below), 0.3),
        (right["network"]["matrices"][0], residual[1]["network"]["matrices"][0], np.kron(hidden.T @ hidden, G[1]), 0.4),
        (right["network"]["biases"][0], residual[1]["network"]["biases"][0], len(X) * below, 0.0),
        (right["network"]["biases"][1], residual[1]["network"]["biases"][1], len(X) * G[1], 0.0),
    ]
    for found, given, block, reg in cases:
        shift = (reg + damping + SMALL) * np.ones(len(block))
        expected = np.linalg.solve(block + np.diag(shift), given.ravel())
        np.testing.assert_allclose(found.ravel(), expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", ["gauss-newton", "newton-unit", "gd-diag"])
def test_every_step_descends(name):
    objective, theta, *_ = small_objective()
    optimizer = make_optimizer(name, objective)
    state = optimizer.fresh(theta)
    values = [objective.at(theta).value]
    for _ in range(6):
        state = optimizer.step(state)
        values.append(state.objective)
    assert np.all(np.diff(values) <= 0)
    assert values[-1] < 0.9 * values[0]


@pytest.mark.parametrize("own", [True, False])
def test_towers_start_as_the_linear_model_of_the_same_ridges(own):
    matrix, _ = block_matrix()
    words = groups_and_noise()
    shared = {"rank": 4, "reg": 0.1, "random_state": 0, "dtype": "float64"}
    linear = OneClassMF(
        items=Side(own_vectors=own, cold="weights", fit_intercept=True), tol=1e-10, max_iter=500, **shared
    )
    linear.fit(matrix, item_features=words)
    towers = TwoTower(widths=(8,), own_vectors=(True, own), **{**STILL, **shared})
    started = towers.fit(matrix, item_features=words, start=linear)
    np.testing.assert_allclose(started.score_users(), linear.score_users(), rtol=0, atol=1e-10)
    penalty = towers.objective_ - linear.objective_  # of the network's weights alone
    network = towers.theta_[1]["network"]
    assert np.abs(network["matrices"][-1]).max() < 1e-20
    entities = matrix.any(axis=0).sum() + matrix.any(axis=1).sum()
    assert penalty == pytest.approx(0.1 * matrix.sum() / entities * np.sum(network["features"] ** 2), rel=1e-6)
    by_itself = TwoTower(widths=(8,), own_vectors=(True, own), **{**STILL, **shared}).fit(matrix, item_features=words)
    assert by_itself.objective_ == pytest.approx(towers.objective_, rel=0.02)
    fresh = words[[0, 9]] + 0.1
    np.testing.assert_allclose(
        started.user_factors_ @ started.fold_in_items(features=fresh).T,
        linear.user_factors_ @ linear.fold_in_items(features=fresh).T, atol=1e-8,
    )  # fmt: skip
    rows = matrix[:3, ::-1]
    np.testing.assert_allclose(
        started.score_users(interactions=rows), linear.score_users(interactions=rows), atol=1e-6
    )  # fmt: skip
    without = OneClassMF(items=Side(own_vectors=own), max_iter=2, **shared).fit(matrix, item_features=words)
    constant = TwoTower(widths=(8,), own_vectors=(True, own), **{**STILL, **shared})
    constant.fit(matrix, item_features=words, start=without)
    np.testing.assert_allclose(constant.score_users(), without.score_users(), rtol=0, atol=1e-10)
    again = from_json_and_arrays(started)
    assert np.array_equal(again.fold_in_items(features=fresh), started.fold_in_items(features=fresh))


@pytest.mark.parametrize("optimizer", ["adam", "gauss-newton", GaussNewton(cg_steps=3), "gd-diag", "sampling-diag"])
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_cold_items_by_any_optimizer_and_with_ids_left_out(optimizer, share):
    matrix, _ = block_matrix()
    seen = np.array([j for j in range(21) if j not in (0, 8, 15)])
    words = np.repeat(np.eye(3), [8, 7, 6], axis=0)
    model = TwoTower(widths=(8,), rank=3, max_iter=5, random_state=0, optimizer=optimizer, id_dropout=share)
    model.fit(matrix[:, seen], item_features=words[seen])
    assert model.add_items(features=np.eye(3)).tolist() == [18, 19, 20]
    scores = model.score_users()[:, 18:]
    assert scores[:20].argmax(axis=1).tolist() == [0] * 20
    assert scores[20:34].argmax(axis=1).tolist() == [1] * 14
    once = TwoTower(**model.get_params()).fit(matrix[:, seen], item_features=words[seen])
    np.testing.assert_array_equal(once.item_factors_, model.item_factors_[:18])


def test_left_out_ids_teach_the_features():
    objective, theta, *_ = small_objective()
    thin = objective.thinned(0.5, np.random.default_rng(0))
    kept = thin.towers[1].linear.inputs.kept
    assert 0 < kept.sum() < 7
    assert thin.towers[0] is objective.towers[0]  # ids are all that users have
    gradient = thin.gradient(thin.at(theta))[1]["linear"]["ids"] - objective.reg[1].own * theta[1]["linear"]["ids"]
    assert not gradient[kept == 0].any()
    assert gradient[kept == 1].any(axis=1).all()
    assert objective.thinned(0.0, np.random.default_rng(0)) is objective
    state = make_optimizer("gauss-newton", objective, dropout=0.5).step
    first = state(make_optimizer("gauss-newton", objective).fresh(theta))
    assert first.objective == pytest.approx(objective.at(first.theta).value)
    assert all(np.isfinite(leaf).all() for leaf in leaves(first.theta))


def test_an_exclusive_or_needs_the_network():
    random = np.random.default_rng(0)
    features = random.integers(0, 2, (160, 4)).astype(float)
    kind, taste = features[:, 0] != features[:, 1], random.random(60) < 0.5
    likes = (random.random((60, 160)) < 0.4) & (taste[:, None] == kind)
    coded, seen = np.hstack([features, 1 - features]), np.arange(160) < 130
    shared = {"rank": 4, "own_vectors": (True, False), "random_state": 0}
    towers = TwoTower(widths=(16,), **shared).fit(likes[:, seen] * 1.0, item_features=coded[seen])
    scores = towers.user_factors_ @ towers.fold_in_items(features=coded[~seen]).T
    right = scores[taste][:, kind[~seen]].mean() - scores[taste][:, ~kind[~seen]].mean()
    wrong = scores[~taste][:, kind[~seen]].mean() - scores[~taste][:, ~kind[~seen]].mean()
    assert right > 0.3
    assert wrong < -0.3
