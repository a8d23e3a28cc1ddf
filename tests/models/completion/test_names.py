"""Completion by name: rows and columns of frames in any order, asked for by name."""

import numpy as np
import pandas as pd
import pytest

from everypair.models.completion.rivals import FNNM, FPCA
from everypair.testing.journey import from_json_and_arrays

RNG = np.random.default_rng(0)
FULL = RNG.normal(size=(12, 2)) @ RNG.normal(size=(2, 8))
KNOWN = RNG.random(FULL.shape) < 0.7
ROWS, COLUMNS = [f"zeile {i}" for i in range(12)], [f"ряд {j}" for j in range(8)]
FRAME = pd.DataFrame(np.where(KNOWN, FULL, np.nan), index=ROWS, columns=COLUMNS)
MASK = pd.DataFrame(KNOWN, index=ROWS, columns=COLUMNS)
ABOUT = pd.DataFrame(RNG.normal(size=(12, 3)), index=ROWS, columns=["age", "size", "hue"])


def shuffled(frame):
    return frame.sample(frac=1, random_state=0).sample(frac=1, random_state=0, axis=1)


def test_values_and_columns_by_name():
    mine, plain = FPCA(nuclear_reg=0.5).fit(FRAME), FPCA(nuclear_reg=0.5).fit(FRAME.to_numpy())
    assert (list(mine.row_ids_), list(mine.column_ids_)) == (ROWS, COLUMNS)
    assert plain.row_ids_ is plain.column_ids_ is None
    assert np.array_equal(mine.complete(), plain.complete())
    assert np.array_equal(mine.predict([ROWS[3], ROWS[0]], [COLUMNS[1], COLUMNS[7]]), plain.predict([3, 0], [1, 7]))
    for again in (mine, from_json_and_arrays(mine)):
        found, values = again.recommend([ROWS[5]], n=9)
        places, expected = plain.recommend([5], n=9)
        assert found[0].tolist() == [None if place < 0 else COLUMNS[place] for place in places[0]]
        assert np.array_equal(values, expected)
    allowed, _ = mine.recommend(ROWS[:2], n=1, exclude_seen=False, allow=[COLUMNS[4]])
    assert allowed.ravel().tolist() == [COLUMNS[4]] * 2
    with pytest.raises(ValueError, match=r"1 unknown row: 'zeile'.*Did you mean"):
        mine.predict(["zeile"], [COLUMNS[0]])


def test_frames_in_any_order_change_no_bit():
    full = pd.DataFrame(FULL, index=ROWS, columns=COLUMNS)
    mine = FNNM(nuclear_reg=0.5, l1_reg=0.1, max_iter=20).fit(full, MASK, left_features=ABOUT)
    other = FNNM(nuclear_reg=0.5, l1_reg=0.1, max_iter=20).fit(full, shuffled(MASK), left_features=shuffled(ABOUT))
    assert np.array_equal(mine.complete(), other.complete())
    assert mine.side_terms_ == other.side_terms_
    assert {left for left, _, _ in mine.side_terms_} <= set(ABOUT)
    hidden = pd.DataFrame(np.where(KNOWN, np.nan, FULL), index=ROWS, columns=COLUMNS)
    assert mine.score(shuffled(hidden)) == mine.score(hidden) == mine.score(full, ~MASK)
    new = pd.DataFrame([[1.0, 2.0, 3.0]], columns=["hue", "age", "size"])
    assert np.array_equal(mine.complete(left_features=new), mine.complete(left_features=new[["age", "hue", "size"]]))


def test_frames_that_do_not_fit_are_refused():
    model = FNNM(nuclear_reg=0.5, l1_reg=0.1, max_iter=3)
    with pytest.raises(ValueError, match="mask must have the rows of Y"):
        model.fit(FRAME, MASK[1:])
    with pytest.raises(ValueError, match="1 unknown column: 'ряд 7'"):
        model.fit(FRAME, MASK.rename(columns={"ряд 7": "ряд 9"}))
    with pytest.raises(ValueError, match="1 ids have no row: 'zeile 0'"):
        model.fit(FRAME, left_features=ABOUT[1:])
    with pytest.raises(ValueError, match="the index of Y: ids must be unique"):
        model.fit(FRAME.set_axis(["a"] * 12))
