"""Where the positives of every row stand: all that the metrics need to know about the scores.

Candidates of a row are its items without the seen ones, ordered by descending score, ties by ascending item.
A score of −inf is legal and ranks last. Scores come in blocks of rows; what is kept of them grows with the
number of positives and of items, never with rows × items.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.check import one_of
from everypair.kernels.ranks import rank_rows
from everypair.kernels.select import select_top
from everypair.metrics.patterns import Matrix, count_overlap, positive_pattern, stored_pattern, without
from everypair.parallel import Chunk, even_chunks, resolve_threads, run_chunks

SCORES_PER_CHUNK = 1 << 17  # a thread works on a copy of so many scores at a time: half of a megabyte in float32
NEVER = np.iinfo(np.int32).max


@dataclass(frozen=True, slots=True)
class Ranking:
    """The places of the positives of every row.

    Attributes
    ----------
    indptr : (rows + 1,) int64
        Row i has its positives in the stretch ``indptr[i]:indptr[i + 1]``.
    ranks : (positives,) int32
        Their 0-based ranks among the row's candidates, ascending within a row.
    n_candidates : (rows,) int64
        Items that were not seen.
    correct_pairs : (rows,) float64
        Pairs (positive, negative candidate) in the right order, ties ½.
    best_place : (n_items,) int32
        The best place an item takes in the top lists of all rows with a positive, ``NEVER`` where in none.
    """

    indptr: NDArray[np.int64]
    ranks: NDArray[np.int32]
    n_candidates: NDArray[np.int64]
    correct_pairs: NDArray[np.float64]
    best_place: NDArray[np.int32]

    @property
    def n_positives(self) -> NDArray[np.int64]:
        """Number of positives of every row."""
        return np.diff(self.indptr)

    def sum_rows(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Sum ``values``, one per positive, over the positives of each row, in their order."""
        rows = len(self.indptr) - 1
        owner = np.repeat(np.arange(rows), self.n_positives)
        return np.bincount(owner, weights=values, minlength=rows).astype(np.float64, copy=False)


class Ranker:
    """Fill a `Ranking` block by block.

    ``seen`` and ``positives`` are patterns (`everypair.metrics.patterns`) of one shape that share no pair,
    ``top`` is the length of the lists from which `Ranking.best_place` is taken.
    """

    def __init__(self, seen: sp.csr_array, positives: sp.csr_array, top: int) -> None:
        n_rows, n_items = positives.shape
        self._seen = seen.indptr.astype(np.int64), seen.indices.astype(np.int32, copy=False)
        self._positives = positives.indptr.astype(np.int64), positives.indices.astype(np.int32, copy=False)
        self._top = min(top, n_items)
        self.ranking = Ranking(
            indptr=self._positives[0],
            ranks=np.zeros(positives.nnz, dtype=np.int32),
            n_candidates=n_items - np.diff(self._seen[0]),
            correct_pairs=np.zeros(n_rows, dtype=np.float64),
            best_place=np.full(n_items, NEVER, dtype=np.int32),
        )

    @property
    def rows(self) -> NDArray[np.int64]:
        """The rows with at least one positive: those that need scores."""
        return np.flatnonzero(self.ranking.n_positives).astype(np.int64, copy=False)

    def add(self, rows: NDArray[np.int64], scores: NDArray[Any], n_threads: int) -> None:
        """Rank the positives of ``rows`` by ``scores`` (len(rows) × n_items), which are left as they are."""
        ranking, n_items = self.ranking, len(self.ranking.best_place)
        if scores.shape != (len(rows), n_items):
            raise ValueError(
                f"The scores of {len(rows)} row(s) and {n_items} items must have the shape "
                f"({len(rows)}, {n_items}), got {scores.shape}."
            )
        if scores.dtype.kind not in "bifu":
            raise TypeError(f"Scores must be real numbers, got dtype {scores.dtype}.")
        dtype = np.float32 if scores.dtype in (np.float32, np.float16) else np.float64
        top_items = np.empty((len(rows), self._top), dtype=np.int32)
        seen_indptr, seen_indices = self._seen

        def work(chunk: Chunk, _: int) -> None:
            start, stop = chunk
            own = np.array(scores[start:stop], dtype=dtype, order="C")
            if np.isnan(own.min()):
                raise ValueError("Scores hold NaN, which has no rank: use -inf for items that must come last.")
            chosen = rows[start:stop]
            rank_rows(own, chosen, *self._seen, *self._positives, ranking.ranks, ranking.correct_pairs)
            if self._top == 0:
                return
            for line, row in enumerate(chosen):
                own[line, seen_indices[seen_indptr[row] : seen_indptr[row + 1]]] = -np.inf
            top_scores = np.empty((stop - start, self._top), dtype=dtype)
            select_top(own, self._top, top_items[start:stop], top_scores, 0, stop - start)

        run_chunks(work, even_chunks(len(rows), max(1, SCORES_PER_CHUNK // n_items)), n_threads)
        for place in range(self._top):
            items = top_items[:, place]
            items = items[items >= 0]
            ranking.best_place[items] = np.minimum(ranking.best_place[items], place)


def check_truth(seen: sp.csr_array, positives: sp.csr_array, seen_name: str, positives_name: str) -> None:
    """Refuse patterns of different shapes, pairs that are in both, and a truth without any positive."""
    if seen.shape != positives.shape:
        turned = seen.shape == positives.shape[::-1]
        hint = f" Is one of them transposed? {positives_name}.T would fit." if turned else ""
        raise ValueError(
            f"{seen_name} has the shape {seen.shape} and {positives_name} {positives.shape}: both must be "
            f"rows (users) × columns (items) of the same size.{hint}"
        )
    if positives.nnz == 0:
        raise ValueError(f"{positives_name} holds no positive (no value above 0): there is nothing to rank.")
    overlap = count_overlap(seen, positives)
    if overlap:
        raise ValueError(
            f"{overlap} pair(s) are stored in {seen_name} and positive in {positives_name}, but seen pairs "
            f"are not ranked. Remove them from one of the two; if they are stored zeros, call "
            f"{seen_name}.eliminate_zeros()."
        )


def split_repeats(
    seen: sp.csr_array, positives: sp.csr_array, repeats: str, seen_name: str, positives_name: str
) -> tuple[sp.csr_array, sp.csr_array, int]:
    """Pairs that are not ranked, positives, and how many of these were left out: somebody has them already.

    With ``repeats="count"`` every item is ranked, and no positive is left out.
    """
    one_of("repeats", repeats, ("drop", "count"))
    if seen.shape == positives.shape:
        if repeats == "count":
            return seen - seen, positives, 0
        fresh = without(positives, seen)
        left_out = positives.nnz - fresh.nnz
        if left_out and not fresh.nnz:
            raise ValueError(
                f"all {left_out} positives of {positives_name} are stored in {seen_name} too: nothing is held out."
            )
        return seen, fresh, left_out
    return seen, positives, 0


def rank_dense(scores: Any, truth: Matrix, exclude: Matrix | None, top: int = 0) -> Ranking:
    """Rank the positives of ``truth`` by dense ``scores``, without the pairs stored in ``exclude``."""
    dense = np.asarray(scores)
    if dense.ndim != 2:
        raise ValueError(f"scores must be a matrix (rows × items), got {dense.ndim} dimension(s).")
    positives = positive_pattern(truth, "truth")
    if dense.shape != positives.shape:
        raise ValueError(f"scores has the shape {dense.shape} and truth {positives.shape}: both must be rows × items.")
    nothing = sp.csr_array(positives.shape, dtype=np.int8)
    seen = nothing if exclude is None else stored_pattern(exclude, "exclude")
    check_truth(seen, positives, "exclude", "truth")
    ranker = Ranker(seen, positives, top)
    ranker.add(ranker.rows, dense[ranker.rows], resolve_threads(None))
    return ranker.ranking
