"""Degree weights: by hand, of mean 1, the same in training, fold-in and explanation."""

import numpy as np
import pytest
import scipy.sparse as sp

from everypair import OneClassMF
from everypair.data.pairs import Pairs
from everypair.data.rows import StoredRows
from everypair.data.weighting import DegreeWeighting
from everypair.models.registry import ESTIMATORS
from everypair.testing.recommender import RecommenderContract, block_matrix


def matrix(seed=0):
    random = np.random.default_rng(seed)
    values = random.uniform(0.5, 2.0, (30, 20)) * (random.random((30, 20)) < np.linspace(0.05, 0.6, 20))
    values *= np.where(random.random(values.shape) < 0.1, -1, 1)
    values[4] = 0
    return values


def factors(values, exponent):
    degrees = np.count_nonzero(values, axis=1)[:, None] * np.count_nonzero(values, axis=0)
    with np.errstate(divide="ignore"):
        raw = np.where(values != 0, degrees.astype(float) ** -exponent, 0)
    return raw / raw[values != 0].mean()


@pytest.mark.parametrize("exponent", [0.0, 0.25, 1.0])
def test_weights_by_hand(exponent):
    values = matrix()
    pairs = Pairs.from_matrix(values, dtype=np.float64)
    weighted = DegreeWeighting.of(("degree", exponent), pairs).weighted(pairs)
    expected = values * factors(values, exponent)
    np.testing.assert_allclose(weighted.to_csr().toarray(), expected, atol=1e-12)
    by_column = sp.csc_array((weighted.columns.weights, weighted.columns.indices, weighted.columns.indptr), (30, 20))
    np.testing.assert_allclose(by_column.toarray(), np.abs(expected), atol=1e-12)
    assert weighted.disliked is pairs.disliked


def test_rows_are_weighted_as_in_training():
    values = matrix()
    pairs = Pairs.from_matrix(values, dtype=np.float64)
    weighting = DegreeWeighting.of(("degree", 0.3), pairs)
    rows = weighting.weighted_rows(StoredRows.of(sp.csr_array(values)), np.count_nonzero(values, axis=0))
    np.testing.assert_allclose(rows.tocsr().toarray(), values * factors(values, 0.3), atol=1e-12)
    alone = weighting.weighted_rows(StoredRows.of(sp.csr_array([[2.0, 0.0]])), np.array([0, 0]))
    np.testing.assert_allclose(alone.tocsr().toarray(), [[2 * weighting.scale, 0]])


def test_the_model_is_that_of_weighted_values():
    values = np.abs(matrix())
    fixed = {"rank": 3, "random_state": 0, "dtype": "float64", "negative_weight": 0.1}
    model = OneClassMF(weighting=("degree", 0.25), **fixed).fit(values)
    same = OneClassMF(**fixed).fit(values * factors(values, 0.25))
    np.testing.assert_allclose(model.score_users(), same.score_users(), rtol=1e-8, atol=1e-10)
    assert np.array_equal(model.interactions_.toarray(), values)  # what was given is kept


class TestContract(RecommenderContract):
    offers = frozenset({*ESTIMATORS["OneClassMF"].offers, "n_threads", "dtype"})

    def make_converging_model(self):
        return self.make_model(tol=1e-13, max_iter=1000, dtype="float64")

    def make_model(self, **params):
        return OneClassMF(**{"rank": 3, "max_iter": 40, "random_state": 0, "weighting": ("degree", 0.25), **params})


def test_fold_in_and_explanation_use_the_weights():
    values, _ = block_matrix()
    model = OneClassMF(
        rank=3, max_iter=500, tol=1e-14, random_state=0, weighting=("degree", 0.5), dtype="float64"
    ).fit(values)  # fmt: skip
    np.testing.assert_allclose(model.score_users(interactions=values), model.score_users(), atol=1e-4)
    folded = model.fold_in_items(values)
    np.testing.assert_allclose(model.user_factors_ @ folded.T, model.score_users(), atol=1e-4)
    why = model.explain(3, int(np.flatnonzero(values[3] == 0)[0]))
    base = model.explain(3, 20).base
    assert why.base + why.contributions.sum() == pytest.approx(why.score)
    assert np.isfinite(base)
    model.add_items(interactions=values[:, :1])
    assert np.isfinite(model.score_users(interactions=np.pad(values, ((0, 0), (0, 1))))).all()


@pytest.mark.parametrize("weighting", ["degree", ("degree",), ("rank", 0.5), ("degree", -1), ("degree", "a"), 0.5])
def test_other_weightings_are_refused(weighting):
    with pytest.raises(ValueError, match=r'"degree", γ\)'):
        OneClassMF(rank=2, weighting=weighting).fit(np.eye(3))
