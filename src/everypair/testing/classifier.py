"""The tests every multi-label classifier passes, for subclasses to run: known answers, missing labels, weights, bits.

Nothing here imports pytest: a subclass whose name begins with ``Test`` in a test file is collected by it. Call
``pytest.register_assert_rewrite("everypair.testing")`` before the import to see the values of a failed assertion.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone

from everypair.testing.classifier_basis import labelled_rows
from everypair.testing.classifier_edges import ClassifierEdges
from everypair.testing.contract import FORMATS, assert_same
from everypair.testing.refusal import refused


@dataclass(frozen=True)
class Constant:
    """The same scores for every row."""

    labels: NDArray[np.float64]

    def scores(self, X: Any) -> NDArray[np.float64]:
        """One row of scores after the other."""
        return np.tile(self.labels, (X.shape[0], 1))


class ClassifierContract(ClassifierEdges):
    """Subclass it, return the model from ``make_model`` and set the floor; every method named ``test_…`` is a test.

    ``make_model(**params)`` returns an unfitted model with a fixed seed, small enough for 60 rows of 6 features and
    6 labels; its class derives from :class:`~everypair.models.multilabel.base.MultiLabelClassifier`.
    ``quality_floor`` is the share of new rows whose own two labels come first, ``predict_floor`` the share of entries
    that ``predict`` gets right with the threshold learnt from six held-out rows. ``exact`` says whether training ends
    at the same point, but for rounding, where the same problem is written in another way (a row twice or with weight 2,
    float32 or float64); ``tolerance`` bounds how far apart scores may be that differ by rounding alone, as a share of
    their range. ``missing_labels`` says whether the model can learn from known labels only (``unlabeled="missing"``);
    one that cannot must refuse. ``offers`` names which of ``predict_proba`` and the parameters ``dtype``,
    ``random_state``, ``rank``, ``unlabeled``, ``normalize``, ``fit_intercept`` and ``n_threads`` it has.

    >>> from everypair.models.multilabel.rivals import PLST
    >>> class TestPLST(ClassifierContract):
    ...     offers = ClassifierContract.offers | {"rank"}
    ...     missing_labels = False
    ...     def make_model(self, **params):
    ...         return PLST(**{"rank": 3, "reg": 0.1, **params})
    >>> TestPLST().test_own_labels_come_first()
    """

    # what is predicted

    def test_own_labels_come_first(self) -> None:
        """Rows that were not in training have the labels of their kind before all others."""
        assert self.share_first(self.fitted(), *labelled_rows(seed=1)) >= self.quality_floor

    def test_own_labels_are_predicted(self) -> None:
        """With the threshold that the model learns, ``predict`` tells which labels rows have, and ``score`` says so."""
        X, Y = labelled_rows(seed=1)
        model = self.fitted()
        assert np.mean(model.predict(X) == Y) >= self.predict_floor
        assert model.score(X, Y) == np.mean((model.predict(X) == Y).all(axis=1))

    def test_scores_top_labels_and_labels_agree(self) -> None:
        """``predict_topk`` ranks ``predict_scores``, ``predict`` cuts them, ``decision_function`` is another name."""
        X, _ = labelled_rows(seed=1)
        model = self.fitted()
        scores = model.predict_scores(X)
        assert (scores.shape, scores.dtype.kind) == ((60, 6), "f")
        assert np.isfinite(scores).all()
        labels, best = model.predict_topk(X, k=4)
        assert (labels.dtype, best.dtype) == (np.int32, scores.dtype)
        assert np.array_equal(labels, np.argsort(-scores, axis=1, kind="stable")[:, :4])
        assert np.array_equal(best, -np.sort(-scores, axis=1)[:, :4])
        assert np.array_equal(model.predict(X), scores > model.threshold_)
        assert np.array_equal(model.decision_function(X), scores)
        assert model.predict_topk(X)[0].shape == (60, 5)

    def test_answers_as_tables(self) -> None:
        """``output`` and ``set_output`` give the same numbers in columns of labels, or line by line."""
        X, Y = labelled_rows(seed=1)
        model = self.fitted()
        asked = ["predict", "predict_scores"] + ["predict_proba"] * ("predict_proba" in self.offers)
        plain = {name: getattr(model, name)(X) for name in asked}
        labels, best = model.predict_topk(X, k=4)
        tables = {name: getattr(model, name)(X, output="arrow") for name in asked}
        listed = model.predict_topk(X, k=4, output="arrow")
        score, chosen = model.score(X, Y), clone(model).set_output(transform="arrow")
        chosen.state_, chosen.n_features_in_ = model.state_, model.n_features_in_
        for name, table in tables.items():
            assert table.column_names == [str(label) for label in model.classes_]
            assert np.array_equal(np.column_stack(table.columns), plain[name])
            assert clone(chosen)._sklearn_output_config == {"transform": "arrow"}
            assert getattr(chosen, name)(X) == table
        assert listed["row"].to_pylist() == np.repeat(np.arange(60), 4).tolist()
        assert listed["label"].to_pylist() == labels.ravel().tolist()
        assert listed["score"].to_pylist() == best.ravel().tolist()
        assert listed["rank"].to_pylist() == [1, 2, 3, 4] * 60
        assert isinstance(chosen.decision_function(X), np.ndarray)
        assert chosen.score(X, Y) == score
        with refused(ValueError, match="output must be one of 'default', 'pandas'"):
            model.predict(X, output="excel")

    def test_probabilities_rise_with_scores(self) -> None:
        """Where there are probabilities they lie in [0, 1] and order as the scores do."""
        if "predict_proba" not in self.offers:
            return
        X, _ = labelled_rows(seed=1)
        model = self.fitted()
        probabilities, scores = model.predict_proba(X), model.predict_scores(X)
        assert probabilities.shape == (60, 6)
        assert (probabilities >= 0).all()
        assert (probabilities <= 1).all()
        assert (np.diff(probabilities.ravel()[np.argsort(scores, axis=None)]) >= 0).all()

    def test_ties_rank_by_ascending_label(self) -> None:
        """Equal scores rank by label, all of them where the model cannot tell any two apart."""
        model = self.fitted()
        X, _ = labelled_rows()
        model.state_ = replace(model.state_, model=Constant(np.zeros(6)))
        assert np.array_equal(model.predict_topk(X, k=6)[0], np.tile(np.arange(6), (60, 1)))
        model.state_ = replace(model.state_, model=Constant(np.array([0.0, 1.0, 0.0, 1.0, 0.0, 1.0])))
        assert np.array_equal(model.predict_topk(X, k=4)[0], np.tile([1, 3, 5, 0], (60, 1)))

    def test_padding_after_the_last_label(self) -> None:
        """−1 with −inf where more labels are asked for than there are."""
        labels, scores = self.fitted().predict_topk(labelled_rows()[0], k=8)
        assert (np.sort(labels[:, :6], axis=1) == np.arange(6)).all()
        assert np.isfinite(scores[:, :6]).all()
        assert (labels[:, 6:] == -1).all()
        assert np.isneginf(scores[:, 6:]).all()

    def test_one_row_is_answered_as_one_of_many(self) -> None:
        """The answer of a row does not depend on the rows it is asked with."""
        X, _ = labelled_rows(seed=1)
        model = self.fitted()
        many = np.tile(X, (10, 1))
        scores = model.predict_scores(many)
        for row in (0, 59, 300):
            self.assert_close(model.predict_scores(many[[row]]), scores[[row]])
            assert np.array_equal(model.predict(many[[row]]), model.predict(many)[[row]])
        self.assert_close(scores[-60:], scores[:60])

    # the same problem written in another way

    def test_features_and_labels_in_any_form(self) -> None:
        """Every sparse format, dense arrays and lists, integers and booleans; ``predict`` answers in the form of Y."""
        X, Y = labelled_rows()
        scores = self.fitted(X, Y, threshold=0.0).predict_scores(X)
        cut = float(np.mean(scores))
        rows, labels = sp.csr_array(X), sp.csr_array(Y)
        forms = [(rows.asformat(name), labels.asformat(name)) for name in FORMATS] + [
            (sp.csr_matrix(X), sp.csr_matrix(Y)), (np.asfortranarray(X), np.asfortranarray(Y)), (X, Y.astype(bool)),
            (X.tolist(), Y.tolist()), (X, labels.astype(bool)), (rows, Y.astype(np.int8)), (rows, labels.astype(float)),
        ]  # fmt: skip
        for features, truth in forms:
            model = self.fitted(features, truth, threshold=cut)
            if features is X:
                assert np.array_equal(model.predict_scores(X), scores), repr(truth)[:60]
            self.assert_close(model.predict_scores(features), scores)
            predicted = model.predict(features)
            assert sp.issparse(predicted) == sp.issparse(truth)
            assert predicted.dtype == (Y if isinstance(truth, list) else truth).dtype
            assert np.array_equal(sp.csr_array(predicted).toarray(), scores > cut)

    def test_numbers_of_any_type(self) -> None:
        """Integers and booleans are the same numbers; float32 features give about what float64 ones give."""
        X, Y = labelled_rows()
        for whole, dtypes in ((np.round(4 * X), (np.int8, np.int64)), (1.0 * (X > 0.5), (bool,))):
            expected = self.fitted(whole, threshold=0.0).predict_scores(whole)
            for dtype in dtypes:
                same = whole.astype(dtype)
                assert np.array_equal(self.fitted(same, threshold=0.0).predict_scores(same), expected), dtype
        single = self.fitted(X.astype(np.float32), threshold=0.0)
        scores = single.predict_scores(X.astype(np.float32))
        assert scores.dtype.kind == "f"
        assert self.share_first(single, X.astype(np.float32), Y) >= self.quality_floor
        if self.exact:
            double = self.fitted(threshold=0.0).predict_scores(X)
            assert np.abs(scores - double).max() <= 0.01 * np.ptp(double)

    def test_float32_and_float64(self) -> None:
        """Where the type of the model can be chosen, scores have it and say about the same."""
        if "dtype" not in self.offers:
            return
        X, _ = labelled_rows()
        single, double = (self.fitted(dtype=dtype, threshold=0.0).predict_scores(X) for dtype in ("float32", "float64"))
        assert (single.dtype, double.dtype) == (np.float32, np.float64)
        assert np.abs(single - double).max() <= 0.01 * np.ptp(double)

    # weights of rows

    def test_a_row_of_weight_zero_is_left_out(self) -> None:
        """To the last bit, threshold included."""
        X, Y = labelled_rows()
        kept = np.arange(60) % 7 > 0
        Y[~kept] = 1 - Y[~kept]
        weighted = self.fitted(X, Y, sample_weight=kept.astype(float).tolist())
        without = self.fitted(X[kept], Y[kept], sample_weight=np.ones(kept.sum()))
        assert np.array_equal(weighted.predict_scores(X), without.predict_scores(X))
        assert weighted.threshold_ == without.threshold_

    def test_a_row_of_weight_two_is_that_row_twice(self) -> None:
        """Where training is exact; and where the weights say something, they change the model."""
        X, Y = labelled_rows()
        Y[::9] = 1 - Y[::9]
        counts = 1 + np.arange(60) % 3
        weighted = self.fitted(X, Y, sample_weight=counts, threshold=0.0).predict_scores(X)
        plain = self.fitted(X, Y, threshold=0.0).predict_scores(X)
        assert not np.allclose(weighted, plain, rtol=0, atol=0.01 * np.ptp(plain))
        if self.exact:
            twice = self.fitted(np.repeat(X, counts, axis=0), np.repeat(Y, counts, axis=0), threshold=0.0)
            self.assert_close(weighted, twice.predict_scores(X))

    # labels that are not known

    def known_entries(self) -> NDArray[np.bool_]:
        """Two thirds of the entries."""
        return np.random.default_rng(2).random((60, 6)) < 2 / 3

    def test_missing_labels_in_three_ways(self) -> None:
        """A mask, NaN in a dense Y and entries not stored in a sparse one say the same, and what they hide is hidden.

        A model that cannot learn from missing labels refuses them.
        """
        X, Y = labelled_rows()
        known = self.known_entries()
        if not self.missing_labels:
            with refused(ValueError, match="missing"):
                self.fitted(X, Y, mask=known, **({"unlabeled": "missing"} if "unlabeled" in self.offers else {}))
            return
        stored = sp.csr_array((Y[known], np.nonzero(known)), shape=Y.shape)  # explicit zeros are known negatives
        expected = self.fitted(X, Y, mask=known, unlabeled="missing")
        ways: list[dict[str, Any]] = [
            {"Y": np.where(known, Y, np.nan)},
            {"Y": stored},
            {"Y": np.where(known, Y, 1 - Y), "mask": known},
            {"Y": sp.csr_array(Y), "mask": sp.csr_array(known)},
        ]
        for way in ways:
            model = self.fitted(X, **way, unlabeled="missing")
            assert np.array_equal(model.predict_scores(X), expected.predict_scores(X)), way
            assert model.threshold_ == expected.threshold_

    def test_missing_labels_are_learnt_from_the_known_ones(self) -> None:
        """With a third of the entries unknown, own labels of new rows still come first."""
        if self.missing_labels:
            model = self.fitted(mask=self.known_entries(), unlabeled="missing")
            assert self.share_first(model, *labelled_rows(seed=1)) >= self.quality_floor

    def test_unknown_is_not_negative(self) -> None:
        """Half of the positives hidden: called unknown they cost nothing, called negative they pull scores down."""
        if not self.missing_labels:
            return
        X, Y = labelled_rows()
        hidden = (Y == 1) & (np.random.default_rng(3).random(Y.shape) < 0.5)
        unknown = self.fitted(X, np.where(hidden, np.nan, Y), unlabeled="missing").predict_scores(X)
        negative = self.fitted(X, np.where(hidden, 0, Y)).predict_scores(X)
        assert np.mean(unknown[hidden]) > np.mean(negative[hidden])

    def test_all_labels_known_is_none_missing(self) -> None:
        """A mask that hides nothing changes nothing."""
        if self.missing_labels:
            X, _ = labelled_rows()
            everything = self.fitted(mask=np.ones((60, 6), bool), unlabeled="missing")
            assert np.array_equal(everything.predict_scores(X), self.fitted(unlabeled="missing").predict_scores(X))

    # the threshold

    def test_threshold_cuts_and_changes_nothing_else(self) -> None:
        """A number is taken as it is: the lower, the more labels; scores are those of any other threshold."""
        X, _ = labelled_rows()
        learnt = self.fitted()
        scores = learnt.predict_scores(X)
        for cut in (-np.inf, float(np.median(scores)), np.inf):
            model = self.fitted(threshold=cut)
            assert model.threshold_ == cut
            assert np.array_equal(model.predict_scores(X), scores)
            assert np.array_equal(model.predict(X), scores > cut)

    def test_few_rows_have_a_threshold_too(self) -> None:
        """With too few rows to hold any out the model still says which labels it predicts."""
        X, Y = labelled_rows()
        model = self.fitted(X[::4], Y[::4])
        assert np.isfinite(model.threshold_)
        assert np.array_equal(model.predict(X), model.predict_scores(X) > model.threshold_)

    # scikit-learn's contract

    def test_what_fit_tells(self) -> None:
        """``fit`` returns the model, which then knows its labels, features and threshold."""
        X, Y = labelled_rows()
        model = self.make_model()
        assert model.fit(X, Y) is model
        assert (model.n_labels_, model.n_features_in_) == (6, 6)
        assert np.array_equal(model.classes_, np.arange(6))
        assert isinstance(model.threshold_, float)
        assert "feature_names_in_" not in vars(model)

    def test_feature_names(self) -> None:
        """Names of a data frame's columns are kept, and other names are refused; only where pandas is installed."""
        if find_spec("pandas") is None:
            return
        pandas = import_module("pandas")
        X, Y = labelled_rows()
        names = ["soil", "rain", "sun", "wind", "frost", "shade"]
        frame = pandas.DataFrame(X, columns=names)
        model = self.fitted(frame, pandas.DataFrame(Y))
        assert model.feature_names_in_.tolist() == names
        self.assert_close(model.predict_scores(frame), self.fitted().predict_scores(X))
        with refused(ValueError, match="feature names"):
            model.predict(frame[names[::-1]])

    # same input, same bits

    def test_threads_and_missing_labels(self) -> None:
        """The number of threads changes nothing where a fifth of the labels is unknown."""
        if not self.missing_labels:
            return
        data = self.large_data()
        data["mask"] = np.random.default_rng(6).random(data["y"].shape) < 0.8
        one, two = (self.make_model(unlabeled="missing", n_threads=threads).fit(**data) for threads in (1, 2))
        assert_same(self.answers(one), self.answers(two))
