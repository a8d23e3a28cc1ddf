import copy
import pickle

import numpy as np
import pytest

from everypair.data.ids import Ids


@pytest.mark.parametrize("values", [["b", "a", "ccc"], [30, -1, 20], np.array([5, 4, 3], dtype=np.uint8)])
def test_round_trip(values):
    ids = Ids(values)
    assert len(ids) == 3
    assert ids.names([0, 1, 2]).tolist() == list(values)
    assert ids.index(values).tolist() == [0, 1, 2]
    assert ids.index(ids.names([2, 0, 2])).tolist() == [2, 0, 2]
    assert ids.index(values).dtype == np.int64
    assert all(value in ids for value in values)


def test_many_ids_in_any_order():
    values = np.random.default_rng(0).permutation(5000) * 3
    ids = Ids(values)
    wanted = np.random.default_rng(1).choice(values, size=900)
    np.testing.assert_array_equal(values[ids.index(wanted)], wanted)


@pytest.mark.parametrize("other", ["z", "", "aa", 1, True, None, 1.5, ("a",)])
def test_not_in_strings(other):
    assert other not in Ids(["a", "b"])


@pytest.mark.parametrize("other", ["1", 0, 3, True, None, 1.0, 2**70])
def test_not_in_integers(other):
    assert other not in Ids([1, 2])


def test_longer_strings_are_not_cut_short():
    ids = Ids(["ab", "cd"])
    assert "abc" not in ids
    with pytest.raises(ValueError, match="'abc'"):
        ids.index(["abc"])


def test_unknown_ids_are_named_up_to_three():
    with pytest.raises(ValueError, match=r"4 unknown ids: 'w', 'x', 'y', …\. Leave them out") as caught:
        Ids(["a"]).index(["w", "a", "x", "w", "y", "z"])
    assert "'z'" not in str(caught.value)
    with pytest.raises(ValueError, match=r"1 unknown id: 9\."):
        Ids([1]).index([1, 9])


def test_immutable_comparable_copyable():
    ids = Ids(["a", "b"])
    with pytest.raises(AttributeError, match="cannot be changed"):
        ids.values = np.array([1])
    with pytest.raises(ValueError, match="read-only"):
        ids.values[0] = "c"
    source = np.array([1, 2])
    kept = Ids(source)
    source[0] = 9
    assert kept.values.tolist() == [1, 2]
    assert ids == Ids(["a", "b"])
    assert ids != Ids(["b", "a"])
    assert ids != Ids([1, 2])
    assert ids != ["a", "b"]
    assert copy.deepcopy(ids) == pickle.loads(pickle.dumps(ids)) == Ids(ids) == ids
    assert repr(Ids(range(9))) == "Ids(9: 0, 1, 2, …)"


def test_empty():
    assert len(Ids([])) == 0
    assert "a" not in Ids([])
    assert Ids(["a"]).index([]).shape == (0,)
    assert Ids(["a"]).names([]).shape == (0,)
    with pytest.raises(ValueError, match="unknown"):
        Ids([]).index(["a"])


def test_single_ids():
    assert Ids(["a", "b"]).index("b").tolist() == [1]
    assert Ids(["a", "b"]).names(1) == "b"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Ids(["a", "b", "a"]), ValueError, "'a' appears more than once"),
        (lambda: Ids(["a", 1]), TypeError, "all strings or all integers, got int, str"),
        (lambda: Ids([1, True]), TypeError, "all strings or all integers"),
        (lambda: Ids(np.array([True])), TypeError, "got bool"),
        (lambda: Ids([1.5]), TypeError, "got float"),
        (lambda: Ids(["a", None]), ValueError, "1 missing"),
        (lambda: Ids(np.array([1.0, np.nan])), ValueError, "1 missing"),
        (lambda: Ids([[1], [2]]), ValueError, "2 dimensions"),
        (lambda: Ids([2**70]), ValueError, "int64"),
        (lambda: Ids(np.array([2**63], dtype=np.uint64)), ValueError, "int64"),
        (lambda: Ids(["a"]).index([1]), TypeError, "These ids are integers, but the known ones are strings"),
        (lambda: Ids(["a"]).names([1]), ValueError, "0 to 0, got 1 to 1"),
        (lambda: Ids(["a"]).names([-1]), ValueError, "pads"),
        (lambda: Ids(["a"]).names([0.0]), TypeError, "integers"),
    ],
)
def test_bad_input_is_refused_with_a_sentence(call, error, message):
    with pytest.raises(error, match=message):
        call()
