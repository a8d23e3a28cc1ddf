"""What NeighborMF claims, by hand."""

import numpy as np
import pytest

from everypair.models.completion import NeighborMF
from everypair.solvers.completion.neighborhood import probability

RNG = np.random.default_rng(0)
N, M = 30, 20
LEFT, RIGHT = RNG.standard_normal((N, 3)), RNG.standard_normal((M, 2))
BINDS = (LEFT @ RNG.standard_normal((3, 2)) @ RIGHT.T > 1).astype(float)
TESTED = RNG.random((N, M)) < 0.5
TESTED[4] = False


def similarity(X):
    return np.exp(-np.square(X[:, None] - X[None]).sum(axis=2) / 4)


SIDES = {"left_features": similarity(LEFT), "right_features": similarity(RIGHT)}


def test_a_row_without_a_positive_is_the_mean_of_its_nearest_by_squares_of_similarity():
    model = NeighborMF(kernel="similarity", random_state=0, neighbors=3).fit(BINDS, TESTED, **SIDES)
    state = model.state_
    assert 4 not in state.left_known
    known = [i for i in range(N) if (BINDS[i] * TESTED[i]).any()]
    assert state.left_known.tolist() == known
    nearest = sorted(known, key=lambda i: -SIDES["left_features"][4, i])[:3]
    weights = SIDES["left_features"][4, nearest] ** 2
    expected = weights @ state.left[nearest] / weights.sum()
    np.testing.assert_allclose(state.left[4], expected, atol=1e-9)
    np.testing.assert_allclose(model.complete()[4], probability(expected @ state.right.T), atol=1e-9)
    # and so is a drug that comes later
    np.testing.assert_allclose(model.complete(SIDES["left_features"][[4]])[0], model.complete()[4], atol=1e-9)


def test_hidden_entries_are_never_looked_at():
    other = np.where(TESTED, BINDS, 1 - BINDS)
    models = [NeighborMF(kernel="similarity", random_state=0).fit(Y, TESTED, **SIDES) for Y in (BINDS, other)]
    np.testing.assert_array_equal(models[0].complete(), models[1].complete())


def test_values_lie_between_the_two_observed_ones():
    model = NeighborMF(random_state=0).fit(BINDS * 5 - 7, TESTED, left_features=LEFT, right_features=RIGHT)
    plain = NeighborMF(random_state=0).fit(BINDS, TESTED, left_features=LEFT, right_features=RIGHT)
    np.testing.assert_allclose(model.complete(), plain.complete() * 5 - 7)
    assert model.complete().min() > -7
    assert model.complete().max() < -2


def test_it_needs_two_values():
    with pytest.raises(ValueError, match="one value only: NeighborMF needs pairs of both kinds"):
        NeighborMF().fit(np.ones((4, 3)))
    with pytest.raises(ValueError, match="two values: take KernelCompletion or FNNM"):
        NeighborMF().fit(np.arange(12.0).reshape(4, 3))
