"""Ids of any number, numbered in ascending order by the workers, as one machine would: a sort by samples.

    bucket b holds the ids from splitter b to the next;    number = (ids in the buckets before) + (rank in its bucket)

Splitters are quantiles of every so many-th id, and change no number. The client sees how many ids there are, no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import getitem
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.distribute.tasks import Tasks
from everypair.types import Array

BUCKETS_OF_WORKER, MOST_BUCKETS = 4, 32  # parts × buckets is the number of tasks, three times
SAMPLES = 2**14


@dataclass(frozen=True)
class Numbered:
    """The ids of one side: futures of runs of them, ascending, the runs' lengths, and every part's numbers."""

    runs: list[Any]
    lengths: list[int]
    numbers: list[Any]

    @property
    def size(self) -> int:
        """How many ids there are."""
        return sum(self.lengths)


def numbered_ids(tasks: Tasks, parts: list[Any], counts: Sequence[int]) -> Numbered:
    """Number the ids of parts: ``parts`` are futures of ascending arrays of ``counts`` distinct ids each."""
    buckets = min(len(parts), BUCKETS_OF_WORKER * len(tasks.workers), MOST_BUCKETS)
    step = max(1, sum(counts) // SAMPLES)
    samples = [tasks.task("sample-ids", _every, ids, step) for ids in parts]
    splitters = tasks.task("splitters", _splitters, samples, buckets)
    split = tasks.start([tasks.task("split-ids", _split, ids, splitters) for ids in parts])
    mine = [[tasks.task("ids-of-run", getitem, one, number) for one in split] for number in range(buckets)]
    runs = tasks.start([tasks.task("run-of-ids", _distinct, ids) for ids in mine])
    lengths = tasks.get([tasks.task("size", len, run) for run in runs])
    offsets = np.concatenate([[0], np.cumsum(lengths)]).tolist()
    numbers = [
        tasks.task("numbers", np.concatenate, [
            tasks.task("number", _look_up, run, tasks.task("ids-of-run", getitem, one, number), offsets[number])
            for number, run in enumerate(runs)
        ])
        for one in split
    ]  # fmt: skip
    return Numbered(runs, lengths, tasks.start(numbers))


def _every(ids: Array, step: int) -> Array:
    return ids[::step]


def _splitters(samples: list[Array], buckets: int) -> Array:
    """The ids that buckets but the first begin with."""
    sample = np.unique(np.concatenate(samples))
    return sample[np.arange(1, buckets) * len(sample) // buckets]


def _split(ids: Array, splitters: Array) -> list[Array]:
    return np.split(ids, np.searchsorted(ids, splitters))


def _distinct(ids: list[Array]) -> Array:
    return np.unique(np.concatenate(ids))


def _look_up(run: Array, ids: Array, offset: int) -> NDArray[np.int64]:
    return offset + np.searchsorted(run, ids)
