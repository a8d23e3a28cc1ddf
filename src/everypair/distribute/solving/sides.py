"""Both sides on a cluster: where their shards begin and end, where these live, and what has to travel between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from everypair.distribute.solving.feature_step import SideFeatures
from everypair.distribute.tasks import Tasks
from everypair.parallel import BLOCK_ROWS, Chunk

SIDES = ("left", "right")


@dataclass(frozen=True)
class ShardedSide:
    """One side on the cluster: where its shards begin and end, where they live, and their problems there."""

    borders: list[Chunk]
    places: list[str]
    shards: list[Any]
    wanted: list[list[int | None]]  # how many rows are picked from every shard of the other side, None for all of them
    picked: list[list[Any]]  # futures of their numbers
    features: SideFeatures | None = None

    @property
    def blocks(self) -> int:
        """Number of blocks of rows."""
        return -(-self.borders[-1][1] // BLOCK_ROWS)

    def at_home(self, tasks: Tasks, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """A task beside the side's W; ``None`` where it has none."""
        return None if self.features is None else tasks.task(name, function, *arguments, place=self.features.home)


Sides = tuple[ShardedSide, ShardedSide]


def bytes_per_sweep(sides: Sides, columns: int, itemsize: int) -> int:
    """How many bytes of factors travel between workers in a sweep.

    A shard that travels whole goes once to every other worker that needs it; picked rows go to the shard they are for.
    """
    rows = 0
    for side, opposite in (sides, sides[::-1]):
        for source, ((start, stop), home) in enumerate(zip(opposite.borders, opposite.places)):
            needs = [(place, row[source]) for place, row in zip(side.places, side.wanted) if place != home]
            rows += (stop - start) * len({place for place, count in needs if count is None})
            rows += sum(count for _, count in needs if count is not None)
    return rows * columns * itemsize
