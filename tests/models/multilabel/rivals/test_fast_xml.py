import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

import everypair
from everypair.kernels.fast_xml import sparse_logistic, split_by_ranking
from everypair.models.multilabel.rivals import FastXML
from everypair.models.multilabel.rivals.fast_xml import LabelTrees


def problem(n=120, d=10, n_labels=8):
    random = np.random.default_rng(0)
    X = random.random((n, d)) * (random.random((n, d)) < 0.5)
    scores = X @ random.normal(0, 1, (d, n_labels))
    return X, (scores >= np.quantile(scores, 0.75, axis=0)).astype(int)


def test_sparse_logistic_regression_is_that_of_another_solver():
    random = np.random.default_rng(1)
    X, sides = random.normal(0, 1, (80, 12)), np.where(random.random(80) < 0.4, 1.0, -1.0)
    X[random.random(X.shape) < 0.4] = 0
    costs = 0.5 + random.random(80)
    columns = sp.csc_array(X)
    w, grown = np.zeros(12), np.empty(80)
    sparse_logistic(columns.indptr.astype(np.int64), columns.indices, columns.data, sides, costs, 1000, 1e-12, w, grown)
    other = LogisticRegression(l1_ratio=1, C=1.0, solver="saga", fit_intercept=False, tol=1e-10, max_iter=20_000)
    expected = other.fit(X, sides, costs).coef_[0]
    np.testing.assert_allclose(w, expected, atol=1e-6)
    assert 0 < np.count_nonzero(w) < 12
    np.testing.assert_allclose(grown, np.exp(sides * (X @ w)), rtol=1e-9)


def test_no_row_is_better_on_the_other_side():
    _, Y = problem()
    labels = sp.csr_array(Y)
    ideal = np.concatenate([[np.inf], np.cumsum(1 / np.log2(2 + np.arange(8)))])
    scale = 1 / ideal[Y.sum(axis=1)]
    rows, sides = np.arange(120), np.empty(120)
    assert split_by_ranking(rows, labels.indptr, labels.indices, scale, 8, np.array([7], np.uint64), sides)
    gains = []
    for side in (-1, 1):
        sums = (scale[:, None] * Y)[sides == side].sum(axis=0)
        ranks = np.empty(8, int)
        ranks[np.argsort(-sums, kind="stable")] = np.arange(8)
        gains.append(Y @ (1 / np.log2(2 + ranks)))
    assert ((gains[1] - gains[0]) * sides >= -1e-12).all()


def leaf_of(trees, root, x):
    node = root
    while trees.children[node, 0] >= 0:
        own = slice(trees.indptr[node], trees.indptr[node + 1])
        node = trees.children[node, int(x[trees.indices[own]] @ trees.values[own] > 0)]
    return node


def test_scores_are_the_mean_labels_of_the_rows_of_a_leaf():
    X, Y = problem()
    weights = 0.5 + np.random.default_rng(3).random(120)
    model = FastXML(n_trees=3, random_state=0, threshold=0.5).fit(X, Y, weights)
    trees = model.state_.model
    rows = np.hstack([X, np.ones((120, 1))])
    expected = np.zeros(Y.shape)
    for root in trees.roots:
        leaves = np.array([leaf_of(trees, root, x) for x in rows])
        assert len(set(leaves)) > 3
        for leaf in set(leaves):
            members = leaves == leaf
            expected[members] += np.average(Y[members], axis=0, weights=weights[members])
    np.testing.assert_allclose(model.predict_scores(X), expected / 3, atol=1e-12)


def test_a_leaf_keeps_its_largest_labels():
    X, Y = problem()
    whole, few = (
        FastXML(n_trees=1, leaf_labels=count, largest_leaf=120, random_state=0, threshold=0.5).fit(X, Y)
        for count in (100, 3)
    )
    shares = Y.mean(axis=0)
    np.testing.assert_allclose(whole.predict_scores(X[:1])[0], shares)
    kept = np.sort(np.argsort(-shares, kind="stable")[:3])
    assert np.flatnonzero(few.predict_scores(X[:1])[0]).tolist() == kept.tolist()


def test_rows_that_cannot_be_split_are_one_leaf():
    _, Y = problem()
    model = FastXML(n_trees=2, random_state=0, threshold=0.5).fit(np.ones((120, 3)), Y)
    np.testing.assert_allclose(model.predict_scores(np.ones((1, 3)))[0], Y.mean(axis=0))


def test_files_keep_every_bit_and_trees_that_point_outside_are_refused(tmp_path):
    X, Y = problem()
    model = FastXML(n_trees=3, random_state=0, threshold=0.5).fit(X, Y)
    model.save(tmp_path / "trees.ep")
    np.testing.assert_array_equal(everypair.load(tmp_path / "trees.ep").predict_scores(X), model.predict_scores(X))
    trees = vars(model.state_.model)
    for name, wrong in (("children", 10**6), ("indices", 10**6), ("roots", -1), ("indptr", 5)):
        array = trees[name].copy()
        array.flat[0] = wrong
        with pytest.raises(ValueError, match="no trees"):
            LabelTrees(**{**trees, name: array})


def test_what_makes_no_sense_is_refused():
    X, Y = problem()
    for name, value in {"n_trees": 0, "largest_leaf": 0.5, "leaf_labels": 0, "cost": 0.0, "verbose": 1}.items():
        with pytest.raises(ValueError, match=f"{name} must be"):
            FastXML(**{name: value}).fit(X, Y)
