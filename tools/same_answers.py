"""Answers of two versions beside each other: lists, scores and neighbours of three models on the experiments' data.

    python tools/same_answers.py write old.npz         # in a checkout of the one version
    python tools/same_answers.py write new.npz         # in the other; names of data sets behind it: these alone
    python tools/same_answers.py compare old.npz new.npz

Writing also checks that a user's answer has the same bits alone, among 7 and 64 users, and on one and two threads.
Comparing counts places that differ where scores are no ties (1e-6 of the row's greatest), and the greatest relative
difference of scores. It ends with 1 if a place differs or a score is further apart than that.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).parents[1] / "experiments"))
import datasets

import everypair
from everypair.data import Events, Ids

MODELS = {
    "OneClassMF": lambda: everypair.OneClassMF(random_state=0),
    "ItemItem": everypair.ItemItem,
    "Blend": lambda: everypair.Blend(
        models=[everypair.OneClassMF(random_state=0), everypair.ItemItem()], weights=[1, 1]
    ),
}
ASKED, N, TIED = 64, 20, 1e-6


def answers(model: Any, matrix: Any) -> dict[str, Any]:
    """What a model says of some users and items, by position."""
    random = np.random.default_rng(0)
    users, items = (random.integers(0, size, ASKED) for size in matrix.shape)
    user_ids, item_ids = model.user_ids_.values, model.item_ids_.values
    names, wanted = user_ids[users].tolist(), item_ids[items].tolist()
    histories = [item_ids[matrix.indices[slice(*matrix.indptr[user : user + 2])]].tolist() for user in users]
    hidden = item_ids[random.choice(matrix.shape[1], min(1000, matrix.shape[1] // 9), replace=False)].tolist()
    few = item_ids[random.choice(matrix.shape[1], max(N, matrix.shape[1] // 100), replace=False)].tolist()
    asks = {
        "known": lambda part: model.recommend(names[part], N),
        "folded in": lambda part: model.recommend(interactions=histories[part], n=N),
        "hidden": lambda part: model.recommend(names[part], N, block=hidden),
        "allowed": lambda part: model.recommend(names[part], N, allow=few),
        "similar": lambda part: model.similar_items(wanted[part], N),
        "pairs": lambda part: (np.array(wanted[part])[:, None], model.score_pairs(names[part], wanted[part])[:, None]),
    }
    found = {}
    for question, ask in asks.items():
        every = []
        for n_threads in (1, 2):
            model.set_params(n_threads=n_threads)
            for size in (1, 7, ASKED):
                parts = [ask(slice(first, first + size)) for first in range(0, ASKED, size)]
                every.append([np.concatenate(column) for column in zip(*parts)])
        for other in every[1:]:
            if not all(np.array_equal(one, same) for one, same in zip(every[0], other)):
                raise AssertionError(f"{model!r}: {question} has other bits in company or on two threads")
        listed, scores = every[0]
        listed = np.where(np.isneginf(scores), item_ids[0], listed)
        found[question] = model.item_ids_.index(listed.ravel()), scores
    return found


def write(path: Path, names: list[str]) -> None:
    """All answers of this version."""
    stored = {}
    for name in names or datasets.RECOMMENDATION:
        matrix = sp.csr_array(
            datasets.positives(name) if name != "yelp2018" else datasets.sparse(datasets.read(name), "train")
        )
        matrix.sort_indices()
        ids = (Ids([f"{letter}{number}" for number in range(size)]) for letter, size in zip("ui", matrix.shape))
        events = Events(matrix, *ids, None, 0)
        for kind, make in MODELS.items():
            for question, (items, scores) in answers(make().fit(events), matrix).items():
                stored[f"{name}/{kind}/{question}/items"], stored[f"{name}/{kind}/{question}/scores"] = items, scores
            print(name, kind, "same bits alone, among 7 and 64, and on two threads", flush=True)
    np.savez(path, **stored)


def compare(one: Path, other: Path) -> int:
    """Count what differs."""
    old, new = np.load(one), np.load(other)
    places = differ = 0
    farthest = 0.0
    for key in (name for name in old.files if name.endswith("/scores") and name in new.files):
        before, now = old[key].astype(np.float64), new[key].astype(np.float64)
        there = np.isfinite(before)
        size = np.where(there, np.abs(before), 0).max(axis=1, keepdims=True)
        apart = np.abs(np.subtract(now, before, where=there, out=np.zeros_like(now))) / np.where(size > 0, size, 1)
        farthest = max(farthest, float(apart.max()))
        items = key.replace("scores", "items")
        changed = (old[items] != new[items]).reshape(before.shape) & there
        places += int(there.sum())
        differ += int((changed & (apart > TIED)).sum())
        if changed.any() or apart.max() > TIED:
            print(f"{key}: {changed.sum()} places changed, scores at most {apart.max():.1e} apart")
    print(f"{places:,} places: {differ} differ outside ties; scores at most {farthest:.1e} apart")
    return int(differ > 0 or farthest > TIED)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["write", path, *names]:
            write(Path(path), names)
        case ["compare", one, other]:
            sys.exit(compare(Path(one), Path(other)))
        case _:
            sys.exit(__doc__)
