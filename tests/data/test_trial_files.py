"""Files that people met in trials: what an index, a trailing comma or a null once turned into silently wrong data."""

import gzip
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from everypair.data import Ids, read_events
from everypair.data.tables import delimited

LARGE = 1234567890123456789


def write(folder, text, name="events.csv"):
    path = folder / name
    path.write_text(text)
    return path


def test_what_pandas_writes_with_its_index(tmp_path, capsys):
    frame = pd.DataFrame({"user": ["ann", "bob", "ann"], "item": ["x", "y", "y"]})
    path = tmp_path / "events.csv"
    frame.to_csv(path)
    events = read_events(path)
    assert (events.user_ids, events.item_ids) == (Ids(["ann", "bob"]), Ids(["x", "y"]))
    assert "the first column has no name, as an index, and is left out" in capsys.readouterr().err
    assert read_events(path, missing="drop", verbose=False).matrix.nnz == 3
    path = write(tmp_path, ",user,item,rating\n0,ann,x,5\n1,bob,y,2\n")
    assert read_events(path, min_rating=4, verbose=False).user_ids == Ids(["ann"])


@pytest.mark.parametrize("name", ["", "1", "2024-01-01", "3.5", "NA"])
def test_usual_names_are_a_header_whatever_else_is_in_the_line(tmp_path, name):
    path = write(tmp_path, f"user,item,{name}\nann,blue,1\nbob,rain,1\n")
    events = read_events(path, verbose=False)
    assert (events.user_ids, events.item_ids) == (Ids(["ann", "bob"]), Ids(["blue", "rain"]))


def test_a_trailing_comma(tmp_path):
    events = read_events(write(tmp_path, "user,item,\nann,blue,\nbob,rain,\n"))
    assert (events.user_ids, events.item_ids) == (Ids(["ann", "bob"]), Ids(["blue", "rain"]))


@pytest.mark.parametrize("head", ["user_id,10,20,30", ",sku_1,sku_2,sku_3", "user_id,sku_1,sku_2,sku_3", ",10,20,30"])
def test_a_pivot_table(tmp_path, head):
    path = write(tmp_path, f"{head}\nu1,1,,2\nu2,,1,\n")
    with pytest.raises(ValueError, match=r"No column looks like the .*pivot table.* row per event first: pandas\.melt"):
        read_events(path, missing="drop")


def test_ids_that_look_like_floats_are_pointed_out(tmp_path, capsys):
    path = tmp_path / "events.csv"
    pd.DataFrame({"user": [1, None, 2], "item": [10, 20, 30]}).to_csv(path, index=False)
    assert read_events(path, missing="drop").user_ids == Ids(["1.0", "2.0"])
    assert "ids of 'user' look like floats ('1.0') and are taken as text" in capsys.readouterr().err
    read_events(write(tmp_path, "user,item\n1.5,a\n2,b\n"))
    assert capsys.readouterr().err == ""


def test_large_integers_with_one_missing_stay_as_they_are(tmp_path):
    table = pa.table({"user": pa.array([LARGE, None, 2**53 + 1]), "item": [1, 2, 3], "time": [LARGE, 5, None]})
    pa.parquet.write_table(table, tmp_path / "e.parquet")
    pandas = pd.DataFrame({"user": pd.array([LARGE, None, 2**53 + 1], dtype="Int64"), "item": [1, 2, 3]})
    for source in (table, tmp_path / "e.parquet", pl.from_arrow(table), pandas, table.to_pydict()):
        events = read_events(source, time=None, missing="drop", verbose=False)
        assert events.user_ids == Ids([2**53 + 1, LARGE])
    events = read_events(table.select(["item", "time"]).append_column("user", pa.array([1, 2, 3])), missing="drop")
    assert events.times.data.tolist() == [LARGE, 5]
    assert events.times.dtype == np.int64


def test_integers_that_no_float_holds_are_not_made_of_floats():
    frame = pd.DataFrame({"user": [2.0**53, np.nan, 1.0], "item": [1, 2, 3]})
    with pytest.raises(TypeError, match="'user' must be all strings or all integers, got float"):
        read_events(frame, missing="drop")


def test_integers_of_other_widths():
    wide = pl.DataFrame({"user": [1, 2], "item": [1, 2]}).with_columns(pl.col("user").cast(pl.Int128))
    with pytest.raises(TypeError, match="Column 'user' holds Int128: cast it to Int64, or to strings"):
        read_events(wide)
    for source in ({"user": [2**63], "item": [1]}, {"user": np.array([2**63], np.uint64), "item": [1]}):
        with pytest.raises(ValueError, match="'user' has integers beyond the range of int64: convert them to strings"):
            read_events(source)
    assert read_events({"user": np.array([7], np.uint64), "item": [1]}).user_ids == Ids([7])


def test_json_lines(tmp_path):
    rows = [
        {"user": "ann", "item": 7, "count": 2, "time": "2024-01-01", "more": {"a": [1]}},
        {"user": "007", "item": 8, "time": "2024-01-02T00:00:00+02:00"},
        {"item": 9, "user": None, "count": 1, "time": "2024-01-01"},
    ]
    path = write(tmp_path, "\n\n".join(map(json.dumps, rows)) + "\n", "events.jsonl")
    with pytest.raises(ValueError, match=r"2 problems:\n- Column 'user' .* line 5.*\n- Column 'count' has .* line 3"):
        read_events(path)
    events = read_events(path, weight=None, missing="drop", verbose=False)
    assert (events.user_ids, events.item_ids) == (Ids(["007", "ann"]), Ids([7, 8]))
    assert events.times.data.tolist() == [1704146400, 1704067200]
    (tmp_path / "e.ndjson.gz").write_bytes(gzip.compress(path.read_bytes()))
    assert read_events(tmp_path / "e.ndjson.gz", weight=None, missing="drop", verbose=False).user_ids == events.user_ids


def test_dates_with_a_zone_and_without_in_one_column(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited.DelimitedTable, "_read_lines", lambda *_: pytest.fail("read a second time"))
    path = write(tmp_path, "user,item,time\na,1,2024-01-01\na,2,2024-01-01T00:00:00-01:30\na,3,2024-01-01 00:00Z\n")
    assert read_events(path, verbose=False).times.data.tolist() == [1704067200, 1704072600, 1704067200]


def test_numbers_that_are_spelled_as_pyarrow_takes_them_and_people_do_not(tmp_path):
    for word in ("inf", "-Infinity", "NAN", "-nan", "1e400"):
        with pytest.raises(ValueError, match=f"'{word}' in line 3 is no finite one"):
            read_events(write(tmp_path, f"user,item,weight\na,1,1\na,2,{word}\n"))
    for word in ("0x1f", "0000-01-01", "24-01-01", "2024-13-01", "inf"):
        path = write(tmp_path, f"user,item,time\na,1,{word}\n")
        with pytest.raises(ValueError, match=f"'{word}' in line 2 is neither a number nor an ISO date"):
            read_events(path, time="time")


def test_an_open_quote_in_the_last_column_of_a_small_file(tmp_path):
    path = write(tmp_path, 'user,item\nann,blue\nbob,"rain\ncem,dust\n')
    with pytest.raises(ValueError, match="quote is opened in line 3 and never closed"):
        read_events(path)
    with pytest.raises(ValueError, match="quote is opened in line 1 and never closed"):
        read_events(write(tmp_path, 'user,"item\nann,blue\n'))


def test_one_quote_in_a_field_is_a_character(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited.DelimitedTable, "_read_lines", lambda *_: pytest.fail("read a second time"))
    events = read_events(write(tmp_path, 'user,item\nann,5" disk\nbob,rain\n'), verbose=False)
    assert events.item_ids == Ids(['5" disk', "rain"])


def test_an_open_quote_is_found_beside_quotes_that_are_characters(tmp_path):
    path = write(tmp_path, 'user,item\nann,5" disk\nbob,"rain\ncem,dust\n')
    with pytest.raises(ValueError, match="quote is opened in line 3 and never closed"):
        read_events(path)


def test_a_quoted_field_may_end_with_a_line(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited.DelimitedTable, "_read_lines", lambda *_: pytest.fail("read a second time"))
    assert read_events(write(tmp_path, 'user,item\nann,"blue\n"\n')).item_ids == Ids(["blue\n"])


def test_a_program_ends_in_order_behind_reading(tmp_path):
    """Threads of pyarrow's must not hold what is Python's: one that let go of it too late would abort the program."""
    (tmp_path / "e.csv.gz").write_bytes(gzip.compress(b"user,item\n" + b"ann,blue\n" * 9000))
    code = f"from everypair.data import read_events; read_events({str(tmp_path / 'e.csv.gz')!r})"
    for _ in range(3):
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_text_behind_a_closing_quote_is_a_part_of_the_field(tmp_path):
    assert read_events(write(tmp_path, 'user,item\nann,"du"st\n')).item_ids == Ids(["dust"])


def test_a_delimiter_of_two_characters_in_quotes(tmp_path):
    events = read_events(write(tmp_path, 'user::item\nann::"a::b"\nbob::c\n'), verbose=False)
    assert events.item_ids == Ids(["a::b", "c"])


def test_stray_carriage_returns(tmp_path):
    path = tmp_path / "events.csv"
    path.write_bytes(b'user,item\r\na,"x\r\ny"\r\nb,z\r\n')
    assert read_events(path).item_ids == Ids(["x\r\ny", "z"])
