"""From a CSV to recommendations by name: what a new user wants on the first day, in as few lines as it takes."""

import csv
import inspect
import json
import subprocess
import sys

import pandas as pd

from everypair import OneClassMF, load, tune
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


def train(folder):
    events = read_events(folder / "events.csv", missing="drop", duplicates="count", verbose=False)
    films = table_features(folder / "films.csv", events.item_ids, kinds={"genre": "category"})
    shown, hidden = split_per_row(events, test_count=1, random_state=0)
    quality = ranking_metrics(OneClassMF(rank=3, random_state=0).fit(shown, item_features=films), shown, hidden)
    tuned = tune(OneClassMF(rank=3, random_state=0), events, trials=2, item_features=films)
    tuned.model.save(folder / "model.ep")
    return events, quality, tuned


def serve(folder):
    model = load(folder / "model.ep")
    first, _ = model.recommend(["Zoë 0", "Zoë 43"], n=1)
    newcomer, _ = model.recommend(interactions=[["時代劇 №0", "時代劇 №1", "時代劇 №2"]], n=3)
    new = model.add_items(features={"film": ["новий фільм"], "genre": ["драма"]})
    why = model.explain("Zoë 0", "новий фільм", n=3)
    model.set_output(transform="pandas").recommend(n=5).to_csv(folder / "recommendations.csv", index=False)
    return first[:, 0].tolist(), newcomer[0].tolist(), new.tolist(), why.items.tolist()


def in_a_new_process(function, folder):
    code = f"""
import json, sys
from pathlib import Path
from everypair import load
{inspect.getsource(function)}
print(json.dumps({function.__name__}(Path(sys.argv[1]))))
"""
    ran = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, check=True, encoding="utf-8")
    return json.loads(ran.stdout)


def test_job(tmp_path):
    held_out = write_tables(tmp_path)
    events, quality, tuned = train(tmp_path)
    first, newcomer, new, why = in_a_new_process(serve, tmp_path)
    assert events.dropped == {"missing": 2}
    assert events.duplicates == 40
    assert quality["hit_rate@5"] == 1
    assert len(tuned.table) == 3  # the defaults and two others
    assert first == [held_out["Zoë 0"], held_out["Zoë 43"]]
    assert {film.split()[0] for film in newcomer} == {"時代劇"}
    assert new == ["новий фільм"]
    assert {film.split()[0] for film in why} == {"драма"}
    table = pd.read_csv(tmp_path / "recommendations.csv")
    assert list(table.columns) == ["user", "item", "score", "rank"]
    assert len(table) == 44 * 5
    best = table[table["rank"] <= 2].groupby("user")["item"].agg(set)
    assert all(best[user] == {held_out[user], "новий фільм"} for user in USERS[:20])  # drama is what they like
    assert all(held_out[user] in best[user] for user in USERS)


def test_it_takes_few_lines():
    assert sum(len(inspect.getsource(part).splitlines()) - 2 for part in (train, serve)) <= 15
