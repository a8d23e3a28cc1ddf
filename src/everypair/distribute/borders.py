"""Where a side's rows are cut into shards: at borders of blocks of 1024 rows, by the data alone.

Every sum over rows runs over these blocks in a fixed tree, so that shards change no bit, wherever their borders are.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.parallel import BLOCK_ROWS, Chunk, even_chunks

SHARD_WORK = 2**22  # pairs and rows (16 pairs each) of a shard, about
ROW_WORK = 16


def shard_borders(counts: NDArray[Any], shards: int | None = None) -> list[Chunk]:
    """Cut rows that store so many pairs each into ``shards`` runs of about equal work.

    ``None``: the power of 2 that gives each about 2²² pairs. There are never more shards than blocks.

    >>> shard_borders(np.full(5000, 3), shards=2)
    [(0, 2048), (2048, 5000)]
    """
    blocks = even_chunks(len(counts), BLOCK_ROWS)
    work = np.array([int(counts[a:b].sum()) + ROW_WORK * (b - a) for a, b in blocks])
    if shards is None:
        shards = 2 ** max(0, int(np.ceil(np.log2(work.sum() / SHARD_WORK))))
    done = np.concatenate([[0], np.cumsum(work)])
    shares = np.linspace(0, done[-1], min(shards, len(blocks)) + 1)
    above = np.searchsorted(done, shares)
    nearest = np.where(shares - done[above - 1] < done[above] - shares, above - 1, above)
    cuts = np.unique(np.concatenate([[0], nearest[1:-1], [len(blocks)]]))
    return [(blocks[first][0], blocks[last - 1][1]) for first, last in pairwise(cuts)]
