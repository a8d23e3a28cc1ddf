"""What top lists are like beside being right: new, diverse, surprising, and spread over the catalogue.

With c_j the positives of item j among m training users, the first k items T of a user's list (|T| = t ≤ k of them) and
unit vectors x̂_j of the items (their training columns, or features),

    novelty@k      (1/t) Σ_{j∈T} −log₂((c_j + 1)/(m + 1)) / log₂(m + 1): 0 for what everybody has, 1 for what nobody has
    diversity@k    1 − mean of x̂_j · x̂_l over the pairs of T (intra-list; lists of one item have none)
    serendipity@k  test positives in T that are not among the k most popular items the user has not seen, over k
    coverage@k     share of all items that are in at least one list
    popularity@k   (1/t) Σ_{j∈T} c_j / max c: how far lists lean on the popular

All are in [0, 1] (diversity up to 2 where vectors have negative entries). Σ_{j≠l} x̂_j · x̂_l = ‖Σ x̂_j‖² − Σ ‖x̂_j‖², so a
list costs as much as its vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from everypair.metrics.means import Metrics
from everypair.metrics.patterns import Matrix, positive_pattern, stored_pattern, to_csr
from everypair.metrics.per_row import average_rows, rows_error
from everypair.metrics.stream import check_lengths
from everypair.parallel import even_chunks
from everypair.types import Array

KS = (5, 10, 20)
_LISTS_AT_ONCE = 512


def beyond_accuracy(
    lists: Any,
    train: Matrix,
    test: Matrix | None = None,
    ks: Sequence[int] = KS,
    *,
    users: Any = None,
    features: Any = None,
) -> Metrics:
    """Measure top lists: novelty, intra-list diversity, serendipity, coverage and lean on popularity.

    Parameters
    ----------
    lists : (lists, length) positions of items, best first, −1 where a list is shorter, as ``recommend`` returns them.
    train : users × items that the lists were made from; what a user has there is seen.
    test : held-out positives of the same shape, for serendipity; without it there is none.
    ks : lengths; each must be at most that of the lists.
    users : the users (rows of ``train``) whose lists these are; all of them, in order, by default.
    features : a row per item, sparse or dense, that says what it is like; by default the users it has in ``train``.

    Examples
    --------
    >>> train = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 0, 0]])
    >>> found = beyond_accuracy([[1, 2], [2, 3], [2, 3]], train, ks=[2])
    >>> found["coverage@2"], found["diversity@2"], found["novelty@2"].__round__(3)
    (0.75, 1.0, 0.868)
    """
    lengths = check_lengths(ks)
    liked, stored = positive_pattern(train, "train"), stored_pattern(train, "train")
    m, n = liked.shape
    lists, rows = _checked_lists(lists, users, m, n)
    if max(lengths, default=0) > lists.shape[1]:
        raise ValueError(f"lists have {lists.shape[1]} items and ks asks for {max(lengths)}: recommend more.")
    counts = np.bincount(liked.indices, minlength=n)
    information = -np.log2((counts + 1) / (m + 1)) / np.log2(m + 1)
    popularity = counts / max(counts.max(), 1)
    vectors = _unit_rows(liked.T if features is None else to_csr(features, "features"))
    if vectors.shape[0] != n:
        raise ValueError(f"features must have a row for each of {n} items, got {vectors.shape[0]}.")
    truth = None if test is None else positive_pattern(test, "test")
    if truth is not None and truth.shape != (m, n):
        raise ValueError(f"test must have the shape of train, {(m, n)}, got {truth.shape}.")
    means: dict[str, float] = {}
    errors: dict[str, float] = {}
    for k in lengths:
        first = lists[:, :k]
        there = first >= 0
        values = {
            "novelty": _mean_of_list(information, first, there),
            "diversity": _diversity(vectors, first, there),
            "popularity": _mean_of_list(popularity, first, there),
        }
        if truth is not None:
            values["serendipity"] = _serendipity(truth[rows], stored[rows], counts, first, there, k)
        for name, of_lists in values.items():
            means[f"{name}@{k}"] = average_rows(of_lists, "test")
            errors[f"{name}@{k}"] = rows_error(of_lists, "test")
        means[f"coverage@{k}"] = len(np.unique(first[there])) / n
    return Metrics(means, errors)


def _checked_lists(lists: Any, users: Any, m: int, n: int) -> tuple[Array, Array]:
    lists = np.asarray(lists)
    if lists.ndim != 2 or lists.dtype.kind not in "iu":
        raise ValueError("lists must be a matrix of item positions, one list per row, −1 where a list is shorter.")
    if lists.size and (lists.min() < -1 or lists.max() >= n):
        raise ValueError(f"lists hold items outside 0 … {n - 1} (and −1 for none).")
    rows = np.arange(m) if users is None else np.asarray(users)
    if rows.shape != (len(lists),):
        raise ValueError(f"there are {len(lists)} lists for {rows.size} users: give users=, one for each list.")
    if rows.dtype.kind not in "iu" or (rows.size and (rows.min() < 0 or rows.max() >= m)):
        raise ValueError(f"users must be positions 0 … {m - 1}.")
    return lists.astype(np.int64), rows.astype(np.int64)


def _mean_of_list(of_items: Array, lists: Array, there: Array) -> Array:
    total, length = np.where(there, of_items[lists], 0.0).sum(axis=1), there.sum(axis=1)
    return np.divide(total, length, out=np.full(len(lists), np.nan), where=length > 0)


def _unit_rows(vectors: Any) -> Any:
    csr = sp.csr_array(vectors, dtype=np.float64)
    lengths = np.sqrt(csr.multiply(csr).sum(axis=1))
    return sp.diags_array(np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)) @ csr


def _diversity(vectors: Any, lists: Array, there: Array) -> Array:
    out = np.full(len(lists), np.nan)
    squares = np.asarray(vectors.multiply(vectors).sum(axis=1)).ravel()
    for start, stop in even_chunks(len(lists), _LISTS_AT_ONCE):
        own, filled = lists[start:stop], there[start:stop]
        line = np.repeat(np.arange(stop - start), filled.sum(axis=1))
        chosen = sp.csr_array((np.ones(len(line)), (line, own[filled])), shape=(stop - start, vectors.shape[0]))
        total = chosen @ vectors
        alike = np.asarray(total.multiply(total).sum(axis=1)).ravel() - chosen @ squares
        length = filled.sum(axis=1)
        pairs = length * (length - 1)
        out[start:stop] = 1 - np.divide(alike, pairs, out=np.full(stop - start, np.nan), where=pairs > 0)
    return out


def _serendipity(truth: Any, seen: Any, counts: Array, lists: Array, there: Array, k: int) -> Array:
    """Test positives of a list that the k most popular unseen items do not hold; NaN for a user without any."""
    by_popularity = np.lexsort((np.arange(len(counts)), -counts))
    out = np.full(len(lists), np.nan)
    for row in range(len(lists)):
        wanted = truth.indices[truth.indptr[row] : truth.indptr[row + 1]]
        if len(wanted) == 0:
            continue
        own = seen.indices[seen.indptr[row] : seen.indptr[row + 1]]
        head = by_popularity[: k + len(own)]
        expected = head[~np.isin(head, own)][:k]
        right = np.intersect1d(lists[row, there[row]], wanted)
        out[row] = np.count_nonzero(~np.isin(right, expected)) / k
    return out
