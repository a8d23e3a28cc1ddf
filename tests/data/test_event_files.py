"""Events from files and other sources: known answers, and the same matrix whatever they come from."""

import gzip
import io
from datetime import UTC, date, datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from everypair.data import Ids, read_events
from everypair.data.tables import row_blocks

TEXT = """user_id,item_id,count,timestamp
bob,20,1,5
ann,10,2.5,9
bob,20,3,3
ann,30,-1,0
bob,10,0.5,7
"""


def write(folder, text, name="events.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def check(events):
    assert events.user_ids == Ids(["ann", "bob"])
    assert events.item_ids == Ids([10, 20, 30])
    assert events.matrix.toarray().tolist() == [[2.5, 0, -1], [0.5, 4, 0]]
    assert events.matrix.dtype == np.float32
    assert events.times.data.tolist() == [9, 0, 7, 5]
    assert events.times.dtype == np.int64
    assert events.duplicates == 1
    assert events.dropped == {}


@pytest.mark.parametrize(
    "change",
    [
        str.encode,
        lambda text: text.replace("\n", "\r\n").encode(),
        lambda text: b"\xef\xbb\xbf" + text.encode(),
        lambda text: text.replace(",", "\t").encode(),
        lambda text: text.replace(",", ";").encode(),
        lambda text: text.replace(",", "|").encode(),
        lambda text: text.replace(",", "::").encode(),
        lambda text: text.replace(",", " ").encode(),
        lambda text: text.rstrip("\n").encode(),
        lambda text: text.replace("\n", "\n\n").encode(),
        lambda text: text.replace("bob", '"bob"').replace("user_id", '"user_id"').encode(),
        lambda text: text.replace("user_id,", " User ID , ").encode(),
        lambda text: gzip.compress(text.encode()),
        lambda text: pa.compress(text.encode(), "zstd", asbytes=True),
    ],
    ids=[
        *("plain", "windows", "bom", "tab", "semicolon", "bar", "colons", "blank"),
        *("no-end", "blank-lines", "quoted", "padded", "gzip", "zstd"),
    ],
)
def test_one_table_written_in_many_ways(tmp_path, change):
    check(read_events(write(tmp_path, change(TEXT)), verbose=False))
    check(read_events(str(write(tmp_path, change(TEXT), "no_ending")), verbose=False))


def test_the_same_from_every_source(tmp_path):
    frame = pd.read_csv(io.StringIO(TEXT))
    table = pa.Table.from_pandas(frame)
    pa.parquet.write_table(table, tmp_path / "e.parquet")
    pa.feather.write_feather(table, tmp_path / "e.feather", compression="uncompressed")
    with pa.OSFile(str(tmp_path / "e.arrows"), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)
    np.savez(tmp_path / "e.npz", **{name: frame[name].to_numpy() for name in frame if name != "user_id"}, user=USERS)
    rows = list(frame.itertuples(index=False, name=None))
    sources = [
        frame,
        pl.from_pandas(frame),
        table,
        frame.to_dict("list"),
        rows,
        iter(rows),
        frame.to_records(index=False),
    ]
    for source in [*sources, *(tmp_path / f"e.{kind}" for kind in ("parquet", "feather", "arrows", "npz"))]:
        check(read_events(source, verbose=False))


USERS = np.array(["bob", "ann", "bob", "ann", "bob"])


def test_large_random_file_like_pandas_cut_into_small_blocks(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    letters = [*'ab",\n é', "\r\n", "10"]
    names = ["".join(rng.choice(letters, rng.integers(1, 6))) for _ in range(60)]
    frame = pd.DataFrame(
        {
            "user": rng.choice(names, 3000),
            "item": rng.choice(names, 3000),
            "w": rng.normal(size=3000),
            "t": rng.integers(0, 10**15, 3000),
        }
    )
    frame = frame[(frame.user.str.strip() != "") & (frame.item.str.strip() != "")]
    text = frame.to_csv(index=False, lineterminator="\n")
    arguments = {"user": "user", "item": "item", "weight": "w", "time": "t"}
    want = read_events(frame, **arguments)
    for block in (1 << 23, 64, 1000):
        monkeypatch.setattr(row_blocks, "BLOCK_BYTES", block)
        got = read_events(write(tmp_path, text), **arguments)
        assert got.user_ids == want.user_ids
        assert got.item_ids == want.item_ids
        for a, b in ((got.matrix, want.matrix), (got.times, want.times)):
            np.testing.assert_array_equal(a.indptr, b.indptr)
            np.testing.assert_array_equal(a.indices, b.indices)
            np.testing.assert_array_equal(a.data, b.data)
            assert a.dtype == b.dtype


def test_files_without_a_header(tmp_path, capsys):
    path = write(tmp_path, "196\t242\t3\t881250949\n186\t302\t5\t891717742\n")
    events = read_events(path)
    assert (events.user_ids, events.item_ids) == (Ids([186, 196]), Ids([242, 302]))
    assert events.matrix.data.tolist() == [1, 1]
    assert events.times is None
    assert "no header; user column 0, item column 1; column 2, column 3 not read" in capsys.readouterr().err
    events = read_events(path, weight=2, time=3, verbose=False)
    assert events.matrix.data.tolist() == [5, 3]
    assert events.times.data.tolist() == [891717742, 881250949]
    events = read_events(path, user=1, item=0)
    assert events.user_ids == Ids([242, 302])
    named = read_events(path, header=["who", "what", "rating", "time"], user="who", item="what", min_rating=4)
    assert named.user_ids == Ids([186])
    assert read_events(write(tmp_path, "ann,blue\nbob,rain\n"), header=False).user_ids == Ids(["ann", "bob"])
    assert read_events(write(tmp_path, "who,what\nbob,rain\n"), header=True, user="who", item=1).user_ids == Ids(
        ["bob"]
    )


def test_what_was_guessed_is_said_in_one_line_and_kept(tmp_path, capsys):
    events = read_events(write(tmp_path, "userId,movieId,rating,timestamp\n1,2,5,7\n1,3,1,8\n"))
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "user 'userId', item 'movieId', time 'timestamp'; 'rating' is not read: say min_rating=4" in said
    assert events.columns == {"user": "userId", "item": "movieId", "weight": None, "time": "timestamp"}
    assert events.matrix.toarray().tolist() == [[1, 1]]
    read_events(write(tmp_path, "userId,movieId\n1,2\n"), verbose=False)
    read_events({"user": [1], "item": [2]})
    read_events(write(tmp_path, "who,what\n1,2\n"), user="who", item="what")
    assert capsys.readouterr().err == ""


def test_a_guessed_time_that_cannot_be_read_is_left_out_and_said(capsys):
    events = read_events({"user": [1, 2], "item": [2, 2], "date": ["31/12/2023", "01/01/2024"]})
    assert events.times is None
    assert (
        "time is left out: Column 'date' must hold numbers or dates: '31/12/2023' in row 0" in capsys.readouterr().err
    )
    with pytest.raises(TypeError, match="31/12/2023"):
        read_events({"user": [1, 2], "item": [2, 2], "date": ["31/12/2023", "01/01/2024"]}, time="date")


RATINGS = [
    ("ann", "x", 5),
    ("ann", "y", 2),
    ("bob", "x", 3),
    ("bob", "y", 4),
    ("ann", "y", 5),
    ("bob", "y", 1),
    ("cem", "z", 1),
]


def test_min_rating():
    events = read_events(RATINGS, min_rating=4)
    assert events.user_ids == Ids(["ann"])  # bob's last word on y is 1, and cem likes nothing
    assert events.item_ids == Ids(["x", "y"])
    assert events.matrix.toarray().tolist() == [[1, 1]]
    assert events.dropped == {"below min_rating": 4}
    events = read_events(RATINGS, min_rating=4, duplicates="max")
    assert events.matrix.toarray().tolist() == [[1, 1], [0, 1]]
    events = read_events([*RATINGS, ("ann", "x", 4)], min_rating=4, duplicates="count")
    assert events.matrix.toarray().tolist() == [[2, 1], [0, 1]]


def test_lower_ratings_as_dislikes():
    events = read_events(RATINGS, min_rating=4, dislike_weight=0.5)
    assert events.item_ids == Ids(["x", "y", "z"])
    assert events.matrix.toarray().tolist() == [[1, 1, 0], [-0.5, -0.5, 0], [0, 0, -0.5]]
    assert events.dropped == {}


@pytest.mark.parametrize(("how", "want"), [("sum", 6.0), ("last", 2.0), ("max", 3.0), ("count", 3.0)])
def test_duplicates(how, want):
    rows = {"user": ["a", "a", "a", "b"], "item": [1, 1, 1, 1], "n": [1.0, 3.0, 2.0, 5.0]}
    weight = None if how == "count" else "n"
    events = read_events(rows, weight=weight, duplicates=how)
    assert events.matrix.toarray().tolist() == [[want], [1.0 if how == "count" else 5.0]]
    assert events.duplicates == 2


def test_the_last_event_is_the_latest():
    rows = {"user": ["a"] * 4, "item": [1] * 4, "n": [1.0, 2.0, 3.0, 4.0], "t": [5, 9, 9, 2]}
    events = read_events(rows, weight="n", time="t", duplicates="last")
    assert events.matrix.toarray().tolist() == [[3.0]]
    assert events.times.toarray().tolist() == [[9]]


def test_missing_values_are_dropped_and_counted(tmp_path):
    text = "user,item,count,time\nann,1,2,2024-01-01\n,1,1,2024-01-01\nbob,NULL,1,2024-01-01\nbob,1,,2024-01-01\n"
    text += "bob,2,1,\\N\nbob,3,NaN,NA\n"
    path = write(tmp_path, text)
    events = read_events(path, missing="drop", verbose=False)
    assert events.user_ids == Ids(["ann"])
    assert events.item_ids == Ids([1])
    assert events.matrix.toarray().tolist() == [[2]]
    assert events.times.data.tolist() == [1704067200]
    assert events.dropped == {"missing": 5}
    for frame in (pd.read_csv(path), pl.read_csv(path, null_values=["NULL", "\\N", "NaN", "NA"])):
        assert read_events(frame, missing="drop", verbose=False).dropped == {"missing": 5}
    frame = pd.DataFrame({"user": [1.0, np.nan, 3.0], "item": ["a", "b", None]})
    assert read_events(frame, missing="drop").user_ids == Ids([1])


def test_minimum_counts_are_iterated_until_stable():
    pairs = [("a", 1), ("a", 2), ("b", 1), ("b", 2), ("c", 2), ("c", 3), ("d", 3), ("d", 4), ("a", 2)]
    events = read_events(pairs, min_user_events=2, min_item_events=2)
    assert events.user_ids == Ids(["a", "b"])  # 4 falls, then d, then 3, then c
    assert events.item_ids == Ids([1, 2])
    assert events.matrix.toarray().tolist() == [[1, 2], [1, 1]]
    assert events.dropped == {"rare": 4}
    assert read_events(pairs, min_item_events=3).item_ids == Ids([2])


def test_pairs_of_weight_zero_are_dropped_and_counted():
    rows = {"user": ["a", "a", "b", "b"], "item": [1, 2, 1, 1], "n": [0.0, 1.0, 1.0, -1.0]}
    events = read_events(rows, weight="n")
    assert events.dropped == {"weight 0": 2}
    assert (events.user_ids, events.item_ids) == (Ids(["a"]), Ids([2]))


@pytest.mark.parametrize(
    ("texts", "ids", "want"),
    [
        ("10 9 -3", "auto", [-3, 9, 10]),
        ("10 9 -3", "string", ["-3", "10", "9"]),
        ("10 9", "integer", [9, 10]),
        ("10 09", "auto", ["09", "10"]),
        ("10 x", "auto", ["10", "x"]),
        ("10 +9", "auto", ["+9", "10"]),
        ("-0 1", "auto", ["-0", "1"]),
        ("9223372036854775808 1", "auto", ["1", "9223372036854775808"]),
    ],
)
def test_integers_or_strings(tmp_path, texts, ids, want):
    words = texts.split()
    path = write(tmp_path, "user,item\n" + "".join(f"{word},1\n" for word in words))
    assert list(read_events(path, ids=ids).user_ids) == want
    if ids == "integer":
        assert list(read_events({"user": words, "item": words}, ids=ids).user_ids) == want
    if ids == "string":
        frame = {"user": [int(word) for word in words], "item": [1] * len(words)}
        assert list(read_events(frame, ids=ids).user_ids) == want


def test_times_in_all_their_spellings(tmp_path):
    def times(words):
        path = write(tmp_path, "user,item,time\n" + "".join(f"{r},1,{word}\n" for r, word in enumerate(words)))
        from_text = read_events(path, verbose=False).times.data
        frame = {"user": list(range(len(words))), "item": [1] * len(words), "time": words}
        np.testing.assert_array_equal(from_text, read_events(frame, time="time").times.data)
        return from_text

    assert times(["2024-01-01", "2024-01-01T02:00:00+02:00", "2024-01-01 00:00:00.5Z"]).tolist() == [
        1704067200,
        1704067200,
        1704067200.5,
    ]
    assert times(["1700000000123456789", "5"]).tolist() == [1700000000123456789, 5]
    assert times(["1.5", "2"]).tolist() == [1.5, 2]
    moments = [datetime(2024, 1, 1), datetime(2024, 1, 1, 2, tzinfo=UTC), date(1970, 1, 2)]
    frame = {"user": [1, 2, 3], "item": [1, 1, 1], "at": moments}
    assert read_events(frame, time="at").times.data.tolist() == [1704067200, 1704074400, 86400]


def test_other_encodings_and_characters(tmp_path):
    path = write(tmp_path, "user,item\nMüller,½\n".encode("cp1252"))
    events = read_events(path, encoding="cp1252")
    assert (events.user_ids, events.item_ids) == (Ids(["Müller"]), Ids(["½"]))
    path = write(tmp_path, 'user,item\n😀,"a ""b"", c"\n" x ",d\n')
    assert read_events(path).item_ids == Ids(['a "b", c', "d"])
    assert read_events(path).user_ids == Ids([" x ", "😀"])
    path = write(tmp_path, 'user;item\n5" disk;"a\nb;c"\n', "q.csv")
    assert read_events(path, quote=None, delimiter=";", header=True).user_ids == Ids(['5" disk', "b"])


def test_one_long_id_costs_its_own_length(tmp_path):
    rows = "".join(f"u{r},{r % 7}\n" for r in range(20000))
    path = write(tmp_path, f"user,item\n{rows}{'x' * 5000},1\n")
    events = read_events(path)
    assert "x" * 5000 in events.user_ids
    assert sum(map(len, events.user_ids)) < 120_000


def test_one_and_two_threads_give_the_same_bits(tmp_path, monkeypatch):
    rng = np.random.default_rng(3)
    rows = "".join(f"u{rng.integers(500)},i{rng.integers(90)},{rng.random():.4f}\n" for _ in range(4000))
    path = write(tmp_path, "user,item,weight\n" + rows)
    results = []
    monkeypatch.setattr(row_blocks, "BLOCK_BYTES", 1000)
    before = pa.cpu_count()
    for threads in (1, 2):
        pa.set_cpu_count(threads)
        results.append(read_events(path, verbose=False))
    pa.set_cpu_count(before)
    one, two = results
    assert (one.user_ids, one.item_ids) == (two.user_ids, two.item_ids)
    for part in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(one.matrix, part), getattr(two.matrix, part))


def test_columns_of_many_types(capsys):
    moments = [datetime(2024, 1, 1, 1), datetime(2024, 1, 2)]
    berlin = pl.col("time").dt.replace_time_zone("Europe/Berlin")
    price = pl.Series(["1.5", "2.5"]).cast(pl.Decimal(10, 2))
    frame = pl.DataFrame({"user": ["a", "b"], "item": [1, 2], "time": moments, "weight": price})
    frame = frame.with_columns(pl.col("user").cast(pl.Categorical), pl.col("item").cast(pl.UInt8), berlin)
    for source in (frame, frame.to_arrow(), frame.to_pandas()):
        events = read_events(source, verbose=False)
        assert (events.user_ids, events.item_ids) == (Ids(["a", "b"]), Ids([1, 2]))
        assert events.matrix.data.tolist() == [1.5, 2.5]
        assert events.times.data.tolist() == [1704067200, 1704150000]
    missing = pd.DataFrame(
        {"user": pd.array(["a", pd.NA], dtype="string"), "item": pd.array([1, pd.NA], dtype="Int64")}
    )
    assert read_events(missing, missing="drop").user_ids == Ids(["a"])
    unused = pd.DataFrame({"user": pd.Categorical(["c", None, "a"], categories=["a", "b", "c"]), "item": [1, 2, 3]})
    assert read_events(unused, missing="drop").user_ids == Ids(["a", "c"])
    assert read_events(unused, missing="drop").matrix.toarray().tolist() == [[0, 1], [1, 0]]
    masked = {"user": np.ma.array([1, 2, 3], mask=[False, True, False]), "item": [1, 2, 3]}
    assert read_events(masked, missing="drop").user_ids == Ids([1, 3])
    unnamed = read_events(pd.DataFrame([["a", 1], ["b", 2]]))
    assert unnamed.user_ids == Ids(["a", "b"])
    assert read_events(np.array([[1, 2, 3], [4, 5, 6]])).matrix.data.tolist() == [3, 6]


def test_strings_are_numbered_alike_in_every_frame():
    rng = np.random.default_rng(4)
    words = np.array(["", "NULL", "é", "b", "a\0", "😀", None], object)
    frame = pd.DataFrame({"user": rng.choice(words, 300), "item": rng.choice(words, 300)})
    want = read_events({name: list(frame[name]) for name in frame}, missing="drop")
    assert want.user_ids == Ids(["", "NULL", "a\0", "b", "é", "😀"])
    for source in (frame, frame.astype(object), pl.from_pandas(frame), frame.astype("category")):
        got = read_events(source, missing="drop")
        assert got.user_ids == want.user_ids
        np.testing.assert_array_equal(got.matrix.toarray(), want.matrix.toarray())
        assert got.dropped == want.dropped
