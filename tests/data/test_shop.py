"""The generated shop: the same for a seed, consistent, and with something in it to learn."""

import pytest

from everypair import ItemItem, Popularity, ranking_metrics, read_events
from everypair.data import generate_shop, split_time


@pytest.fixture(scope="module")
def shop():
    return generate_shop(400)


def test_the_same_seed_is_the_same_shop(shop):
    again = generate_shop(400)
    assert again.events.equals(shop.events)
    assert again.items.equals(shop.items)
    assert not generate_shop(400, random_state=1).events.equals(shop.events)


def test_titles_and_ids_are_of_one_product_each(shop):
    for column in ("item", "title"):
        assert len(set(shop.items[column].to_pylist())) == shop.items.num_rows
    assert min(shop.items["price"].to_pylist()) > 0


def test_nobody_buys_what_is_not_there_yet(shop):
    begins = dict(zip(shop.items["item"].to_pylist(), shop.items["since"].to_pylist()))
    events = shop.events.to_pylist()
    assert all(one["time"].date() >= begins[one["item"]] for one in events)
    assert set(begins) - {one["item"] for one in events}  # some were never sold
    assert [one["time"] for one in events] == sorted(one["time"] for one in events)


def test_there_is_something_to_learn(shop):
    events = read_events(shop.events, verbose=False)
    assert events.duplicates > 0  # what is used up is bought again
    train, test = split_time(events, test_share=0.2)
    learnt, floor = (ranking_metrics(model.fit(train), train, test)["ndcg@10"] for model in (ItemItem(), Popularity()))
    assert learnt > 2 * floor
