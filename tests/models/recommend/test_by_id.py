"""Models that speak ids: every source of events, every form of answers, and rows and columns in any order."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from everypair import Blend, EnsembleMF, ItemItem, OneClassMF, Popularity, SubsampledMF
from everypair.data import Events, Ids, read_events, split_leave_last, split_per_row, split_rows
from everypair.evaluate import ranking_metrics
from everypair.features import table_features
from everypair.testing import block_matrix
from everypair.testing.by_id import named_blocks
from everypair.testing.journey import from_json_and_arrays

EVENTS, USERS, HELD_OUT = named_blocks()
ITEMS = list(EVENTS.item_ids)
ENTRIES = EVENTS.matrix.tocoo()
FRAME = pd.DataFrame({"user": EVENTS.user_ids.names(ENTRIES.row), "item": EVENTS.item_ids.names(ENTRIES.col)})
FRAME = FRAME.sample(frac=1, random_state=0)  # in no order
RNG = np.random.default_rng(0)
ABOUT_USERS = pd.DataFrame(RNG.normal(size=(44, 3)), index=list(EVENTS.user_ids), columns=["age", "height", "shoe"])
ABOUT_ITEMS = pd.DataFrame(RNG.normal(size=(21, 2)), index=ITEMS, columns=["game", "price"])


def model(**params):
    return OneClassMF(**{"rank": 3, "max_iter": 5, "random_state": 0, "n_threads": 1, **params})


def shuffled(frame, seed=1):
    order = np.random.default_rng(seed).permutation(frame.shape[1])
    return frame.sample(frac=1, random_state=seed).iloc[:, order]


@pytest.mark.parametrize("convert", [lambda f: f, pl.from_pandas, pa.Table.from_pandas, lambda f: dict(f.items())])
def test_any_frame_of_events(convert):
    mine = model().fit(convert(FRAME))
    assert np.array_equal(mine.score_users(), model().fit(EVENTS).score_users())
    assert mine.item_ids_ == EVENTS.item_ids


def test_a_path_is_read(tmp_path, capsys):
    path = tmp_path / "events.csv"
    FRAME.rename(columns={"user": "customer_id", "item": "product"}).to_csv(path, index=False)
    mine = model().fit(path)
    assert "user 'customer_id', item 'product'" in capsys.readouterr().err
    assert mine.user_ids_ == EVENTS.user_ids
    assert np.array_equal(model().fit(str(path)).recommend(USERS[:1])[0], mine.recommend(USERS[:1])[0])
    with pytest.raises(FileNotFoundError, match=r"none\.csv"):
        model().fit(tmp_path / "none.csv")


def test_a_frame_with_a_column_per_item_has_ids_too():
    wide = pd.DataFrame(EVENTS.matrix.toarray(), index=list(EVENTS.user_ids), columns=ITEMS)
    mine = model().fit(wide)
    assert (mine.user_ids_, mine.item_ids_) == (EVENTS.user_ids, EVENTS.item_ids)
    other = mine.recommend(interactions=shuffled(wide)[:3].reset_index(drop=True), n=4)
    assert np.array_equal(other[0], mine.recommend(interactions=shuffled(wide).iloc[:3][ITEMS].to_numpy(), n=4)[0])
    unnamed = model().fit(wide.reset_index(drop=True))
    assert list(unnamed.user_ids_) == list(range(44))
    positions = model().fit(pd.DataFrame(EVENTS.matrix.toarray()))
    assert positions.user_ids_ is None
    with pytest.raises(TypeError, match=r"column 'kunde' holds String.*read_events\(frame, user=…, item=…\)"):
        model().fit(pd.DataFrame({"kunde": ["a"], "ware": ["b"]}))
    with pytest.raises(ValueError, match=r"Which column is the item: 'artist' or 'track'.*read_events: give what it"):
        model().fit(pd.DataFrame({"user": ["a"], "artist": ["b"], "track": ["c"]}))


@pytest.mark.parametrize("form", ["pandas", "polars", "arrow"])
def test_answers_as_tables(form):
    mine = model().fit(EVENTS)
    items, scores = mine.recommend(USERS[:2], n=15)
    near, cosines = mine.similar_items(ITEMS[:1], n=3)
    mine.set_output(transform=form)
    kind = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.Table}[form]
    table = mine.recommend(USERS[:2], n=15)
    assert isinstance(table, kind)
    columns = _columns(table)
    there = items != np.array(None)
    assert list(columns) == ["user", "item", "score", "rank"]
    assert columns["user"] == [USERS[i] for i in there.nonzero()[0]]
    assert columns["item"] == items[there].tolist()
    assert columns["score"] == scores[there].tolist()
    assert columns["rank"] == (there.nonzero()[1] + 1).tolist()
    assert len(columns["rank"]) == 28  # 14 unseen items each
    similar = _columns(mine.similar_items(ITEMS[0], n=3))
    assert similar == {
        "item": [ITEMS[0]] * 3, "similar_item": near[0].tolist(), "score": cosines[0].tolist(), "rank": [1, 2, 3],
    }  # fmt: skip
    assert list(_columns(mine.similar_users(USERS[0], n=3))) == ["user", "similar_user", "score", "rank"]
    assert len(_columns(mine.recommend(n=1))["user"]) == 44
    assert _columns(mine.recommend(interactions=[ITEMS[:2]], n=1))["user"] == [0]
    assert _columns(mine.recommend(interactions={"user": ["zoe"], "item": ITEMS[:1]}, n=1))["user"] == ["zoe"]
    assert mine.set_output().recommend(USERS[:1], n=1).shape
    assert np.array_equal(mine.set_output(transform="default").recommend(USERS[:2], n=15)[0], items)


def test_tables_of_positions():
    mine = ItemItem().fit(block_matrix()[0]).set_output(transform="pandas")
    table = mine.recommend([3, 0], n=2)
    assert table["user"].tolist() == [3, 3, 0, 0]
    assert table["item"].tolist()[0] == 3
    with pytest.raises(ValueError, match="transform must be one of 'default', 'pandas', 'polars', 'arrow'"):
        mine.set_output(transform="excel")


def _columns(table):
    if isinstance(table, pd.DataFrame):
        return table.to_dict("list")
    return table.to_dict(as_series=False) if isinstance(table, pl.DataFrame) else table.to_pydict()


MAKERS = {
    "OneClassMF": model,
    "SubsampledMF": lambda: SubsampledMF(rank=3, max_iter=5, random_state=0),
    "Blend": lambda: Blend(models=[model(), ItemItem(reg=1.0)], random_state=0),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_shuffled_rows_and_columns_of_features_change_no_bit(make):
    mine = make().fit(EVENTS, user_features=ABOUT_USERS, item_features=ABOUT_ITEMS)
    as_column = shuffled(ABOUT_ITEMS).reset_index(names="movie_id").reset_index(drop=True)
    for left, right in ((shuffled(ABOUT_USERS), pl.from_pandas(as_column)), (ABOUT_USERS[::-1], as_column)):
        other = make().fit(EVENTS, user_features=left, item_features=right)
        assert np.array_equal(mine.score_users(), other.score_users())
        new = pd.DataFrame(RNG.normal(size=(4, 3)), columns=list(ABOUT_USERS))
        for ask in (mine, other):
            expected = ask.score_users(features=new)
            assert np.array_equal(ask.score_users(features=new[["shoe", "age", "height"]]), expected)
            assert np.array_equal(
                ask.score_users(features=pl.from_pandas(new).select("height", "shoe", "age")), expected
            )


def test_arrays_of_features_are_in_the_order_of_ids():
    frames = model().fit(
        EVENTS,
        user_features=shuffled(ABOUT_USERS)[list(ABOUT_USERS)],
        item_features={"all": ABOUT_ITEMS.sample(frac=1)},
    )
    arrays = model().fit(
        EVENTS.matrix, user_features=ABOUT_USERS.to_numpy(), item_features=sp.csr_array(ABOUT_ITEMS.to_numpy())
    )
    np.testing.assert_allclose(frames.score_users(), arrays.score_users(), rtol=1e-4, atol=1e-5)


def test_features_that_do_not_match_are_refused_by_name():
    mine = model().fit(EVENTS, user_features=ABOUT_USERS, item_features=ABOUT_ITEMS)
    new = pd.DataFrame(np.ones((1, 3)), columns=["age", "height", "shoe"])
    with pytest.raises(ValueError, match="columns it had in training: 'shoe' is missing and 'hair', 'eyes' are new"):
        mine.recommend(features=new.rename(columns={"shoe": "hair"}).assign(eyes=1))
    with pytest.raises(ValueError, match="user_features must name its columns as in training: 'age'"):
        mine.recommend(features=pd.DataFrame(np.ones((1, 3))))
    unnamed = model().fit(EVENTS, user_features=ABOUT_USERS.to_numpy())
    with pytest.raises(ValueError, match="had no column names in training"):
        unnamed.recommend(features=new)
    with pytest.raises(ValueError, match=r"item_features must have one row for every id.*1 ids have no row"):
        model().fit(EVENTS, user_features=None, item_features=ABOUT_ITEMS[1:])
    extra = pd.concat([ABOUT_ITEMS, pd.DataFrame({"game": [1.0], "price": [2.0]}, index=["new"])])
    plain, longer = (model().fit(EVENTS, item_features=table) for table in (ABOUT_ITEMS, extra))
    assert np.array_equal(longer.item_factors_, plain.item_factors_)  # a catalogue is larger than a log
    with pytest.raises(ValueError, match=r"frame without ids: make them its index \(set_index\).*order of item_ids"):
        model().fit(EVENTS, user_features=None, item_features=ABOUT_ITEMS.reset_index(drop=True))
    with pytest.raises(ValueError, match="no id in its index is a known one, such as"):
        model().fit(EVENTS, user_features=None, item_features=ABOUT_ITEMS.set_axis(list(range(1, 22))))
    with pytest.raises(ValueError, match=r"the index of item_features: ids must be unique"):
        model().fit(EVENTS, user_features=None, item_features=pd.concat([ABOUT_ITEMS[:1], ABOUT_ITEMS]))
    with pytest.raises(TypeError, match=r"its column 'genre' is String: everypair.features.table_features encodes"):
        model().fit(EVENTS, user_features=None, item_features=ABOUT_ITEMS.assign(genre="war"))
    with pytest.raises(ValueError, match="frame with columns of the same name"):
        model().fit(EVENTS, user_features=None, item_features=ABOUT_ITEMS.set_axis(["a", "a"], axis=1))
    with pytest.raises(TypeError, match=r"item_graph must be a matrix.*edge_graph"):
        model().fit(EVENTS, item_graph=pd.DataFrame(np.eye(21), index=ITEMS, columns=ITEMS))


@pytest.mark.parametrize("make", [model, ItemItem, lambda: Blend(models=[model(), ItemItem()], random_state=0)])
def test_new_items_by_features(make):
    mine = make().fit(EVENTS, item_features=ABOUT_ITEMS)
    new = pd.DataFrame({"price": [0.5, 0.1], "game": [1.0, -1.0]}, index=["neu", "новий"])
    assert mine.add_items(features=new).tolist() == ["neu", "новий"]
    assert list(mine.item_ids_)[-2:] == ["neu", "новий"]
    again = make().fit(EVENTS, item_features=ABOUT_ITEMS)
    again.add_items(features=new[["game", "price"]].to_numpy(), ids=["neu", "новий"])
    assert np.array_equal(mine.score_users(), again.score_users())
    with pytest.raises(ValueError, match="there are 1 ids for 2 new items"):
        mine.add_items(features=np.ones((2, 2)), ids=["one"])
    assert len(mine.item_ids_) == mine.interactions_.shape[1] == 23


def test_events_and_features_of_new_users_are_matched_by_id():
    mine = model().fit(EVENTS, user_features=ABOUT_USERS)
    events = {"user": ["zoe", "yan", "yan"], "item": [ITEMS[3], ITEMS[0], ITEMS[1]]}
    about = pd.DataFrame(np.arange(6.0).reshape(2, 3), index=["zoe", "yan"], columns=list(ABOUT_USERS))
    expected = mine.fold_in_users([ITEMS[:2], ITEMS[3:4]], features=about.loc[["yan", "zoe"]].to_numpy())
    assert np.array_equal(mine.fold_in_users(events, features=about), expected)
    assert mine.add_users(interactions=events, features=about).tolist() == ["yan", "zoe"]
    assert np.array_equal(mine.user_factors_[-2:], expected)
    other = model().fit(EVENTS, user_features=ABOUT_USERS)
    assert other.add_users(ids=["zoe", "yan"], interactions=events, features=about).tolist() == ["zoe", "yan"]
    assert np.array_equal(other.user_factors_[-2:], expected[::-1])
    with pytest.raises(ValueError, match="ids must be those of interactions"):
        other.add_users(ids=["xi", "yan"], interactions=events)
    with pytest.raises(ValueError, match="fitted on a matrix and has no ids"):
        model().fit(EVENTS.matrix).add_users(ids=["xi"], interactions=np.ones((1, 21)))


def test_new_items_by_their_users():
    mine, plain = model().fit(EVENTS), model().fit(EVENTS.matrix)
    columns = np.zeros((44, 1))
    columns[EVENTS.user_ids.index(USERS[:9])] = 1
    assert np.array_equal(mine.fold_in_items([USERS[:9]]), plain.fold_in_items(columns))
    assert np.array_equal(mine.fold_in_items({"user": USERS[:9], "item": ["x"] * 9}), plain.fold_in_items(columns))
    with pytest.raises(ValueError, match="1 unknown user: 'zoe'"):
        mine.fold_in_items([["zoe"]])
    with pytest.raises(TypeError, match="list of users for every new item"):
        mine.fold_in_items(USERS[:9])


def test_held_out_events_are_matched_by_id():
    train, test = split_per_row(EVENTS, test_count=1)
    assert isinstance(train, Events)
    assert train.user_ids == test.user_ids == EVENTS.user_ids
    mine = model(patience=2).fit(train, validation=test)
    plain = model(patience=2).fit(train.matrix, validation=test.matrix)
    assert [sweep["ndcg@10"] for sweep in mine.history_] == [sweep["ndcg@10"] for sweep in plain.history_]
    expected = ranking_metrics(plain, train.matrix, test.matrix)
    entries = test.matrix.tocoo()
    frame = {"item": test.item_ids.names(entries.col)[::-1], "user": test.user_ids.names(entries.row)[::-1]}
    for ask, first, second in (
        (mine, train, test),
        (mine, train.matrix, test.matrix),
        (mine, train, frame),
        (plain, train, test),
    ):
        assert ranking_metrics(ask, first, second) == expected
    frame = {"user": [*frame["user"], "zoe", "zoe", USERS[0]], "item": [*frame["item"], "x", ITEMS[0], "x"]}
    with pytest.warns(
        UserWarning, match=r"test: 3 of 47 pairs are left out, because 1 user \('zoe'\) and 1 item \('x'\)"
    ):
        assert ranking_metrics(mine, train, frame) == expected
    with pytest.warns(UserWarning, match="validation: 3 of 47 pairs"):
        model().fit(train, validation=frame)
    with pytest.raises(ValueError, match="validation has no pair of a user and an item"):
        model().fit(train, validation={"user": ["zoe"], "item": ["x"]})
    with pytest.raises(ValueError, match="validation has ids and interactions has none"):
        model().fit(train.matrix, validation=test)
    with pytest.raises(ValueError, match="test has ids, but the model has none"):
        ranking_metrics(plain, train.matrix, test)


def test_new_users_are_measured_by_id():
    split = split_rows(EVENTS, test_share=0.3)
    assert not set(split.train.user_ids) & set(split.test.user_ids)
    mine, plain = model().fit(split.train), model().fit(split.train.matrix)
    expected = ranking_metrics(plain, None, split.test.matrix, fold_in=split.fold_in.matrix)
    assert ranking_metrics(mine, None, split.test, fold_in=split.fold_in) == expected
    with pytest.raises(ValueError, match="test has ids and fold_in has none"):
        ranking_metrics(mine, None, split.test, fold_in=split.fold_in.matrix)


def test_times_go_with_events():
    events = read_events([("ann", "a", 1, 5), ("ann", "b", 1, 9), ("bob", "a", 1, 7), ("bob", "c", 1, 2)])
    train, test = split_leave_last(events)
    assert test.matrix.toarray().tolist() == [[0, 1, 0], [1, 0, 0]]
    assert test.times.data.tolist() == [9, 7]
    assert train.times.data.tolist() == [5, 2]
    with pytest.raises(ValueError, match="a split by time needs times"):
        split_leave_last(EVENTS)
    timed = read_events([(user, item, 1, n) for n, (user, item) in enumerate(zip(FRAME["user"], FRAME["item"]))])
    mine = Blend(models=[model(), ItemItem()], weights="auto", held_out="last", random_state=0).fit(timed)
    assert mine.search_


def test_few_events_of_text_ids_that_look_like_integers(tmp_path):
    mine = Popularity().fit(Events(sp.csr_array(np.eye(3)), Ids(["1", "2", "x"]), Ids(["7", "8", "y"]), None, 0))
    path = tmp_path / "more.csv"
    path.write_text("user,item\n5,7\n5,8\n")
    assert mine.recommend(interactions=path, n=3)[0].tolist() == [["y", None, None]]


def test_members_of_an_ensemble_share_the_ids():
    mine = EnsembleMF(n_models=2, rank=3, random_state=0).fit(EVENTS, validation={"user": USERS, "item": HELD_OUT})
    assert mine.recommend(USERS[:1], n=1)[0][0, 0] == HELD_OUT[0]
    assert "ndcg@10" in mine.history_[0]
    assert from_json_and_arrays(mine).item_ids_ == EVENTS.item_ids


def test_a_failed_fit_keeps_the_model():
    mine = model().fit(EVENTS)
    with pytest.raises(ValueError, match="rank=99"):
        mine.set_params(rank=99).fit(read_events([("a", "b"), ("c", "d")]))
    assert mine.user_ids_ == EVENTS.user_ids
    with pytest.raises(TypeError, match="unexpected keyword argument 'to'"):
        mine.recommend(to=USERS)
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        mine.score_pairs(USERS)


FILMS = pd.DataFrame({"item": ITEMS, "year": 1990 + np.arange(21) % 7, "genre": ["war", "love", "sea"] * 7})


@pytest.mark.parametrize("make", [model, ItemItem, lambda: Blend(models=[model(), ItemItem()], random_state=0)])
def test_tables_of_features_are_encoded_as_in_training(make):
    kinds = {"year": "number", "genre": "category"}
    films = table_features(FILMS.sample(frac=1, random_state=0), EVENTS.item_ids, kinds=kinds)
    mine = from_json_and_arrays(make().fit(EVENTS, item_features=films))
    swapped = table_features(FILMS[["genre", "year", "item"]], EVENTS.item_ids, kinds=dict(reversed(kinds.items())))
    assert np.array_equal(make().fit(EVENTS, item_features=swapped).score_users(), mine.score_users())
    reordered = table_features(FILMS, Ids(ITEMS[::-1]), kinds=kinds)
    assert np.array_equal(make().fit(EVENTS, item_features=reordered).score_users(), mine.score_users())
    new = {"title": ["x", "y"], "genre": ["sea", "war"], "year": [1993, 1996], "film": ["neu", "alt"]}
    assert mine.add_items(features=new).tolist() == ["neu", "alt"]
    expected = mine.score_users()
    for again in (pd.DataFrame(new).set_index("film")[["year", "genre"]], pl.DataFrame(new)):
        other = make().fit(EVENTS, item_features=films)
        assert other.add_items(features=again).tolist() == ["neu", "alt"]
        assert np.array_equal(other.score_users(), expected)
    with pytest.raises(ValueError, match="no column 'genre'"):
        mine.add_items(features={"film": ["x"], "year": [1990]})
    with pytest.raises(ValueError, match=r"item_features must have one row for every id.*21 ids have no row"):
        make().fit(
            EVENTS, item_features=table_features({"item": ["a"], "year": [1]}, Ids(["a"]), kinds={"year": "number"})
        )


def test_a_table_of_features_beside_a_matrix():
    films = table_features(FILMS, EVENTS.item_ids, kinds={"year": "number", "genre": "category"})
    mine = model().fit(EVENTS.matrix, item_features=films)
    assert np.array_equal(mine.score_users(), model().fit(EVENTS.matrix, item_features=films.matrix).score_users())
    new = pd.DataFrame({"genre": ["sea"], "year": [1993]})
    encoded = films.encoder.transform(new)
    assert np.array_equal(mine.fold_in_items(features=new), mine.fold_in_items(features=encoded))
    grouped = model().fit(EVENTS, item_features={"film": films, "price": ABOUT_ITEMS[["price"]]})
    one = {"film": new.assign(item="neu"), "price": pd.DataFrame({"price": [0.5]}, index=["neu"])}
    assert grouped.add_items(features=one).tolist() == ["neu"]


def test_rows_of_items_without_events_are_counted(capsys):
    catalogue = pd.concat([ABOUT_ITEMS, ABOUT_ITEMS[:2].set_axis(["new", "newer"])])
    mine = model().fit(EVENTS, item_features=catalogue)
    assert capsys.readouterr().err == "item_features: rows of 2 items without events are left out.\n"
    assert np.array_equal(mine.item_factors_, model().fit(EVENTS, item_features=ABOUT_ITEMS).item_factors_)
    assert capsys.readouterr().err == ""
