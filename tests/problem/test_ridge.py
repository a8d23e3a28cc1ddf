import numpy as np
import pytest

from everypair.problem.ridge import Ridge

WEIGHT, COUNTS = np.array([4.0, 0.0, 0.25, 100.0]), np.array([3, 0, 1, 20])


@pytest.mark.parametrize("exponent", [0, 0.3, 0.5, 1])
@pytest.mark.parametrize(("reg", "both"), [(0.2, (0.2, 0.2)), ((0.1, 3), (0.1, 3)), ([0, 1], (0, 1))])
def test_power_of_the_total_weight(reg, both, exponent):
    ridge = Ridge.checked(reg, exponent)
    for side in (0, 1):
        np.testing.assert_allclose(ridge.rows(side, WEIGHT, COUNTS), both[side] * WEIGHT**exponent, rtol=1e-15)


@pytest.mark.parametrize(("reg", "both"), [(0.2, (0.2, 0.2)), ((0.1, 3), (0.1, 3))])
def test_number_of_positives(reg, both):
    ridge = Ridge.checked(reg, "count")
    for side in (0, 1):
        np.testing.assert_allclose(ridge.rows(side, WEIGHT, COUNTS), both[side] * np.array([3, 1, 1, 20]), rtol=1e-15)


@pytest.mark.parametrize("reg", [-1, np.nan, np.inf, (0.1,), (0.1, 0.2, 0.3), (0.1, -0.2), (np.nan, 1)], ids=repr)
def test_bad_constants_are_refused(reg):
    with pytest.raises(ValueError, match=r"reg must be a finite number ≥ 0 or a pair of them"):
        Ridge.checked(reg, 0)


@pytest.mark.parametrize("exponent", [-0.1, 1.5, np.nan, "counts", ""], ids=repr)
def test_bad_exponents_are_refused(exponent):
    with pytest.raises(ValueError, match=r'reg_exponent must be a number in \[0, 1\] or "count"'):
        Ridge.checked(0.1, exponent)
