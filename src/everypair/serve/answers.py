"""One loaded recommender: questions by id become lists, neighbours and scores. No HTTP here.

    question → subject (a known row, or events and features of somebody) → scores → top-k without what is hidden → ids

Questions that wait together are answered together: those about known users in one product, those about new ones in one
fold-in. One that fails fails alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.data.rows import StoredRows
from everypair.models.recommend.by_id import described
from everypair.models.recommend.fitted import Answer, ComparesItems, Explains, Fitted, Grows, Newcomers
from everypair.problem.layout import LEFT
from everypair.retrieve import Scores
from everypair.retrieve.index import Index
from everypair.retrieve.similar import cosines_of
from everypair.serve.catalogue import Catalogue
from everypair.serve.entities import Entities
from everypair.serve.errors import Refusal, refusal_of
from everypair.serve.limits import EXPLAINED, RANKED, REASONS
from everypair.serve.questions import (
    Found,
    Neighbors,
    RankedItems,
    Reason,
    Recommend,
    Score,
    Scored,
    Similar,
    Somebody,
)

KNOWN, UPDATED, FOLDED_IN, POPULAR = "known", "known+items", "folded_in", "popular"
SHORT = 128  # lists up to this length are made together
NONE = np.empty(0, np.int32)
Positions = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Subject:
    """Whom a question is about: a row, or events (positions and weights) and features; ``ignored`` ids are unknown."""

    how: str
    row: int = -1
    positions: Positions | None = None
    weights: NDArray[np.float64] | None = None
    features: Any = None
    ignored: tuple[str | int, ...] = ()


@dataclass(frozen=True, slots=True)
class Task:
    """A question with its place among those that were asked together, and its filters in positions."""

    place: int
    question: Recommend
    subject: Subject
    hidden: Positions
    allowed: Positions | None

    @property
    def last(self) -> int:
        """How many places of the ranking are needed."""
        return self.question.offset + self.question.n


class Recommendations:
    """What a service asks of a fitted recommender; ``variant`` and ``version`` are named in every answer."""

    def __init__(self, value: Any, catalogue: Catalogue, users: Entities, version: str, variant: str) -> None:
        self.named: Any = value
        self.value: Fitted = value.without_ids()
        self.dtype = self.named.interactions.dtype
        self.catalogue, self.users, self.items = catalogue, users, catalogue.items
        self.version, self.variant = version, variant

    def recommend(self, questions: Sequence[Recommend]) -> list[RankedItems | Refusal]:
        """A list for every question, or why there is none."""
        answers: list[Any] = [None] * len(questions)
        groups: dict[Any, list[Task]] = defaultdict(list)
        for place, question in enumerate(questions):
            try:
                task = self._task(place, question)
            except Exception as failure:
                answers[place] = refusal_of(failure)
                continue
            alone = task.allowed is not None or task.subject.features is not None or task.last > SHORT
            groups[place if alone else task.subject.how].append(task)
        for group in groups.values():
            self._answer(group, answers)
        return answers

    def similar(self, questions: Sequence[Similar]) -> list[Neighbors | Refusal]:
        """The neighbours of every item that is asked about, or why there are none."""
        answers: list[Any] = [None] * len(questions)
        together = [
            place
            for place, one in enumerate(questions)
            if not one.exclude and one.allow is None and one.where is None and one.offset + one.n <= SHORT
        ]
        if len(together) > 1:
            self._neighbors_of_many(questions, together, answers)
        return [
            self._one(self._neighbors, question) if answer is None else answer
            for question, answer in zip(questions, answers)
        ]

    def score(self, questions: Sequence[Score]) -> list[Scored | Refusal]:
        """Scores of candidates."""
        return [self._one(self._scored, question) for question in questions]

    @cached_property
    def popularity(self) -> Index:
        """How many users have each item: what is said to somebody of whom nothing is known."""
        return Index.of(self.catalogue.counts[:, None].astype(np.float64), "counts")

    @cached_property
    def vectors(self) -> Any:
        """Unit vectors of all items, made once."""
        if not isinstance(self.value, ComparesItems):
            raise Refusal(422, "this model does not compare items.", code="not_offered")
        return self.value.item_vectors()

    def _one(self, answer: Callable[[Any], Any], question: Any) -> Any:
        try:
            return answer(question)
        except Exception as failure:
            return refusal_of(failure)

    def _task(self, place: int, question: Recommend) -> Task:
        if question.offset + question.n > RANKED:
            raise Refusal(422, f"offset and n may be {RANKED} together.", "offset")
        if question.explain and question.n > EXPLAINED:
            raise Refusal(422, f"with explain n may be {EXPLAINED}.", "n")
        if question.explain and not isinstance(self.value, Explains):
            raise Refusal(422, "this model gives no reasons: leave explain out.", "explain", "not_offered")
        subject = self._subject(question, question.fallback == "popular")
        hidden = self.items.find(question.exclude) if question.exclude else NONE
        return Task(place, question, subject, hidden[hidden >= 0], self._allowed(question))

    def _subject(self, who: Somebody, popular: bool = False) -> Subject:
        if who.user is None and who.items is None and who.features is None:
            raise Refusal(422, "say whom to answer: give user, items or features.", "user")
        row, ignored = -1, []
        if who.user is not None:
            row = int(self.users.find([who.user])[0])
        if who.items is None and who.features is None:
            if row >= 0:
                return Subject(KNOWN, row)
            if popular:
                return Subject(POPULAR, ignored=())
            sentence = f'user {str(who.user)[:80]!r} is not known: give items, or "fallback": "popular".'
            raise Refusal(404, sentence, "user", "unknown_user")
        positions, weights = np.empty(0, np.int64), np.empty(0)
        if who.items is not None:
            names = list(who.items)
            if isinstance(who.items, dict):
                weights = np.array(list(who.items.values()))
                if not weights.all():
                    raise Refusal(422, "a weight of 0 says nothing: leave the item out.", "items")
            else:
                weights = np.ones(len(names))
            positions = self.items.find(names)
            there = positions >= 0
            if not there.all():
                ignored = [name for name, known in zip(names, there.tolist()) if not known]
                positions, weights = positions[there], weights[there]
            if names and not len(positions) and row < 0 and who.features is None:
                if popular:
                    return Subject(POPULAR, ignored=tuple(ignored))
                sentence = f"none of the {len(names)} items is known, the first is {str(names[0])[:80]!r}."
                raise Refusal(422, sentence, "items", "unknown_items")
        if row >= 0:
            seen = self.value.known(np.array([row])).seen
            positions = np.concatenate([seen.indices.astype(np.int64), positions])
            weights = np.concatenate([seen.data.astype(np.float64), weights])
        order = positions.argsort(kind="stable")
        positions, weights = positions[order], weights[order]
        again = positions[1:] == positions[:-1]
        if again.any():  # what is said last counts
            last = np.append(~again, True)
            positions, weights = positions[last], weights[last]
        how = UPDATED if row >= 0 else FOLDED_IN
        return Subject(how, -1, positions, weights, who.features, tuple(ignored))

    def _allowed(self, question: Recommend | Similar) -> Positions | None:
        if question.allow is None and question.where is None:
            return None
        mask = np.ones(self.items.count, bool) if question.where is None else self.catalogue.allowed(question.where)
        if question.allow is not None:
            listed = self.items.find(question.allow)
            wanted = np.zeros(self.items.count, bool)
            wanted[listed[listed >= 0]] = True
            mask &= wanted
        return np.flatnonzero(mask)

    def _answer(self, group: list[Task], answers: list[Any]) -> None:
        """Answer tasks of one kind together; where that fails, one by one."""
        try:
            scores, seen = self._scores([task.subject for task in group])
            ranked = self._ranked(group, scores, seen)
        except Exception as failure:
            if len(group) == 1:
                answers[group[0].place] = refusal_of(failure)
                return
            for task in group:
                self._answer([task], answers)
            return
        for task, positions, values in zip(group, *ranked):
            answers[task.place] = self._one(lambda task: self._ranking(task, positions, values), task)  # noqa: B023

    def _scores(self, subjects: list[Subject]) -> Answer:
        how = subjects[0].how
        if how == POPULAR:
            scores = Scores.of_index(np.ones((len(subjects), 1)), self.popularity)
            return Answer(scores, StoredRows.empty(len(subjects), self.items.count, np.float32))
        if how == KNOWN:
            return self.value.known(np.array([subject.row for subject in subjects]))
        return self.value.described(self._newcomers(subjects), 1)

    def _newcomers(self, subjects: list[Subject]) -> Newcomers:
        """Somebody's events as a row each, and the features of one."""
        places = [subject.positions for subject in subjects if subject.positions is not None]
        rows = self._rows(places, np.concatenate([subject.weights for subject in subjects]))
        features = subjects[0].features
        if features is None:
            return Newcomers(rows)
        table = {name: [value] for name, value in features.items()} if isinstance(features, dict) else [features]
        read = described(self.named, LEFT, Newcomers(None, table)).newcomers.features
        return Newcomers(rows if len(rows.indices) else None, read)

    def _rows(self, places: Sequence[Any], data: Any = None) -> StoredRows:
        """Ascending positions of items as rows."""
        ends = np.zeros(len(places) + 1, np.int64)
        np.cumsum([len(one) for one in places], out=ends[1:])
        flat = np.concatenate(places).astype(np.int32)
        if data is None:
            return StoredRows(ends, flat, np.ones(len(flat), np.float32), self.items.count)
        data = data.astype(self.dtype)
        return StoredRows(ends, flat, data, self.items.count, sound=bool(data.all()))  # limits keep them finite

    def _ranked(self, group: list[Task], scores: Scores, seen: Any) -> tuple[list[Positions], list[Any]]:
        """Positions and scores of every task, those that are left over removed."""
        exclude = seen
        if not all(task.question.exclude_seen and not len(task.hidden) for task in group):
            hidden = []
            for row, task in enumerate(group):
                own = seen.indices[seen.indptr[row] : seen.indptr[row + 1]] if task.question.exclude_seen else NONE
                hidden.append(np.unique(np.concatenate([own, task.hidden])) if len(task.hidden) else own)
            exclude = self._rows(hidden)
        length = min(max(task.last for task in group), self.items.count)
        items, values = scores.top_k(length, exclude=exclude, allow=group[0].allowed, n_threads=1)
        lists, numbers = [], []
        for row, task in enumerate(group):
            part = slice(task.question.offset, task.last)
            there = items[row, part] >= 0
            lists.append(items[row, part][there])
            numbers.append(values[row, part][there].tolist())
        return lists, numbers

    def _ranking(self, task: Task, positions: Positions, values: list[float]) -> RankedItems:
        found = self._found(positions, values)
        if task.question.explain and task.subject.how != POPULAR:
            self._give_reasons(task.subject, positions, found)
        return RankedItems(found, task.subject.how, self.version, self.variant, list(task.subject.ignored))

    def _found(self, positions: Positions, values: list[float]) -> list[Found]:
        names = self.items.names(positions)
        if self.catalogue.titles is None:
            return [Found(name, value) for name, value in zip(names, values)]
        titles = map(self.catalogue.title, positions.tolist())
        return [Found(name, value, title) for name, value, title in zip(names, values, titles)]

    def _give_reasons(self, subject: Subject, positions: Positions, found: list[Found]) -> None:
        """The greatest contributions to each score; somebody new is explained as a user who has been added."""
        value, row = self.value, subject.row
        if row < 0:
            if not isinstance(value, Grows):
                raise Refusal(422, "this model gives reasons for known users only.", "explain", "not_offered")
            value, row = value.grown(LEFT, self._newcomer(subject), 1), self.value.shape[0]
        assert isinstance(value, Explains)
        for item, position in zip(found, positions.tolist()):
            why = value.explain(row, position, REASONS)
            item.reasons = [
                Reason(name, share, self.catalogue.title(place))
                for name, share, place in zip(
                    self.items.names(why.items), why.contributions.tolist(), why.items.tolist()
                )
            ]

    def _newcomer(self, subject: Subject) -> Newcomers:
        """Somebody who is added to the model, whose events are then a row of its matrix."""
        newcomer = self._newcomers([subject])
        return newcomer if newcomer.events is None else replace(newcomer, events=newcomer.events.tocsr())

    def _neighbors_of_many(self, questions: Sequence[Similar], places: list[int], answers: list[Any]) -> None:
        """Answer questions without filters about items that are known; others are left to be asked one by one."""
        own = self.items.find([questions[place].item for place in places])
        places, own = [place for place, item in zip(places, own.tolist()) if item >= 0], own[own >= 0]
        if not places or not isinstance(self.value, ComparesItems):
            return
        last = max(questions[place].offset + questions[place].n for place in places)
        items, cosines = cosines_of(self.vectors, own).nearest(own, min(last, self.items.count), n_threads=1)
        for row, place in enumerate(places):
            answers[place] = self._near(questions[place], items[row], cosines[row])

    def _neighbors(self, question: Similar) -> Neighbors:
        if question.offset + question.n > RANKED:
            raise Refusal(422, f"offset and n may be {RANKED} together.", "offset")
        own = self.items.find([question.item])
        if own[0] < 0:
            raise Refusal(404, f"item {str(question.item)[:80]!r} is not known.", "item", "unknown_item")
        hidden = self.items.find(question.exclude) if question.exclude else NONE
        items, cosines = cosines_of(self.vectors, own).nearest(
            own,
            min(question.offset + question.n, self.items.count),
            allow=self._allowed(question),
            block=hidden[hidden >= 0] if len(hidden) else None,
            n_threads=1,
        )
        return self._near(question, items[0], cosines[0])

    def _near(self, question: Similar, items: Positions, cosines: Any) -> Neighbors:
        part = slice(question.offset, question.offset + question.n)
        there = items[part] >= 0
        found = self._found(items[part][there], cosines[part][there].tolist())
        return Neighbors(found, self.version, self.variant)

    def _scored(self, question: Score) -> Scored:
        subject = self._subject(question)
        places = self.items.find(question.candidates)
        known = places[places >= 0]
        ignored = [name for name, place in zip(question.candidates, places.tolist()) if place < 0]
        if subject.how == KNOWN:
            values = self.value.pair_scores(np.full(len(known), subject.row), known, 1)
        else:
            values = self._scores([subject]).scores.dense(1)[0][known]
        scores: list[float | None] = [None] * len(places)
        for place, value in zip(np.flatnonzero(places >= 0).tolist(), values.tolist()):
            scores[place] = value
        return Scored(scores, subject.how, self.version, self.variant, [*subject.ignored, *ignored])
