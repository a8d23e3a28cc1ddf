"""A model says where it comes from, and gives its vectors to other systems."""

import json

import numpy as np
import pytest
from pyarrow import parquet

from everypair import ItemItem, OneClassMF, load, read_events
from everypair.models.recommend.card import as_markdown, card
from everypair.models.recommend.vectors import vectors_of
from everypair.testing import block_matrix

EVENTS = [(f"u{i}", f"i{j:02}") for i, j in np.argwhere(block_matrix()[0]).tolist()]


def test_a_card_is_in_the_file(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("user,item,rating,time\n" + "".join(f"{u},{i},5,{100 + t}\n" for t, (u, i) in enumerate(EVENTS)))
    model = OneClassMF(rank=2, random_state=0).fit(read_events(path, min_rating=4, verbose=False))
    model.record({"ndcg@10": 0.5}, held_out="10 % of all events", commit="4f2a").save(tmp_path / "model.ep")
    again = load(tmp_path / "model.ep")
    again.update({"user": ["u0"], "item": ["i09"], "rating": [5.0], "time": [9000]})
    found = card(again)
    assert found["commit"] == "4f2a"
    assert found["metrics"] == {"ndcg@10": 0.5}
    first, second = found["data"]["read"]
    assert (first["file"], first["bytes"], first["first"]) == ("log.csv", path.stat().st_size, 100)
    assert second == {"pairs": 1, "first": 9000, "last": 9000}
    assert found["data"]["as"] == {"min_rating": 4}
    assert found["data"]["up to"] == 9000
    assert json.loads(json.dumps(found, default=str))["created"].endswith("+00:00")
    page = as_markdown(found)
    for said in ("# OneClassMF", "commit: 4f2a", "file log.csv", "ndcg@10: 0.5", "## parameters"):
        assert said in page


@pytest.mark.parametrize("biases", [False, True])
def test_products_of_vectors_are_scores(biases):
    model = OneClassMF(rank=3, biases=biases, random_state=0).fit(EVENTS)
    items, users = vectors_of(model), vectors_of(model, "users")
    np.testing.assert_allclose(users.rows @ items.rows.T, model.score_users(), rtol=1e-5, atol=1e-5)
    longer, asking = vectors_of(model, augment=True).rows, vectors_of(model, "users", augment=True).rows
    np.testing.assert_allclose(asking @ longer.T, model.score_users(), rtol=1e-5, atol=1e-5)
    distances = ((asking[:, None, :] - longer[None]) ** 2).sum(axis=2)
    best = model.recommend(n=1, exclude_seen=False)[0][:, 0]
    assert (model.item_ids_.names(distances.argmin(axis=1)) == best).mean() > 0.95  # ties aside


def test_what_has_no_vectors():
    with pytest.raises(ValueError, match="ItemItem has no vectors"):
        vectors_of(ItemItem().fit(EVENTS))
    with pytest.raises(ValueError, match="side must be"):
        vectors_of(OneClassMF(rank=2).fit(EVENTS), "films")


def test_on_the_command_line(tmp_path, monkeypatch):
    from ...cli.conftest import call

    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.csv").write_text("user,item\n" + "".join(f"{u},{i}\n" for u, i in EVENTS))
    call(
        "fit",
        "log.csv",
        "--model",
        "OneClassMF",
        "-o",
        "model.ep",
        "--rank",
        3,
        "--holdout",
        0.2,
        "--commit",
        "abc",
        "-q",
    )
    told = json.loads(call("card", "model.ep", "--json").stdout)
    assert told["commit"] == "abc"
    assert told["held out"].startswith("20 % of all events")
    assert "ndcg@10" in told["metrics"]
    assert "## data" in call("card", "model.ep").stdout
    assert "log.csv" in call("inspect", "model.ep").stdout
    model = load("model.ep")
    call("export", "model.ep", "--vectors", "items.parquet")
    table = parquet.read_table("items.parquet")
    assert table["id"].to_pylist() == list(model.item_ids_)
    np.testing.assert_array_equal(np.array(table["vector"].to_pylist(), np.float32), model.item_factors_)
    call("export", "model.ep", "--vectors", "users.npz", "--side", "users", "--augment", "-q")
    with np.load("users.npz") as arrays:
        assert arrays["ids"].tolist() == list(model.user_ids_)
        assert arrays["vectors"].shape == (44, 4)
    assert "says no format" in call("export", "model.ep", "--vectors", "items.txt", code=2).stderr
