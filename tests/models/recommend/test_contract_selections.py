"""The models that select their negatives pass the same contract as the one that counts every pair."""

from typing import ClassVar

import numpy as np

from everypair import BPR, EnsembleMF, SubsampledMF
from everypair.testing import RecommenderContract, block_matrix


class TestSubsampledSquared(RecommenderContract):
    fold_in_tolerance = 0.2  # other negatives than in training
    params: ClassVar = {"loss": "squared"}

    def make_model(self, **params):
        fixed = {"rank": 3, "ratio": 1.0, "reg": 0.1, "max_iter": 10, "random_state": 0}
        return SubsampledMF(**{**fixed, **self.params, **params})


class TestSubsampledLogistic(TestSubsampledSquared):
    quality_floor = 0.9  # a held-out item may be drawn as a negative
    fold_in_tolerance = 0.7
    params: ClassVar = {"loss": "logistic"}

    def test_empty_rows_and_columns(self):
        """Users without events have negatives of their own, and so scores of their own; new ones are all alike."""
        matrix, held_out = block_matrix()
        model = self.fitted(np.pad(matrix, ((1, 2), (0, 2))))
        items, _ = model.recommend(n=1)
        assert np.mean(items[1:-2, 0] == held_out) >= self.quality_floor
        first, last = model.score_users(interactions=np.zeros((2, 23)))
        assert np.isfinite(first).all()
        assert np.array_equal(first, last)


class TestSubsampledWithBiases(TestSubsampledLogistic):
    fold_in_tolerance = 0.5
    params: ClassVar = {"loss": "squared", "biases": True, "scheme": "item-w"}


class TestEnsemble(RecommenderContract):
    fold_in_tolerance = 0.2

    def make_model(self, **params):
        fixed = {"n_models": 3, "rank": 3, "reg": 0.1, "max_iter": 8, "random_state": 0}
        return EnsembleMF(**{**fixed, **params})


class TestBPR(RecommenderContract):
    fold_in_tolerance = 0.3

    def make_model(self, **params):
        return BPR(**{"rank": 3, "max_iter": 150, "random_state": 0, **params})
