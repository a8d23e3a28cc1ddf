"""A linear model in two towers: every score is kept, or a sentence says why it cannot be."""

import numpy as np
import pytest

from everypair import OneClassMF, SubsampledMF, TwoTower
from everypair.neural.inputs import Inputs
from everypair.neural.layers import Layers
from everypair.neural.lift import lifted
from everypair.neural.towers import Perceptron
from everypair.testing import block_matrix

SHAPES = {
    "one layer": Layers((9,), 6),
    "two": Layers((12, 8), 5),
    "three, no biases": Layers((8, 8, 8), 5, biases=False),
    "identity": Layers((6, 11, 7), 6, activation="identity", biases=False),
    "tanh": Layers((9, 7), 5, activation="tanh"),
    "relu": Layers((9, 7), 5, activation="relu"),
    "elu, wider and wider": Layers((6, 9), 5),
    "none": Layers((), 7),
}


def scores_of(layers, left, right, dtype):
    towers = tuple(Perceptron(Inputs(len(side)), layers, np.dtype(dtype)) for side in (left, right))
    theta = lifted(towers, left, right, np.random.default_rng(1))
    assert [leaf.dtype for leaf in theta[0]["matrices"]] == [np.dtype(dtype)] * len(layers.widths)
    U, V = (tower.at(part).factors for tower, part in zip(towers, theta))
    return U @ V.T


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("strength", [0.1, 1.0, 30.0])
def test_scores_are_kept(shape, strength):
    random = np.random.default_rng(0)
    left, right = strength * random.normal(size=(40, 5)), random.normal(size=(30, 5))
    left[:, 1] *= 1e-3
    left[3] = 0
    expected = left @ right.T
    size = np.abs(expected).max()
    np.testing.assert_allclose(scores_of(SHAPES[shape], left, right, np.float64), expected, rtol=0, atol=1e-10 * size)
    np.testing.assert_allclose(scores_of(SHAPES[shape], left, right, np.float32), expected, rtol=0, atol=1e-5 * size)


def test_directions_that_carry_nothing_need_no_width():
    random = np.random.default_rng(0)
    left, right = random.normal(size=(12, 3)) @ random.normal(size=(3, 9)), random.normal(size=(7, 9))
    np.testing.assert_allclose(scores_of(Layers((4, 3), 3), left, right, np.float64), left @ right.T, atol=1e-10)
    nothing = scores_of(Layers((4,), 3), np.zeros((5, 2)), np.zeros((4, 2)), np.float64)
    assert nothing.shape == (5, 4)
    assert not nothing.any()


@pytest.mark.parametrize("model", [OneClassMF, SubsampledMF])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_towers_start_as_a_fitted_model(model, dtype):
    matrix, _ = block_matrix()
    learnt = model(rank=6, random_state=0, dtype=dtype).fit(matrix)
    still = {"max_iter": 1, "learning_rate": 1e-30, "dtype": dtype, "random_state": 0}
    towers = TwoTower(widths=(16, 12), rank=8, **still).fit(matrix, start=learnt)
    atol = 1e-4 if dtype == "float32" else 1e-10
    np.testing.assert_allclose(towers.score_users(), learnt.score_users(), rtol=0, atol=atol)
    again = TwoTower(widths=(16, 12), rank=8, **still).fit(matrix, start=towers)
    np.testing.assert_allclose(again.theta_[0]["matrices"][0], towers.theta_[0]["matrices"][0], rtol=0, atol=1e-12)
    other = TwoTower(widths=(20,), rank=8, activation="tanh", **still).fit(matrix, start=towers)
    np.testing.assert_allclose(other.score_users(), towers.score_users(), rtol=0, atol=atol)


def test_biases_of_the_model_are_kept():
    matrix, _ = block_matrix()
    learnt = OneClassMF(rank=4, biases=True, random_state=0).fit(matrix)
    towers = TwoTower(widths=(8,), rank=6, max_iter=1, learning_rate=1e-30).fit(matrix, start=learnt)
    np.testing.assert_allclose(towers.score_users(), learnt.score_users(), rtol=0, atol=1e-4)


REFUSED = [
    ({"widths": (5,)}, "a layer of width 5 cannot carry a model of rank 6: widths and rank must be at least that"),
    ({"rank": 4}, "a layer of width 4 cannot carry"),
    ({"activation": "relu", "layer_biases": False}, 'activation="relu" without layer_biases is linear nowhere'),
    ({"activation": "tanh", "widths": (8, 9)}, 'activation="tanh" cannot be inverted where widths grow'),
    ({"temperature": 0.5}, "scores of a linear model are no cosines: leave temperature at None"),
]


@pytest.mark.parametrize(("parameters", "sentence"), REFUSED)
def test_what_cannot_be_kept_is_refused(parameters, sentence):
    matrix, _ = block_matrix()
    learnt = OneClassMF(rank=6, random_state=0).fit(matrix)
    with pytest.raises(ValueError, match=sentence):
        TwoTower(**{"widths": (8,), "rank": 6, "max_iter": 1, **parameters}).fit(matrix, start=learnt)


def test_starts_of_another_kind_are_refused():
    matrix, _ = block_matrix()
    small = TwoTower(widths=(8,), rank=6, max_iter=1)
    with pytest.raises(TypeError, match="start must be a fitted model with factors, got str"):
        small.fit(matrix, start="here")
    learnt = OneClassMF(rank=6, max_iter=1).fit(matrix)
    with pytest.raises(ValueError, match=r"start was fitted on 44 × 21 entities, interactions have 45 × 21"):
        small.fit(np.pad(matrix, ((0, 1), (0, 0))), start=learnt)
    words = np.eye(21)
    with pytest.raises(ValueError, match="start has factors that the features cannot make"):
        TwoTower(widths=(8,), rank=6, own_vectors=(True, False)).fit(matrix, item_features=words, start=learnt)
