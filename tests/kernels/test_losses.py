import numpy as np
import pytest

from everypair.kernels.losses import LOGISTIC, evaluate, exp_negative, log_one_plus, loss_terms, loss_value
from everypair.problem.losses import LOSSES

from ..problem.brute import PLAIN_LOSSES

CODES = {name: loss.code for name, loss in LOSSES.items()}


def test_exponential_of_negative_numbers():
    x = np.concatenate([-np.logspace(-300, np.log10(700), 4000), -np.linspace(0, 50, 4001), [0.0, -0.0]])
    computed = np.array([exp_negative(float(value)) for value in x])
    np.testing.assert_allclose(computed, np.exp(x), rtol=1e-15)
    assert exp_negative(0.0) == 1.0


@pytest.mark.parametrize("x", [-708.0, -709.0, -745.0, -1e4, -1e300, -np.inf])
def test_exponential_of_very_negative_numbers_is_next_to_nothing_but_finite(x):
    assert 0 <= exp_negative(x) < 1e-300


def test_exponential_is_exact_around_every_reduction_step():
    boundaries = -np.log(2) * (np.arange(1, 1000) - 0.5)
    x = np.concatenate([np.nextafter(boundaries, 0), boundaries, np.nextafter(boundaries, -np.inf)])
    computed = np.array([exp_negative(float(value)) for value in x])
    np.testing.assert_allclose(computed, np.exp(x), rtol=1e-15)


def test_logarithm_of_one_plus():
    x = np.concatenate([np.logspace(-300, 0, 4000), np.linspace(0, 1, 4001)])
    computed = np.array([log_one_plus(float(value)) for value in x])
    np.testing.assert_allclose(computed, np.log1p(x), rtol=1e-15)
    assert log_one_plus(0.0) == 0.0


@pytest.mark.parametrize("name", CODES)
@pytest.mark.parametrize("y", [-1.0, 0.0, 0.5, 1.0, 2.5])
def test_terms_like_the_plain_formulas(name, y):
    s = np.concatenate([np.linspace(-40, 40, 801), np.random.default_rng(0).normal(size=500)])
    out = np.empty((3, s.size))
    evaluate(CODES[name], np.full(s.size, y), s, out)
    for computed, formula in zip(out, PLAIN_LOSSES[name]):
        np.testing.assert_allclose(computed, formula(y, s), rtol=4e-15, atol=1e-300)


@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_logistic_terms_over_the_whole_range(y):
    """To 4e-15 of libm's numbers for every score up to ±1e4; below e^-708 they are next to nothing."""
    s = np.concatenate([sign * np.logspace(-8, 4, 20_001) for sign in (-1, 1)])
    out = np.empty((3, s.size))
    evaluate(LOGISTIC, np.full(s.size, y), s, out)
    for computed, formula in zip(out, PLAIN_LOSSES["logistic"]):
        np.testing.assert_allclose(computed, formula(y, s), rtol=4e-15, atol=1e-300)


@pytest.mark.parametrize("name", CODES)
@pytest.mark.parametrize("y", [-1.0, 1.0])
@pytest.mark.parametrize("s", [-1e4, -1e3, -750.0, 750.0, 1e3, 1e4])
def test_terms_are_exact_and_finite_far_out(name, y, s):
    terms = loss_terms(CODES[name], y, s)
    assert np.isfinite(terms).all()
    np.testing.assert_allclose(
        terms, [formula(y, np.array(s)) for formula in PLAIN_LOSSES[name]], rtol=1e-15, atol=1e-300
    )


@pytest.mark.parametrize("name", CODES)
def test_value_alone_is_the_same_to_the_bit(name):
    rng = np.random.default_rng(0)
    for y, s in zip(rng.choice([-1.0, 1.0, 0.3], 300), rng.normal(size=300) * 10):
        assert loss_value(CODES[name], y, s) == loss_terms(CODES[name], y, s)[0]


def test_an_unknown_code_is_no_loss():
    assert np.isnan(loss_value(17, 1.0, 0.3))
    assert np.isnan(loss_terms(17, 1.0, 0.3)).all()
