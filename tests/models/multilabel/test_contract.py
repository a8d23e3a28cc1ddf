"""Every multi-label classifier passes the contract kit that ships in the package."""

import numpy as np
import pytest

from everypair import MultiLabelMF
from everypair.models.multilabel.rivals import CPLST, PLST, WSABIE, BayesianCompressedSensing, BinaryRelevance
from everypair.testing import ClassifierContract, labelled_rows


class MFContract(ClassifierContract):
    tolerance = 1e-3  # single precision

    options = {}  # noqa: RUF012

    def make_model(self, **params):
        return MultiLabelMF(**{"rank": 3, "reg": 0.3, "random_state": 0, **self.options, **params})


class TestLogistic(MFContract):
    pass


class TestSquareOfNegatives(MFContract):
    options = {"negative_loss": "squared"}


class TestSquaredHinge(MFContract):
    options = {"loss": "squared_hinge", "negative_loss": "same"}


class TestSquared(MFContract):
    options = {"loss": "squared", "reg": 0.05}


class TestKernel(MFContract):
    options = {"kernel": "rbf", "n_landmarks": 20}


class TestDefaults(MFContract):
    exact = False  # the ridge is searched on held-out rows, others where a row is there twice
    options = {"rank": "auto", "reg": "auto"}


class TestBinaryRelevance(ClassifierContract):
    def make_model(self, **params):
        return BinaryRelevance(**{"tol": 1e-9, **params})


class TestRidgePerLabel(ClassifierContract):
    def make_model(self, **params):
        return BinaryRelevance(**{"loss": "squared", "tol": 1e-9, **params})


class TestPLST(ClassifierContract):
    def make_model(self, **params):
        return PLST(**{"rank": 3, **params})


class TestCPLST(ClassifierContract):
    def make_model(self, **params):
        return CPLST(**{"rank": 3, **params})


class TestWSABIE(ClassifierContract):
    exact = False  # steps are drawn at random

    def make_model(self, **params):
        return WSABIE(**{"rank": 4, "learning_rate": 0.05, "random_state": 0, **params})


class TestBayesianCompressedSensing(ClassifierContract):
    def make_model(self, **params):
        return BayesianCompressedSensing(**{"rank": 5, "random_state": 0, **params})
