"""Negatives by chance: distinct pairs (i, j) outside Ω with i ~ p and j ~ q, by one of six schemes.

    "user-count"    p_i ∝ |Ω_i⁺|   q_j = 1/n               active users vouch more for what they left out
    "item-count"    p_i = 1/m      q_j ∝ |Ω_j⁺|            popular items were more likely to be seen
    "item-rarity"   p_i = 1/m      q_j ∝ m − |Ω_j⁺|        popular items are less likely to be negative
    "item-inverse"  p_i = 1/m      q_j ∝ 1/max(1, |Ω_j⁺|)  the same, more strongly
    "uniform"       p_i = 1/m      q_j = 1/n
    "user-quota"    |Ω_i⁻| ∝ |Ω_i⁺|, not by chance   q_j ∝ |Ω_j⁺|

NegSel calls the first five user, item-f, item-w, item-s and uniform; the last is the baseline of Paquet and Koenigstein
that it names in 2.2, with |Ω_i⁻| = |Ω_i⁺| where as many are asked for. (Its "uniform-ens" is defined nowhere.)

A draw that hits Ω or repeats an earlier one is rejected. Under "user-quota" a user for whom less is unknown than his
share gets all of it, so that fewer pairs may come than were asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair import check
from everypair.data.pairs import Pairs, kept_pointers
from everypair.types import Array

SCHEMES = ("user-count", "item-count", "item-rarity", "item-inverse", "uniform", "user-quota")
LEAST_BATCH = 1024  # draws of one round; the most are four times what was asked for
MOST_ROUNDS = 100
QUOTA_ROUNDS = 10  # then what is left of a user's share is drawn from all that he can still get


def sample_negatives(
    pairs: Pairs, count: int, scheme: str = "uniform", random: Any = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw ``count`` distinct pairs outside Ω by ``scheme``; return their rows and columns in the order of the draws.

    ``random`` is a numpy Generator or what makes one: the same seed draws the same pairs.

    >>> pairs = Pairs.from_matrix([[1, 0, 0], [0, 1, 0]])
    >>> rows, columns = sample_negatives(pairs, 4, random=0)
    >>> sorted(zip(rows.tolist(), columns.tolist()))
    [(0, 1), (0, 2), (1, 0), (1, 2)]
    """
    return Sampling.from_scheme(pairs, scheme).draw(pairs, count, np.random.default_rng(random))


@dataclass(frozen=True)
class Sampling:
    """The unnormalised p (``left``) and q (``right``) of a scheme; build it with :meth:`from_scheme`.

    >>> Sampling.from_scheme(Pairs.from_matrix([[1, 1, 0], [1, 0, 0]]), "item-inverse").right.tolist()
    [0.5, 1.0, 1.0]
    """

    scheme: str
    left: NDArray[np.float64]
    right: NDArray[np.float64]

    @classmethod
    def from_scheme(cls, pairs: Pairs, scheme: str = "uniform") -> Sampling:
        """Weights of both sides by the training counts."""
        check_sampling_scheme(scheme)
        m, n = pairs.shape
        return cls(scheme, _shape(scheme, 0, pairs.left_counts, n), _shape(scheme, 1, pairs.right_counts, m))

    def draw(
        self, pairs: Pairs, count: int, random: np.random.Generator
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Draw ``count`` distinct pairs outside Ω."""
        if self.scheme == "user-quota":
            return self._draw_quotas(pairs, count, random)
        n = pairs.shape[1]
        unknown = self._drawable(pairs)
        if count > unknown:
            raise ValueError(
                f'{count} negatives were asked for and only {unknown} pairs are unknown where scheme="{self.scheme}" '
                "draws: lower the ratio or choose another scheme."
            )
        if count == 0:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        stored = _stored_codes(pairs)
        rows, columns = _Choice(self.left), _Choice(self.right)
        accepted = np.empty(0, np.int64)
        rate = 1.0
        for _ in range(MOST_ROUNDS):
            missing = count - len(accepted)
            if missing == 0:
                break
            size = int(np.clip(1.1 * missing / rate, LEAST_BATCH, max(LEAST_BATCH, 4 * count)))
            drawn = rows.draw(size, random) * n + columns.draw(size, random)
            fresh = _first_occurrences(drawn[~_contains(stored, drawn) & ~_contains(np.sort(accepted), drawn)])
            rate = max(len(fresh) / size, 1 / size)
            accepted = np.concatenate([accepted, fresh[:missing]])
        if len(accepted) < count:
            raise ValueError(
                f'scheme="{self.scheme}" found only {len(accepted)} of {count} distinct unknown pairs in '
                f'{MOST_ROUNDS} rounds: it hardly ever draws the rest; lower the ratio or choose scheme="uniform".'
            )
        return accepted // n, accepted % n

    def _draw_quotas(
        self, pairs: Pairs, count: int, random: np.random.Generator
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Draw every row's share of ``count``, column j with chance ∝ q_j among what the row can still get."""
        m, n = pairs.shape
        stored = _stored_codes(pairs)
        drawable = self.right > 0
        stored_drawable = np.bincount(stored[drawable[stored % n]] // n, minlength=m)
        ends = np.rint(np.cumsum(self.left) * (count / max(self.left.sum(), 1))).astype(np.int64)  # of shares
        quotas = np.minimum(np.diff(ends, prepend=0), int(drawable.sum()) - stored_drawable)
        columns, accepted, missing = _Choice(self.right), np.empty(0, np.int64), quotas
        for _ in range(QUOTA_ROUNDS):
            rows = np.repeat(np.arange(m, dtype=np.int64), missing)
            drawn = rows * n + columns.draw(len(rows), random)
            fresh = _first_occurrences(drawn[~_contains(stored, drawn) & ~_contains(np.sort(accepted), drawn)])
            accepted = np.concatenate([accepted, fresh])
            missing = quotas - np.bincount(accepted // n, minlength=m)
        taken = np.sort(np.concatenate([stored, accepted]))
        for row in np.flatnonzero(missing):
            free = self.right.copy()
            free[taken[slice(*np.searchsorted(taken, (row * n, (row + 1) * n)))] % n] = 0
            accepted = np.concatenate([accepted, row * n + _random_order(free, random)[: missing[row]]])
        return accepted // n, accepted % n

    def _drawable(self, pairs: Pairs) -> int:
        """Number of pairs outside Ω whose row and column can both be drawn."""
        left, right = self.left > 0, self.right > 0
        stored = np.repeat(left, np.diff(pairs.rows.indptr)) & right[pairs.rows.indices]
        return int(left.sum()) * int(right.sum()) - int(stored.sum())

    def draw_rows(self, side: int, rows: Any, total: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Draw negatives of new rows (CSR, canonical) of ``side`` as if they had been among ``total`` training draws.

        Row i gets round(total · p_i / Σp) of them, with p_i by its own count and Σp over the training rows, fewer where
        less is unknown. Every row follows one random order of the other side (an order by draws without replacement
        from its weights) and leaves out what it stores, so a row's negatives depend on the row and the seed alone.

        >>> import scipy.sparse as sp
        >>> sampling = Sampling.from_scheme(Pairs.from_matrix([[1, 1, 0], [1, 0, 0]]), "uniform")
        >>> rows, columns = sampling.draw_rows(0, sp.csr_array([[0, 1, 1], [0, 1, 0]]), total=2, seed=0)
        >>> rows.tolist(), columns.tolist()
        ([0, 1], [0, 2])
        """
        own, other = (self.left, self.right) if side == 0 else (self.right, self.left)
        counts = np.diff(kept_pointers(rows.indptr, rows.data > 0))
        wanted = np.rint(total * _shape(self.scheme, side, counts, len(other)) / own.sum()).astype(np.int64)
        order = _random_order(other, seed)
        stored_counts = np.diff(rows.indptr)
        lengths = np.minimum(wanted + stored_counts, len(order))  # as many of the first as could be needed
        starts = np.cumsum(lengths) - lengths
        row = np.repeat(np.arange(rows.shape[0], dtype=np.int64), lengths)
        column = order[np.arange(len(row)) - starts[row]]
        stored = np.repeat(np.arange(rows.shape[0], dtype=np.int64) * len(other), stored_counts) + rows.indices
        free = ~_contains(stored, row * len(other) + column)
        before: Array = np.cumsum(free) - free  # unknown columns before this one, of all rows
        rank = before - np.append(before, 0)[starts][row]
        keep = free & (rank < wanted[row])
        return row[keep], column[keep]


def _stored_codes(pairs: Pairs) -> NDArray[np.int64]:
    """i·n + j of every stored pair, ascending."""
    m, n = pairs.shape
    starts = np.repeat(np.arange(m, dtype=np.int64) * n, np.diff(pairs.rows.indptr))
    return np.asarray(starts + pairs.rows.indices)


def check_sampling_scheme(scheme: Any) -> str:
    """Return a sampling scheme, or refuse what is none."""
    return check.one_of("scheme", scheme, SCHEMES)


class _Choice:
    """Positions drawn with replacement, in proportion to weights."""

    def __init__(self, weights: NDArray[np.float64]) -> None:
        self._size = len(weights)
        self._uniform = bool((weights == weights[0]).all())
        sums = np.cumsum(weights)
        self._shares = sums / sums[-1]

    def draw(self, size: int, random: np.random.Generator) -> NDArray[np.int64]:
        if self._uniform:
            return random.integers(self._size, size=size)
        return np.searchsorted(self._shares, random.random(size), side="right").astype(np.int64)


def _shape(scheme: str, side: int, counts: Array, other_size: int) -> NDArray[np.float64]:
    """Unnormalised weights of a side's entities with ``counts`` positives among ``other_size``."""
    if (scheme, side) in (("user-count", 0), ("item-count", 1)) or scheme == "user-quota":
        return counts.astype(np.float64)
    if (scheme, side) == ("item-rarity", 1):
        return np.asarray(other_size - counts, np.float64)
    if (scheme, side) == ("item-inverse", 1):
        return np.asarray(1 / np.maximum(counts, 1), np.float64)
    return np.ones(len(counts))


def _random_order(weights: NDArray[np.float64], random: int | np.random.Generator) -> NDArray[np.int64]:
    """Order positions of positive weight as draws without replacement would: by exponential times over weights."""
    times = np.random.default_rng(random).exponential(size=len(weights))
    drawable = np.flatnonzero(weights > 0)
    return drawable[np.argsort(times[drawable] / weights[drawable], kind="stable")]


def _contains(ascending: Array, codes: Array) -> NDArray[np.bool_]:
    """Whether each code is in a sorted array."""
    if len(ascending) == 0:
        return np.zeros(len(codes), bool)
    places = np.minimum(np.searchsorted(ascending, codes), len(ascending) - 1)
    return np.asarray(ascending[places] == codes)


def _first_occurrences(codes: Array) -> Array:
    """Drop repeats, keep the order."""
    _, first = np.unique(codes, return_index=True)
    return codes[np.sort(first)]
