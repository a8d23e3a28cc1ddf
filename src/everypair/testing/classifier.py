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
from sklearn.exceptions import NotFittedError

from everypair.testing.classifier_basis import labelled_rows
from everypair.testing.classifier_edges import ClassifierEdges
from everypair.testing.journey import from_json_and_arrays
from everypair.testing.refusal import refused

FORMATS = ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")


@dataclass(frozen=True)
class Constant:
    """The same scores for every row."""

    labels: NDArray[np.float64]

    def scores(self, X: Any) -> NDArray[np.float64]:
        """One row of scores after the other."""
        return np.tile(self.labels, (X.shape[0], 1))


QUESTIONS = ("predict_scores", "decision_function", "predict_topk", "predict", "predict_proba")


class ClassifierContract(ClassifierEdges):
    """Subclass it, return the model from ``make_model`` and set the floor; every method named ``test_…`` is a test.

    ``make_model(**params)`` returns an unfitted model with a fixed seed, small enough for 60 rows of 6 features and
    6 labels; its class derives from :class:`~everypair.models.multilabel.base.MultiLabelClassifier`.
    ``quality_floor`` is the share of new rows whose own two labels come first, ``predict_floor`` the share of entries
    that ``predict`` gets right with the threshold learnt from six held-out rows. ``exact`` says whether training ends
    at the same point, but for rounding, where the same problem is written in another way (a row twice or with weight 2,
    float32 or float64); ``tolerance`` bounds how far apart scores may be that differ by rounding alone, as a share of
    their range. ``missing_labels`` says whether the model can learn from known labels only (``unlabeled="missing"``);
    one that cannot must refuse. Tests of a parameter (``dtype``, ``n_threads``) pass where the model has none.

    >>> from everypair.models.multilabel.rivals import PLST
    >>> class TestPLST(ClassifierContract):
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

    def test_probabilities_rise_with_scores(self) -> None:
        """Where there are probabilities they lie in [0, 1] and order as the scores do."""
        model = self.fitted()
        if not hasattr(model, "predict_proba"):
            return
        X, _ = labelled_rows(seed=1)
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
        if not self.takes("dtype"):
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
                self.fitted(X, Y, mask=known, **({"unlabeled": "missing"} if self.takes("unlabeled") else {}))
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

    def test_parameters_and_clone(self) -> None:
        """``get_params`` gives what ``set_params`` takes; a clone has the parameters and nothing that was learnt."""
        X, Y = labelled_rows()
        model = self.fitted()
        parameters = model.get_params()
        twin = clone(model)
        assert repr(twin) == repr(model)
        assert twin.get_params() == parameters
        assert not [name for name in vars(twin) if name.endswith("_")]
        assert type(model)().set_params(**parameters).get_params() == parameters
        assert np.array_equal(twin.fit(X, Y).predict_scores(X), model.predict_scores(X))
        with refused(ValueError, match="no_such_parameter"):
            model.set_params(no_such_parameter=1)

    def test_nothing_is_known_before_fit(self) -> None:
        """No fitted attribute before ``fit``, and every question is refused."""
        model = self.make_model()
        assert not [name for name in vars(model) if name.endswith("_")]
        for name in QUESTIONS:
            if hasattr(model, name):
                with refused(NotFittedError, match="not fitted yet"):
                    getattr(model, name)(labelled_rows()[0])

    def test_what_fit_tells(self) -> None:
        """``fit`` returns the model, which then knows its labels, features and threshold."""
        X, Y = labelled_rows()
        model = self.make_model()
        assert model.fit(X, Y) is model
        assert (model.n_labels_, model.n_features_in_) == (6, 6)
        assert np.array_equal(model.classes_, np.arange(6))
        assert isinstance(model.threshold_, float)
        assert not hasattr(model, "feature_names_in_")

    def test_a_model_is_its_parts(self) -> None:
        """Values that JSON can hold and named arrays make the same model again, to the last bit."""
        X, _ = labelled_rows()
        model = self.fitted()
        again = from_json_and_arrays(model)
        assert repr(again) == repr(model)
        assert (again.n_labels_, again.threshold_) == (model.n_labels_, model.threshold_)
        assert np.array_equal(again.predict_scores(X), model.predict_scores(X))
        assert np.array_equal(again.predict(X), model.predict(X))
        assert again.predict(X).dtype == model.predict(X).dtype
        assert from_json_and_arrays(again).to_parts().values == model.to_parts().values

    def test_refit_forgets(self) -> None:
        """A second ``fit`` gives what a fresh model gives, whatever the shape before."""
        X, Y = labelled_rows()
        other = np.hstack([X[:50], X[:50]]), sp.csr_array(np.hstack([Y[:50], Y[:50]]), dtype=np.float32)
        model, fresh = self.make_model().fit(*other).fit(X, Y), self.fitted()
        assert np.array_equal(model.predict_scores(X), fresh.predict_scores(X))
        assert model.threshold_ == fresh.threshold_
        assert model.predict(X).dtype == fresh.predict(X).dtype
        assert sorted(vars(model)) == sorted(vars(fresh))

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

    def test_same_seed_same_bits(self) -> None:
        """Two models with the same parameters are equal to the last bit."""
        X, _ = labelled_rows()
        one, two = self.fitted(), self.fitted()
        assert np.array_equal(one.predict_scores(X), two.predict_scores(X))
        assert one.threshold_ == two.threshold_

    def test_one_and_two_threads_give_the_same_bits(self) -> None:
        """The number of threads changes nothing, in training, scores, top labels and predictions."""
        if not self.takes("n_threads"):
            return
        random = np.random.default_rng(5)
        features, labels = labelled_rows()
        Y = np.tile(labels, (10, 1))  # several chunks of rows everywhere
        X = np.tile(features, (10, 1)) + 0.1 * random.random((600, 6))
        masks = [None, random.random(Y.shape) < 0.8] if self.missing_labels else [None]
        for mask in masks:
            params = {} if mask is None else {"unlabeled": "missing"}
            one, two = (self.fitted(X, Y, mask=mask, n_threads=threads, **params) for threads in (1, 2))
            assert np.array_equal(one.predict_scores(X), two.predict_scores(X))
            assert one.threshold_ == two.threshold_
            assert np.array_equal(one.predict(X), two.predict(X))
            for mine, other in zip(one.predict_topk(X), two.predict_topk(X)):
                assert np.array_equal(mine, other)

    def test_data_belong_to_the_caller(self) -> None:
        """``fit`` changes nothing in X, Y and weights (a dense X or Y may be read-only), and keeps none of them."""
        kinds: tuple[Any, ...] = np.array, sp.csr_array
        for kind in kinds:
            X, Y = map(kind, labelled_rows())
            weights = np.ones(60)
            arrays = [weights, *((X, Y) if kind is np.array else (X.data, Y.data, X.indices, Y.indices))]
            before = [array.copy() for array in arrays]
            for array in (X, Y) if kind is np.array else ():
                array.setflags(write=False)
            model = self.fitted(X, Y, sample_weight=weights)
            assert all(np.array_equal(array, copy) for array, copy in zip(arrays, before))
            fresh = labelled_rows(seed=1)[0]
            scores = model.predict_scores(fresh)
            for array in arrays:
                array.setflags(write=True)
                array[...] = 0
            assert np.array_equal(model.predict_scores(fresh), scores)
