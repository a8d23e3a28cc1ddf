"""The models that select their negatives pass the same contract as the one that counts every pair."""

import numpy as np

from everypair import BPR, EnsembleMF, SubsampledMF
from everypair.testing import RecommenderContract, block_matrix


class TestSubsampledSquared(RecommenderContract):
    fold_in_tolerance = 0.5  # other negatives than in training
    params = {"loss": "squared", "ratio": 1.5, "reg": 0.02, "max_iter": 40}

    def make_model(self, **params):
        return SubsampledMF(**{"rank": 3, "random_state": 0, **self.params, **params})


class TestSubsampledResampled(TestSubsampledSquared):
    params = {"loss": "squared", "ratio": 1.5, "reg": 0.02, "max_iter": 20, "resample": True}


class TestSubsampledLogistic(TestSubsampledSquared):
    params = {"loss": "logistic", "ratio": 1.5, "reg": 0.02, "max_iter": 40}

    def test_empty_rows_and_columns(self):
        """Users without events have negatives of their own, and so scores of their own; new ones get the same."""
        matrix, held_out = block_matrix()
        model = self.fitted(np.pad(matrix, ((1, 2), (0, 2))))
        items, _ = model.recommend(n=1)
        assert np.mean(items[1:-2, 0] == held_out) >= self.quality_floor
        first, last = model.score_users(interactions=np.zeros((2, 23)))
        assert np.isfinite(first).all()
        assert np.array_equal(first, last)


class TestSubsampledWithBiases(TestSubsampledSquared):
    params = {"loss": "squared", "ratio": 1.5, "reg": 0.02, "max_iter": 40, "biases": True}

    test_empty_rows_and_columns = TestSubsampledLogistic.test_empty_rows_and_columns


class TestEnsemble(RecommenderContract):
    fold_in_tolerance = 0.3

    def make_model(self, **params):
        fixed = {"n_models": 4, "rank": 3, "ratio": 1.5, "reg": 0.02, "max_iter": 20, "random_state": 0}
        return EnsembleMF(**{**fixed, **params})


class TestBPR(RecommenderContract):
    fold_in_tolerance = 0.3

    def make_model(self, **params):
        return BPR(**{"rank": 3, "max_iter": 150, "random_state": 0, **params})
