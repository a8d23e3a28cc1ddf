"""On 1, 2 and 4 worker processes: the factors of one machine, to the bit."""

import numpy as np
import pytest
import scipy.sparse as sp

from everypair import OneClassMF
from everypair.distribute import Cluster
from everypair.distribute.solving import set_up
from everypair.problem import Loss

SHAPE = (7000, 4500)
random = np.random.default_rng(0)
PAIRS = sp.random_array(SHAPE, density=0.001, rng=random, format="csr", dtype=np.float32)
WEIGHTED = PAIRS.copy()
WEIGHTED.data[:] = random.uniform(0.5, 2.0, PAIRS.nnz)
WEIGHTED.data[::7] *= -1  # dislikes
PAIRS.data[:] = 1
IMPUTED = tuple(0.1 * random.standard_normal((size, 2)) for size in SHAPE)
CASES = {
    "logistic, momentum": (PAIRS, {}),
    "squared, plain": (PAIRS, {"loss": "squared", "solver": "newton"}),
    "hinge, weights and dislikes": (WEIGHTED, {"loss": "squared_hinge"}),
    "biases": (PAIRS, {"biases": True}),
    "popularity": (WEIGHTED, {"negative_scheme": ("item-count", 0.5), "reg_exponent": "count"}),
    "imputation, float64": (PAIRS, {"negative_value": IMPUTED, "dtype": "float64"}),
    "weights, float64": (WEIGHTED, {"dtype": "float64", "loss": "squared"}),
    "degree weights": (PAIRS, {"weighting": ("degree", 0.25)}),
}


def model(**parameters):
    return OneClassMF(**{"rank": 6, "max_iter": 4, "tol": 0.0, "random_state": 3, **parameters})


@pytest.fixture(scope="module")
def alone():
    return {name: model(**parameters).fit(matrix) for name, (matrix, parameters) in CASES.items()}


def assert_same(one, other):
    assert np.array_equal(one.user_factors_, other.user_factors_)
    assert np.array_equal(one.item_factors_, other.item_factors_)
    assert [entry["objective"] for entry in one.history_] == [entry["objective"] for entry in other.history_]


@pytest.mark.parametrize("name", CASES)
def test_two_workers(name, clients, alone):
    matrix, parameters = CASES[name]
    there = model(**parameters).fit(matrix, client=Cluster(clients(2), shards=(3, 2)))
    assert_same(there, alone[name])
    assert (there.interactions_ != alone[name].interactions_).nnz == 0


@pytest.mark.parametrize("workers", [1, 4])
@pytest.mark.parametrize("shards", [1, (4, 3)])
def test_any_number_of_workers_and_shards(workers, shards, clients, alone):
    there = model().fit(PAIRS, client=Cluster(clients(workers), shards=shards))
    assert_same(there, alone["logistic, momentum"])


def test_a_loss_of_ones_own(clients):
    square = Loss("own", lambda y, s: 0.5 * (y - s) ** 2, lambda y, s: s - y, lambda y, s: 1.0, negative_value=0.0)
    there = model(loss=square).fit(PAIRS, client=Cluster(clients(2), shards=2))
    assert_same(there, model(loss=square).fit(PAIRS))


def test_few_pairs_are_picked_and_many_travel_whole(clients, monkeypatch):
    sparse = sp.csr_array((np.ones(300, np.float32), (np.arange(300) * 20, np.arange(300) * 9)), SHAPE)
    alone = model(rank=2).fit(sparse)
    cluster = Cluster(clients(2), shards=(3, 2), gather=False)
    there = model(rank=2).fit(sparse, client=cluster)
    assert all(count is None for row in there.state_.sides[0].wanted for count in row)  # so small: whole
    assert_same(there.gather(), alone)
    monkeypatch.setattr(set_up, "PICK_BYTES", 0)
    there = model(rank=2).fit(sparse, client=cluster)
    assert sum(count for row in there.state_.sides[0].wanted for count in row) == 300
    assert_same(there.gather(), alone)
