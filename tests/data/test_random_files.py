"""Random files of events, written in many ways, against pandas: the same ids, weights and times."""

import gzip
import io
import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from everypair.data import read_events
from everypair.data.tables import delimited, row_blocks
from everypair.data.tables.words import MISSING_WORDS

LETTERS = [*"abcxyzäß中😀019", " ", "'", ",", ";", "|", "::", "\t", '"', "\n", "\r\n", ".", "-", "+", "e", "NA", "\x1f"]
ZONES = ("", "", "Z", "+02:00", "-0330", "+01")


def random_ids(rng):
    kind = rng.choice(["integers", "text", "nearly", "long", "floats"])
    count = int(rng.integers(1, 40))
    if kind == "integers":
        return [str(one) for one in rng.integers(-(2**62), 2**62, count)]
    if kind == "nearly":
        return [*map(str, range(count)), "007", "-0", "+1", "9223372036854775808"]
    if kind == "floats":
        return [f"{one}.0" for one in range(count)]
    longest = 300 if kind == "long" else 6
    return ["".join(rng.choice(LETTERS, rng.integers(1, longest))) for _ in range(count)]


def random_times(rng, rows):
    kind = rng.choice(["integers", "decimals", "dates", "moments", "zones"])
    seconds = rng.integers(-(10**9), 4 * 10**9, rows)
    if kind == "integers":
        return [str(one) for one in seconds * int(10 ** rng.integers(0, 10))]
    if kind == "decimals":
        return [repr(one) for one in (seconds / 8 + rng.random(rows)).tolist()]
    digits = int(rng.integers(0, 10)) if kind != "dates" else 0
    written = []
    for second in seconds.tolist():
        word = pd.Timestamp(second, unit="s").strftime("%Y-%m-%d" if kind == "dates" else "%Y-%m-%d %H:%M:%S")
        if digits:
            word += "." + "".join(map(str, rng.integers(0, 10, digits)))
        written.append(word + (str(rng.choice(ZONES)) if kind == "zones" else ""))
    return [word.replace(" ", "T") for word in written] if rng.random() < 0.5 else written


def random_file(seed):
    """Return a table of strings and the bytes of a file that holds it, with the options that it needs."""
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(1, 200))
    frame = pd.DataFrame({"user": rng.choice(random_ids(rng), rows), "item": rng.choice(random_ids(rng), rows)})
    frame["weight"] = [rng.choice(["1", "2.5", "-3", "1e2", "+4", ".5", "7.", repr(rng.normal())]) for _ in range(rows)]
    frame["time"] = random_times(rng, rows)
    frame["other"] = rng.choice(["x", "", 'a "word"', "1,5", "two\nlines"], rows)
    if rng.random() < 0.4:
        frame = frame.mask(rng.random(frame.shape) < 0.1, str(rng.choice(MISSING_WORDS)))
    if rng.random() < 0.2:
        frame["weight"] = " " + frame["weight"] + " "
    frame = frame[[*rng.permutation(frame.columns)]]
    delimiter = str(rng.choice([",", ";", "\t", "|", " ", "::"]))
    if delimiter == "::":  # which pandas cannot write
        frame = frame.replace({'"': "", "\n": "", "\r": "", "::": "", "\x1f": ""}, regex=True)
        text = "\n".join("::".join(row) for row in [frame.columns, *frame.itertuples(index=False, name=None)]) + "\n"
    else:
        end = str(rng.choice(["\n", "\r\n"]))
        quoting = int(rng.choice([0, 1]))
        text = frame.to_csv(index=False, sep=delimiter, lineterminator=end, quoting=quoting)
    content = text.encode()
    if rng.random() < 0.2:
        content = b"\xef\xbb\xbf" + content
    packing = rng.integers(0, 5)
    if packing == 0:
        content = gzip.compress(content)
    elif packing == 1:
        content = pa.compress(content, "zstd", asbytes=True)
    return frame, content, {"delimiter": delimiter, "header": True}


def seconds_of(word):
    """What a time is by pandas; numbers as they are."""
    try:
        return int(word)
    except ValueError:
        pass
    try:
        return float(word)
    except ValueError:
        moment = pd.Timestamp(word)
        moment = moment.tz_localize("UTC") if moment.tz is None else moment.tz_convert("UTC")
        return moment.value / 10**9


def expected(frame):
    """Ids, sums and latest times by pandas and loops."""
    words = frame.assign(weight=frame["weight"].str.strip())  # blanks count in ids alone
    there = words[~words.drop(columns="other").isin(MISSING_WORDS).any(axis=1)]
    ids = {}
    for role in ("user", "item"):
        every = frame[role][~frame[role].isin(MISSING_WORDS)]
        whole = all(one.lstrip("-").isdecimal() and str(int(one)) == one and abs(int(one)) < 2**63 for one in every)
        ids[role] = there[role].map(int) if whole and len(every) else there[role]
    pairs = {}
    for user, item, weight, time in zip(ids["user"], ids["item"], there["weight"], there["time"]):
        total, latest = pairs.get((user, item), (0.0, -math.inf))
        pairs[user, item] = total + float(weight), max(latest, seconds_of(time))
    return {pair: (np.float32(total), time) for pair, (total, time) in pairs.items() if np.float32(total) != 0}


def check(seed, folder, monkeypatch):
    frame, content, options = random_file(seed)
    path = folder / "events.csv"
    path.write_bytes(content)
    monkeypatch.setattr(row_blocks, "BLOCK_BYTES", [1 << 23, 4096, 700][seed % 3])
    want = expected(frame)
    if not want:
        with pytest.raises(ValueError, match=r"no events|No event is left"):
            read_events(path, missing="drop", verbose=False, **options)
        return
    events = read_events(path, missing="drop", verbose=False, **options)
    matrix, times = events.matrix.tocoo(), events.times.tocoo()
    users, items = events.user_ids.names(matrix.row), events.item_ids.names(matrix.col)
    got = {
        (user, item): (weight, time) for user, item, weight, time in zip(users, items, matrix.data, times.data)
    }  # fmt: skip
    assert got.keys() == want.keys(), seed
    assert all(got[pair] == (want[pair][0], float(want[pair][1])) for pair in want), seed
    assert list(events.user_ids) == sorted(events.user_ids)


@pytest.mark.parametrize("first", range(0, 150, 50))
def test_random_files(tmp_path, monkeypatch, first):
    for seed in range(first, first + 50):
        check(seed, tmp_path, monkeypatch)


@pytest.mark.slow
def test_five_thousand_random_files(tmp_path, monkeypatch):
    for seed in range(1000, 6000):
        check(seed, tmp_path, monkeypatch)


def test_both_ways_of_reading_agree(tmp_path, monkeypatch):
    """What pyarrow reads at once and what the standard library reads line by line."""
    for seed in range(200, 260):
        _, content, options = random_file(seed)
        path = tmp_path / "events.csv"
        path.write_bytes(content)
        results = []
        for at_once in (True, False):
            with monkeypatch.context() as patched:
                if not at_once:
                    patched.setattr(delimited.DelimitedTable, "_read_blocks", refuse)
                try:
                    results.append(read_events(path, missing="drop", verbose=False, **options))
                except ValueError as failure:
                    results.append(str(failure))
        one, two = results
        if isinstance(one, str) or isinstance(two, str):
            assert one == two
            continue
        assert (one.user_ids, one.item_ids, one.dropped) == (two.user_ids, two.item_ids, two.dropped)
        for a, b in ((one.matrix, two.matrix), (one.times, two.times)):
            assert (a != b).nnz == 0


def refuse(*_):
    raise delimited.UnreadableError


def test_a_good_file_is_read_once(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited.DelimitedTable, "_read_lines", lambda *_: pytest.fail("read a second time"))
    frame = pd.DataFrame({"user": ["a", 'b "c"', "a\nb"], "item": [1, 2, 3], "weight": [1.5, 2, 3]})
    for times in ([1, 2, 3], [1.5, 2, 3], ["2024-01-01"] * 3, ["2024-01-01T00:00Z", "2024-01-01 00:00:01.123", None]):
        text = io.StringIO()
        frame.assign(time=times).to_csv(text, index=False)
        path = tmp_path / "events.csv"
        path.write_text(text.getvalue())
        assert read_events(path, verbose=False, missing="drop").matrix.nnz == 3 - (None in times)
