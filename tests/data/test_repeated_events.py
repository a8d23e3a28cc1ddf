"""Events of pairs that have several: a split by time cuts events, and joins those of a pair in either part."""

import numpy as np
import pytest

from everypair import read_events
from everypair.data import split_entries, split_time
from everypair.data.splits import hold_out

RANDOM = np.random.default_rng(0)
LOG = [
    (f"u{RANDOM.integers(8)}", f"i{RANDOM.integers(6)}", float(RANDOM.integers(1, 5)), int(RANDOM.integers(100)))
    for _ in range(150)
]


def table(events):
    return {
        (events.user_ids[i], events.item_ids[j]): (events.matrix[i, j], events.times[i, j])
        for i, j in zip(*events.matrix.nonzero())
    }


def joined(log, how):
    pairs = {}
    for user, item, weight, time in log:
        pairs.setdefault((user, item), []).append((weight, time))
    weights = {
        "sum": lambda own: sum(weight for weight, _ in own),
        "max": lambda own: max(weight for weight, _ in own),
        "count": len,
        "last": lambda own: next(w for w, t in reversed(own) if t == max(time for _, time in own)),
    }[how]
    return {pair: (weights(own), max(time for _, time in own)) for pair, own in pairs.items()}


@pytest.mark.parametrize("how", ["sum", "last", "max", "count"])
def test_either_part_is_what_its_events_would_be(how):
    log = [(*event[:2], 1.0, event[3]) if how == "count" else event for event in LOG]
    names = {"weight": None} if how == "count" else {}
    columns = dict(zip(("user", "item", "weight", "time"), map(list, zip(*log))))
    events = read_events(columns, duplicates=how, verbose=False, **names)
    assert table(events) == joined(log, how)
    train, test = split_time(events, since=60)
    assert table(train) == joined([event for event in log if event[3] < 60], how)
    assert table(test) == joined([event for event in log if event[3] >= 60], how)
    assert set(table(train)) & set(table(test))
    early, middle = split_time(train, since=30)  # a part can be cut again
    assert table(early) == joined([event for event in log if event[3] < 30], how)
    assert table(middle) == joined([event for event in log if 30 <= event[3] < 60], how)


def test_the_share_is_one_of_events():
    train, test = split_time(read_events(LOG), test_share=0.2)
    times = sorted(event[3] for event in LOG)
    border = times[119]
    assert test.times.data.min() > border >= train.times.data.max()
    assert test.matrix.sum() == sum(weight for _, _, weight, time in LOG if time > border)


def test_other_splits_keep_what_a_later_one_needs():
    train, _ = split_entries(read_events(LOG), 0.2)
    pairs = set(table(train))
    early, late = split_time(train, since=50)
    assert table(late) == {
        pair: one for pair, one in joined([e for e in LOG if e[3] >= 50], "sum").items() if pair in pairs
    }
    assert set(table(early)) | set(table(late)) == pairs


def test_rare_users_take_their_repeats_along():
    log = [*LOG, ("rare", "i0", 1.0, 5), ("rare", "i0", 1.0, 95)]
    events = read_events(log, min_user_events=2)
    assert "rare" not in events.user_ids
    assert table(split_time(events, since=60)[1]) == joined([event for event in LOG if event[3] >= 60], "sum")


def test_dates():
    log = [("a", "x", 1.0, "2024-01-31T12:00"), ("a", "x", 1.0, "2024-03-01T00:00"), ("b", "x", 1.0, "2024-02-10")]
    train, test = split_time(read_events(log), since="2024-03-01")
    assert (train.matrix.nnz, test.matrix.nnz) == (2, 1)
    matrix = np.array([[1, 2]])
    for since in ("2024-03-01", np.datetime64("2024-03-01")):
        _, test = split_time(matrix, np.array(["2024-02-29", "2024-03-01"], "datetime64[D]"), since=since)
        assert test.toarray().tolist() == [[0, 2]]


@pytest.mark.parametrize(
    ("how", "since", "sentence"),
    [
        ("time", 1000, "no event is after since=1000: the times go from"),
        ("time", -1, "no event is before since=-1"),
        ("time", "spring", "since= must be a number of the times' clock or a date"),
        ("time", float("nan"), "since= must be a number"),
        ("random", 60, "since= belongs to held_out='time', not to 'random'"),
    ],
)
def test_moments_that_cannot_be(how, since, sentence):
    with pytest.raises(ValueError, match=sentence):
        hold_out(read_events(LOG), how, since=since)
