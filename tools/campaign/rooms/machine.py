"""A life of a model, step after step by chance, beside the same kept in plain dictionaries.

fit → update → add_users → add_items → fold-in → save → load → serve → recommend, in any order. The twin knows who has
what, in which order ids came, and what an update should count; after every step the model has to agree. Hypothesis
draws the steps; a life that fails is made short by the choice of fewer steps.
"""

from __future__ import annotations

import copy
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test
from trials import Case, Room

import everypair
from everypair.models.registry import ESTIMATORS, estimator_class

NAMES = ("OneClassMF", "ItemItem", "Blend", "SameLossMF", "Popularity", "BPR", "PoissonMF")

users = st.integers(0, 14).map(lambda number: f"u{number:02}")
items = st.integers(0, 11).map(lambda number: f"i{number:02}")
weights = st.sampled_from([1.0, 2.0, 0.5])
tables = st.lists(st.tuples(users, items, weights), min_size=1, max_size=12)


def columns(table: list[tuple[str, str, float]]) -> dict[str, list[Any]]:
    """A table as columns."""
    who, what, weight = (list(column) for column in zip(*table))
    return {"user": who, "item": what, "weight": weight}


class Life(RuleBasedStateMachine):
    """A model and its twin."""

    name = "OneClassMF"

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "model.ep"
        self.model: Any = None
        self.has: dict[str, dict[str, float]] = {}  # what every user has
        self.users: list[str] = []
        self.items: list[str] = []
        self.whole = True  # whether the file has all that updates need
        self.read: list[Any] = []

    def teardown(self) -> None:
        self.folder.cleanup()

    @initialize(table=tables, seed=st.integers(0, 99))
    def fit(self, table: list[tuple[str, str, float]], seed: int) -> None:
        table = [*table, ("u00", "i00", 1.0), ("u01", "i01", 1.0), ("u01", "i00", 1.0)]
        cls = estimator_class(self.name)
        wanted = {"rank": 2, "max_iter": 3, "random_state": seed, "n_threads": 1}
        offered = cls().get_params()
        self.model = cls(**{key: value for key, value in wanted.items() if key in offered}).fit(
            everypair.read_events(columns(table), verbose=False)
        )
        self.has = together(table)
        self.users, self.items = sorted(self.has), sorted({item for _, item, _ in table})
        self.read = [sorted(table)]
        self.agree()

    @precondition(lambda self: "update" in ESTIMATORS[self.name].offers and self.whole)
    @rule(table=tables, known=st.sampled_from(["fold-in", "ignore"]))
    def update(self, table: list[tuple[str, str, float]], known: str) -> None:
        before, events = copy.deepcopy(self.has), together(table)
        new_users = sorted(set(events) - set(self.users))
        new_items = sorted({item for own in events.values() for item in own} - set(self.items))
        try:
            counts = self.model.update(columns(table), known=known)
        except ValueError as refusal:
            same = "read already" in str(refusal) and sorted(table) in self.read
            few = "are the columns swapped" in str(refusal)
            assert same or few, refusal
            self.agree()
            return
        self.read.append(sorted(table))
        refreshed = []
        for user, own in events.items():
            mine = self.has.setdefault(user, {})
            for item, weight in own.items():
                if user in before and item not in new_items and known == "ignore":
                    continue
                mine[item] = mine.get(item, 0.0) + weight
                if user in before and user not in refreshed:
                    refreshed.append(user)
        self.users += new_users
        self.items += new_items
        assert (counts.new_users, counts.new_items) == (len(new_users), len(new_items)), "the counts of an update"
        assert counts.folded_in == (len(refreshed) if known == "fold-in" else 0), "who was folded in"
        self.agree()
        if known == "fold-in":
            self.as_described([*refreshed, *new_users])

    @precondition(lambda self: "add_users" in ESTIMATORS[self.name].offers and self.whole)
    @rule(
        names=st.lists(st.integers(0, 9).map(lambda n: f"new{n}"), min_size=1, max_size=3, unique=True), data=st.data()
    )
    def add_users(self, names: list[str], data: Any) -> None:
        lists = [data.draw(st.lists(st.sampled_from(self.items), max_size=4, unique=True)) for _ in names]
        known = set(names) & set(self.users)
        try:
            assert self.model.add_users(ids=names, interactions=lists).tolist() == names
        except ValueError as refusal:
            assert known, refusal
            assert len(str(refusal)) > 15
            self.agree()
            return
        assert not known, "a user was added twice"
        self.users += names
        self.has |= {name: dict.fromkeys(own, 1.0) for name, own in zip(names, lists)}
        self.agree()
        self.as_described(names)

    @precondition(lambda self: "add_items" in ESTIMATORS[self.name].offers and self.whole)
    @rule(number=st.integers(0, 9), data=st.data())
    def add_item(self, number: int, data: Any) -> None:
        name = f"thing{number}"
        who = data.draw(st.lists(st.sampled_from(self.users), min_size=1, max_size=4, unique=True))
        try:
            self.model.add_items(ids=[name], interactions=[who])
        except ValueError as refusal:
            assert name in self.items, refusal
            self.agree()
            return
        assert name not in self.items, "an item was added twice"
        self.items.append(name)
        for user in who:
            self.has[user][name] = 1.0
        self.agree()

    @rule(mmap=st.booleans(), serve_only=st.booleans())
    def save_and_load(self, mmap: bool, serve_only: bool) -> None:
        asked = self.model.recommend(self.users, n=4)
        self.model.save(self.path, serve_only=serve_only)
        again = everypair.load(self.path, mmap=mmap)
        told = again.recommend(self.users, n=4)
        assert np.array_equal(told[0], asked[0]), "another list from a file"
        assert np.array_equal(told[1], asked[1]), "other bits from a file"
        if not serve_only:
            self.model = again
        self.agree()

    @rule(data=st.data())
    def serve(self, data: Any) -> None:
        from starlette.testclient import TestClient

        from everypair.serve import app

        self.model.save(self.path)
        user = data.draw(st.sampled_from(self.users))
        with TestClient(app(self.path), base_url="http://localhost") as client:
            told = client.post("/v1/recommend", json={"user": user, "n": 5}).json()
        shown, scores = self.model.recommend([user], n=5)
        listed = [(one["item"], one["score"]) for one in told["items"]]
        want = [(item, float(score)) for item, score in zip(shown[0], scores[0]) if item is not None]
        assert [item for item, _ in listed] == [item for item, _ in want], "the service recommends something else"
        np.testing.assert_allclose([score for _, score in listed], [score for _, score in want], rtol=1e-6)

    @rule(data=st.data())
    def ask_for_somebody_new(self, data: Any) -> None:
        own = data.draw(st.lists(st.sampled_from(self.items), max_size=4, unique=True))
        shown, scores = self.model.recommend(interactions=[own], n=len(self.items) + 2)
        there = [item for item in shown[0] if item is not None]
        assert set(there) == set(self.items) - set(own), "what somebody new is shown"
        assert len(there) == len(set(there))
        assert (np.diff(scores[0][: len(there)]) <= 0).all()

    def agree(self) -> None:
        """Ids, events and lists are those of the twin."""
        assert list(self.model.user_ids_) == self.users, "the users"
        assert list(self.model.item_ids_) == self.items, "the items"
        stored = self.model.interactions_.toarray()
        dense = np.zeros((len(self.users), len(self.items)))
        for row, user in enumerate(self.users):
            for item, weight in self.has[user].items():
                dense[row, self.items.index(item)] = weight
        np.testing.assert_allclose(stored, dense, rtol=1e-6, err_msg="who has what")
        shown, told = self.model.recommend(self.users, n=len(self.items))
        scores = self.model.score_users(self.users)
        assert np.isfinite(scores).all()
        for row, user in enumerate(self.users):
            there = [item for item in shown[row] if item is not None]
            assert set(there) == set(self.items) - set(self.has[user]), f"the list of {user}"
            places = [self.items.index(item) for item in there]
            own = told[row][: len(there)]
            assert (np.diff(own) <= 0).all(), "not by descending score"
            np.testing.assert_allclose(own, scores[row, places], rtol=1e-4, atol=1e-5, err_msg="the scores of a list")

    def as_described(self, names: list[str]) -> None:
        """Somebody who was folded in has the scores of somebody new with the same events."""
        if not names or self.name == "Blend":  # whose weights go by the degrees that items have now
            return
        rows = [dict(self.has[name]) for name in names]
        described = self.model.score_users(interactions=rows)
        np.testing.assert_allclose(
            self.model.score_users(names), described, rtol=1e-4, atol=1e-5, err_msg="folded in, and described"
        )


def together(table: list[tuple[str, str, float]]) -> dict[str, dict[str, float]]:
    """Who has what, weights of one pair added."""
    has: dict[str, dict[str, float]] = defaultdict(dict)
    for user, item, weight in table:
        has[user][item] = has[user].get(item, 0.0) + weight
    return dict(has)


def trial(case: Case, folder: Path) -> str:
    machine = hypothesis.seed(case["seed"])(type("Life", (Life,), {"name": case["model"]}))
    run_state_machine_as_test(
        machine,
        settings=hypothesis.settings(
            max_examples=2, stateful_step_count=case["steps"], deadline=None, database=None, print_blob=False,
            phases=[hypothesis.Phase.generate], suppress_health_check=list(hypothesis.HealthCheck),
        ),
    )  # fmt: skip
    return str(case["model"])


ROOM = Room(
    "machine",
    "Whatever order fit, update, add, fold-in, save, load and serve come in, ids, events, counts and lists are those "
    "of the plain record of what happened.",
    "two lives a case, their steps drawn by hypothesis, beside dictionaries of who has what",
    {"model": NAMES, "steps": (2, 3, 5, 8, 16, 30), "seed": range(1_000_000)},
    trial,
)
