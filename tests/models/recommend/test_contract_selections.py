"""The models that select their negatives pass the same contract as the one that counts every pair."""

from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from everypair import BPR, EnsembleMF, SubsampledMF
from everypair.models.registry import ESTIMATORS
from everypair.testing import RecommenderContract, block_matrix


class SamplingContract(RecommenderContract):
    """Fold-in draws negatives of its own, and that is all by which it differs from training."""

    luck = 0.1
    offers = frozenset({*ESTIMATORS["SubsampledMF"].offers, "n_threads", "dtype"})

    def test_training_rows_fold_in_to_themselves(self):
        matrix, held_out = block_matrix()
        drawn = SubsampledMF(rank=3, random_state=0).fit(matrix).sampled_.toarray()
        model = self.fitted(matrix + drawn, ratio=0.0, max_iter=300, tol=0.0)  # they are given: none is drawn any more
        trained, folded = model.score_users(), model.score_users(interactions=matrix + drawn)
        assert np.abs(trained - folded).max() <= 1e-3 * np.ptp(trained)
        model = self.fitted(matrix)
        items, _ = model.recommend(interactions=sp.csr_array(matrix), n=1)
        assert np.mean(items[:, 0] == held_out) >= self.quality_floor
        assert model.fold_in_users(matrix).shape == model.user_factors_.shape


class TestSubsampledSquared(SamplingContract):
    params: ClassVar = {"loss": "squared"}

    def make_model(self, **params):
        fixed = {"rank": 3, "ratio": 1.0, "reg": 0.1, "max_iter": 10, "random_state": 0}
        return SubsampledMF(**{**fixed, **self.params, **params})


class TestSubsampledLogistic(TestSubsampledSquared):
    quality_floor = 0.9  # a held-out item may be drawn as a negative
    params: ClassVar = {"loss": "logistic", "reg": 0.2}

    def test_given_negatives_and_drawn_ones_are_the_same_training(self):
        matrix, _ = block_matrix()
        drawn = self.fitted(matrix)
        given = self.fitted(matrix + drawn.sampled_.toarray(), ratio=0.0)
        assert np.array_equal(given.score_users(), drawn.score_users())

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
    params: ClassVar = {"loss": "squared", "biases": True, "scheme": "item-rarity"}


class TestEnsemble(SamplingContract):
    offers = frozenset({*ESTIMATORS["EnsembleMF"].offers, "n_threads", "dtype"})

    def make_model(self, **params):
        fixed = {"n_models": 3, "rank": 3, "reg": 0.1, "max_iter": 8, "random_state": 0}
        return EnsembleMF(**{**fixed, **params})


class TestBPR(RecommenderContract):
    offers = frozenset({*ESTIMATORS["BPR"].offers, "n_threads", "dtype"})
    fold_in_tolerance = 0.1  # steps on random triples, in training and in fold-in

    def make_model(self, **params):
        return BPR(**{"rank": 3, "max_iter": 150, "random_state": 0, **params})
