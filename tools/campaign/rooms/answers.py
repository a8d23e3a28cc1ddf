"""Lists, scores, files and threads of every recommender, against sorting its own dense scores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from trials import Case, Room

import everypair
from everypair.models.registry import RECOMMENDERS, estimator_class

MODELS = tuple(name for name in RECOMMENDERS if name != "TwoTower")
TIGHT = {"float32": 2e-4, "float64": 1e-9}


def made(case: Case, threads: int) -> Any:
    """The model of a case."""
    cls = estimator_class(case["model"])
    wanted = {
        "rank": case["rank"], "max_iter": 3, "random_state": case["seed"] % 1000, "n_threads": threads,
        "loss": case["loss"], "dtype": case["dtype"], "biases": case["biases"], "negative_scheme": case["scheme"],
        "n_models": 2, "reg": case["reg"],
    }  # fmt: skip
    offered = cls().get_params()
    return cls(**{name: value for name, value in wanted.items() if name in offered})


def trial(case: Case, folder: Path) -> str:
    chance = np.random.default_rng(case["seed"])
    m, n = case["shape"]
    events = np.where(chance.random((m, n)) < case["density"], np.rint(chance.lognormal(0, 1, (m, n)) * 4 + 1) / 4, 0.0)
    events[0, 0] = 1.0
    given = {"item_features": chance.random((n, 3))} if case["model"] == "ContentItems" or case["features"] else {}
    model = made(case, 1)
    if given and not type(model).reads_features[1]:
        given = {}
    try:
        model.fit(sp.csr_array(events), **given)
    except ValueError as refusal:
        if len(str(refusal)) < 20:
            raise AssertionError("a refusal without a sentence") from refusal
        return "refused"
    users = chance.permutation(m)[: max(1, m // 2)]
    scores = model.score_users(users)
    assert np.isfinite(scores).all(), "scores that are no numbers"
    count, close = min(case["n"], n), TIGHT[scores.dtype.name] * (np.abs(scores).max() + 1e-12)
    items, shown = model.recommend(users, n=count)
    for row, user in enumerate(users):
        hidden = np.where(events[user] != 0, -np.inf, scores[row])
        order = np.lexsort((np.arange(n), -hidden))[:count]
        there = np.isfinite(hidden[order])
        assert (items[row][~there] == -1).all(), "an item that the user has"
        np.testing.assert_allclose(shown[row][there], hidden[order][there], atol=close, err_msg="scores of a list")
        np.testing.assert_allclose(scores[row, items[row][there]], hidden[order][there], atol=close, err_msg="the best")
    some = chance.integers(n, size=len(users))
    np.testing.assert_allclose(
        model.score_pairs(users, some), scores[np.arange(len(users)), some], atol=close, err_msg="score_pairs"
    )  # fmt: skip
    alone = model.recommend(users[:1], n=count)
    assert np.array_equal(alone[0][0], items[0]), "another list in company"
    assert np.array_equal(alone[1][0], shown[0]), "other bits in company"
    model.save(folder / "model.ep")
    again = everypair.load(folder / "model.ep", mmap=case["mmap"]).recommend(users, n=count)
    assert np.array_equal(again[0], items), "another list from a file"
    assert np.array_equal(again[1], shown), "other bits from a file"
    other = made(case, 2).fit(sp.csr_array(events), **given).recommend(users, n=count)
    assert np.array_equal(other[1], shown), "other bits on two threads"
    return case["model"]


ROOM = Room(
    "answers",
    "A list holds the best items by the model's own scores, ties by position, what the user has left out; it has the "
    "same bits alone and in company, before and after a file, on one thread and on two.",
    "random data and parameters of every recommender against sorting dense scores",
    {
        "model": MODELS,
        "shape": ([4, 5], [12, 9], [40, 30], [3, 150], [150, 3]),
        "density": (0.3, 0.05, 0.8),
        "rank": (2, 1, 3),
        "n": (3, 1, 10, 200),
        "loss": ("squared", "logistic", "squared_hinge"),
        "scheme": ("uniform", "user-count", "item-rarity"),
        "reg": (0.1, 1e-3, 10.0),
        "biases": (False, True),
        "dtype": ("float64", "float32"),
        "features": (False, True),
        "mmap": (False, True),
        "seed": range(100_000),
    },
    trial,
)
