"""Tests of every multi-label classifier at the edge: labels, rows and tables with nothing in them, and bad input."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from everypair.testing.classifier_basis import ClassifierBasis, labelled_rows
from everypair.testing.journey import from_json_and_arrays
from everypair.testing.refusal import refused


class ClassifierEdges(ClassifierBasis):
    """What must be answered although it is odd, and what must be refused with a sentence."""

    # data at the edge

    def test_labels_that_nobody_or_everybody_has(self) -> None:
        """Finite answers; a label without rows never comes first, one of all rows always does."""
        X, Y = labelled_rows()
        nobody = np.hstack([Y, np.zeros((60, 1), int)])
        model = self.fitted(X, nobody)
        assert np.isfinite(model.predict_scores(X)).all()
        assert self.share_first(model, X, nobody) >= self.quality_floor
        everybody = self.fitted(X, np.hstack([np.ones((60, 1), int), Y]))
        assert np.isfinite(everybody.predict_scores(X)).all()
        labels, _ = everybody.predict_topk(X, k=3)
        assert np.mean((labels == 0).any(axis=1)) >= self.quality_floor

    def test_one_label_and_one_feature(self) -> None:
        """The smallest tables are tables too."""
        X, Y = labelled_rows()
        small = {"rank": 1} if "rank" in self.offers else {}
        model = self.fitted(X, Y[:, :1], **small)
        assert model.predict_scores(X).shape == model.predict(X).shape == (60, 1)
        assert np.array_equal(model.predict_topk(X, k=1)[0], np.zeros((60, 1)))
        if "predict_proba" in self.offers:
            assert model.predict_proba(X).shape == (60, 1)
        model = self.fitted(X[:, :1], Y, **small)
        assert model.predict(X[:, :1]).shape == (60, 6)
        assert np.isfinite(model.predict_scores(X[:, :1])).all()

    def test_rows_without_features_or_labels(self) -> None:
        """They are learnt from and answered with finite scores, and the rest is as good as without them."""
        X, Y = labelled_rows()
        X[[0, 59]], Y[[1, 30]] = 0, 0
        for kind in (np.array, sp.csr_array):
            model = self.fitted(kind(X), kind(Y))
            assert np.isfinite(model.predict_scores(kind(np.zeros((2, 6))))).all()
            assert self.share_first(model, *labelled_rows(seed=1)) >= self.quality_floor

    def test_labels_by_name(self) -> None:
        """Lists of strings give the bits of their matrix, and names where that has positions."""
        X, Y = labelled_rows()
        names = np.array(["ämter", "b", "c", "d", "e", "f"], object)
        lists = [names[row > 0].tolist()[::-1] for row in Y]
        model = self.fitted(X, lists)
        assert sorted(names) == model.classes_.tolist()
        order = np.argsort(names)
        plain = self.fitted(X, sp.csr_array(Y[:, order]))
        assert np.array_equal(model.predict_scores(X), plain.predict_scores(X))
        found, scores = model.predict_topk(X, k=8)
        places, expected = plain.predict_topk(X, k=8)
        assert np.array_equal(found[:, :6], model.classes_[places[:, :6]])
        assert (found[:, 6:] == np.array(None)).all()
        assert np.array_equal(scores, expected)
        assert model.score(X, lists) == plain.score(X, Y[:, order])
        assert from_json_and_arrays(model).classes_.tolist() == sorted(names)
        with refused(ValueError, match="1 unknown label: 'z'"):
            model.score(X[:1], [["z"]])

    # what is refused

    def test_bad_features_are_refused(self) -> None:
        """In ``fit`` and in every question: values, shapes and types that cannot be meant; the model stays."""
        X, Y = labelled_rows()
        model = self.fitted()
        before = model.predict_scores(X)
        asks = [lambda bad: model.fit(bad, Y), model.predict, model.predict_scores, model.predict_topk]
        for ask in asks:
            with refused(ValueError, match="contains NaN"):
                ask(np.where(X > 1.2, np.nan, X))
            with refused(ValueError, match="contains infinity"):
                ask(np.where(X > 1.2, np.inf, X))
            with refused(ValueError, match="contains NaN"):
                ask(sp.csr_array(np.where(X > 1.2, np.nan, X)))
            with refused(ValueError, match="Reshape your data"):
                ask(X[0])
            with refused(ValueError, match=r"0 sample\(s\)"):
                ask(X[:0])
            with refused(ValueError, match=r"0 feature\(s\)"):
                ask(X[:, :0])
            with refused(ValueError, match="convert string"):
                ask([["anna", "bread"]])
            with refused(ValueError, match="Complex data not supported"):
                ask(1j * X)
        for ask in asks[1:]:
            with refused(ValueError, match="X has 4 features, but .* is expecting 6"):
                ask(X[:, :4])
        with refused(ValueError, match="10 rows of X and 60 of Y"):
            model.fit(X[:10], Y)
        assert np.array_equal(model.predict_scores(X), before)

    def test_bad_labels_are_refused(self) -> None:
        """Whatever is no indicator matrix of zeros and ones; a failed fit keeps the model."""
        X, Y = labelled_rows()
        model = self.fitted()
        before = model.predict_scores(X), model.threshold_
        bad_labels = [
            (None, "requires y"), (Y[:, 0], "2-D"), (Y[:40], "60 rows of X and 40 of Y"), (Y - 1, "negative values"),
            (2 * Y, "zeros and ones"), (0 * Y, "nothing to learn"), (np.where(X > 1.2, np.nan, Y), "NaN"),
            (np.where(Y > 0, "yes", "no"), "Unknown label type"), (Y[:, :0], "at least one row and one label"),
            (sp.csr_array(2 * Y), "zeros and ones"), (sp.csr_array(np.where(X > 1.2, np.nan, Y)), "NaN"),
        ]  # fmt: skip
        for bad, sentence in bad_labels:
            with refused(ValueError, match=sentence):
                model.fit(X, bad)
        if self.missing_labels:
            with refused(ValueError, match='needs unlabeled="missing"'):
                self.fitted(mask=Y > 0)
            with refused(ValueError, match="shape of Y"):
                self.fitted(mask=Y[:3] > 0, unlabeled="missing")
            with refused(ValueError, match="nothing to learn"):
                self.fitted(mask=Y == 0, unlabeled="missing")
        assert np.array_equal(model.predict_scores(X), before[0])
        assert model.threshold_ == before[1]

    def test_bad_weights_and_numbers_are_refused(self) -> None:
        """Weights of rows, numbers of top labels, and parameters that every classifier has."""
        X, Y = labelled_rows()
        model = self.fitted()
        before = model.predict_scores(X)
        bad_weights = [
            (np.ones(3), "one weight per row"), (np.ones((60, 1)), "one weight per row"), (-np.ones(60), "negative"),
            (np.full(60, np.nan), "finite"), (np.zeros(60), "zero for every row"),
        ]  # fmt: skip
        for weights, sentence in bad_weights:
            with refused(ValueError, match=sentence):
                model.fit(X, Y, sample_weight=weights)
        without = Y * (np.arange(60) >= 24)[:, None]  # only rows without a label count
        with refused(ValueError, match="nothing to learn"):
            model.fit(X, without, sample_weight=1.0 * (np.arange(60) < 24))
        assert np.array_equal(model.predict_scores(X), before)
        for k in (0, -1, 2.5, True, "two"):
            with refused(ValueError, match="k must be an integer"):
                model.predict_topk(X, k=k)
        bad_parameters = {
            "threshold": ("best", np.nan, None), "normalize": ("yes", 1), "fit_intercept": (None,),
            "unlabeled": ("no", None), "n_threads": (0, 1.5), "random_state": (-1, "seed"),
        }  # fmt: skip
        for name in bad_parameters.keys() - (self.optional - self.offers):
            for value in bad_parameters[name]:
                with refused(ValueError, TypeError, match=f"{name} must be"):
                    self.fitted(**{name: value})
