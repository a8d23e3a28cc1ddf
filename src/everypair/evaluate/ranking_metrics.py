"""Ranking metrics of a model on held-out pairs."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from everypair.evaluate.by_id import without_ids
from everypair.evaluate.given_lists import are_lists, metrics_of_lists
from everypair.metrics.means import Metrics
from everypair.metrics.patterns import Matrix, positive_pattern, stored_pattern, to_csr, without
from everypair.metrics.per_row import check_average
from everypair.metrics.ranking import Ranking, check_truth, split_repeats
from everypair.metrics.stream import KS, MEMORY_MB, check_lengths, rank_rows, summarise


class ScoresUsers(Protocol):
    """What a model must offer to be evaluated: scores of all items for users, known or folded in.

    >>> class Popularity:
    ...     counts = np.array([5.0, 1.0, 3.0])
    ...     def score_users(self, users=None, interactions=None):
    ...         rows = len(users) if interactions is None else interactions.shape[0]
    ...         return np.tile(self.counts, (rows, 1))
    >>> model: ScoresUsers = Popularity()
    """

    def score_users(self, users: NDArray[np.int64] | None = None, interactions: Any = None) -> NDArray[Any]:
        """Return (rows, n_items) scores of the given users, or of new users with the given interactions."""
        ...


def ranking_metrics(
    model: ScoresUsers,
    train: Matrix | None,
    test: Matrix,
    ks: Sequence[int] = KS,
    fold_in: Matrix | None = None,
    *,
    repeats: Literal["drop", "count"] = "drop",
    average: str = "test",
    memory_mb: float = MEMORY_MB,
    n_threads: int | None = None,
) -> Metrics:
    """Rank every item a user has not seen by the model's scores, and measure where the test positives stand.

    Parameters
    ----------
    model
        Any object with ``score_users(users=…, interactions=…)``, see `ScoresUsers`. Or the lists of another system: a
        data frame or a dict with the columns user, item and rank (or score), which has the metrics of its first k
        places.
    train
        users × items, sparse or dense: what the model was fitted on. Its pairs, dislikes included, are not
        ranked. ``None`` is for ``fold_in`` only. This, ``test`` and ``fold_in`` may be events too, which are matched
        by id; pairs of users or items that the model does not know are left out, with a warning that counts them.
    test
        Matrix of the same shape: values above 0 are the held-out positives; dislikes are dropped, they count
        as unobserved.
    ks
        Lengths of the top lists.
    fold_in
        Events (c × items) of users that were not in training. Scores then come from
        ``model.score_users(interactions=…)``, ``test`` has the same c rows, and the pairs of ``fold_in`` are
        left out of the ranking instead of those of ``train``, which is not looked at.
    repeats
        Positives of ``test`` whose pair is in ``train`` too (somebody buys something again, or the pair has its last
        event in either): ``"drop"`` leaves them out and counts them in ``.repeats`` of the result; ``"count"`` ranks
        every item, those that a user has as well, for lists to buy again from.
    average
        ``"test"``: mean over users with a test positive; ``"all"``: over all, the others counting as 0.
    memory_mb
        Memory for a block of scores, in MiB.
    n_threads
        Threads for ranking; ``None`` means every core.

    Returns
    -------
    dict
        ``precision@k``, ``recall@k``, ``ndcg@k``, ``hit_rate@k``, ``map@k``, ``mrr@k``, ``mean_precision@k``,
        ``coverage@k`` for every k, and ``nhlu``, ``map``, ``auc``, as defined in `everypair.metrics`. Its
        ``standard_errors`` holds the standard error of each (but coverage) over users, its ``interval(name)`` 95 %.

    Examples
    --------
    >>> class Popularity:
    ...     counts = np.array([5.0, 1.0, 3.0])
    ...     def score_users(self, users=None, interactions=None):
    ...         rows = len(users) if interactions is None else interactions.shape[0]
    ...         return np.tile(self.counts, (rows, 1))
    >>> train = np.array([[1, 0, 0], [0, 0, 1]])
    >>> test = np.array([[0, 0, 1], [0, 1, 0]])
    >>> ranking_metrics(Popularity(), train, test, ks=[1])["precision@1"]
    0.5
    """
    if train is not None and fold_in is None and are_lists(model):
        check_average(average)
        return metrics_of_lists(model, train, test, check_lengths(ks), repeats, average)
    if not hasattr(model, "score_users"):
        raise TypeError(
            f"{type(model).__name__} does not rank items for users: give a fitted recommender, then train and test."
        )
    model, train, test, fold_in = without_ids(model, train, test, fold_in)
    lengths = check_lengths(ks)
    check_average(average)
    ranking, left_out = rank_users(model, train, test, lengths, fold_in, memory_mb, n_threads, repeats)
    if fold_in is None:
        _warn_of_training_pairs(model, train, test)
    found = summarise(ranking, lengths, average)
    found.repeats = left_out
    return found


def _warn_of_training_pairs(model: Any, train: Matrix, test: Matrix) -> None:
    """Warn where a model was fitted on what it is tested on and train lacks: most often train and test are swapped."""
    interactions = getattr(model, "interactions_", None)
    if interactions is None or interactions.shape != np.shape(test):
        return
    positives = without(positive_pattern(test, "test"), stored_pattern(train, "train"))
    learnt = stored_pattern(interactions, "interactions_").multiply(positives).nnz
    if learnt:
        warnings.warn(
            f"the model was fitted on {learnt} of the {positives.nnz} positives of test, which are not held out then: "
            "are train and test swapped, or was it fitted on all events?",
            UserWarning,
            stacklevel=3,
        )


def rank_users(
    model: ScoresUsers,
    train: Matrix | None,
    test: Matrix,
    lengths: Sequence[int],
    fold_in: Matrix | None = None,
    memory_mb: float = MEMORY_MB,
    n_threads: int | None = None,
    repeats: str = "drop",
) -> tuple[Ranking, int]:
    """Where the test positives of every user stand, and how many were left out because the user has them already."""
    if fold_in is None:
        if train is None:
            raise ValueError("train is needed to leave seen pairs out of the ranking; None is for fold_in only.")
        seen = stored_pattern(train, "train")
    else:
        events = to_csr(fold_in, "fold_in")
        seen = stored_pattern(events, "fold_in")
    positives = positive_pattern(test, "test")
    names = "train" if fold_in is None else "fold_in", "test"
    seen, positives, left_out = split_repeats(seen, positives, repeats, *names)
    check_truth(seen, positives, *names)

    def score_rows(rows: NDArray[np.int64]) -> NDArray[Any]:
        scores = model.score_users(users=rows) if fold_in is None else model.score_users(interactions=events[rows])
        if np.ndim(scores) == 2 and np.shape(scores)[1] != positives.shape[1]:
            raise ValueError(
                f"the model scores {np.shape(scores)[1]} items and test has {positives.shape[1]} columns, which "
                "must be the same items; after add_items, train and test need a column for each new item "
                "(model.interactions_ has them)."
            )
        return scores

    return rank_rows(score_rows, seen, positives, lengths, memory_mb, n_threads), left_out
