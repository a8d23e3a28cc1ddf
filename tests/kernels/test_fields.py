"""The tokenizer of delimited text against Python's csv module, on random text cut at any byte."""

import csv
import io

import numpy as np
import pytest

from everypair.data.tables.dialect import split_text
from everypair.kernels.fields import BAD_QUOTE, N_PROBLEMS, OPEN_QUOTE, RAGGED, ZERO_BYTE, split_rows


def split(text, n_fields, delimiter=b",", cuts=(), room=1000):
    """Split ``text``, given piece by piece as from a stream, into (rows, lines, problems)."""
    slots = np.arange(n_fields)
    problems = np.zeros((N_PROBLEMS, 3), np.int64)
    rows, row_lines, line, rest = [], [], 1, b""
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)])]
    for number, piece in enumerate(pieces):
        buffer = np.frombuffer(bytearray(rest + piece), np.uint8)
        at, final = 0, number == len(pieces) - 1
        while True:
            starts, ends = np.empty((2, n_fields, room), np.int64)
            lines = np.empty(room, np.int64)
            delimiter_bytes = np.frombuffer(delimiter, np.uint8)
            count, at, line = split_rows(
                buffer, at, len(buffer), final, line, delimiter_bytes, ord('"'), slots, starts, ends, lines, problems
            )
            rows += [[bytes(buffer[a:b]) for a, b in zip(starts[:, r], ends[:, r])] for r in range(count)]
            row_lines += lines[:count].tolist()
            if count < room:
                break
        rest = bytes(buffer[at:])
    assert rest == b""
    return rows, row_lines, problems


def random_text(rng, line_end, delimiter):
    """Rows of three fields, quoted where they must be and sometimes where they need not."""
    letters = [*'ab",;:\n\r x', "é", "😀"]
    out = io.StringIO()
    rows = [["".join(rng.choice(letters, rng.integers(0, 5))) for _ in range(3)] for _ in range(30)]
    for row in rows:
        quoted = ['"' + field.replace('"', '""') + '"' for field in row]
        needed = [any(letter in field for letter in delimiter + '"\n\r') for field in row]
        out.write(delimiter.join(q if must or rng.random() < 0.3 else f for q, f, must in zip(quoted, row, needed)))
        out.write(line_end)
    return rows, out.getvalue()


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("line_end", "delimiter"), [("\n", ","), ("\r\n", ";"), ("\n", "::"), ("\r\n", "\t")])
def test_random_text_like_csv_wherever_it_is_cut(seed, line_end, delimiter):
    rng = np.random.default_rng(seed)
    rows, text = random_text(rng, line_end, delimiter)
    raw = text.encode()
    if len(delimiter) == 1:
        assert rows == list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    assert split_text(text, delimiter, '"') == rows
    want = [[field.encode() for field in row] for row in rows]
    lines = np.cumsum([1] + [sum(field.count("\n") for field in row) + 1 for row in rows])[:-1]
    for room in (1, 7, 1000):
        for cuts in ([], sorted(rng.integers(0, len(raw), 5)), range(1, len(raw))):
            got, got_lines, problems = split(raw, 3, delimiter.encode(), cuts, room)
            assert got == want
            assert got_lines == lines.tolist()
            assert not problems.any()


def test_blank_lines_and_a_last_line_without_an_end():
    rows, lines, problems = split(b"a,b\r\n\r\n\nc,\n,d", 2)
    assert rows == [[b"a", b"b"], [b"c", b""], [b"", b"d"]]
    assert lines == [1, 4, 5]
    assert not problems.any()


def test_a_quote_inside_a_field_is_a_character():
    assert split(b'5" disk,a"b\n', 2)[0] == [[b'5" disk', b'a"b']]


@pytest.mark.parametrize("cuts", [[], [1, 5, 9], range(1, 26)])
def test_bad_rows_are_counted_and_left_out(cuts):
    text = b'a,b\nc\n"x"y,z\nd,e,f\n\0,g\nh'
    rows, _, problems = split(text, 2, cuts=cuts)
    assert rows == [[b"a", b"b"]]
    assert problems[RAGGED].tolist() == [3, 2, 1]
    assert problems[BAD_QUOTE].tolist() == [1, 3, 2]
    assert problems[ZERO_BYTE].tolist() == [1, 5, 2]


def test_a_quote_that_is_never_closed():
    rows, _, problems = split(b'a,b\nc,"d\ne,f\n', 2, cuts=[6, 9])
    assert rows == [[b"a", b"b"]]
    assert problems[OPEN_QUOTE].tolist() == [1, 2, 2]


def test_only_wanted_fields_are_kept():
    starts, ends = np.empty((2, 1, 9), np.int64)
    lines, problems = np.empty(9, np.int64), np.zeros((N_PROBLEMS, 3), np.int64)
    text = np.frombuffer(bytearray(b'1,"a ""b""",3\n4,5,6\n'), np.uint8)
    comma = np.frombuffer(b",", np.uint8)
    slots = np.array([-1, 0, -1])
    count, at, line = split_rows(text, 0, len(text), True, 1, comma, ord('"'), slots, starts, ends, lines, problems)
    assert (count, at, line) == (2, len(text), 3)
    assert [bytes(text[a:b]) for a, b in zip(starts[0, :2], ends[0, :2])] == [b'a "b"', b"5"]
