"""Hundreds of millions of generated pairs in a minute: power-law activity, power-law popularity, tastes in groups.

A user has a Pareto number of events and likes some of GROUPS groups of items: SHARE of his events are drawn from these,
by popularity within the group, the others by popularity among all items. Every row holds distinct columns in ascending
order, and depends on the seed and its number alone, whatever the number of threads.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numba import njit

from everypair.parallel import Chunk, balanced_chunks, run_chunks

GROUPS, LIKED, SHARE = 64, 3, 0.6
POPULARITY = 0.9  # the r-th most popular item is drawn in proportion to r^−POPULARITY
FEWEST, MOST = 5, 0.1  # events of a user: at least so many, at most this share of the items
PATIENCE = 8  # draws per event by popularity; then uniform ones, for which a long row has room
FILES = ("data", "indices", "indptr")


@njit(nogil=True, cache=True)
def mixed(number):  # type: ignore[no-untyped-def]
    """64 bits of a counter (Steele, Lea and Flood, Fast splittable pseudorandom number generators, 2014)."""
    number = (number ^ (number >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    number = (number ^ (number >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return number ^ (number >> np.uint64(31))


@njit(nogil=True, cache=True)
def draw_rows(start, stop, seed, indptr, items, seen, indices):  # type: ignore[no-untyped-def]
    """Draw the columns of rows [start, stop); ``items`` lists all of them by group, ``seen`` is zero and stays so."""
    n = len(items)
    size = n // GROUPS
    stride, scale, power = np.uint64(0x9E3779B97F4A7C15), 2.0**-53, 1.0 / (1.0 - POPULARITY)
    span, group_span = (n + 1.0) ** (1.0 - POPULARITY) - 1.0, (size + 1.0) ** (1.0 - POPULARITY) - 1.0
    for i in range(start, stop):
        first, count = indptr[i], indptr[i + 1] - indptr[i]
        counter = mixed(np.uint64(seed) + np.uint64(i) * stride)
        found, tried = 0, 0
        while found < count:
            counter += stride
            bits = mixed(counter)
            counter += stride
            uniform = (mixed(counter) >> np.uint64(11)) * scale
            tried += 1
            if tried > PATIENCE * count:
                j = items[min(np.int64(uniform * n), n - 1)]
            elif (bits >> np.uint64(40)) * 2.0**-24 < SHARE:
                liked = mixed(np.uint64(seed) + np.uint64(LIKED * i) + bits % np.uint64(LIKED)) % np.uint64(GROUPS)
                place = np.int64((1.0 + uniform * group_span) ** power - 1.0)
                j = items[np.int64(liked) * size + min(place, size - 1)]
            else:  # group by group, the r-th of each after the (r − 1)-th of all
                place = min(np.int64((1.0 + uniform * span) ** power - 1.0), GROUPS * size - 1)
                j = items[place % GROUPS * size + place // GROUPS]
            if seen[j] == 0:
                seen[j] = 1
                indices[first + found] = j
                found += 1
        row = indices[first : first + count]
        row.sort()
        for t in range(count):
            seen[row[t]] = 0


def lengths(n_users: int, n_items: int, n_pairs: int, seed: int = 0) -> Any:
    """Events of every user, which add up to ``n_pairs`` but for rounding."""
    random = np.random.default_rng(seed)
    activity = random.pareto(1.2, n_users) + 0.3
    most = max(FEWEST, MOST * n_items)
    for _ in range(20):
        activity = np.clip(activity * n_pairs / activity.sum(), FEWEST, most)
    return activity.astype(np.int64)


def write_large(folder: Path, n_users: int, n_items: int, n_pairs: int, seed: int = 0, n_threads: int = 2) -> None:
    """Write data.npy (int8, all 1), indices.npy and indptr.npy (int32) of a CSR matrix, memory-mapped."""
    if n_items < GROUPS * FEWEST:
        raise ValueError(f"give at least {GROUPS * FEWEST} items: they come in {GROUPS} groups.")
    indptr = np.concatenate([[0], np.cumsum(lengths(n_users, n_items, n_pairs, seed))])
    items = np.random.default_rng(seed + 1).permutation(n_items).astype(np.int32)
    folder.mkdir(parents=True, exist_ok=True)
    narrow = indptr[-1] <= np.iinfo(np.int32).max  # scipy would widen, so copy, the indices along with the pointers
    np.save(folder / "indptr.npy", indptr.astype(np.int32) if narrow else indptr)
    data = np.lib.format.open_memmap(folder / "data.npy", "w+", np.int8, (int(indptr[-1]),))
    data[:] = 1
    indices = np.lib.format.open_memmap(folder / "indices.npy", "w+", np.int32, (int(indptr[-1]),))
    drawn = np.asarray(indices)
    seen = [np.zeros(n_items, np.int8) for _ in range(n_threads)]

    def work(chunk: Chunk, worker: int) -> None:
        draw_rows(*chunk, seed, indptr, items, seen[worker], drawn)

    run_chunks(work, balanced_chunks(indptr), n_threads)
    data.flush()
    indices.flush()
    np.save(folder / "shape.npy", np.array([n_users, n_items]))


def read_large(folder: Path) -> Any:
    """The matrix as a CSR array of memory-mapped arrays: nothing is read yet."""
    parts = [np.load(folder / f"{name}.npy", mmap_mode="r") for name in FILES]
    return sp.csr_array(tuple(parts), shape=tuple(np.load(folder / "shape.npy").tolist()))
