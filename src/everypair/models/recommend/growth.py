"""A fitted model grows: users and items that come later are appended, known by features, by events, or by both.

Their factors are what :meth:`fold_in_users` and :meth:`fold_in_items` say; nothing that was learnt changes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from everypair.check import as_csr
from everypair.data.pairs import aligned_targets
from everypair.models.recommend.factorization import FactorizationModel
from everypair.models.recommend.naming import grows
from everypair.problem.layout import LEFT, RIGHT
from everypair.problem.negatives import Negatives
from everypair.types import Array


class GrowingModel(FactorizationModel):
    """A factorization model with ``add_users`` and ``add_items``.

    >>> from everypair import OneClassMF
    >>> blocks = np.kron(np.eye(2), np.ones((6, 5)))
    >>> groups = np.repeat(np.eye(2), 5, axis=0)
    >>> model = OneClassMF(rank=2, random_state=0).fit(blocks, right_features=groups)
    >>> model.add_items(features=[[0, 1]])  # a new item of the second group
    array([10])
    >>> items, scores = model.recommend([11], n=1)
    >>> int(items[0, 0])
    10
    """

    @grows(LEFT)
    def add_users(
        self, *, interactions: Any = None, features: Any = None, targets: Any = None, ids: Any = None
    ) -> NDArray[Any]:
        """Append users and return their ids, or positions in a model without ids.

        ``interactions`` and ``features`` describe them as in :meth:`recommend`. ``ids`` are theirs; tables of events or
        features have them already.

        >>> from everypair import OneClassMF
        >>> model = OneClassMF(rank=1, random_state=0).fit({"user": ["ann", "bob"], "item": ["blue", "rain"]})
        >>> model.add_users(ids=["cem"], interactions=[["rain"]]).tolist()
        ['cem']
        >>> model.recommend("cem", n=1)[0].tolist()
        [['blue']]
        """
        check_is_fitted(self)
        new = self.fold_in_users(interactions, features=features, targets=targets)
        return self._append(LEFT, new, interactions, targets)

    @grows(RIGHT)
    def add_items(
        self, *, interactions: Any = None, features: Any = None, targets: Any = None, ids: Any = None
    ) -> NDArray[Any]:
        """Append items and return their ids, or positions in a model without ids.

        ``interactions`` are lists of users, a table of events, or columns (m × c); ``features`` a row each. ``ids`` are
        theirs; tables of events or features have them already.
        """
        check_is_fitted(self)
        new = self.fold_in_items(interactions, features=features, targets=targets)
        return self._append(RIGHT, new, interactions, targets)

    def _append(self, side: int, new: Array, interactions: Any, targets: Any) -> NDArray[np.int64]:
        before = self.interactions_.shape[side]
        if interactions is not None:
            events, _ = as_csr(interactions, self.interactions_.dtype, "interactions")
        else:
            shape = (len(new), self.interactions_.shape[1]) if side == LEFT else (self.interactions_.shape[0], len(new))
            events = sp.csr_array(shape, dtype=self.interactions_.dtype)
        stack = sp.vstack if side == LEFT else sp.hstack
        counts = np.asarray((events > 0).sum(axis=1 - side)).ravel()
        factors = "left_factors" if side == LEFT else "right_factors"
        longer: dict[str, Any] = {factors: np.concatenate([getattr(self.state_, factors), new])}
        self.state_ = replace(
            self.state_,
            interactions=sp.csr_array(stack([self.interactions_, events], format="csr")),
            targets=self._grown_targets(side, events, targets),
            negatives=_grown(self.state_.negatives, side, counts),
            **longer,
        )
        return np.arange(before, before + len(new))

    def _grown_targets(self, side: int, events: Any, targets: Any) -> Array | None:
        """Explicit targets of old and new pairs, in their common order; None where there are none."""
        state = self.state_
        if state.targets is None and targets is None:
            return None
        usual = [np.where(stored.data > 0, 1, state.loss.dislike_target) for stored in (state.interactions, events)]
        explicit = (state.targets, None if targets is None else aligned_targets(targets, events))
        parts = [
            sp.csr_array((own if given is None else given, stored.indices, stored.indptr), shape=stored.shape)
            for own, given, stored in zip(usual, explicit, (state.interactions, events))
        ]
        stack = sp.vstack if side == LEFT else sp.hstack
        return np.asarray(stack(parts, format="csr").data, state.interactions.dtype)


def _grown(negatives: Negatives, side: int, counts: ArrayLike) -> Negatives:
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
