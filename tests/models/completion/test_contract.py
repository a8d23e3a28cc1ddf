"""Every completion model passes the contract kit that ships in the package."""

import numpy as np
import pytest

from everypair.models.completion import MLRM, GaussianRatings, KernelCompletion, NeighborMF
from everypair.models.completion.rivals import FNNM, FPCA, IMC, SIMC, Maxide
from everypair.testing import CompletionContract
from everypair.testing.completion import planted


class MLRMContract(CompletionContract):
    """Its loss has no mask and its scores no level: the order is what it promises, and values after a correction."""

    worst_error, new_entities = 0.15, False
    regs = (200.0, 100.0)

    def extra(self):
        return {}

    def make_model(self, **params):
        nuclear_reg, l1_reg = self.regs
        return MLRM(**{"nuclear_reg": nuclear_reg, "l1_reg": l1_reg, **self.extra(), **params})


class TestMLRM(MLRMContract):
    pass


class TestMLRMPlain(MLRMContract):
    worst_error = None  # without a scale

    def extra(self):
        return {"accelerate": False, "correct": "offset", "orthonormal": True}


class TestMLRMGlobal(MLRMContract):
    worst_error, worst_order = 0.5, 0.85

    def extra(self):
        return {"variant": "global"}


class TestMLRMNoise(MLRMContract):
    regs = (100.0, 50.0)

    def extra(self):
        return {"variant": "noise"}


class TestMLRMRows(MLRMContract):
    worst_order, compared = 0.9, "rows"

    def extra(self):
        return {"pairs": "rows"}


class TestMLRMTransductive(MLRMContract):
    takes_features, worst_error, worst_order = False, 0.5, 0.85
    regs = (150.0, 0.0)

    def extra(self):
        return {"variant": "transductive"}

    def test_bad_input_is_refused(self):
        """Other words: a variant of a model that has a place for features."""


class TestFNNM(CompletionContract):
    def make_model(self, **params):
        return FNNM(**{"nuclear_reg": 1.0, "l1_reg": 0.01, "orthonormal": True, "tol": 1e-8, **params})


class TestFNNMAccelerated(CompletionContract):
    compared = None

    def make_model(self, **params):
        return FNNM(
            **{"nuclear_reg": 1.0, "l1_reg": 0.01, "tol": 1e-8, "accelerate": True, "offsets": "both", **params}
        )


class TestMLRMObserved(MLRMContract):
    regs = (1.0, 0.01)

    def extra(self):
        return {"mask": "observed"}


class TestFPCA(CompletionContract):
    takes_features = False

    def make_model(self, **params):
        return FPCA(**{"nuclear_reg": 0.1, "tol": 1e-6, **params})


class TestSIMC(CompletionContract):
    def make_model(self, **params):
        return SIMC(**{"nuclear_reg": 0.01, "l1_reg": 0.01, "orthonormal": True, **params})


class TestMaxide(CompletionContract):
    def make_model(self, **params):
        return Maxide(**{"nuclear_reg": 0.01, **params})


class TestIMC(CompletionContract):
    def make_model(self, **params):
        return IMC(**{"rank": 3, "reg": 0.01, **params})


class TestKernelCompletion(CompletionContract):
    """Real values, which a smooth kernel meets roughly."""

    worst_error, worst_order, iterates, compared = 0.4, 0.85, False, None

    def make_model(self, **params):
        return KernelCompletion(**params)


class TestKernelCompletionRefined(TestKernelCompletion):
    def make_model(self, **params):
        return KernelCompletion(**{"reg": 0.01, "refine": True, **params})


class TestKernelCompletionWithoutFeatures(CompletionContract):
    takes_features, worst_error, worst_order, iterates = False, 0.8, 0.7, False

    def make_model(self, **params):
        return KernelCompletion(**{"refine": True, **params})

    def test_bad_input_is_refused(self):
        """Other words: it has a place for features."""


class TestGaussianRatings(CompletionContract):
    """40 rows say little of the covariance of 30 columns."""

    takes_features, worst_error, worst_order = False, 0.6, 0.75

    def make_model(self, **params):
        return GaussianRatings(**{"prior_rows": 1.0, "noise": 0.01, "max_iter": 20, **params})


class TestNeighborMF(CompletionContract):
    classes, worst_error, worst_order, compared = True, None, 0.85, None

    def make_model(self, **params):
        return NeighborMF(**{"random_state": 0, **params})


class TestNeighborMFWithoutFeatures(TestNeighborMF):
    takes_features, worst_order = False, 0.75

    def make_model(self, **params):
        return NeighborMF(**{"random_state": 0, "rank": 4, **params})

    def test_bad_input_is_refused(self):
        """Other words: it has a place for features."""


def test_the_transductive_variant_refuses_features():
    case = planted()
    with pytest.raises(ValueError, match="uses no features"):
        MLRM(nuclear_reg=1.0, l1_reg=1.0, variant="transductive").fit(case.truth, case.mask, left_features=case.left)


def test_the_kit_notices_a_model_that_is_wrong():
    class Shifted(FPCA):
        def complete(self, left_features=None, right_features=None):
            return super().complete() + 1

    class Upside(FPCA):
        def complete(self, left_features=None, right_features=None):
            return -super().complete()

    for wrong in (Shifted, Upside):
        kit = CompletionContract()
        kit.takes_features = False
        kit.make_model = lambda wrong=wrong, **params: wrong(nuclear_reg=0.1, tol=1e-6, **params)
        with pytest.raises(AssertionError):
            kit.test_the_planted_matrix_is_found()


def test_the_kit_notices_answers_that_do_not_agree():
    class Rounded(FPCA):
        def predict(self, rows, columns):
            return np.round(super().predict(rows, columns))

    kit = CompletionContract()
    kit.takes_features = False
    kit.make_model = lambda **params: Rounded(nuclear_reg=0.1, tol=1e-6, **params)
    with pytest.raises(AssertionError):
        kit.test_predict_and_recommend_agree_with_complete()
