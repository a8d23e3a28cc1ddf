"""Features from tables: known answers, alignment by id and by name, round trips, and what is refused."""

import json
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from everypair.data import Ids
from everypair.features import table_features
from everypair.models.codec import decode, encode

IDS = Ids(["a", "b", "c", "d"])
TABLE = {
    "item": ["d", "b", "a", "c"],
    "year": [2000.0, 1990.0, 1980.0, None],
    "studio": ["X", "Y", "X", None],
    "genres": ["war|love", "love", "", "war | love|war"],
    "plot": ["A man loves a dog", "the dog dies", "The man; the man!", None],
    "released": ["2000-02-29", "1990-12-31T23:00:00-05:00", "1980-01-01", "1985-06-15"],
}
KINDS = {"year": "number", "studio": "category", "genres": "list", "plot": "text", "released": "date"}


def column(table, name):
    return table.matrix[:, [table.names.index(name)]].toarray().ravel()


def test_known_answers():
    table = table_features(TABLE, IDS, kinds=KINDS)
    assert table.matrix.shape == (4, len(table.names))
    assert table.matrix.dtype == np.float32
    assert table.names[:7] == (
        "year",
        "year is missing",
        "studio=X",
        "studio=Y",
        "genres=love",
        "genres=war",
        "plot:dies",
    )
    step = np.sqrt(1.5)
    np.testing.assert_allclose(column(table, "year"), [-step, 0, 0, step], rtol=1e-6)
    assert column(table, "year is missing").tolist() == [0, 0, 1, 0]
    assert column(table, "studio=X").tolist() == [1, 0, 0, 1]
    assert column(table, "studio=Y").tolist() == [0, 1, 0, 0]
    assert column(table, "genres=love").tolist() == [0, 1, 1, 1]
    assert column(table, "genres=war").tolist() == [0, 0, 1, 1]
    days = [datetime(1980, 1, 1), datetime(1991, 1, 1, 4), datetime(1985, 6, 15), datetime(2000, 2, 29)]
    for month in ("Jan", "Feb", "Jun"):
        assert column(table, f"released={month}").tolist() == [float(day.strftime("%b") == month) for day in days]
    for weekday in ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"):
        assert column(table, f"released={weekday}").tolist() == [float(day.strftime("%a") == weekday) for day in days]
    seconds = np.array([day.replace(tzinfo=UTC).timestamp() for day in days])
    np.testing.assert_allclose(column(table, "released"), (seconds - seconds.mean()) / seconds.std(), rtol=1e-5)


def test_text_is_the_tf_idf_of_scikit_learn():
    texts = ["a man loves a dog dog", "the dog dies", "the man", "nothing is here", "nothing is there is"]
    ids = Ids(range(5))
    table = table_features({"item": list(range(5)), "plot": texts}, ids, kinds={"plot": "text"})
    theirs = TfidfVectorizer(sublinear_tf=True)
    want = theirs.fit_transform(texts)
    assert table.names == tuple(f"plot:{word}" for word in theirs.get_feature_names_out())
    np.testing.assert_allclose(table.matrix.toarray(), want.toarray(), rtol=1e-6)
    later = ["the man unknown", "zzz", ""]
    got = table.encoder.transform({"plot": later})
    np.testing.assert_allclose(got.toarray(), theirs.transform(later).toarray(), rtol=1e-6)


def test_hashed_text():
    texts = ["war and love", "love", "war war", ""]
    table = table_features(
        {"id": [1, 2, 3, 4], "plot": texts}, Ids([1, 2, 3, 4]), kinds={"plot": "hashed"}, n_hashed=64
    )
    dense = table.matrix.toarray()
    assert dense.shape == (4, 64)
    np.testing.assert_allclose(np.linalg.norm(dense, axis=1), [1, 1, 1, 0], rtol=1e-6)
    assert dense[0] @ dense[1] > 0.5
    assert dense[1] @ dense[2] == 0
    np.testing.assert_array_equal(table.encoder.transform({"plot": texts}).toarray(), dense)


def test_the_same_from_every_source_in_any_order(tmp_path):
    want = table_features(TABLE, IDS, kinds=KINDS)
    frame = pd.DataFrame(TABLE)
    frame.to_csv(tmp_path / "t.csv", index=False)
    shuffled = frame.sample(frac=1, random_state=0)[list(reversed(frame.columns))]
    sources = [frame, shuffled, pl.from_pandas(frame), pa.Table.from_pandas(frame), tmp_path / "t.csv"]
    for source in [*sources, frame.set_index("item"), shuffled.set_index("item")]:
        got = table_features(source, IDS, kinds=KINDS)
        assert got.names == want.names
        np.testing.assert_array_equal(got.matrix.toarray(), want.matrix.toarray())
    lists = frame.assign(genres=[["war", "love"], ["love"], [], ["war", "love", "war"]])
    np.testing.assert_array_equal(table_features(lists, IDS, kinds=KINDS).matrix.toarray(), want.matrix.toarray())
    typed = frame.assign(released=pd.to_datetime(frame["released"], utc=True, format="ISO8601"))
    np.testing.assert_array_equal(table_features(typed, IDS, kinds=KINDS).matrix.toarray(), want.matrix.toarray())


def test_later_rows_are_encoded_alike_and_columns_found_by_name():
    table = table_features(TABLE, IDS, kinds=KINDS)
    frame = pd.DataFrame(TABLE)
    swapped = frame[list(reversed(frame.columns))].assign(more=1)
    np.testing.assert_array_equal(table.encoder.transform(swapped, IDS).toarray(), table.matrix.toarray())
    rows = table.encoder.transform(frame.iloc[[2, 0]])
    np.testing.assert_array_equal(rows.toarray(), table.matrix[[0, 3]].toarray())
    new = {"year": [1990.0], "studio": ["new"], "genres": ["new|war"], "plot": ["dog"], "released": ["2024-01-01"]}
    row = dict(zip(table.names, table.encoder.transform(new).toarray()[0]))
    assert (row["year"], row["studio=X"], row["genres=war"], row["plot:dog"]) == (0, 0, 1, 1)
    with pytest.raises(ValueError, match="no column 'studio', 'plot', which training had: the columns are 'year'"):
        table.encoder.transform({name: new[name] for name in ("year", "genres", "released")})


def test_kinds_are_guessed_and_said(tmp_path, capsys):
    rng = np.random.default_rng(0)
    n = 60
    frame = pd.DataFrame(
        {
            "item_id": np.arange(n),
            "price": rng.normal(size=n).round(3),
            "colour": rng.choice(["red", "blue"], n),
            "tags": rng.choice(["a|b", "b", "c|a"], n),
            "about": [" ".join(rng.choice(["fine", "old", "wine", "from", "hills"], 6)) + f" {i}" for i in range(n)],
            "since": pd.date_range("2020-01-01", periods=n),
            "empty": [None] * n,
        }
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    for source in (frame, tmp_path / "t.csv"):
        table = table_features(source, Ids(range(n)))
        assert (
            "ids 'item_id', features 'price' number, 'colour' category, 'tags' list, 'about' text, 'since' date; kinds="
            in (capsys.readouterr().err)
        )
        assert {"price", "colour=red", "tags=a", "about:wine", "since", "since=Jan"} <= set(table.names)
        np.testing.assert_allclose(column(table, "price").std(), 1, rtol=1e-5)
    table_features(frame, Ids(range(n)), verbose=False)
    assert capsys.readouterr().err == ""


def test_what_was_learnt_is_plain_and_survives_json():
    table = table_features(TABLE, IDS, kinds=KINDS | {"plot": "hashed"}, n_hashed=32)
    both = table_features(TABLE, IDS, kinds=KINDS)
    for one in (table, both):
        arrays = {}
        values = encode(one.encoder, "encoder", arrays)
        back = decode(json.loads(json.dumps(values)), arrays)
        assert back.names == one.names
        np.testing.assert_array_equal(back.transform(TABLE, IDS).toarray(), one.matrix.toarray())
    with pytest.raises(AttributeError):
        both.encoder.features = ()


def stored(name, **fields):
    return {"object": name, "fields": fields}


@pytest.mark.parametrize(
    ("feature", "message"),
    [
        (stored("NumberFeature", column="x"), "fields of NumberFeature are not those of this version: marks_missing"),
        (stored("EvilFeature"), "unknown kind"),
        (stored("Ridge", reg=1.0, exponent=1.0), "reg of Ridge cannot be a float"),
        ("plot", "features of TableFeatures cannot be a tuple"),
        (stored("TextFeature", column="x", words={"tuple": ["a", "b"]}, idf={"array": "idf"}), "damaged"),
    ],
)
def test_damaged_parts_are_refused(feature, message):
    with pytest.raises(ValueError, match=message):
        decode(stored("TableFeatures", features={"tuple": [feature]}), {"idf": np.ones(1)})


def test_absent_and_extra():
    more = Ids(["a", "b", "c", "d", "e"])
    full = table_features(TABLE, IDS, kinds=KINDS)
    padded = table_features(TABLE, more, kinds=KINDS, absent="zeros")
    np.testing.assert_array_equal(padded.matrix[:4].toarray(), full.matrix.toarray())
    assert padded.matrix[[4]].nnz == 0
    fewer = table_features(TABLE, Ids(["b", "a"]), kinds={"studio": "category", "year": "number"}, extra="drop")
    assert fewer.names == ("studio=X", "studio=Y", "year")  # learnt from b and a alone
    assert fewer.matrix.toarray().tolist() == [[0, 1, 1], [1, 0, -1]]


def test_min_count():
    table = table_features(TABLE, IDS, kinds={"studio": "category", "genres": "list", "plot": "text"}, min_count=2)
    assert table.names == ("studio=X", "genres=love", "genres=war", "plot:dog", "plot:man", "plot:the")


def test_strings_that_look_like_numbers_match_string_ids(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("item,n\n007,1\n10,3\n")
    assert table_features(path, Ids(["10", "007"]), kinds={"n": "number"}).matrix.toarray().ravel().tolist() == [1, -1]
    path.write_text("item,n\n7,1\n10,3\n")
    assert table_features(path, Ids(["10", "7"]), kinds={"n": "number"}).matrix.toarray().ravel().tolist() == [1, -1]
    assert table_features(path, Ids([10, 7]), kinds={"n": "number"}).matrix.toarray().ravel().tolist() == [1, -1]


@pytest.mark.parametrize(
    ("change", "arguments", "error", "message"),
    [
        ({}, {"ids": Ids(["a", "b", "x"]), "extra": "error"}, ValueError, r"'item' are unknown: 'c', 'd'"),
        ({}, {"ids": Ids(["a", "b", "c", "d", "x", "y"])}, ValueError, r"2 ids have no row: 'x', 'y'\. Add them"),
        (
            {},
            {"ids": Ids(["x"]), "extra": "drop", "absent": "zeros"},
            ValueError,
            r"has none of the 1 ids, such as 'x': is it the right column",
        ),
        ({}, {"ids": ["a"]}, TypeError, r"wrap them in Ids"),
        ({}, {"ids": Ids([1, 2])}, TypeError, "These ids are strings, but the known ones are integers"),
        (
            {"item": ["a", "b", "c", "a"]},
            {"absent": "zeros"},
            ValueError,
            "'a' has two rows, row 0 and row 3: keep one",
        ),
        (
            {"item": ["a", "b", None, "d"]},
            {"absent": "zeros"},
            ValueError,
            "'item' has 1 missing ids, the first in row 2",
        ),
        ({}, {"id": "film"}, ValueError, "no column 'film'"),
        ({}, {"id": None, "ids": Ids(["a"])}, ValueError, "There are 4 rows for 1 ids"),
        ({}, {"id": "index"}, ValueError, "for pandas frames"),
        ({"user": [1, 2, 3, 4]}, {}, ValueError, "Which column holds the ids: 'item', 'user'"),
        ({}, {"kinds": {"colour": "category"}}, ValueError, "no column 'colour'"),
        ({}, {"kinds": {"year": "int"}}, ValueError, "one of number, date, category"),
        ({}, {"kinds": {"studio": "number"}}, TypeError, "'studio' must hold numbers, got str"),
        ({}, {"kinds": {"studio": "date"}}, TypeError, "'studio' must hold numbers or dates: 'X' in row 0"),
        ({}, {"kinds": {"studio": "category"}, "min_count": 9}, ValueError, "No feature is left"),
        ({}, {"min_count": 0}, ValueError, "min_count must be an integer ≥ 1"),
        ({}, {"separator": ""}, ValueError, "separator must be"),
        ({}, {"absent": "nan"}, ValueError, 'absent must be "error" or "zeros"'),
        ({}, {"extra": "keep"}, ValueError, 'extra must be "error" or "drop"'),
        ({"year": [1, 2]}, {}, ValueError, "others have 4"),
    ],
)
def test_bad_input_is_refused_with_a_sentence(change, arguments, error, message):
    given = {"ids": IDS, "kinds": KINDS} | arguments
    with pytest.raises(error, match=message):
        table_features(TABLE | change, given.pop("ids"), verbose=False, **given)


def test_nothing_but_ids_and_columns_without_names(tmp_path):
    with pytest.raises(ValueError, match="no column to make features of"):
        table_features({"item": [1]}, Ids([1]), verbose=False)
    path = tmp_path / "t.csv"
    path.write_text("1,2\n2,4\n")
    with pytest.raises(ValueError, match=r"need names, got 1: give them with header="):
        table_features(path, Ids([1, 2]), id=0)
    got = table_features(path, Ids([1, 2]), header=["id", "n"], verbose=False)
    assert got.matrix.toarray().ravel().tolist() == [-1, 1]


def test_rows_of_other_ids_are_counted(capsys):
    table_features(TABLE, Ids(IDS.values[:2]), kinds=KINDS)
    assert f"{len(IDS) - 2} rows are of none of the 2 ids and left out." in capsys.readouterr().err
