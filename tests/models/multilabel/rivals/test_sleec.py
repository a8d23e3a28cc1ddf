import numpy as np
import pytest
import scipy.sparse as sp

import everypair
from everypair.models.multilabel.rivals import SLEEC, sleec


def problem(n=90, d=12, n_labels=10):
    random = np.random.default_rng(0)
    X = random.random((n, d)) * (random.random((n, d)) < 0.6)
    scores = X @ random.normal(0, 1, (d, n_labels))
    return X, (scores >= np.quantile(scores, 0.7, axis=0)).astype(int)


def unit(Y):
    return Y / np.maximum(np.linalg.norm(Y, axis=1, keepdims=True), 1)


def test_products_of_the_nearest_rows_are_kept():
    _, Y = problem()
    products = sleec.label_products(sp.csr_array(Y), 10, 1)
    full = unit(Y) @ unit(Y).T
    kept = np.zeros(full.shape, bool)
    kept[np.repeat(np.arange(90), np.diff(products.indptr)), products.indices] = True
    np.testing.assert_allclose(products.toarray()[kept], full[kept])
    assert (kept == kept.T).all()
    for row in range(90):
        assert kept[row].sum() >= 10
        assert full[row][kept[row]].max() == full[row].max()
        assert np.sort(full[row][kept[row]])[-10:].min() >= np.sort(full[row])[-10:].min()


def test_singular_value_projection_never_raises_the_objective(monkeypatch):
    _, Y = problem()
    products = sleec.label_products(sp.csr_array(Y), 15, 1)
    rows = np.repeat(np.arange(90), np.diff(products.indptr))
    objectives = []
    for projections in (1, 2, 5, 20, 60):
        monkeypatch.setattr(sleec, "PROJECTIONS", projections)
        Z = sleec.embedding(sp.csr_array(Y), 4, 15, np.random.default_rng(0), 1)
        gap = products.data - sleec.pair_products(Z, rows, products.indices)
        objectives.append(float(gap @ gap))
    assert (np.diff(objectives) < 0).all()


def test_labels_of_low_rank_are_embedded_exactly(monkeypatch):
    monkeypatch.setattr(sleec, "PROJECTIONS", 5)
    Y = np.eye(4, dtype=int)[np.random.default_rng(0).integers(4, size=60)]
    Z = sleec.embedding(sp.csr_array(Y), 4, 60, np.random.default_rng(0), 1)
    np.testing.assert_allclose(Z @ Z.T, Y @ Y.T, atol=1e-9)


def test_regression_is_at_the_optimum(monkeypatch):
    monkeypatch.setattr(sleec, "SPLITS", 3000)
    random = np.random.default_rng(0)
    X, Z = random.normal(0, 1, (30, 5)), random.normal(0, 1, (30, 3))

    def objective(V):
        return np.square(Z - X @ V).sum() + 0.7 * np.square(V).sum() + 0.5 * np.abs(X @ V).sum()

    V = sleec.sparse_regression(X, Z, 0.7, 0.5)
    for _ in range(200):
        assert objective(V + 1e-3 * random.normal(0, 1, V.shape)) > objective(V)
    ridge = sleec.sparse_regression(X, Z, 0.7, 0.0)
    np.testing.assert_allclose(ridge, np.linalg.solve(X.T @ X + 0.7 * np.eye(5), X.T @ Z))


def test_scores_are_the_mean_labels_of_the_nearest_rows():
    X, Y = problem()
    model = SLEEC(rank=4, n_clusters=2, n_learners=2, neighbours=5, random_state=0, threshold=0.5).fit(X[:80], Y[:80])
    learnt = model.state_.model
    rows = np.hstack([X[80:], np.ones((10, 1))]) / 1
    rows[:, :-1] /= np.linalg.norm(X[80:], axis=1, keepdims=True)
    expected = np.zeros((10, 10))
    for centers, clusters in zip(learnt.centers, learnt.clusters):
        assert sum(cluster.labels.shape[0] for cluster in clusters) == 80
        for row, x in enumerate(rows):
            cluster = clusters[np.linalg.norm(centers - x, axis=1).argmin()]
            distances = np.linalg.norm(cluster.embedded - x @ cluster.regressor, axis=1)
            expected[row] += cluster.labels.toarray()[np.argsort(distances)[:5]].mean(axis=0)
    np.testing.assert_allclose(model.predict_scores(X[80:]), expected / 2, atol=1e-12)


def test_files_keep_every_bit(tmp_path):
    X, Y = problem()
    model = SLEEC(rank=4, n_clusters=2, random_state=0, threshold=0.5).fit(X, Y)
    model.save(tmp_path / "rows.ep")
    np.testing.assert_array_equal(everypair.load(tmp_path / "rows.ep").predict_scores(X), model.predict_scores(X))


def test_what_makes_no_sense_is_refused():
    X, Y = problem()
    bad = {"rank": 0, "n_clusters": 0, "n_learners": 0, "neighbours": 0, "kept_neighbours": 0, "reg": 0.0, "l1_reg": -1}
    for name, value in bad.items():
        with pytest.raises(ValueError, match=f"{name} must be"):
            SLEEC(**{name: value}).fit(X, Y)
