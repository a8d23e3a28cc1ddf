"""Every way to hold events out, against loops over the entries."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from trials import Case, Room

from everypair import data

Entries = dict[tuple[int, int], float]


def entries(matrix: Any) -> Entries:
    """A matrix as a dictionary."""
    coo = sp.coo_array(matrix)
    return {(int(i), int(j)): float(w) for i, j, w in zip(coo.row, coo.col, coo.data)}


def by_row(all_of: Entries) -> dict[int, list[int]]:
    """The columns of every row that has some."""
    rows = defaultdict(list)
    for i, j in sorted(all_of):
        rows[i].append(j)
    return rows


def half_up(number: float) -> int:
    """Rounded, ½ upwards."""
    return int(np.floor(number + 0.5))


def trial(case: Case, folder: Path) -> str:
    chance = np.random.default_rng(case["seed"])
    shape, share, seed = tuple(case["shape"]), case["share"], case["seed"] % 1000
    dense = np.where(chance.random(shape) < case["density"], chance.choice([-1.0, 0.5, 2.0], size=shape), 0.0)
    dense[0, :2] = 1.0
    whole, way = entries(dense), case["way"]
    times = {pair: int(chance.integers(case["moments"])) for pair in sorted(whole)}
    clock = [times[pair] for pair in sorted(whole)]
    given = sp.csr_array(dense) if case["sparse"] else dense
    if way == "rows":
        return rows_apart(given, whole, share, seed)
    split = {
        "entries": lambda: data.split_entries(given, share, seed),
        "per row": lambda: data.split_per_row(given, test_count=case["count"], random_state=seed),
        "share of a row": lambda: data.split_per_row(given, test_share=share, random_state=seed),
        "last": lambda: data.split_leave_last(given, clock, case["count"]),
        "time": lambda: data.split_time(given, clock, share),
        "since": lambda: data.split_time(given, clock, since=case["moments"] // 2),
        "cold items": lambda: data.split_cold_items(given, share, seed),
    }[way]
    try:
        train, test = map(entries, split())
        again = [entries(part) for part in split()]
    except ValueError as refusal:
        assert len(str(refusal)) > 20, "a refusal without a sentence"
        return f"{way}: refused"
    assert not train.keys() & test.keys(), "an entry in both parts"
    assert {**train, **test} == whole, "an entry was lost or changed"
    assert again == [train, test], "another split from the same seed"
    held_out = expected(way, case, whole, times)
    assert held_out is None or set(test) == held_out, "other entries than the definition's"
    rows, mine = by_row(whole), by_row(test)
    for row, columns in rows.items():
        size, hidden = len(columns), len(mine.get(row, ()))
        if way == "per row":
            assert hidden == min(case["count"], size - 1), "another number in a row"
        if way == "share of a row":
            assert hidden == min(half_up(share * size), size - 1), "another share of a row"
    return way


def expected(way: str, case: Case, whole: Entries, times: dict[tuple[int, int], int]) -> set[tuple[int, int]] | None:
    """What is held out where chance has no say, and how much of it where it has."""
    if way == "last":
        held_out = set()
        for row, columns in by_row(whole).items():
            order = sorted(columns, key=lambda column: (times[row, column], column))
            held_out |= {(row, column) for column in order[-case["count"] :]} if len(order) > case["count"] else set()
        return held_out
    if way == "time":
        moment = sorted(times.values())[max(1, half_up((1 - case["share"]) * len(times))) - 1]
        return {pair for pair, when in times.items() if when > moment}
    if way == "since":
        return {pair for pair, when in times.items() if when >= case["moments"] // 2}
    if way == "entries":
        drawn = np.random.default_rng(case["seed"] % 1000).random(len(whole)) < case["share"]
        return {pair for pair, out in zip(sorted(whole), drawn) if out}
    return None


def rows_apart(given: Any, whole: Entries, share: float, seed: int) -> str:
    """Whole rows are held out, and of each a part is shown."""
    try:
        split = data.split_rows(given, share, random_state=seed)
    except ValueError as refusal:
        assert len(str(refusal)) > 20, "a refusal without a sentence"
        return "rows: refused"
    rows = by_row(whole)
    assert sorted([*split.train_rows, *split.test_rows]) == list(range(given.shape[0])), "a row was lost"
    back = {}
    for part, numbers in (
        (split.train, split.train_rows),
        (split.fold_in, split.test_rows),
        (split.test, split.test_rows),
    ):
        for (row, column), weight in entries(part).items():
            pair = (int(numbers[row]), column)
            assert pair not in back, "an entry in two parts"
            back[pair] = weight
    assert back == whole, "an entry was lost or changed"
    for place, row in enumerate(split.test_rows):
        size, hidden = len(rows[int(row)]), len(by_row(entries(split.test))[place])
        assert hidden == min(max(half_up(0.2 * size), 1), size - 1), "another share of a row"
    several = sum(len(columns) > 1 for columns in rows.values())
    assert len(split.test_rows) == min(max(half_up(share * several), 1), given.shape[0] - 1), "another share of rows"
    return "rows"


ROOM = Room(
    "splits",
    "Training and test share no entry and lose none; what is held out is what the definition says, and the same again "
    "from the same seed.",
    "random matrices, shares, counts and clocks with equal moments against loops over the entries",
    {
        "way": ("entries", "per row", "share of a row", "last", "time", "since", "cold items", "rows"),
        "shape": ([3, 4], [1, 5], [20, 12], [40, 3], [2, 60]),
        "density": (0.5, 0.1, 1.0),
        "share": (0.25, 0.1, 0.5, 0.9),
        "count": (1, 2, 5),
        "moments": (3, 1, 1000),
        "sparse": (False, True),
        "seed": range(100_000),
    },
    trial,
)
