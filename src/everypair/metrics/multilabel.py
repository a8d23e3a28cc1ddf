"""Multi-label metrics in one pass over blocks of rows: rankings, and predictions cut at a threshold.

With p_i labels of row i, its labels ranked by score (ties by ascending label), and TP, FP, FN counted per label
over all n rows at ``score > threshold`` (where there is one),

    precision@k   (right among the first k) / k, mean over rows with a label
    top-k         the same, mean over all rows: LEML's top-K accuracy (section 5); a row without labels counts 0
    ndcg@k        Σ_{right among the first k} 1/log₂(place + 1) over the same sum for places 1 … min(k, p_i),
                  mean over rows with a label (OCSMF, Supp-2.1)
    psp@k         Σ_i Σ_{right among the first k} 1/p_l  over  Σ_i of the min(k, p_i) largest 1/p_l of row i
    auc           share of a row's pairs (label, other) in the right order, ties ½, mean over rows with both
    hamming_loss  Σ_l (FP + FN) / (n L)
    micro_f1      2 Σ_l TP / Σ_l (2 TP + FP + FN)
    macro_f1      mean over all labels of 2 TP / (2 TP + FP + FN), 0 where nothing is true or predicted
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.check import integer, is_number
from everypair.data.ids import Ids
from everypair.data.label_names import named_labels
from everypair.metrics import per_row, ranking
from everypair.metrics.patterns import Matrix, positive_pattern
from everypair.metrics.stream import MEMORY_MB, ScoreRows, check_lengths
from everypair.parallel import Chunk, even_chunks, resolve_threads, run_chunks

KS = (1, 3, 5)


def multilabel_metrics(
    scores: Any,
    truth: Matrix,
    ks: Sequence[int] = KS,
    *,
    threshold: Any = None,
    propensities: Any = None,
    labels: Any = None,
    block_rows: int | None = None,
    n_threads: int | None = None,
) -> dict[str, float]:
    """Measure scores against the true labels.

    Parameters
    ----------
    scores
        A dense matrix (rows × labels), or a function that takes an ascending array of row numbers and
        returns their scores, (len(rows), labels), and is called block by block. No NaN; −inf ranks last.
    truth
        rows × labels, sparse or dense: a value above 0 is a label of the row. Or names, as lists of strings or
        a data frame with named columns, see ``labels``.
    ks
        Lengths of the top lists.
    threshold
        A label is predicted where its score is above it: a number, or the fitted classifier itself, whose
        ``threshold_`` it is. Without one nothing is predicted, and there is no hamming_loss, micro_f1 and macro_f1:
        where scores are to be cut depends on the model (½ suits probabilities, 0 a logistic or hinge loss's scores).
    propensities
        p_l of every label, from `propensities` of the *training* labels; without them there is no psp@k.
    labels
        What the columns of ``scores`` are called, where ``truth`` has names: ``model.classes_``. Not needed with
        ``threshold=model``, nor where all of them are in ``truth`` and the columns are in ascending order.
    block_rows
        Rows scored at a time; by default as many as fit into 256 MiB of float64. It does not change a bit of
        the result, nor does the number of threads.
    n_threads
        Threads; ``None`` means every core.

    Returns
    -------
    dict
        ``precision@k``, ``top-k``, ``ndcg@k`` and perhaps ``psp@k`` for every k, ``auc`` (NaN where no row has
        a pair of a label and another) and perhaps ``hamming_loss``, ``micro_f1`` and ``macro_f1``, all in [0, 1].

    Examples
    --------
    >>> scores, truth = [[0.9, 0.6, 0.1], [0.8, 0.2, 0.3]], [[1, 0, 0], [0, 1, 1]]
    >>> multilabel_metrics(scores, truth, ks=[1])
    {'precision@1': 0.5, 'top-1': 0.5, 'ndcg@1': 0.5, 'auc': 0.5}
    >>> round(multilabel_metrics(scores, truth, ks=[1], threshold=0.7)["hamming_loss"], 4)
    0.5

    With a classifier of this library: ``multilabel_metrics(model.predict_scores(X), Y, threshold=model)``.
    """
    level = _check_threshold(threshold)
    positives = positive_pattern(_by_name(truth, scores, labels, threshold), "truth")
    nothing = sp.csr_array(positives.shape, dtype=np.int8)
    ranking.check_truth(nothing, positives, "scores", "truth")
    n_rows, n_labels = positives.shape
    lengths = check_lengths(ks)
    rarity = None if propensities is None else 1 / _check_propensities(propensities, n_labels)
    if block_rows is None:
        block_rows = max(1, int(MEMORY_MB * 2**20 / (n_labels * np.dtype(np.float64).itemsize)))
    block_rows = integer("block_rows", block_rows)
    threads = resolve_threads(n_threads)
    score_rows = _as_function(scores, positives.shape)

    ranker = ranking.Ranker(nothing, positives, top=0)
    cut = None if level is None else _Cut(positives, level, threads)
    best_first = np.empty(positives.nnz, dtype=np.int32)
    for start, stop in even_chunks(n_rows, block_rows):
        block_numbers = np.arange(start, stop, dtype=np.int64)
        block = _as_floats(score_rows(block_numbers))
        ranker.add(block_numbers, block, threads)
        if cut is not None:
            cut.add(start, block)
        here = slice(positives.indptr[start], positives.indptr[stop])
        best_first[here] = _labels_by_score(block, positives[start:stop])

    order = ranker.ranking
    result = {}
    for length in lengths:
        precision = per_row.AT_K["precision"](order, length)
        result[f"precision@{length}"] = per_row.average_rows(precision, "test")
        result[f"top-{length}"] = per_row.average_rows(precision, "all")
        result[f"ndcg@{length}"] = per_row.average_rows(per_row.AT_K["ndcg"](order, length), "test")
        if rarity is not None:
            result[f"psp@{length}"] = _propensity_scored(order, rarity[best_first], length)
    result["auc"] = per_row.average_rows(per_row.WHOLE_LIST["auc"](order), "test")
    return result if cut is None else result | cut.metrics()


def propensities(Y_train: Matrix, a: float = 0.55, b: float = 1.5) -> NDArray[np.float64]:
    """Chance that a label that applies was recorded: p_l = 1/(1 + C e^(−a log(N_l + b))), in (0, 1).

    C = (log N − 1)(b + 1)^a with N rows, N_l of them with label l (Jain et al. 2016). The defaults are theirs
    for data without known parameters; they give a = 0.5, b = 0.4 for Wikipedia and 0.6, 2.6 for Amazon.

    >>> propensities([[1, 0], [1, 0], [1, 1]]).round(3).tolist()
    [0.933, 0.91]
    """
    positives = positive_pattern(Y_train, "Y_train")
    n_rows, n_labels = positives.shape
    if n_rows < 3:
        raise ValueError(f"Propensities need at least 3 rows, because log N − 1 must be positive, got {n_rows}.")
    if not (0 < a < np.inf and 0 <= b < np.inf) or (b == 0 and len(np.unique(positives.indices)) < n_labels):
        raise ValueError(f"a must be positive and b not negative (positive if a label is empty), got {a!r} and {b!r}.")
    counts = np.bincount(positives.indices, minlength=n_labels)
    scale = (np.log(n_rows) - 1) * (b + 1) ** a
    return 1 / (1 + scale * (counts + b) ** -a)


class _Cut:
    """Counts per label of what is true, predicted and both: integers, so their order does not matter."""

    def __init__(self, positives: sp.csr_array, threshold: float, n_threads: int) -> None:
        self._positives, self._threshold, self._n_threads = positives, threshold, n_threads
        self._predicted, self._both = np.zeros((2, n_threads, positives.shape[1]), dtype=np.int64)

    def add(self, first_row: int, scores: NDArray[Any]) -> None:
        """Count the block of ``scores`` that starts at ``first_row``."""
        indptr, indices = self._positives.indptr, self._positives.indices
        n_labels = self._positives.shape[1]

        def work(chunk: Chunk, worker: int) -> None:
            start, stop = chunk
            predicted = scores[start:stop] > self._threshold
            self._predicted[worker] += np.count_nonzero(predicted, axis=0)
            ends = indptr[first_row + start : first_row + stop + 1]
            labels = indices[ends[0] : ends[-1]]
            right = labels[predicted[np.repeat(np.arange(stop - start), np.diff(ends)), labels]]
            self._both[worker] += np.bincount(right, minlength=n_labels)

        chunks = even_chunks(len(scores), max(1, ranking.SCORES_PER_CHUNK // n_labels))
        run_chunks(work, chunks, self._n_threads)

    def metrics(self) -> dict[str, float]:
        """Return what depends on the counts alone."""
        both, predicted = self._both.sum(axis=0), self._predicted.sum(axis=0)
        true = np.bincount(self._positives.indices, minlength=len(both))
        either = predicted + true  # 2 TP + FP + FN
        f1 = np.divide(2 * both, either, out=np.zeros(len(both)), where=either > 0)
        return {
            "hamming_loss": float((either - 2 * both).sum() / (self._positives.shape[0] * len(both))),
            "micro_f1": float(2 * both.sum() / either.sum()),
            "macro_f1": float(f1.mean()),
        }


def _labels_by_score(scores: NDArray[Any], positives: sp.csr_array) -> NDArray[np.int32]:
    """Return each row's labels from its best score down, ties ascending: the order of `Ranking.ranks`."""
    owner = np.repeat(np.arange(len(scores)), np.diff(positives.indptr))
    return positives.indices[np.lexsort((-scores[owner, positives.indices], owner))]


def _propensity_scored(order: ranking.Ranking, gains: NDArray[np.float64], k: int) -> float:
    """Sum of the gains of ranks below k over the largest possible sum, both over all rows."""
    owner = np.repeat(np.arange(len(order.indptr) - 1), order.n_positives)
    largest_first = gains[np.lexsort((-gains, owner))]
    place = np.arange(len(gains)) - order.indptr[owner]
    return min(1.0, float(gains[order.ranks < k].sum() / largest_first[place < k].sum()))  # the two orders differ


def _as_function(scores: Any, shape: tuple[int, int]) -> ScoreRows:
    if callable(scores):
        return scores
    if sp.issparse(scores):
        raise TypeError(
            "scores must be a dense matrix or a function of rows: call scores.toarray() if zeros are scores."
        )
    dense = np.asarray(scores)
    if dense.shape != shape:
        raise ValueError(f"scores have the shape {dense.shape} and truth {shape}: both must be rows × labels.")
    return lambda chosen: dense[chosen[0] : chosen[-1] + 1]


def _as_floats(scores: Any) -> NDArray[Any]:
    """Return float32 as it is and every other real number as float64; the rest is refused by the ranker."""
    block = np.asarray(scores)
    return (
        block if block.dtype == np.float32 or block.dtype.kind not in "bifu" else block.astype(np.float64, copy=False)
    )


def _by_name(truth: Any, scores: Any, labels: Any, threshold: Any) -> Any:
    """``truth`` with its columns in the order of those of ``scores``, where it has names."""
    if labels is None and getattr(threshold, "classes_", np.empty(0)).dtype == object:
        labels = threshold.classes_
    matrix, names = named_labels(truth, None if labels is None else Ids(labels), "truth")
    if names is None or labels is not None or callable(scores) or np.shape(scores)[1:] == (len(names),):
        return matrix
    raise ValueError(
        f"truth has {len(names)} different labels and scores have {np.shape(scores)[1]} columns: say what these are "
        "called by labels=model.classes_."
    )


def _check_threshold(threshold: Any) -> float | None:
    """The number itself, that of a fitted classifier, or None."""
    level = getattr(threshold, "threshold_", threshold)
    if level is not None and not is_number(level):
        raise ValueError(f"threshold must be a number, a fitted classifier with threshold_, or None, got {level!r}.")
    return level


def _check_propensities(propensities: Any, n_labels: int) -> NDArray[np.float64]:
    values = np.asarray(propensities, dtype=np.float64)
    if values.shape != (n_labels,):
        raise ValueError(
            f"propensities must be one number for each of the {n_labels} labels, got shape {values.shape}."
        )
    if not ((values > 0) & (values <= 1)).all():
        raise ValueError("propensities must be above 0 and at most 1.")
    return values
