"""Mistakes people make with tables of events: each is answered by one sentence that says where and what to do."""

import gzip
import os
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
import scipy.sparse as sp

from everypair.data import read_events
from everypair.data.tables import delimited, row_blocks

HEAD = "user,item,rating,time\n"
GOOD = HEAD + "ann,blue,5,2024-01-01\nbob,rain,3,2024-01-02\n"

FILES = {
    "empty file": (b"", {}, "is empty"),
    "blank lines only": ("\n\n\n", {}, "nothing but blank lines"),
    "header only": (HEAD, {}, "The table has no events"),
    "byte order mark only": (b"\xef\xbb\xbf", {}, "is empty"),
    "wrong user column": (GOOD, {"user": "customer"}, "no column 'customer': the columns are 'user', 'item', 'rating'"),
    "wrong columns": (GOOD, {"weight": "w", "time": "t"}, "no column 'w', 't'"),
    "column number": (GOOD, {"user": 9}, "no column 9"),
    "unusual names": ("aa,bb,cc\nx,y,1\n", {}, "No column looks like the user: the columns are 'aa', 'bb', 'cc'"),
    "two items": (
        "user,artist,track\nx,y,1\n",
        {},
        r"Which column is the item: 'artist' or 'track'\? Say item='artist'",
    ),
    "same column": (GOOD, {"user": "item", "item": "item"}, "name the same column, 'item'"),
    "name twice": ("user,item,item\na,b,c\n", {"item": "item"}, "2 columns called 'item'"),
    "header or event": ("buyer,ware\nann,blue\nbob,rain\n", {}, r"header or an event\? Say header=True"),
    "wrong delimiter": (GOOD, {"delimiter": ";"}, "'user,item,rating,time', is one field only: leave out delimiter="),
    "no delimiter": ("user\nann\nbob\n", {}, "no delimiter was found, the first line is 'user'"),
    "ragged rows": (GOOD + "cem\ncem,dust,5,6,7\n", {}, "2 rows have not 4 fields .* line 4 has 1"),
    "rating in words": (GOOD + "cem,dust,good,2024-01-01\n", {"weight": "rating"}, "'good' in line 4 is no finite"),
    "infinite rating": (GOOD + "cem,dust,inf,2024-01-01\n", {"weight": "rating"}, "'inf' in line 4 is no finite"),
    "huge rating": (GOOD + "cem,dust,1e999,2024-01-01\n", {"weight": "rating"}, "'1e999' in line 4 is no finite"),
    "decimal comma": ("user;item;rating\na;b;3,5\n", {"weight": "rating"}, "'3,5' in line 2 .* a decimal point"),
    "beyond float32": ("user,item,count\na,b,1e300\n", {}, "beyond the range of float32: rescale"),
    "missing user": (
        GOOD + ",dust,5,2024-01-01\n",
        {},
        "'user' has 1 missing value, the first in line 4: missing='drop'",
    ),
    "missing rating": (GOOD + "cem,dust,NA,2024-01-01\n", {"min_rating": 4}, "'rating' has NaN or missing .* line 4"),
    "missing time": (GOOD + "cem,dust,5,\n", {"time": "time"}, "'time' has missing times, 1, the first in line 4"),
    "all missing": (HEAD + ",,,\n", {"missing": "drop"}, "no events without missing values"),
    "american date": (GOOD + "cem,dust,5,12/31/2023\n", {"time": "time"}, "'12/31/2023' in line 4 is neither"),
    "dates and numbers": (GOOD + "cem,dust,5,1700000000\n", {"time": "time"}, r"mixes dates \(line 2\) and numbers"),
    "quote left open": (GOOD + 'cem,"dust,5,2024-01-01\n', {}, "quote is opened in line 4 and never closed"),
    "zero bytes at the end": (
        GOOD * 3000 + "\0\0\0,\0,1,1\n",
        {"header": True},
        "1 row has zero bytes, the first is line 9001",
    ),
    "binary file": (bytes(range(256)) * 9, {}, "zero bytes: it is no text"),
    "picture": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", {}, "no text"),
    "UTF-16": (GOOD.encode("utf-16"), {}, "UTF-16: save it as UTF-8"),
    "Windows letters": (
        "user,item\na,b\nM\xfcller,c\n".encode("cp1252"),
        {},
        r"'M\xfcller' in line 3, .* not utf-8: say",
    ),
    "old Macintosh": ("user,item\ra,b\r", {}, r"\\r alone"),
    "web page": ("<!DOCTYPE html>\n<html>404</html>", {}, "web page .*downloaded"),
    "list of JSON": ('[{"user": 1, "item": 2}]\n', {}, "looks like a list of JSON: write a line per event"),
    "JSON cut off": ('{"user": 1, "item": 2}\n\n{"user": 2, "it\n', {}, "JSON lines, but line 3 is no JSON object"),
    "JSON in many lines": ('{\n"user": 1,\n"item": 2}\n', {}, "line 1 is no JSON object"),
    "JSON of two types": (
        '{"user": 1, "item": 2}\n{"user": "b", "item": 2}\n',
        {},
        "holds a number in line 1 and a str in",
    ),
    "PDF": (b"%PDF-1.7\n", {}, "is a PDF"),
    "pickle": (b"\x80\x04\x95\0", {}, "pickle, which is never loaded"),
    "bzip2": (b"BZh91AY", {}, "bzip2: unpack it first"),
    "gzip cut off": (gzip.compress(os.urandom(9000).hex().encode())[:4000], {}, "damaged or cut off"),
    "zstd cut off": (
        pa.compress(os.urandom(9000).hex().encode(), "zstd", asbytes=True)[:4000],
        {},
        "damaged or cut off",
    ),
    "Parquet cut off": (b"PAR1" + b"\1" * 50, {}, "damaged or cut off: parquet"),
    "Arrow cut off": (b"ARROW1" + b"\1" * 50, {}, "damaged or cut off: arrow"),
    "zip cut off": (b"PK\x03\x04" + b"\1" * 50, {}, "damaged or cut off"),
    "text option of another file": (b"PAR1" + b"\1" * 50, {"delimiter": ";"}, "delimiter= belongs to text files"),
    "no ratings": ("user,item\na,b\n", {"min_rating": 4}, "min_rating=4 needs a column of ratings"),
    "threshold too high": (GOOD, {"min_rating": 9}, "No event is left: all weights are 0 or below min_rating"),
    "too many asked": (GOOD, {"min_user_events": 5}, "No event is left: no users have 5 items"),
    "not integers": ("user,item\n1,2\nx,3\n", {"ids": "integer"}, "'user' holds 'x' in line 3, which is no integer"),
    "given names do not fit": (GOOD, {"header": ["user", "item"]}, "names 2 columns, but the first line has 4 fields"),
}


@pytest.mark.parametrize("mistake", FILES)
def test_files(tmp_path, mistake, capsys):
    content, arguments, message = FILES[mistake]
    path = tmp_path / "events.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match=message) as caught:
        read_events(path, **arguments)
    said = str(caught.value)
    assert said.startswith(str(path)) or mistake in ("beyond float32", "text option of another file")
    assert said.endswith((".", "?"))
    assert len(said) < len(str(path)) + 260
    assert "\n" not in said
    assert caught.value.__cause__ is None


def test_all_problems_are_reported_at_once(tmp_path):
    path = tmp_path / "events.csv"
    path.write_text("user,item,rating,time\nann,blue,x,2024-01-01\n,rain,3,monday\nbob,,3\n,,,\n")
    with pytest.raises(ValueError, match="5 problems") as caught:
        read_events(path, weight="rating", time="time")
    ragged, rating, time, user, item = str(caught.value).split("\n- ")[1:]
    assert ragged.startswith("1 row has not 4 fields as the first line has, separated by ',': line 4 has 3.")
    assert rating == "Column 'rating' must hold numbers: 'x' in line 2 is no finite one; mend or drop that row."
    assert time.startswith("Column 'time' must hold numbers or dates: 'monday' in line 3 is neither")
    assert user == "Column 'user' has 2 missing values, the first in line 3: missing='drop' leaves those events out."
    assert item == "Column 'item' has 1 missing value, the first in line 5: missing='drop' leaves those events out."
    with pytest.raises(
        ValueError, match=r"2 problems:\n- Column 'user' has 1 missing .* row 1.*\n- .*'item' has 1 .* row 0"
    ):
        read_events({"user": ["a", None], "item": [None, "b"]})


def test_lines_are_counted_through_quotes_and_blank_lines(tmp_path):
    path = tmp_path / "events.csv"
    path.write_text('user,item,count\n\n"a\n\nb",x,1\nc,d,oops\n')
    with pytest.raises(ValueError, match="'oops' in line 6"):
        read_events(path)


def test_no_file(tmp_path):
    (tmp_path / "events.csv").write_text(GOOD)
    with pytest.raises(FileNotFoundError, match=r"no file .*event\.csv\. Did you mean 'events\.csv'\?"):
        read_events(tmp_path / "event.csv")
    with pytest.raises(FileNotFoundError, match="no folder"):
        read_events(tmp_path / "absent" / "events.csv")
    with pytest.raises(IsADirectoryError, match="is a folder: name a file in it"):
        read_events(tmp_path)
    for text in (GOOD * 100, "a\0b"):
        with pytest.raises((FileNotFoundError, ValueError)) as caught:
            read_events(text)
        assert len(str(caught.value)) < 250


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read everything")
def test_no_permission(tmp_path):
    path = tmp_path / "events.csv"
    path.write_text(GOOD)
    path.chmod(0)
    with pytest.raises(PermissionError, match="permissions do not allow it"):
        read_events(path)


def test_other_archives(tmp_path):
    for member, message in (("xl/workbook.xml", "is an Excel file: save it as CSV"), ("events.csv", "unpack it first")):
        path = tmp_path / "events.zip"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(member, GOOD)
        with pytest.raises(ValueError, match=message):
            read_events(path)
    path.write_bytes(path.read_bytes().replace(b"PK\x01\x02\x14\x03\x14", b"PK\x01\x02\x14\x03\xa0"))
    with pytest.raises(ValueError, match="cannot be unpacked"):  # it needs a version of zip that there is not
        read_events(path)
    path = tmp_path / "matrix.npz"
    sp.save_npz(path, sp.csr_array(np.eye(2)))
    with pytest.raises(ValueError, match="No column looks like the user: the columns are 'indices', 'indptr'"):
        read_events(path)


def test_a_row_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr(row_blocks, "BLOCK_BYTES", 1 << 10)
    monkeypatch.setattr(delimited, "LONGEST_ROW", 1 << 12)
    path = tmp_path / "events.csv"
    path.write_text(GOOD + '"' + "x,y,1,1\n" * 5000)
    with pytest.raises(ValueError, match="Line 4 begins a row of more than 0 MB: is a quote left open there"):
        read_events(path, header=True, delimiter=",")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"duplicates": "mean"}, "duplicates must be one of auto, sum, last, max, count, got 'mean'"),
        ({"missing": "ignore"}, 'missing must be "error" or "drop"'),
        ({"ids": "int"}, "ids must be one of"),
        ({"min_rating": "4"}, "min_rating must be a number"),
        ({"min_rating": float("nan")}, "min_rating must be a number"),
        ({"dislike_weight": 0.1}, "say with min_rating= which"),
        ({"min_rating": 4, "dislike_weight": -1}, "dislike_weight must be a number ≥ 0"),
        ({"min_rating": 4, "dislike_weight": 1, "duplicates": "count"}, "'count' has no dislikes"),
        ({"weight": "rating", "duplicates": "count"}, "does not look at weights: leave out weight='rating'"),
        ({"min_user_events": 0}, "min_user_events must be an integer ≥ 1"),
        ({"delimiter": "\n"}, "delimiter must be one or more characters"),
        ({"delimiter": ""}, "delimiter must be one or more characters"),
        ({"quote": "ab"}, "quote must be one character"),
        ({"quote": ",", "delimiter": ","}, "quote and delimiter must differ"),
        ({"header": "user"}, "header must be True, False or a list of names"),
        ({"encoding": "utf-9"}, "encoding 'utf-9' is unknown"),
        ({"encoding": "utf-16"}, "convert the file to UTF-8 first"),
        ({"encoding": "shift_jis"}, "convert the file to UTF-8 first"),
    ],
)
def test_options(tmp_path, arguments, message):
    path = tmp_path / "events.csv"
    path.write_text(GOOD)
    with pytest.raises(ValueError, match=message):
        read_events(path, **arguments)


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [
        ([("a", "b"), ("a",)], ValueError, "row 0 has 2 fields, row 1 has 1"),
        ([("a",)], ValueError, "need a user and an item: there is no column for the item"),
        ([], ValueError, "there are no events"),
        (["ab", "cd"], TypeError, r"rows \(user, item\), got a str"),
        (b"user,item", TypeError, "got bytes"),
        (None, TypeError, "got NoneType"),
        (sp.csr_array(np.eye(2)), TypeError, "sparse matrix already: give it to fit"),
        (np.zeros((2, 2, 2)), ValueError, "got 3-D"),
        (
            pd.DataFrame({"user": [True], "item": [1]}),
            TypeError,
            "'user' must be all strings or all integers, got bool",
        ),
        ({"user": ["a", 1], "item": [1, 2]}, TypeError, "got int, str"),
        ({"user": [[1]], "item": [1]}, ValueError, "'user' must be one-dimensional"),
        (pd.DataFrame([[1, 2, 3]], columns=["user", "item", "item"]), ValueError, "columns of the same name"),
    ],
)
def test_sources(source, error, message):
    with pytest.raises(error, match=message):
        read_events(source)


def test_polars_lazy_frame():
    pl = pytest.importorskip("polars")
    with pytest.raises(TypeError, match="collect a lazy frame first"):
        read_events(pl.LazyFrame({"user": [1], "item": [1]}))
