"""From a CSV to recommendations by name: what a new user wants on the first day, in as few lines as it takes."""

import csv
import inspect

import pandas as pd

from everypair import OneClassMF
from everypair.data import read_events, split_per_row
from everypair.evaluate import ranking_metrics
from everypair.features import table_features
from everypair.testing.blocks import BLOCKS, block_matrix

GENRES = ["драма", "comédie", "時代劇"]
FILMS = [f"{genre} №{number}" for genre, (_, width) in zip(GENRES, BLOCKS) for number in range(width)]
USERS = [f"Zoë {i}" for i in range(44)]


def write_tables(folder):
    """A log with repeated events, two without a user, and a byte order mark; what the films are; nothing in order."""
    matrix, held_out = block_matrix()
    events = [(USERS[i], FILMS[j]) for i, j in zip(*matrix.nonzero())]
    events = [*events[::-1], *events[::7], ("", FILMS[0]), ("", FILMS[9])]
    with open(folder / "events.csv", "w", newline="", encoding="utf-8-sig") as file:
        csv.writer(file).writerows([("customer", "film"), *events])
    with open(folder / "films.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("film", "genre"), *((film, film.split()[0]) for film in FILMS[::-1])])
    return {USERS[i]: FILMS[j] for i, j in enumerate(held_out)}


def job(folder):
    events = read_events(folder / "events.csv", missing="drop", duplicates="count", verbose=False)
    films = table_features(folder / "films.csv", events.item_ids, kinds={"genre": "category"})
    train, test = split_per_row(events, test_count=1, random_state=0)
    quality = ranking_metrics(OneClassMF(rank=3, random_state=0).fit(train, right_features=films), train, test)
    model = OneClassMF(rank=3, random_state=0).fit(events, right_features=films)
    first, _ = model.recommend(["Zoë 0", "Zoë 43"], n=1)
    newcomer, _ = model.recommend(interactions=[["時代劇 №0", "時代劇 №1", "時代劇 №2"]], n=3)
    new = model.add_items(features={"film": ["новий фільм"], "genre": ["драма"]})
    why = model.explain("Zoë 0", "новий фільм", n=3)
    model.set_output(transform="pandas").recommend(n=5).to_csv(folder / "recommendations.csv", index=False)
    return events, quality, first, newcomer, new, why


def test_job(tmp_path):
    held_out = write_tables(tmp_path)
    events, quality, first, newcomer, new, why = job(tmp_path)
    assert events.dropped == {"missing": 2}
    assert events.duplicates == 40
    assert quality["hit_rate@5"] == 1
    assert first[:, 0].tolist() == [held_out["Zoë 0"], held_out["Zoë 43"]]
    assert {film.split()[0] for film in newcomer[0]} == {"時代劇"}
    assert new.tolist() == ["новий фільм"]
    assert {film.split()[0] for film in why.items} == {"драма"}
    table = pd.read_csv(tmp_path / "recommendations.csv")
    assert list(table.columns) == ["user", "item", "score", "rank"]
    assert len(table) == 44 * 5
    best = table[table["rank"] <= 2].groupby("user")["item"].agg(set)
    assert all(best[user] == {held_out[user], "новий фільм"} for user in USERS[:20])  # drama is what they like
    assert all(held_out[user] in best[user] for user in USERS)


def test_it_takes_few_lines():
    body = inspect.getsource(job).splitlines()[1:-1]
    assert len(body) <= 13  # and two more to tune, save and load
