from datetime import datetime, timedelta

import numpy as np
import pytest

from everypair.data.decay import time_decay


def test_half_lives_by_hand():
    np.testing.assert_array_equal(time_decay([3, 1, -1, 3], 2), [1, 0.5, 0.25, 1])
    np.testing.assert_allclose(time_decay([0.0, 1.0], 2, now=3), [2**-1.5, 0.5])


@pytest.mark.parametrize("unit", ["D", "h", "s", "ns"])
@pytest.mark.parametrize("half_life", [np.timedelta64(36, "h"), timedelta(hours=36)])
def test_dates(unit, half_life):
    times = np.array(["2024-03-01", "2024-03-04"]).astype(f"datetime64[{unit}]")
    np.testing.assert_allclose(time_decay(times, half_life), [0.25, 1])
    np.testing.assert_allclose(time_decay(times, half_life, now=np.datetime64("2024-03-07")), [0.0625, 0.25])
    np.testing.assert_allclose(time_decay(times, half_life, now=datetime(2024, 3, 7)), [0.0625, 0.25])


def test_weights_never_vanish():
    weights = time_decay([0.0, 1e9], 1.0)
    assert 0 < weights[0] < 1e-30
    assert weights.astype(np.float32)[0] > 0


def test_small_integers_do_not_overflow():
    np.testing.assert_allclose(time_decay(np.array([-100, 100], dtype=np.int8), 100), [0.25, 1])
    np.testing.assert_allclose(time_decay(np.array([0, 200], dtype=np.uint8), 100, now=300), [0.125, 0.5])


def test_shape_is_kept_and_empty_is_legal():
    assert time_decay(np.arange(6).reshape(2, 3), 1).shape == (2, 3)
    assert time_decay([], 1).shape == (0,)


DAYS = np.array(["2024-01-01", "2024-01-02"], dtype="datetime64[D]")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([1, 2], 0), ValueError, "half_life must be positive"),
        (([1, 2], np.inf), ValueError, "half_life must be positive"),
        (([1, 2], np.timedelta64(1, "D")), TypeError, "times are numbers"),
        ((DAYS, 5), TypeError, "times are dates"),
        ((DAYS, np.timedelta64(1, "M")), ValueError, "fixed length"),
        ((DAYS, np.timedelta64(-1, "D")), ValueError, "positive"),
        (([1, 2], 1, 1.5), ValueError, "events after now"),
        ((DAYS, np.timedelta64(1, "D"), DAYS[0]), ValueError, "events after now"),
        (([1, np.nan], 1), ValueError, "missing"),
        ((np.array(["NaT"], dtype="datetime64[s]"), np.timedelta64(1, "D")), ValueError, "missing"),
        ((["a"], 1), TypeError, "numbers or numpy datetime64"),
        (([1, 2], 1, np.nan), ValueError, "now must be"),
    ],
)
def test_bad_input_is_refused_with_a_sentence(arguments, error, message):
    with pytest.raises(error, match=message):
        time_decay(*arguments)
