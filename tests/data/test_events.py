import numpy as np
import pandas as pd
import pytest

from everypair.data.events import read_events
from everypair.data.ids import Ids

TABLE = {
    "user": ["bob", "ann", "bob", "ann", "bob"],
    "item": [20, 10, 20, 30, 10],
    "stars": [1.0, 2.5, 3.0, -1.0, 0.5],
    "when": [5, 9, 3, 0, 7],
}


@pytest.mark.parametrize("convert", [dict, pd.DataFrame])
def test_duplicates_are_summed_and_the_latest_time_is_kept(convert):
    events = read_events(convert(TABLE), weight="stars", time="when")
    assert events.user_ids == Ids(["ann", "bob"])
    assert events.item_ids == Ids([10, 20, 30])
    assert events.matrix.toarray().tolist() == [[2.5, 0, -1], [0.5, 4, 0]]
    assert events.matrix.dtype == np.float32
    assert events.matrix.has_canonical_format
    assert events.duplicates == 1
    np.testing.assert_array_equal(events.times.indices, events.matrix.indices)
    np.testing.assert_array_equal(events.times.indptr, events.matrix.indptr)
    assert events.times.data.tolist() == [9, 0, 7, 5]
    assert events.times.dtype == np.int64


def test_every_event_counts_one_without_a_weight():
    events = read_events(TABLE)
    assert events.matrix.toarray().tolist() == [[1, 0, 1], [1, 2, 0]]
    assert events.times is None


def test_random_events_like_a_dense_count():
    rng = np.random.default_rng(0)
    users, items = rng.integers(0, 50, size=3000), rng.integers(100, 130, size=3000)
    weights, moments = rng.normal(size=3000), rng.normal(size=3000)
    frame = pd.DataFrame({"u": users, "i": items, "w": weights, "t": moments})
    events = read_events(frame, user="u", item="i", weight="w", time="t")
    dense = np.zeros((50, 30))
    np.add.at(dense, (users, items - 100), weights)
    latest = np.full((50, 30), -np.inf)
    np.maximum.at(latest, (users, items - 100), moments)
    np.testing.assert_allclose(events.matrix.toarray(), dense, atol=1e-5)
    np.testing.assert_array_equal(events.times.toarray(), np.where(latest > -np.inf, latest, 0))
    assert events.duplicates == 3000 - events.matrix.nnz


def test_the_order_of_events_does_not_matter():
    frame = pd.DataFrame(TABLE)
    first = read_events(frame, weight="stars", time="when")
    second = read_events(frame.iloc[::-1], weight="stars", time="when")
    assert first.user_ids == second.user_ids
    assert (first.matrix != second.matrix).nnz == 0
    assert (first.times != second.times).nnz == 0


def test_dates_become_seconds():
    dates = pd.to_datetime(["1970-01-02", "1970-01-01", "1970-01-01 00:00:01.5"], format="ISO8601")
    frame = pd.DataFrame({"user": [1, 1, 2], "item": [1, 1, 1], "day": dates})
    assert read_events(frame, time="day").times.data.tolist() == [86_400, 1.5]
    assert read_events(frame.assign(day=dates.tz_localize("UTC")), time="day").times.data.tolist() == [
        86_400,
        1.5,
    ]


def test_column_types_of_pandas():
    frame = pd.DataFrame(
        {
            "user": pd.Categorical(["x", "y", "x"]),
            "item": pd.array([2, 1, 2], dtype="Int64"),
            "n": pd.array([1, 2, 3], dtype="UInt8"),
        }
    )
    events = read_events(frame, weight="n")
    assert events.matrix.toarray().tolist() == [[0, 4], [2, 0]]
    assert events.item_ids == Ids([1, 2])


@pytest.mark.parametrize(
    ("change", "arguments", "error", "message"),
    [
        (
            {},
            {"user": "customer"},
            ValueError,
            "no column 'customer': the columns are 'user', 'item', 'stars'",
        ),
        ({}, {"weight": "w", "time": "t"}, ValueError, "no column 'w', 't'"),
        ({"user": ["a", None, "b", None, "c"]}, {}, ValueError, "'user' has 2 missing"),
        ({"item": [1, 2, np.nan, 3, 4]}, {}, ValueError, "'item' has 1 missing"),
        ({"item": pd.array([1, 2, None, 3, 4], dtype="Int64")}, {}, ValueError, "'item' has 1 missing"),
        ({"item": [1.0, 2.0, 3.0, 4.0, 5.0]}, {}, TypeError, r"'item' must be .* got float"),
        ({"stars": [1, np.nan, 1, 1, 1]}, {"weight": "stars"}, ValueError, "'stars' has NaN"),
        ({"stars": [1, np.inf, 1, 1, 1]}, {"weight": "stars"}, ValueError, "'stars' has NaN or infinite"),
        ({"stars": [1e300] * 5}, {"weight": "stars"}, ValueError, "float32"),
        ({"stars": list("abcde")}, {"weight": "stars"}, TypeError, "must hold numbers"),
        ({"when": [1, np.nan, 1, 1, 1]}, {"time": "when"}, ValueError, "'when' has missing"),
        ({"when": pd.to_datetime([None] * 5)}, {"time": "when"}, ValueError, "'when' has missing"),
        ({"when": list("abcde")}, {"time": "when"}, TypeError, "numbers or dates"),
    ],
)
@pytest.mark.parametrize("convert", [dict, pd.DataFrame])
def test_bad_input_is_refused_with_a_sentence(change, arguments, error, message, convert):
    with pytest.raises(error, match=message):
        read_events(convert(TABLE | change), **arguments)


def test_lengths_and_types_of_a_mapping():
    with pytest.raises(ValueError, match="differ in length: 2 and 1"):
        read_events({"user": [1, 2], "item": [1]})
    with pytest.raises(ValueError, match="one weight per event, 2"):
        read_events({"user": [1, 2], "item": [1, 1], "w": [1.0]}, weight="w")
    with pytest.raises(ValueError, match="one time per event, 2"):
        read_events({"user": [1, 2], "item": [1, 1], "t": [1.0]}, time="t")
    with pytest.raises(ValueError, match="no events"):
        read_events({"user": [], "item": []})
    with pytest.raises(TypeError, match=r"a data frame, a mapping .* got int"):
        read_events(5)


@pytest.mark.parametrize("kind", ["str", "category"])
def test_frames_that_were_put_together(kind):
    parts = [pd.DataFrame({"user": list(users), "item": [1, 2]}).astype({"user": kind}) for users in ("ba", "cb")]
    events = read_events(pd.concat(parts), verbose=False)
    assert list(events.user_ids) == ["a", "b", "c"]
    assert events.matrix.toarray().tolist() == [[0, 1], [1, 1], [1, 0]]
