"""Towers in blocks of rows, of any precision, against one product for all rows."""

import jax
import numpy as np
import pytest
import scipy.sparse as sp

from everypair.features.matrix import Features
from everypair.neural import towers
from everypair.neural.activations import ACTIVATIONS
from everypair.neural.differentiated import FunctionTower
from everypair.neural.functions import PureTower, padded
from everypair.neural.inputs import Inputs
from everypair.neural.layers import Layers
from everypair.neural.towers import Perceptron
from everypair.neural.trees import leaves

ROWS = 2100  # three blocks, the last of 52 rows


def written_out(theta, X):
    """One hidden layer of tanh, in numpy."""
    hidden = np.tanh(theta["ids"] + X @ theta["features"] + theta["biases"][0])
    return hidden, hidden @ theta["matrices"][0] + theta["biases"][1]


@pytest.mark.parametrize(("dtype", "kept"), [(np.float32, True), (np.float64, True), (np.float64, False)])
def test_blocks_of_rows_are_all_rows(dtype, kept, monkeypatch):
    if not kept:  # as for towers of many rows, whose activations are computed again
        monkeypatch.setattr(towers, "KEPT_ROWS", ROWS - 1)
    random = np.random.default_rng(0)
    X = random.random((ROWS, 3)) * (random.random((ROWS, 3)) < 0.5)
    inputs = Inputs(ROWS, features=Features(sp.csr_array(X), dtype))
    tower = Perceptron(inputs, Layers((4,), 2, "tanh"), np.dtype(dtype))
    theta = tower.start(random)
    assert {leaf.dtype for leaf in leaves(theta)} == {np.dtype(dtype)}
    close = {"rtol": 1e-4, "atol": 1e-4} if dtype == np.float32 else {"rtol": 1e-10, "atol": 1e-12}
    hidden, U = written_out(theta, X)
    np.testing.assert_allclose(tower.at(theta).factors, U, **close)
    G = random.normal(size=U.shape).astype(dtype)
    by_Z = (G @ theta["matrices"][0].T) * (1 - hidden**2)
    found = tower.at(theta).adjoint(G)
    np.testing.assert_allclose(found["matrices"][0], hidden.T @ G, **close)
    np.testing.assert_allclose(found["features"], X.T @ by_Z, **close)
    np.testing.assert_allclose(found["ids"], by_Z, **close)
    np.testing.assert_allclose(found["biases"][1], G.sum(axis=0), **close)
    direction = jax.tree_util.tree_map(lambda leaf: random.normal(size=leaf.shape).astype(dtype), theta)
    along = sum(float(np.sum(x * y)) for x, y in zip(leaves(found), leaves(direction)))
    assert float(np.sum(G * tower.at(theta).tangent(direction))) == pytest.approx(along, rel=close["rtol"])


def test_a_function_in_blocks_is_the_function():
    random = np.random.default_rng(0)
    X = sp.csr_array(random.random((ROWS, 3)) * (random.random((ROWS, 3)) < 0.5))
    function = PureTower(
        lambda random, parts, rank: {"W": random.normal(size=(3, rank))}, lambda theta, parts: parts["x"] @ theta["W"]
    )
    tower = FunctionTower(function, {"x": X}, ROWS, 2, np.dtype(np.float64))
    theta = tower.start(random)
    np.testing.assert_allclose(tower.at(theta).factors, X @ theta["W"])
    np.testing.assert_allclose(tower.at(theta).tangent(theta), X @ theta["W"])
    G, rows = random.normal(size=(ROWS, 2)), np.array([5, 2099, 7])
    np.testing.assert_allclose(tower.at(theta).adjoint(G)["W"], X.T @ G)
    np.testing.assert_allclose(tower.at(theta, rows).adjoint(G[rows])["W"], X[rows].T @ G[rows])


def test_padded_rows_multiply_like_the_matrix():
    random = np.random.default_rng(0)
    X = sp.csr_array(random.random((6, 5)) * (random.random((6, 5)) < 0.4))
    W = random.normal(size=(5, 2))
    np.testing.assert_allclose(np.asarray(padded(X) @ W), X @ W, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kept", [True, False])
def test_activations_of_many_rows_are_not_kept(kept, monkeypatch):
    monkeypatch.setattr(towers, "KEPT_ROWS", ROWS if kept else ROWS - 1)
    tower = Perceptron(Inputs(ROWS), Layers((4,), 2), np.dtype(np.float32))
    found = tower.at(tower.start(np.random.default_rng(0)))
    assert len(found.above.traces) == 3 * kept


@pytest.mark.parametrize("activation", list(ACTIVATIONS))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_activations_slopes_and_inverses(activation, dtype):
    z = np.linspace(-4, 4, 81).astype(dtype)
    plain = {"elu": lambda z: np.where(z > 0, z, np.expm1(z)), "relu": lambda z: z * (z > 0), "tanh": np.tanh,
             "identity": lambda z: z}[activation]  # fmt: skip
    one = ACTIVATIONS[activation]
    value, slope = one.both(z)
    assert value.dtype == slope.dtype == dtype
    np.testing.assert_allclose(value, plain(z.astype(np.float64)), atol=3e-7)
    wide = z.astype(np.float64) + 0.001  # no kink within the difference
    np.testing.assert_allclose(one.both(wide)[1], (plain(wide + 1e-6) - plain(wide - 1e-6)) / 2e-6, atol=1e-6)
    if one.inverse is not None:
        np.testing.assert_allclose(one.inverse(plain(wide)), wide, atol=1e-9)


def test_second_moments_are_those_of_all_rows():
    random = np.random.default_rng(0)
    tower = Perceptron(Inputs(ROWS), Layers((4,), 2, "tanh"), np.dtype(np.float64))
    theta = tower.start(random)
    hidden, _ = written_out({**theta, "features": np.zeros((1, 4))}, np.zeros((ROWS, 1)))
    G = random.normal(size=(ROWS, 2))
    inner, outer = tower.at(theta).above.second_moments(G)
    by_Z = (G @ theta["matrices"][0].T) * (1 - hidden**2)
    for found, rows in zip((*inner, *outer), (hidden, by_Z, G), strict=True):
        np.testing.assert_allclose(found, rows.T @ rows)


def test_one_and_two_threads_give_the_same_bits():
    random = np.random.default_rng(0)
    one, two = (
        Perceptron(Inputs(ROWS, n_threads=threads), Layers((8,), 3), np.dtype(np.float32)) for threads in (1, 2)
    )
    theta, G = one.start(random), random.normal(size=(ROWS, 3)).astype(np.float32)
    at = one.at(theta), two.at(theta)
    assert np.array_equal(at[0].factors, at[1].factors)
    for found, same in zip(leaves(at[0].adjoint(G)), leaves(at[1].adjoint(G)), strict=True):
        assert np.array_equal(found, same)
