"""What lists may have: filters in every form, conditions on columns, limits by group, diversity, unknown ids."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from everypair import ItemItem, OneClassMF, Popularity, load
from everypair.data.ids import Ids
from everypair.data.item_table import ItemTable, parsed_where
from everypair.models.recommend.answering_model import load_answering
from everypair.testing import block_matrix

USERS, ITEMS = [f"u{i:02}" for i in range(44)], [f"i{j:02}" for j in range(21)]
EVENTS = [(USERS[i], ITEMS[j]) for i, j in np.argwhere(block_matrix()[0]).tolist()]
BRANDS = [("ace", "bolt", None)[j % 3] for j in range(21)]
PRICES = [float(j) if j % 4 else None for j in range(21)]
GENRES = [("love", "war|love", "war", "")[j % 4] for j in range(21)]
TABLE = {"item": [*ITEMS, "other"], "title": [f"The {j}" for j in range(22)], "brand": [*BRANDS, "ace"],
         "price": [*PRICES, 3.0], "genre": [*GENRES, "war"], "code": ["007"] * 22}  # fmt: skip


@pytest.fixture(scope="module")
def model():
    return OneClassMF(rank=3, random_state=0).fit(EVENTS).describe_items(pd.DataFrame(TABLE))


def shown(lists):
    return [[item for item in row if item is not None] for row in lists[0].tolist()]


# forms of filters


def test_every_form_of_a_filter_says_the_same(model):
    users = USERS[3:6]
    lists = [ITEMS[:2], ITEMS[4:9], []]
    mask = np.zeros((3, 21))
    for row, own in zip(mask, lists):
        row[[ITEMS.index(one) for one in own]] = 1
    expected = shown(model.recommend(users, n=21, block=sp.csr_array(mask)))
    by_user = dict(zip(users, lists))
    for block in (
        lists,
        [set(one) for one in lists],
        by_user,
        {**by_user, "somebody else": ["x"]},
        [*lists[:2], ["x"]],
    ):
        assert shown(model.recommend(users, n=21, block=block)) == expected
    assert shown(model.recommend(users, n=21, block={users[0]: lists[0], users[1]: lists[1]})) == expected
    as_set, as_list = (model.recommend(users, n=3, allow=kind(ITEMS[:9])) for kind in (set, list))
    assert shown(as_set) == shown(as_list)
    allowed = shown(model.recommend(users, n=21, allow=by_user, exclude_seen=False))
    assert [sorted(row) for row in allowed] == lists
    rows = np.zeros((2, 21))
    rows[0, 0] = rows[1, 9] = 1
    hidden = shown(model.recommend(interactions=rows, n=21, block=[[ITEMS[1]], [ITEMS[2]]]))
    assert ITEMS[1] not in hidden[0]
    assert ITEMS[1] in hidden[1]


def test_lists_of_positions(model):
    plain = OneClassMF(rank=3, random_state=0).fit(block_matrix()[0])
    lists, _ = plain.recommend([3, 4], n=21, block=[[0, 1], [5]], exclude_seen=False)
    assert [set(range(21)) - set(row.tolist()) for row in lists] == [{0, 1}, {5}]
    plain.describe_items({"id": list(range(21)), "price": list(range(21))})
    assert plain.recommend([3], n=21, where={"price": ("<", 4)}, exclude_seen=False)[0][0, :5].tolist()[4] == -1
    with pytest.raises(ValueError, match="outside the 21 items"):
        plain.recommend([3], block=[[21]])


def test_a_catalogue_holds_items_without_events(model):
    everything = shown(model.recommend(USERS[:2], n=21))
    assert shown(model.recommend(USERS[:2], n=21, allow=[*ITEMS, "new", "newer"])) == everything
    assert shown(model.recommend(USERS[:2], n=21, block=["new"])) == everything
    with pytest.raises(ValueError, match="2 unknown items: 'new', 'newer'"):
        model.recommend(USERS[:2], allow=["new", "newer"])


@pytest.mark.parametrize(
    ("filters", "sentence"),
    [
        ({"block": [["i01"]]}, "block must have a list for each of the 2 users, got 1"),
        ({"allow": {"u00": ["i01"]}}, "allow must have a list for every user that is asked for; 'u01' has none"),
        ({"where": {"colour": "red"}}, "the table of items has no column 'colour'; it has 'title', 'brand'"),
        ({"where": {"brand": "acme"}}, "no item has 'acme' in column 'brand', which has 'ace', 'bolt'"),
        ({"where": {"brand": ("<", "ace")}}, "column 'brand' of the items holds text, which has no <"),
        ({"where": {"price": "cheap"}}, "column 'price' of the items holds numbers, which 'cheap' is none of"),
        ({"where": {"price": ("~", 3)}}, "a comparison is a pair such as"),
        ({"where": {"price": []}}, "where has an empty list"),
        ({"at_most": {"brand": 0}}, r"at_most\['brand'\] must be an integer ≥ 1, got 0"),
        ({"at_most": {"genre": 1}}, "has several values in a cell"),
        ({"diversity": 2}, "diversity must be a number from 0, the order of scores, to 1, got 2"),
        ({"unknown": "skip"}, "unknown must be one of 'error', 'ignore'"),
        ({"output": "excel"}, "output must be one of"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(model, filters, sentence):
    with pytest.raises(ValueError, match=sentence):
        model.recommend(USERS[:2], **filters)


def test_what_a_model_lacks_is_said():
    bare = Popularity().fit(EVENTS)
    for filters in ({"where": {"brand": "ace"}}, {"at_most": {"brand": 1}}):
        with pytest.raises(ValueError, match="needs a table of items"):
            bare.recommend(USERS[:1], **filters)
    with pytest.raises(ValueError, match="one that has similar_items"):
        bare.recommend(USERS[:1], diversity=0.5)
    with pytest.raises(TypeError, match="where must be a dict"):
        OneClassMF(rank=2).fit(EVENTS).describe_items(TABLE).recommend(USERS[:1], where="brand=ace")
    with pytest.raises(ValueError, match="names no item of the model, such as 'i00'"):
        bare.describe_items({"item": ["x"], "brand": ["y"]})
    with pytest.raises(ValueError, match="call the column of the items' ids"):
        bare.describe_items({"shelf": ["x"], "brand": ["y"]})


# conditions


@pytest.mark.parametrize(
    ("where", "meets"),
    [
        ({"brand": "ace"}, lambda j: BRANDS[j] == "ace"),
        ({"brand": ["ace", "bolt"]}, lambda j: BRANDS[j] is not None),
        ({"brand": ("!=", "ace")}, lambda j: BRANDS[j] == "bolt"),
        ({"price": ("<", 9)}, lambda j: PRICES[j] is not None and PRICES[j] < 9),
        ({"price": [(">=", 3), ("<", 9)]}, lambda j: PRICES[j] is not None and 3 <= PRICES[j] < 9),
        ({"price": [5, 6]}, lambda j: PRICES[j] in (5, 6)),
        ({"genre": "war"}, lambda j: "war" in GENRES[j]),
        ({"genre": "war", "brand": {"bolt"}}, lambda j: "war" in GENRES[j] and BRANDS[j] == "bolt"),
        ({"code": "007"}, lambda j: True),
    ],
)  # fmt: skip
def test_conditions_are_those_of_a_loop(model, where, meets):
    wanted = {ITEMS[j] for j in range(21) if meets(j)}
    (row,) = shown(model.recommend(["u00"], n=21, where=where, exclude_seen=False))
    assert set(row) == wanted
    (row,) = shown(model.recommend(["u00"], n=21, where=where, allow=ITEMS[:7], exclude_seen=False))
    assert set(row) == wanted & set(ITEMS[:7])
    (row,) = shown(model.recommend(["u00"], n=21, where=where, allow=[ITEMS[:7]], block=ITEMS[5:], exclude_seen=False))
    assert set(row) == wanted & set(ITEMS[:5])


def test_typed_conditions(model):
    table = model.state_.item_table
    for typed, where in (
        (["brand=ace,bolt", "price<9"], {"brand": ["ace", "bolt"], "price": ("<", 9)}),
        (["price>=3", "price<=9", "genre!=war"], {"price": [(">=", 3), ("<=", 9)], "genre": ("!=", "war")}),
    ):
        assert np.array_equal(table.allowed(parsed_where(typed)), table.allowed(where))
    for odd in ("brand", "=ace", "price<"):
        with pytest.raises(ValueError, match="must be a condition on a column"):
            parsed_where([odd])


def test_a_table_goes_with_its_model(model, tmp_path):
    model.save(tmp_path / "model.ep", serve_only=True)
    for again in (load(tmp_path / "model.ep"), load_answering(tmp_path / "model.ep", mmap=False)):
        asked = {"where": {"genre": "war"}, "at_most": {"brand": 2}}
        assert shown(again.recommend(USERS[:3], **asked)) == shown(model.recommend(USERS[:3], **asked))
    assert again.state_.item_table.titles([2, -1]) == ["The 2", None]
    grown = load(tmp_path / "model.ep")
    grown.update([(user, "neu") for user in USERS[:4]])
    assert "neu" not in shown(grown.recommend(["u20"], n=22, where={"code": "007"}))[0]
    assert "neu" in shown(grown.recommend(["u20"], n=22))[0]
    columns = model.state_.item_table.columns
    with pytest.raises(ValueError, match="is damaged"):
        ItemTable({"a": columns["brand"].longer(1), "b": columns["price"]})


def test_files_and_frames_read_alike(tmp_path):
    path = tmp_path / "items.csv"
    frame = pd.DataFrame(TABLE)
    frame.to_csv(path, index=False)
    ids = Ids(ITEMS)
    one, other = ItemTable.read(path, ids), ItemTable.read(frame, ids)
    for where in ({"price": (">", 4)}, {"brand": "ace"}, {"genre": "love"}):
        assert np.array_equal(one.allowed(where), other.allowed(where))
    assert one.columns["price"].cell(5) == 5
    assert one.columns["price"].cell(4) is None


# limits and diversity


@pytest.mark.parametrize("most", [1, 2, 5])
def test_limits_are_those_of_a_walk_down_the_ranking(model, most):
    ranked = shown(model.recommend(USERS, n=21, exclude_seen=False))
    expected = []
    for row in ranked:
        kept, counts = [], {}
        for item in row:
            brand = BRANDS[ITEMS.index(item)]
            if brand is None or counts.get(brand, 0) < most:
                counts[brand] = counts.get(brand, 0) + 1
                kept.append(item)
        expected.append(kept[:6])
    lists = model.recommend(USERS, n=6, at_most={"brand": most}, exclude_seen=False)
    assert shown(lists) == expected
    assert (np.diff(lists[1], axis=1) <= 0).all()


def test_lists_are_filled_however_deep():
    """All but the last few of 400 items are of one brand."""
    events = [(f"u{i}", f"i{j:03}") for i in range(6) for j in range(400) if (i + j) % 3]
    brands = ["same"] * 395 + list("abcde")
    deep = Popularity().fit(events).describe_items({"item": [f"i{j:03}" for j in range(400)], "brand": brands})
    lists, _ = deep.recommend(n=6, at_most={"brand": 1}, exclude_seen=False)
    assert all(len({brands[int(item[1:])] for item in row}) == 6 for row in lists)


@pytest.mark.parametrize("kind", [OneClassMF, ItemItem])
def test_diversity_is_marginal_relevance(kind):
    model = (OneClassMF(rank=3, random_state=0) if kind is OneClassMF else ItemItem()).fit(EVENTS)
    model.describe_items(TABLE)
    similar = np.eye(21)
    names, cosines = model.similar_items(ITEMS, n=20)
    for j in range(21):
        for name, cosine in zip(names[j], cosines[j]):
            similar[j, ITEMS.index(name)] = cosine
    for weight in (0.3, 0.9):
        ranked, scores = model.recommend(["u05"], n=21)
        pool = [ITEMS.index(one) for one in ranked[0] if one is not None]
        rated = scores[0, : len(pool)].astype(float)
        rated = (rated - rated.min()) / np.ptp(rated)
        taken = []
        while len(taken) < 5:
            gains = [
                -np.inf if t in taken else (1 - weight) * rated[t] - weight * max(
                    (similar[pool[t], pool[other]] for other in taken), default=0)
                for t in range(len(pool))
            ]  # fmt: skip
            taken.append(int(np.argmax(gains)))
        assert shown(model.recommend(["u05"], n=5, diversity=weight)) == [[ITEMS[pool[t]] for t in taken]]
    brands = [
        BRANDS[ITEMS.index(one)] for one in shown(model.recommend(["u05"], n=6, diversity=0.5, at_most={"brand": 2}))[0]
    ]
    assert max(brands.count("ace"), brands.count("bolt")) <= 2


# unknown ids, forms of answers


def test_unknown_users_have_empty_lists(model):
    users = [USERS[1], "nobody", USERS[2]]
    with pytest.raises(ValueError, match="1 unknown user: 'nobody'"):
        model.recommend(users)
    items, scores = model.recommend(users, n=3, unknown="ignore", block={USERS[2]: ITEMS[:9]})
    assert items[1].tolist() == [None] * 3
    assert np.isneginf(scores[1]).all()
    assert np.array_equal(items[[0]], model.recommend(users[:1], n=3)[0])
    assert np.array_equal(items[[2]], model.recommend(users[2:], n=3, block=ITEMS[:9])[0])
    table = model.recommend(users, n=3, unknown="ignore", output="pandas")
    assert table.user.unique().tolist() == [USERS[1], USERS[2]]
    assert model.recommend(["nobody"], n=2, unknown="ignore")[0].tolist() == [[None, None]]


def test_unknown_items_are_left_out_of_what_somebody_has(model):
    expected = model.recommend(interactions=[ITEMS[:2], ITEMS[9:11]], n=3)[0]
    given = [[ITEMS[0], "new", ITEMS[1]], {ITEMS[9]: 1.0, "newer": 2.0, ITEMS[10]: 1.0}]
    with pytest.raises(ValueError, match="unknown item"):
        model.recommend(interactions=given)
    assert np.array_equal(model.recommend(interactions=given, n=3, unknown="ignore")[0], expected)
    table = {"user": ["a", "a", "a", "b", "b"], "item": [ITEMS[0], "new", ITEMS[1], ITEMS[9], ITEMS[10]]}
    assert np.array_equal(model.recommend(interactions=table, n=3, unknown="ignore")[0], expected)
    one = model.recommend(USERS[:1], n=3, more=[[ITEMS[20], "new"]], unknown="ignore")[0]
    assert np.array_equal(one, model.recommend(USERS[:1], n=3, more=[[ITEMS[20]]])[0])


def test_the_form_of_one_answer_is_its_own(model):
    table = model.recommend(USERS[:1], n=2, output="pandas")
    assert list(table.columns) == ["user", "item", "score", "rank"]
    assert isinstance(model.recommend(USERS[:1], n=2), tuple)
