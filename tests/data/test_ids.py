import copy
import pickle
import time
import tracemalloc

import numpy as np
import pytest

from everypair.data.ids import Ids, number_ids


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
    with pytest.raises(ValueError, match=r"4 unknown ids: 'w', 'x', 'y' and 1 more\. Leave them out") as caught:
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
        (lambda: Ids(["a"]).names([-2]), ValueError, "only −1, which pads"),
        (lambda: Ids(["a"])[-1], IndexError, "−1 stands for a missing entry"),
        (lambda: Ids(["a"])[1], IndexError, "there are 1 ids"),
        (lambda: Ids(["a"])["a"], TypeError, "one position or a slice"),
        (lambda: Ids(["a"]).append(["b", "a"]), ValueError, "'a' is among the ids already"),
        (lambda: Ids(["a"]).append(["b", "b"]), ValueError, "'b' appears more than once"),
        (lambda: Ids(["a"]).append([1]), TypeError, "These ids are integers"),
        (lambda: Ids.from_arrays({"text": np.zeros(1, np.uint8)}), ValueError, "integers, or as text and ends"),
        (lambda: Ids(["a"]).names([0.0]), TypeError, "integers"),
    ],
)
def test_bad_input_is_refused_with_a_sentence(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_iterates_indexes_and_appends():
    ids = Ids(["b", "a", "c"])
    assert list(ids) == ["b", "a", "c"]
    assert [ids[0], ids[np.int64(2)]] == ["b", "c"]
    assert ids[1:] == Ids(["a", "c"])
    assert ids[-2:] == Ids(["a", "c"])
    longer = ids.append(["z", "aa"])
    assert list(longer) == ["b", "a", "c", "z", "aa"]
    assert longer.index(["aa", "a"]).tolist() == [4, 1]
    assert len(ids) == 3
    assert Ids([]).append([3, 1]) == Ids([3, 1])
    assert ids.append([]) == ids
    assert [type(one) for one in Ids([7, 8])] == [int, int]
    assert Ids([5, 6]).append(7)[2] == 7


def test_minus_one_is_missing():
    assert Ids(["a", "b"]).names([[1, -1], [-1, 0]]).tolist() == [["b", None], [None, "a"]]
    assert Ids(["a"]).names([-1], missing="nobody").tolist() == ["nobody"]
    named = Ids([7, 8]).names([0, -1], missing=-1)
    assert named.tolist() == [7, -1]
    assert named.dtype == np.int64
    assert Ids([7, 8]).names([0, -1]).tolist() == [7, None]
    assert Ids([7, 8]).names([0, 1]).dtype == np.int64


def test_find_gives_minus_one_for_unknown_ids():
    assert Ids(["a", "b"]).find(["b", "z", "a"]).tolist() == [1, -1, 0]
    assert Ids([5, 3]).find([3, 4, 9]).tolist() == [1, -1, -1]
    assert Ids([]).find(["a"]).tolist() == [-1]


def test_a_long_id_costs_its_own_characters_only():
    tracemalloc.start()
    ids, _ = number_ids([f"u{i}" for i in range(20_000)] + ["x" * 5000], "user")
    ids.index(["x" * 5000, "u7"])
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 8e6  # as an array of fixed width: 400 MB
    assert len(repr(ids)) < 100
    with pytest.raises(ValueError, match="1 unknown id: 'yyy") as caught:
        ids.index(["y" * 5000])
    assert len(str(caught.value)) < 300


def test_zero_bytes_and_blanks_are_characters():
    ids = Ids(["a", "a\0", " a", "a\0b", ""])
    assert ids.index(["a\0", "a", "", "a\0b"]).tolist() == [1, 0, 4, 3]
    assert "a\0\0" not in ids
    assert number_ids(["a\0", "a"], "user")[0] == Ids(["a", "a\0"])


@pytest.mark.parametrize("ids", [Ids([]), Ids([3, -(2**63)]), Ids(["é", "", "a\0", "😀" * 40, "\ud800"])])
def test_arrays_give_the_same_ids(ids, tmp_path):
    np.savez(tmp_path / "ids.npz", **ids.to_arrays())
    with np.load(tmp_path / "ids.npz", allow_pickle=False) as arrays:
        assert Ids.from_arrays(arrays) == ids


def test_damaged_arrays_are_refused():
    good = Ids(["é", "b"]).to_arrays()
    for change in ({"ends": np.array([1, 3])}, {"ends": np.array([2, 9])}, {"ends": np.array([3, 2])}):
        with pytest.raises(ValueError, match="damaged"):
            Ids.from_arrays(good | change)
    with pytest.raises(ValueError, match="damaged"):
        Ids.from_arrays(good | {"ends": good["ends"].astype(float)})


@pytest.mark.parametrize(
    ("unknown", "meant"),
    [
        ("blu", "'blue'"),
        ("bleu", "'blue'"),
        ("BLUE", "'blue'"),
        ("bluee", "'blue'"),
        (" rain", "'rain'"),
        ("rein", "'rain'"),
    ],
)
def test_the_nearest_known_ids_are_named(unknown, meant):
    with pytest.raises(ValueError, match=f"Did you mean {meant}.* for {unknown!r}") as caught:
        Ids(["rain", "dust", "iron", "blue"]).index([unknown])
    assert "dust" not in str(caught.value)


def test_nothing_is_suggested_where_nothing_is_near():
    with pytest.raises(ValueError, match=r"new rows\.$"):
        Ids(["rain", "dust"]).index(["quixotic"])
    with pytest.raises(ValueError, match=r"Did you mean 1234 for 12345\?"):
        Ids([1234, 777]).index([12345])


def test_suggestions_take_no_longer_with_many_ids():
    ids, _ = number_ids([f"customer-{i:06d}" for i in range(200_000)], "user")
    ids.index(["customer-000000"])
    start = time.process_time()
    with pytest.raises(ValueError, match="Did you mean 'customer-1234"):
        ids.index(["customer-1234x6", "Customer-123456", "customer_123456", "x" * 5000])
    assert time.process_time() - start < 0.5
