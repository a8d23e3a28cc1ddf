"""Every multi-label classifier passes the contract kit that ships in the package."""

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
import scipy.sparse as sp

from everypair import KernelLabels, MultiLabelMF
from everypair.models.multilabel import Kernel
from everypair.models.multilabel.rivals import (
    CPLST,
    PLST,
    SLEEC,
    WSABIE,
    BayesianCompressedSensing,
    BinaryRelevance,
    CompressedSensing,
    FastXML,
    LabelCCA,
)
from everypair.testing import ClassifierContract, labelled_rows

COMMON = ClassifierContract.offers | {"unlabeled"}


class MFContract(ClassifierContract):
    offers = COMMON | {"predict_proba", "dtype", "random_state", "rank"}
    options: ClassVar = {}
    tolerance = 1e-3  # single precision

    def make_model(self, **params):
        fixed = {"rank": 3, "reg": 0.3, "max_iter": 2, "random_state": 0}
        return MultiLabelMF(**{**fixed, **self.options, **params})


class TestLogistic(MFContract):
    pass


class TestSquareOfNegatives(MFContract):
    options: ClassVar = {"negative_loss": "squared"}
    missing_labels = False


class TestSquaredHinge(MFContract):
    offers = MFContract.offers - {"predict_proba"}
    options: ClassVar = {"loss": "squared_hinge", "negative_loss": "same"}


class TestSquared(MFContract):
    offers = MFContract.offers - {"predict_proba"}
    options: ClassVar = {"loss": "squared", "reg": 0.05}


class TestKernel(MFContract):
    # as many landmarks as there are rows, so that a row twice is no other
    options: ClassVar = {"kernel": Kernel("rbf", landmarks=100), "normalize": True}
    predict_floor = 0.8


class TestClosedForm(MFContract):
    offers = MFContract.offers - {"predict_proba"}
    options: ClassVar = {"loss": "squared", "solver": "svd", "reg": 0, "dtype": "float64"}
    tolerance = 1e-6
    missing_labels = False


class TestKernelLabels(ClassifierContract):
    offers = ClassifierContract.offers - {"normalize", "fit_intercept"} | {"predict_proba", "dtype", "unlabeled"}
    exact = False  # a row that is there twice is not left out by leaving one of them out
    tolerance = 1e-3  # single precision

    def make_model(self, **params):
        return KernelLabels(**params)


class TestKernelLabelsInDoublePrecision(TestKernelLabels):
    tolerance = 1e-9

    def make_model(self, **params):
        return KernelLabels(**{"dtype": "float64", **params})


class TestKernelLabelsThroughLandmarks(TestKernelLabels):
    tolerance = 1e-9

    def make_model(self, **params):
        return KernelLabels(**{"dtype": "float64", "landmarks": 40, **params})


class TestFastXML(ClassifierContract):
    offers = ClassifierContract.offers | {"random_state"}
    exact = False  # sides begin at random
    predict_floor = 0.75  # shares differ from kind to kind, and one cut is learnt on six rows
    missing_labels = False

    def make_model(self, **params):
        return FastXML(**{"n_trees": 20, "largest_leaf": 3, "random_state": 0, **params})


class TestSLEEC(ClassifierContract):
    offers = ClassifierContract.offers | {"random_state", "rank"}
    exact = False  # a row that is there twice has two neighbours
    missing_labels = False

    def make_model(self, **params):
        return SLEEC(**{"rank": 3, "neighbours": 5, "random_state": 0, **params})


class TestBinaryRelevance(ClassifierContract):
    offers = COMMON | {"predict_proba"}

    def make_model(self, **params):
        return BinaryRelevance(**{"tol": 1e-9, **params})


class TestRidgePerLabel(ClassifierContract):
    offers = COMMON

    def make_model(self, **params):
        return BinaryRelevance(**{"loss": "squared", "tol": 1e-9, **params})


class TestPLST(ClassifierContract):
    offers = ClassifierContract.offers | {"rank"}
    missing_labels = False

    def make_model(self, **params):
        return PLST(**{"rank": 3, **params})


class TestCPLST(ClassifierContract):
    offers = ClassifierContract.offers | {"rank"}
    missing_labels = False

    def make_model(self, **params):
        return CPLST(**{"rank": 3, **params})


class TestLabelCCA(ClassifierContract):
    offers = ClassifierContract.offers | {"rank"}
    missing_labels = False

    def make_model(self, **params):
        return LabelCCA(**{"rank": 3, **params})


class TestCompressedSensing(ClassifierContract):
    offers = ClassifierContract.offers | {"rank", "random_state"}
    missing_labels = False

    def make_model(self, **params):
        return CompressedSensing(**{"rank": 40, "random_state": 0, **params})


class TestWSABIE(ClassifierContract):
    offers = COMMON | {"rank", "random_state"}
    exact = False  # steps are drawn at random

    def make_model(self, **params):
        return WSABIE(**{"rank": 4, "learning_rate": 0.05, "random_state": 0, **params})


class TestBayesianCompressedSensing(ClassifierContract):
    offers = COMMON | {"rank", "random_state"}

    def make_model(self, **params):
        scales = {"compressed_noise": 0.3, "weight_scale": 1.0, "sparsity_rate": 0.03}
        return BayesianCompressedSensing(**{"rank": 6, "random_state": 0, **scales, **params})


class WrongWayRound(BinaryRelevance):
    """A wrong model: the least likely label first."""

    def _fit(self, rows, *arguments):
        model = super()._fit(rows, *arguments)
        return replace(model, weights=-model.weights)


class Forgetful(BinaryRelevance):
    """A wrong model: it takes weights and the mask of known labels, and looks at neither."""

    def fit(self, X, y, sample_weight=None, *, mask=None):
        dense = y.toarray() if sp.issparse(y) else np.asarray(y)
        return super().fit(X, np.nan_to_num(dense))


class Drifting(BinaryRelevance):
    """A wrong model: every fit adds to what the one before left."""

    fits = 0

    def _fit(self, rows, *arguments):
        Drifting.fits += 1
        model = super()._fit(rows, *arguments)
        return replace(model, weights=model.weights + Drifting.fits)


class Speechless(BinaryRelevance):
    """A wrong model: it has lost a method."""

    predict_proba = None


class Chatty(BinaryRelevance):
    """A wrong model: it spoils the caller's data, and its answers depend on the rows they are asked with."""

    def fit(self, X, y, sample_weight=None, *, mask=None):
        super().fit(X, y, sample_weight, mask=mask)
        if sp.issparse(X):
            X.data[...] = 7
        return self

    def predict_scores(self, X, *, output=None):
        return super().predict_scores(X, output=output) + len(X)


@pytest.mark.parametrize(
    ("model", "test"),
    [
        (WrongWayRound, "own_labels_come_first"),
        (WrongWayRound, "own_labels_are_predicted"),
        (WrongWayRound, "missing_labels_are_learnt_from_the_known_ones"),
        (WrongWayRound, "labels_that_nobody_or_everybody_has"),
        (Forgetful, "a_row_of_weight_zero_is_left_out"),
        (Forgetful, "a_row_of_weight_two_is_that_row_twice"),
        (Forgetful, "missing_labels_in_three_ways"),
        (Forgetful, "unknown_is_not_negative"),
        (Forgetful, "bad_weights_and_numbers_are_refused"),
        (Drifting, "same_seed_same_bits"),
        (Drifting, "refit_forgets"),
        (Drifting, "threshold_cuts_and_changes_nothing_else"),
        (Drifting, "features_and_labels_in_any_form"),
        (Speechless, "it_offers_what_it_should"),
        (Chatty, "data_belong_to_the_caller"),
        (Chatty, "one_row_is_answered_as_one_of_many"),
    ],
)
def test_the_kit_notices_a_model_that_is_wrong(model, test):
    kit = ClassifierContract()
    kit.offers = COMMON | {"predict_proba"}
    kit.make_model = model
    with pytest.raises(AssertionError):
        getattr(kit, f"test_{test}")()


def test_the_known_answer_is_unique():
    X, Y = labelled_rows()
    for row, labels in zip(X, Y):
        alike = X @ (row > 0.5) > 1.5  # rows of its kind
        assert (Y[alike] == labels).all()
        assert not (Y[~alike] == labels).all(axis=1).any()
