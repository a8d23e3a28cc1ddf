"""Dates and clock numbers against Python's datetime.fromisoformat and int."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from everypair.kernels.moments import DATE, DECIMAL, EMPTY, INTEGER, LEFT, parse_moments


def parse(words):
    ends = np.cumsum([len(word) for word in words])
    integers, values = np.zeros(len(words), np.int64), np.zeros(len(words))
    kinds = np.zeros(len(words), np.uint8)
    text = np.frombuffer("".join(words).encode(), np.uint8)
    parse_moments(text, np.concatenate([[0], ends[:-1]]), ends, integers, values, kinds)
    return integers, values, kinds


def seconds(word):
    moment = datetime.fromisoformat(word.strip())
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return since.days * 86400 + since.seconds + since.microseconds / 10**6


def test_every_day_of_four_centuries():
    day = datetime(1799, 12, 30)
    words = [(day + timedelta(days=d)).strftime("%Y-%m-%d") for d in range(0, 146_100, 3)]
    _, values, kinds = parse(words)
    assert (kinds == DATE).all()
    np.testing.assert_array_equal(np.diff(values), 3 * 86400)
    assert values[0] == seconds(words[0])
    assert values[-1] == seconds(words[-1])


def test_moments_equal_python():
    rng = np.random.default_rng(0)
    words = []
    for _ in range(3000):
        moment = datetime(1, 1, 2) + timedelta(seconds=int(rng.integers(0, 3 * 10**11)))
        fraction = rng.choice(["", ".5", ".123", ".000001", ".999999"])
        zone = rng.choice(["", "Z", "+02:00", "-0530", "+01", "-00:30"])
        words.append(moment.isoformat(sep=rng.choice(["T", " "])) + fraction + zone)
    words += ["2024-02-29", "2000-02-29T00:00", " 2024-01-01T23:59Z ", "0001-01-01", "9999-12-31T23:59:59"]
    _, values, kinds = parse(words)
    assert (kinds == DATE).all()
    assert values.tolist() == [seconds(word) for word in words]


def test_nanoseconds_are_read_and_what_is_finer_is_cut():
    _, values, _ = parse(["1970-01-01T00:00:01.123456789123"])
    assert values[0] == 1.123456789


def test_numbers():
    words = ["0", "-5", "1700000000", "9223372036854775807", "1.5", "-1e3", "", "  ", "20240131", "+7"]
    integers, values, kinds = parse(words)
    assert kinds.tolist() == [INTEGER] * 4 + [DECIMAL] * 2 + [EMPTY] * 2 + [INTEGER, DECIMAL]
    assert integers[:4].tolist() == [0, -5, 1700000000, 2**63 - 1]
    assert values[[4, 5, 9]].tolist() == [1.5, -1000, 7]


@pytest.mark.parametrize(
    "word",
    [
        *("2023-02-29", "1900-02-29", "2024-13-01", "2024-00-01", "2024-04-31", "2024-01-00", "0000-01-01"),
        *("2024-01-01T24:00", "2024-01-01T10:60", "2024-01-01T10:00:60", "2024-01-01T10", "2024-01-01x10:00"),
        *("2024-01-01T10:00:00.", "2024-01-01T10:00+", "2024-01-01T10:00+25:00", "2024-01-01T10:00Zx"),
        *("2024-01-01T10:00+02:0", "2024-01-01T10:00+02:000", "31/12/2023", "12-31-2023", "2024-1-1", "yesterday"),
        *("9223372036854775808", "-", "2024-01-", "nan", "1,5"),
    ],
)
def test_anything_else_is_left(word):
    assert parse(["5", word])[2].tolist() == [INTEGER, LEFT]
