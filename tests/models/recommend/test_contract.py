"""Every model passes the contract kit that ships in the package."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from everypair import OneClassMF, Popularity, Side
from everypair.models.recommend.rivals.same_loss import SameLossMF
from everypair.models.registry import ESTIMATORS, RECOMMENDERS
from everypair.testing import RecommenderContract, block_matrix, refused


class OneClassContract(RecommenderContract):
    offers = frozenset({*ESTIMATORS["OneClassMF"].offers, "n_threads", "dtype"})
    loss = "logistic"
    biases = False

    def make_converging_model(self):
        return self.make_model(tol=1e-13, max_iter=1000, dtype="float64")

    def make_model(self, **params):
        fixed = {"rank": 3, "loss": self.loss, "biases": self.biases, "tol": 1e-5, "random_state": 0}
        return OneClassMF(**{**fixed, **params})


class TestLogistic(OneClassContract):
    pass


class TestSquared(OneClassContract):
    loss = "squared"


class TestSquaredHinge(OneClassContract):
    loss = "squared_hinge"


class TestLogisticWithBiases(OneClassContract):
    biases = True


class TestSquaredWithBiases(OneClassContract):
    loss = "squared"
    biases = True


class InformedMF(OneClassMF):
    """What kind of thing an item is, and which ones stand side by side, follow from their numbers."""

    def fit(self, interactions):
        matrix = getattr(interactions, "matrix", interactions)
        kinds = np.arange(np.shape(matrix)[-1]) % 5
        side_by_side = np.eye(len(kinds), k=1)
        return super().fit(interactions, item_features=kinds[:, None] == np.arange(5), item_graph=side_by_side)


class TestFeaturesAndGraph(OneClassContract):
    def make_model(self, **params):
        fixed = {"rank": 3, "max_iter": 40, "items": Side(graph_reg=0.05, fit_intercept=True), "random_state": 0}
        return InformedMF(**{**fixed, **params})


class TestSameLoss(OneClassContract):
    offers = frozenset({*ESTIMATORS["SameLossMF"].offers, "n_threads", "dtype"})
    explains = False  # its all-pairs term is no square

    def make_model(self, **params):
        return SameLossMF(**{"rank": 3, "negative_weight": 0.3, "tol": 1e-5, "random_state": 0, **params})


class TestPopularity(RecommenderContract):
    quality_floor = 20 / 44  # it knows the largest group's items and nothing else
    personal = False
    fold_in_tolerance = 0.0
    offers = frozenset({*ESTIMATORS["Popularity"].offers, "n_threads"})

    def make_converging_model(self):
        return self.make_model()

    def make_model(self, **params):
        return Popularity(**params)


class Upside(Popularity):
    """A wrong model: the least popular item first."""

    def fit(self, interactions):
        super().fit(interactions)
        self.state_ = replace(self.state_, item_factors=-self.item_factors_)
        return self


def test_the_kit_notices_a_model_that_is_wrong():
    kit = RecommenderContract()
    kit.make_model = Upside
    with pytest.raises(AssertionError):
        kit.test_held_out_items_come_first()


def test_the_kit_notices_a_model_that_lost_a_method_or_gained_one():
    for offers in ({"fold_in_users", "explain", "n_threads"}, {"n_threads"}):
        kit = TestPopularity()
        kit.offers = frozenset(offers)
        with pytest.raises(AssertionError):
            kit.test_it_offers_what_it_should()


def test_the_kit_notices_a_model_whose_answers_drift():
    class Drifting(Popularity):
        fits = 0

        def fit(self, interactions):
            Drifting.fits += 1
            super().fit(interactions)
            self.state_ = replace(self.state_, item_factors=self.item_factors_ + Drifting.fits)
            return self

    kit = TestPopularity()
    kit.make_model = Drifting
    with pytest.raises(AssertionError):
        kit.test_same_seed_same_bits()


def test_refused_wants_the_right_error_and_the_right_words():
    with pytest.raises(AssertionError, match="nothing was raised"), refused(ValueError):
        pass
    with pytest.raises(AssertionError, match="should say"), refused(ValueError, match="left"):
        raise ValueError("right")
    with pytest.raises(KeyError), refused(ValueError):
        raise KeyError("passes through")


def test_the_known_answer_is_unique():
    matrix, held_out = block_matrix()
    for row, item in zip(matrix, held_out):
        alike = matrix[:, row > 0].sum(axis=1) > 0  # the user's group
        assert set(matrix[alike].any(axis=0).nonzero()[0]) - set(row.nonzero()[0]) == {item}


def test_every_recommender_of_the_registry_has_a_contract():
    """A kit that names its offers as the registry does, somewhere in the tests; kits say what an update must equal."""
    tests = Path(__file__).parents[2]
    named = {
        name
        for path in tests.rglob("test_*.py")
        for name in re.findall(r"offers = frozenset\(\{\*ESTIMATORS\[\"(\w+)\"\]\.offers", path.read_text())
    }
    assert named == set(RECOMMENDERS)
