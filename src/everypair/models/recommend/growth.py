"""A factorization grows: users and items that come later are appended, known by features, by events, or by both.

Their factors are what fold-in says; nothing that was learnt changes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from everypair.check import as_csr
from everypair.data.event_pairs import EventRows, join_events
from everypair.data.pairs import aligned_targets
from everypair.models.recommend.fitted import Newcomers
from everypair.problem.layout import LEFT, RIGHT
from everypair.problem.negatives import Negatives
from everypair.types import Array


def grown_fields(state: Any, side: int, factors: Array, newcomers: Newcomers, n_threads: int) -> Any:
    """A state of a factorization with new rows of factors, their events, targets and negatives behind its own."""
    events = new_events(state.interactions, side, newcomers.events, len(factors))
    counts = np.asarray((events > 0).sum(axis=1 - side)).ravel()
    name = "user_factors" if side == LEFT else "item_factors"
    centers = state.user_centers
    if side == LEFT and centers is not None:
        added = np.zeros((len(factors), centers.shape[1]), centers.dtype)
        if newcomers.features is not None:
            added = state.centers_of(newcomers.features, len(factors), n_threads)
        centers = np.concatenate([centers, added])
    return replace(
        state,
        user_centers=centers,
        interactions=appended(state.interactions, side, events),
        targets=_grown_targets(state, side, events, newcomers.targets),
        negatives=_grown_negatives(state.negatives, side, counts),
        **{name: np.concatenate([getattr(state, name), factors])},
    )


def known_with(state: Any, users: NDArray[Any], rows: Any) -> Newcomers:
    """Known users of a factorization, as fold-in sees them if ``rows`` are their events."""
    if state.targets is not None or state.graphs[LEFT]:
        raise ValueError(
            "events of known users cannot be folded into this model, whose users have a graph or targets of their own: "
            'leave them out (known="ignore"), or fit it again.'
        )
    if state.feature_maps[LEFT] is not None and state.user_centers is None:
        raise ValueError(
            "this model does not know what its users' features say of them any more (its towers are your own, or its "
            'file is an old one): leave events of known users out (known="ignore"), or fit it again.'
        )
    value = state.negatives.value
    return Newcomers(
        rows,
        weights=state.negatives.left_weights_again(users, np.diff(sp.csr_array(rows > 0).indptr)),
        values=value[LEFT][users] if isinstance(value, tuple) else None,
        centers=None if state.user_centers is None else state.user_centers[users],
    )


def refreshed_users(state: Any, interactions: Any, users: NDArray[Any], n_threads: int) -> Any:
    """A state of a factorization whose ``users`` have further events: their sub-problems are solved again."""
    now = known_with(state, users, interactions[users])
    factors, weights = np.array(state.user_factors), np.array(state.negatives.left)
    factors[users], weights[users] = state.folded_users(now, n_threads), now.weights
    return replace(
        state, user_factors=factors, interactions=interactions, negatives=replace(state.negatives, left=weights)
    )


def merged(interactions: Any, events: Any, how: str = "sum") -> Any:
    """Interactions and further events of the same users and items; what cancels out is not stored.

    Where both have a pair, ``how`` says what becomes of its weights: the "sum" (or "count"), the "last" or the "max".

    >>> merged(sp.csr_array([[1.0, 2.0]]), sp.csr_array([[4.0, 0.0]]), "last").toarray().tolist()
    [[4.0, 2.0]]
    """
    events = events.astype(interactions.dtype)
    if how in ("sum", "count"):
        both = sp.csr_array(interactions + events)
    else:
        old, new = interactions.tocoo(), events.tocoo()
        rows, columns, weights = (
            np.concatenate([getattr(old, name), getattr(new, name)]) for name in ("row", "col", "data")
        )
        pairs = join_events(EventRows(rows, columns, weights, None), how)
        both = sp.csr_array((pairs.weights, (pairs.rows, pairs.columns)), shape=interactions.shape)
    both.eliminate_zeros()
    return both


def new_events(interactions: Any, side: int, events: Any, count: int) -> Any:
    """The events of new entities as they are appended to the interactions, empty where there are none."""
    if events is not None:
        return as_csr(events, interactions.dtype, "interactions")[0]
    shape = [*interactions.shape]
    shape[side] = count
    return sp.csr_array(tuple(shape), dtype=interactions.dtype)


def appended(interactions: Any, side: int, events: Any) -> Any:
    """Interactions with new rows (of users) or columns (of items).

    >>> appended(sp.csr_array(np.eye(2)), 1, sp.csr_array([[0.0], [3.0]])).toarray().tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 3.0]]
    """
    stack = sp.vstack if side == LEFT else sp.hstack
    return sp.csr_array(stack([interactions, events], format="csr"))


def _grown_targets(state: Any, side: int, events: Any, targets: Any) -> Array | None:
    """Explicit targets of old and new pairs, in their common order; None where there are none."""
    if state.targets is None and targets is None:
        return None
    usual = [np.where(stored.data > 0, 1, state.loss.dislike_target) for stored in (state.interactions, events)]
    explicit = (state.targets, None if targets is None else aligned_targets(targets, events))
    old, new = (
        sp.csr_array((own if special is None else special, stored.indices, stored.indptr), shape=stored.shape)
        for own, special, stored in zip(usual, explicit, (state.interactions, events))
    )
    return np.asarray(appended(old, side, new).data, state.interactions.dtype)


def _grown_negatives(negatives: Negatives, side: int, counts: ArrayLike) -> Negatives:
    """Weights and values with those of new entities of a side: by the scheme, and the mean row of a low-rank ỹ."""
    counts = np.asarray(counts)
    value = negatives.value
    if isinstance(value, tuple):
        mean = np.repeat(value[side].mean(axis=0, keepdims=True), len(counts), axis=0)
        longer = np.concatenate([value[side], mean])
        value = (longer, value[RIGHT]) if side == LEFT else (value[LEFT], longer)
    if side == LEFT:
        return replace(negatives, left=np.concatenate([negatives.left, negatives.left_weights(counts)]), value=value)
    return replace(negatives, right=np.concatenate([negatives.right, negatives.right_weights(counts)]), value=value)
