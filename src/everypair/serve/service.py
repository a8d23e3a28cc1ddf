"""What one process serves: one model, or two with shares of the users, behind one queue.

Who gets which of two models is decided by SHA-256 of the user's id (or of the header x-unit), the same in every process
and after every restart; who has neither gets the first.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from everypair.serve.answers import SHORT, Recommendations
from everypair.serve.batches import Batches
from everypair.serve.gate import Gate
from everypair.serve.meters import Meters
from everypair.serve.predictions import Predictions
from everypair.serve.questions import PredictEntries, PredictLabels, Recommend, Score, Similar

SALT = b"everypair variant "


class Variant(NamedTuple):
    """A model that is served, the share of users who get it, and its card."""

    name: str
    share: float
    answers: Any  # Recommendations or Predictions
    card: dict[str, Any]


class Service:
    """Variants, who may ask, and what is counted; ``draining`` says that this process is about to leave."""

    def __init__(
        self, variants: Sequence[Variant], gate: Gate | None = None, meters: Meters | None = None, log: Any = None
    ) -> None:
        self.variants = list(variants)
        if len({type(variant.answers) for variant in variants}) > 1:
            raise ValueError("two models that share users must answer the same questions.")
        self.gate = gate or Gate()
        self.meters = meters or Meters(1)
        self.log = log
        self.draining = False
        self.alone: Callable[[], bool] = lambda: False  # whether a single request is under way, where somebody knows
        self._batches: Batches | None = None

    @property
    def batches(self) -> Batches:
        """The queue of the event loop that runs."""
        if self._batches is None or self._batches.loop is not asyncio.get_running_loop():
            self._batches = Batches(self.answer, is_quick, self.meters.batch, self.alone)
        return self._batches

    def close(self) -> None:
        """End what runs beside the event loop."""
        if self._batches is not None:
            self._batches.close()
            self._batches = None

    def variant_of(self, unit: str | None) -> int:
        """Which variant somebody gets."""
        if len(self.variants) == 1 or unit is None:
            return 0
        place = share_of(unit)
        for number, variant in enumerate(self.variants[1:], 1):
            if place < variant.share:
                return number
            place -= variant.share
        return 0

    def answer(self, questions: Sequence[tuple[int, Any]]) -> list[Any]:
        """Answers, or errors, to questions to variants; those of one kind are answered together."""
        answers: list[Any] = [None] * len(questions)
        kinds: dict[tuple[int, type], list[int]] = defaultdict(list)
        for place, (variant, question) in enumerate(questions):
            kinds[variant, type(question)].append(place)
        for (variant, kind), places in kinds.items():
            model = self.variants[variant].answers
            found = _METHODS[kind](model, [questions[place][1] for place in places])
            for place, one in zip(places, found):
                answers[place] = one
        return answers


_METHODS: dict[type, Any] = {
    Recommend: Recommendations.recommend,
    Similar: Recommendations.similar,
    Score: Recommendations.score,
    PredictLabels: Predictions.predict,
    PredictEntries: Predictions.predict,
}


def is_quick(asked: tuple[int, Any]) -> bool:
    """Whether a question is answered in a few milliseconds, less than it takes to hand it over."""
    _, question = asked
    if isinstance(question, Recommend):
        return not question.explain and question.offset + question.n <= SHORT
    return isinstance(question, Similar)


def share_of(unit: str) -> float:
    """A number in [0, 1) that belongs to somebody.

    >>> share_of("ann") == share_of("ann"), 0 <= share_of("bob") < 1
    (True, True)
    """
    digest = hashlib.sha256(SALT + unit.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


def checked_shares(shares: Sequence[float | None]) -> list[float]:
    """Shares of the models, the first taking what the others leave.

    >>> checked_shares([None, 0.1])
    [0.9, 0.1]
    """
    if len(shares) > 2:
        raise ValueError("a service has one model, or two beside each other.")
    if shares[0] is not None:
        raise ValueError("the first model takes the users that the second leaves: give the second a share, b.ep=10%.")
    if len(shares) == 1:
        return [1.0]
    second = shares[1]
    if second is None or not 0 <= second <= 1:
        raise ValueError("give the second model a share of the users from 0 to 100%: b.ep=10%.")
    return [1 - second, second]
