"""An entry of the registry: one table, figure or claim of a paper, and a function that judges what was measured.

    confirmed   what the paper prints or says is seen here
    partly      some of it is, the sentence says which part
    refuted     the opposite is seen
    untested    it could be run with the data at hand and was not
    no data     it needs data that cannot be had here

A verdict is computed from the JSON that the entry's scripts wrote: nothing of it is typed in.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

EXPERIMENTS = Path(__file__).parents[1]
STATES = ("confirmed", "partly", "refuted", "untested", "no data")
KINDS = ("table", "figure", "claim")
Records = Mapping[str, Any]  # name of a result file without its ending → what it holds


@dataclass(frozen=True)
class Verdict:
    """One of the states, and the sentence that says why, with figures."""

    state: str
    sentence: str

    def __post_init__(self) -> None:
        if self.state not in STATES:
            raise ValueError(f"{self.state!r} is no verdict: {', '.join(STATES)} are.")


@dataclass(frozen=True)
class Entry:
    """A table, figure or claim.

    ``results`` are the JSON files that the verdict reads (``negsel/table4_ml1m``); ``quick`` and ``full`` the commands
    that write them, relative to ``experiments/``; ``tests`` are where a claim is proven instead; ``data`` names the
    files that the commands read, none for generated and embedded data; ``differs`` says how our protocol differs.
    """

    id: str
    kind: str
    title: str
    published: str
    judge: Callable[[Records], Verdict]
    results: tuple[str, ...] = ()
    quick: tuple[str, ...] = ()
    full: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    differs: str = ""

    @property
    def paper(self) -> str:
        """The paper's short name, the first part of the id."""
        return self.id.partition(".")[0]

    def records(self, folder: Path = EXPERIMENTS) -> Records:
        """What is stored of the entry's results below ``folder``."""
        paths = {name: result_path(name, folder) for name in self.results}
        return {name: json.loads(path.read_text()) for name, path in paths.items() if path.exists()}

    def verdict(self, folder: Path = EXPERIMENTS) -> Verdict:
        """Judge what is stored; an entry with nothing stored is untested."""
        records = self.records(folder)
        if self.results and not records:
            return Verdict("untested", "No result is stored.")
        try:
            return self.judge(records)
        except KeyError as missing:
            return Verdict("untested", f"What is stored is of an earlier script or a part of it: it has no {missing}.")


def result_path(name: str, folder: Path = EXPERIMENTS) -> Path:
    """Where the JSON of a result lies: paper/name → paper/results/name.json."""
    paper, _, stem = name.partition("/")
    return folder / paper / "results" / f"{stem}.json"


def proven(sentence: str) -> Callable[[Records], Verdict]:
    """The verdict of an entry whose ``tests`` hold it at every run."""
    return lambda records: Verdict("confirmed", sentence)


def missing_data(sentence: str) -> Callable[[Records], Verdict]:
    """The verdict of an entry whose data are not to be had."""
    return lambda records: Verdict("no data", sentence)


def not_run(sentence: str) -> Callable[[Records], Verdict]:
    """The verdict of an entry that nobody ran yet."""
    return lambda records: Verdict("untested", sentence)


def verdict_of(held: Iterable[bool], sentence: str) -> Verdict:
    """Confirmed if everything held, refuted if nothing did, else partly; how many is said in front."""
    flags = list(held)
    count = sum(flags)
    state = "confirmed" if count == len(flags) else "partly" if count else "refuted"
    return Verdict(state, f"{count} of {len(flags)}: {sentence}")


def mean_and_error(values: Iterable[float]) -> tuple[float, float]:
    """The mean and its standard error; no error of a single value (NaN)."""
    every = list(values)
    mean = sum(every) / len(every)
    if len(every) < 2:
        return mean, math.nan
    variance = sum((value - mean) ** 2 for value in every) / (len(every) - 1)
    return mean, math.sqrt(variance / len(every))


def beyond_noise(values: Iterable[float]) -> bool:
    """Whether differences are above 0 by more than two standard errors; of a single one, whether it is above 0.

    >>> beyond_noise([1.0, 1.2, 0.9]), beyond_noise([1.0, -1.2, 0.9]), beyond_noise([0.1])
    (True, False, True)
    """
    mean, error = mean_and_error(values)
    return mean > (0 if math.isnan(error) else 2 * error)


def paired(ours: Sequence[float], theirs: Sequence[float], draws: int = 2000) -> tuple[float, float, float]:
    """The mean difference of two methods on the same rows, and its 95 % interval by a bootstrap over rows.

    >>> mean, low, high = paired([1, 0, 1, 1] * 50, [0, 0, 1, 1] * 50)
    >>> round(mean, 2), 0.15 < low < 0.25 < high < 0.35
    (0.25, True)
    """
    differences = np.subtract(ours, theirs)
    random = np.random.default_rng(0)
    means = [random.choice(differences, len(differences)).mean() for _ in range(draws)]
    low, high = np.quantile(means, (0.025, 0.975))
    return float(differences.mean()), float(low), float(high)


def between(mean: float, low: float, high: float, digits: int = 2) -> str:
    """A difference with its interval.

    >>> between(1.0, 0.5, 1.5)
    '+1.00 (+0.50 to +1.50)'
    """
    return f"{mean:+.{digits}f} ({low:+.{digits}f} to {high:+.{digits}f})"


def shown(mean: float, error: float, digits: int = 2) -> str:
    """A mean with its standard error, where there is one.

    >>> shown(3.04, 0.31, 1), shown(3.0, math.nan, 1)
    ('3.0 ± 0.3', '3.0')
    """
    return f"{mean:.{digits}f}" + ("" if math.isnan(error) else f" ± {error:.{digits}f}")
