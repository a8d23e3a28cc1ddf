"""A room of the campaign: a promise, the choices of a case, and a trial that raises where the promise is broken.

A case is one choice of every kind, ``{"loss": "squared", "seed": 7, …}``: it can be written down, tried again, and made
smaller, choice by choice towards the first of each kind, as long as it still fails.
"""

from __future__ import annotations

import json
import random
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Case = dict[str, Any]
Trial = Callable[[Case, Path], "str | Mapping[str, int]"]
MOST_FAILURES = 20  # of a room: what fails more often than that is broken, not rare


@dataclass(frozen=True)
class Room:
    """``trial(case, folder)`` tells what came out, a word or counts; ``cases`` have to be tried first."""

    name: str
    promise: str
    how: str
    choices: Mapping[str, Sequence[Any]]
    trial: Trial
    cases: Callable[[], Iterable[Case]] = tuple
    share: float = 1.0  # of the campaign's time, beside the other rooms

    def drawn(self, chance: random.Random) -> Case:
        """A case by chance."""
        return {kind: chance.choice(values) for kind, values in self.choices.items()}

    def tried(self, case: Case) -> str | Mapping[str, int]:
        """Try a case in a folder of its own."""
        with tempfile.TemporaryDirectory() as folder:
            return self.trial(case, Path(folder))

    def smaller(self, case: Case, seconds: float = 60.0) -> Case:
        """A case that fails too, each choice of which is as near to the first of its kind as can be."""
        until = time.monotonic() + seconds
        case, again = dict(case), True
        while again:
            again = False
            for kind, values in self.choices.items():
                for value in values[: values.index(case[kind])][:50]:
                    if time.monotonic() > until:
                        return case
                    if self._fails({**case, kind: value}):
                        case, again = {**case, kind: value}, True
                        break
        return case

    def _fails(self, case: Case) -> bool:
        try:
            self.tried(case)
        except Exception:
            return True
        return False


@dataclass
class Outcome:
    """What a run of a room found."""

    room: str
    seed: int
    seconds: float = 0.0
    cases: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    failures: list[dict[str, Any]] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """The same for a file."""
        return {**vars(self), "counts": dict(sorted(self.counts.items()))}


def play(room: Room, seed: int, seconds: float, now: Path, kept: Sequence[Case] = ()) -> Outcome:
    """Try cases until time is up: those that failed once, those that have to be tried, then others by chance.

    The case at hand is in the file ``now``, where it is found if it ends the process.
    """
    outcome, chance, begin = Outcome(room.name, seed), random.Random(f"{seed} {room.name}"), time.monotonic()
    first = list(room.cases())
    chance.shuffle(first)
    queue = [*kept, *first]
    while time.monotonic() < begin + seconds and len(outcome.failures) < MOST_FAILURES:
        case = queue.pop(0) if queue else room.drawn(chance)
        now.write_text(json.dumps(case))
        outcome.cases += 1
        try:
            told = room.tried(case)
            outcome.counts.update({told: 1} if isinstance(told, str) else told)
        except Exception:
            less = room.smaller(case)
            if not any(less == failure["case"] for failure in outcome.failures):
                outcome.failures.append({"case": less, "first": case, "why": why(room, less)})
            outcome.counts["FAILED"] += 1
    outcome.seconds = round(time.monotonic() - begin, 1)
    return outcome


def why(room: Room, case: Case) -> str:
    """The last lines of what a case raises."""
    try:
        room.tried(case)
    except Exception:
        return traceback.format_exc(limit=-3)[-1500:]
    return "it failed once and not again"
