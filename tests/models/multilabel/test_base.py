import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from everypair.data.labels import Labels
from everypair.models.multilabel.base import LinearClassifier, MissingLabels
from everypair.models.multilabel.rivals.binary_relevance import LinearLabels
from everypair.models.multilabel.threshold import best_threshold
from everypair.models.parameters import Seeded, estimator, number, parameter


@estimator
class Regression(Seeded, MissingLabels, LinearClassifier):
    """The smallest honest subclass: ridge regression on known entries counted as they are."""

    reg: float = parameter(default=1.0, text="λ.", check=number(above=0))
    normalize: bool = parameter(default=False)

    def _fit(self, rows, parameters, random, callbacks):
        X, labels, sample_weight = self.seen_ = rows
        self.noise_ = random.standard_normal()
        dense = X.toarray() if sp.issparse(X) else X
        c = np.ones(len(dense)) if sample_weight is None else sample_weight
        gram = (dense.T * c) @ dense + self.reg * np.eye(dense.shape[1])
        weights = np.linalg.solve(gram, dense.T @ (c[:, None] * labels.positives.toarray())).astype(X.dtype)
        return LinearLabels(weights, n_iter=1)


def problem(n=600, d=8, labels=5, seed=0):
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, d))
    Y = (X @ random.standard_normal((d, labels)) + 0.5 * random.standard_normal((n, labels)) > 2).astype(int)
    return X, Y


X, Y = problem()


def test_a_subclass_gets_prepared_features_labels_and_weights():
    weights = np.arange(600) % 3
    model = Regression(normalize=True, threshold=0.5).fit(X, sp.csr_array(Y), sample_weight=weights)
    features, labels, given = model.seen_
    kept = weights > 0
    assert features.shape == (400, 9)
    np.testing.assert_allclose(features[:, :-1], X[kept] / np.linalg.norm(X[kept], axis=1, keepdims=True))
    np.testing.assert_array_equal(features[:, -1], 1)
    np.testing.assert_array_equal(labels.positives.toarray(), Y[kept])
    np.testing.assert_array_equal(given, weights[kept])
    assert (model.n_features_in_, model.n_labels_) == (8, 5)
    np.testing.assert_array_equal(model.classes_, range(5))


def test_sparse_features_stay_sparse_and_precision_is_kept():
    model = Regression().fit(sp.csr_matrix(X.astype(np.float32)), Y)
    features = model.seen_[0]
    assert isinstance(features, sp.csr_array)
    assert features.dtype == np.float32
    assert model.predict_scores(X.astype(np.float32)).dtype == np.float32


def test_the_learnt_threshold_beats_the_natural_one_on_new_rows():
    features, truth = problem(2000, seed=3)
    train, test = slice(0, 1000), slice(1000, 2000)
    learnt = Regression().fit(features[train], truth[train])
    natural = Regression(threshold=0.5).fit(features[train], truth[train])
    assert natural.threshold_ == 0.5
    f1 = [f1_score(truth[test], m.predict(features[test]), average="micro") for m in (learnt, natural)]
    assert f1[0] > f1[1] + 0.02


def test_the_threshold_changes_nothing_else_and_is_the_same_at_every_fit():
    models = [Regression(random_state=5).fit(X, Y) for _ in range(2)]
    fixed = Regression(random_state=5, threshold=0.2).fit(X, Y)
    assert models[0].threshold_ == models[1].threshold_ != 0.5
    np.testing.assert_array_equal(models[0].state_.model.weights, fixed.state_.model.weights)
    assert models[0].noise_ == fixed.noise_
    assert models[0].seen_[0].shape[0] == len(X)  # the model that stays has seen all rows


def test_few_rows_take_the_natural_threshold():
    assert Regression().fit(X[:49], Y[:49]).threshold_ == 0.5
    assert Regression().fit(X[:50], Y[:50]).threshold_ != 0.5


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_best_threshold_is_the_best_of_all(missing, weighted):
    random = np.random.default_rng(0)
    for _ in range(20):
        scores = random.integers(0, 12, (6, 5)) / 10  # with ties
        truth = random.random((6, 5)) < scores / 2
        truth[0, 0] = True
        known = random.random((6, 5)) < 0.6 if missing else np.ones((6, 5), bool)
        known[0, 0] = True
        weights = random.integers(1, 4, 6).astype(float) if weighted else np.ones(6)
        labels = Labels.from_y(truth, "missing", known)

        def f1(cut, scores=scores, known=known, truth=truth, weights=weights):
            predicted, present = (weights @ (known & (scores > cut))).sum(), (weights @ (known & truth)).sum()
            return 2 * (weights @ (known & truth & (scores > cut))).sum() / (predicted + present)

        best = max(f1(cut) for cut in np.arange(-0.05, 1.3, 0.1))
        assert f1(best_threshold(scores, labels, weights if weighted else None)) == pytest.approx(best)


def test_a_threshold_is_half_way_to_the_next_score():
    truth = Labels.from_y([[1, 0, 0], [1, 0, 0]])
    assert best_threshold(np.array([[0.9, 0.3, 0.1], [0.7, 0.2, 0.0]]), truth) == pytest.approx(0.5)
    known = Labels.from_y([[1.0, np.nan, 0.0], [1.0, 0.0, np.nan]], "missing")  # 0.3 is of a label that is not known
    assert best_threshold(np.array([[0.9, 0.3, 0.1], [0.7, 0.2, 0.6]]), known) == pytest.approx(0.45)
    one, next_to_it = np.float32(0.5), np.nextafter(np.float32(0.5), np.float32(0))
    near = best_threshold(np.array([[one, next_to_it]], np.float32), Labels.from_y([[1, 0]]))
    assert next_to_it <= near < one
    assert best_threshold(np.array([[0.5, 2.5]]), Labels.from_y([[1, 1]])) == pytest.approx(-0.5)  # nothing below


def test_values_that_are_no_numbers_are_refused_in_a_sentence_of_its_own():
    for value, name in ((np.nan, "NaN"), (np.inf, "infinity")):
        with pytest.raises(ValueError, match=rf"^X contains {name}: drop such rows, or fill values in"):
            Regression().fit(np.where(X > 1.0, value, X), Y)


def test_missing_labels_reach_the_subclass():
    mask = np.random.default_rng(1).random(Y.shape) < 0.5
    model = Regression(unlabeled="missing").fit(X, Y, mask=mask)
    assert model.seen_[1].known.nnz == mask.sum()


def test_in_a_pipeline_with_a_grid_search_and_data_frames():
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(8)])
    search = GridSearchCV(
        make_pipeline(StandardScaler(), Regression(n_threads=1)),
        {"regression__reg": [0.1, 1e4]},
        scoring="f1_micro",
        cv=KFold(2),
    ).fit(frame, pd.DataFrame(Y))
    assert search.best_params_ == {"regression__reg": 0.1}
    model = Regression().fit(frame, Y, sample_weight=pd.Series(np.ones(len(X))))
    np.testing.assert_array_equal(model.feature_names_in_, frame.columns)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[frame.columns[::-1]])
