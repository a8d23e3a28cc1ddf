"""The parser of index:value entries against Python's own int and float, bit for bit."""

import numpy as np
import pytest

from everypair.kernels.entries import parse_entries


def parse(text):
    indices, values = np.empty(len(text) // 3 + 1, np.int32), np.empty(len(text) // 3 + 1, np.float32)
    count = parse_entries(np.frombuffer(text, np.uint8), indices, values)
    return None if count < 0 else (indices[:count], values[:count])


def numbers(rng):
    """Numbers written in many ways, all of which the kernel must read."""
    for _ in range(3000):
        digits = str(rng.integers(0, 10 ** rng.integers(1, 15)))
        point = rng.integers(0, len(digits) + 1)
        text = rng.choice(["", "-", "+"]) + digits[:point] + rng.choice(["", "."]) + digits[point:]
        yield text + rng.choice(["", f"e{rng.integers(-8, 9)}", f"E+{rng.integers(0, 9)}", f"e-0{rng.integers(0, 9)}"])


def test_values_equal_python_bit_for_bit():
    rng = np.random.default_rng(0)
    texts = list(numbers(rng)) + [f"{v:.9g}" for v in rng.standard_normal(2000).astype(np.float32)]
    texts += ["0", "-0", "1.", ".5", "9007199254740992", "1e22", "1e-22", "0.1", "00001.50", "16777217"]
    places = rng.integers(0, 2**31, size=len(texts))
    line = "  ".join(f"{place}:{text}" for place, text in zip(places, texts)).encode()
    indices, values = parse(b" " + line + b"  ")
    np.testing.assert_array_equal(indices, places)
    want = np.array([float(text) for text in texts]).astype(np.float32)
    assert values.tobytes() == want.tobytes()


@pytest.mark.parametrize("text", [b"", b"   "])
def test_nothing(text):
    assert len(parse(text)[0]) == 0


@pytest.mark.parametrize("text", [b"2147483647:1", b"1:1 2:2 3:3", b"0:1"])
def test_room_suffices(text):
    assert parse(text)[0].tolist() == [int(entry.split(b":")[0]) for entry in text.split()]


@pytest.mark.parametrize(
    "text",
    [
        *(
            b"1",
            b"1:",
            b":1",
            b"a:1",
            b"1:a",
            b"1:1a",
            b"1:1:1",
            b"1:-",
            b"1:.",
            b"1:1e",
            b"1:1e+",
            b"1:1.2.3",
            b"-1:1",
        ),
        *(
            b"1:1 x",
            b"1:1\t2:2",
            b"1:1,2",
            b"1:--1",
            b"1:nan",
            b"1:inf",
            b"1:1_0",
            b"1:0x1",
            b"1 :1",
            b"1: 1",
            b"1:\xb2",
        ),
        *(b"2147483648:1", b"9" * 400 + b":1", b"1:9007199254740993", b"1:" + b"9" * 400, b"1:1e23", b"1:1e-23"),
        *(b"1:1e99999999999999999999", b"1:1e-99999999999999999999", b"1:0." + b"0" * 30 + b"1"),
    ],
)
def test_what_is_left_to_the_caller(text):
    assert parse(text) is None
    assert parse(b"5:1 " + text) is None
