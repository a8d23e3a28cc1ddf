"""Numbers in slices of text against Python's float, bit for bit."""

import numpy as np
import pytest

from everypair.kernels.decimals import EMPTY, LEFT, NUMBER, parse_numbers


def parse(words):
    ends = np.cumsum([len(word) for word in words])
    values, kinds = np.zeros(len(words)), np.zeros(len(words), np.uint8)
    text = np.frombuffer(b"".join(words), np.uint8)
    parse_numbers(text, np.concatenate([[0], ends[:-1]]), ends, values, kinds)
    return values, kinds


def test_values_equal_python_bit_for_bit():
    rng = np.random.default_rng(0)
    words = [f"{v:.{p}g}" for v, p in zip(rng.standard_normal(3000) * 1000, rng.integers(1, 15, 3000))]
    words += ["0", "-0", "+1", "1.", ".5", "1e22", "1e-22", "0.1", "  4.5 ", "9007199254740992", "00012", "3E2"]
    values, kinds = parse([word.encode() for word in words])
    assert (kinds == NUMBER).all()
    assert values.tobytes() == np.array([float(word) for word in words]).tobytes()


@pytest.mark.parametrize("word", ["x", "1,5", "1;2", "nan", "inf", "-", ".", "1e", "1e400", "1_0", "0x1", "1" * 17])
def test_what_needs_a_closer_look_is_left(word):
    values, kinds = parse([b"1", word.encode(), b"2"])
    assert kinds.tolist() == [NUMBER, LEFT, NUMBER]
    assert values[[0, 2]].tolist() == [1, 2]


def test_empty():
    values, kinds = parse([b"", b"   ", b"7"])
    assert kinds.tolist() == [EMPTY, EMPTY, NUMBER]
    assert np.isnan(values[:2]).all()
