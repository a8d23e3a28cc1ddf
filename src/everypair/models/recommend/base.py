"""What every factor model offers once it has factors: s_ij = u_i · v_j, ranked, compared, filtered."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from everypair.check import as_csr
from everypair.models.estimator import FittedAttribute
from everypair.models.recommend.held_out import held_out_ndcg
from everypair.models.recommend.naming import asks
from everypair.models.recommend.recommender import Recommender
from everypair.models.recommend.state import FactorState
from everypair.parallel import blocked_product, resolve_threads
from everypair.problem.layout import LEFT, RIGHT
from everypair.retrieve import most_similar, top_k
from everypair.training.validation import SCORED_ROWS
from everypair.types import Array


class FactorModel(Recommender):
    """Base of models with ``left_factors_`` (m × k), ``right_factors_`` (n × k) and the training ``interactions_``.

    A subclass's ``fit`` sets a :class:`~everypair.models.recommend.state.FactorState`, and it offers
    ``fold_in_users(rows)``; everything below follows.
    """

    state_: FactorState
    left_factors_ = FittedAttribute()
    right_factors_ = FittedAttribute()
    interactions_ = FittedAttribute()
    n_threads: int | None = None

    def fold_in_users(self, rows: Any) -> Array:
        """Factors (c, k) of new users from their interactions (c × n)."""
        raise NotImplementedError

    @asks(LEFT, answer="item")
    def recommend(
        self,
        users: ArrayLike | None = None,
        n: int = 10,
        exclude_seen: bool = True,
        allow: Any = None,
        block: Any = None,
        *,
        interactions: Any = None,
        features: Any = None,
        targets: Any = None,
    ) -> tuple[NDArray[np.int32], Array]:
        """Return the ``n`` best items of each user and their scores, both of shape (users, n).

        ``users``: all of them by default, or describe users who were not there by ``interactions``, by ``features`` (of
        a model that was fitted with such), or by both; ``targets`` are those of the interactions, of a model that was
        fitted with such. ``exclude_seen`` hides what a user already has, likes and dislikes. ``allow`` and ``block``
        are lists of items for everybody, or sparse masks with a row per user. Equal scores rank by ascending item.

        A model fitted on events is asked by id and answers in ids, ``None`` with score −inf where fewer than ``n``
        items remain. Interactions are then lists of items, ``[["blue", "rain"]]`` or with weights ``[{"blue": 2.0}]``,
        a table of events, whose users come in ascending order, or a matrix in the order of ``item_ids_``. A model
        fitted on a matrix works in positions: interactions are rows (c × n), and −1 stands for none.

        >>> from everypair import OneClassMF
        >>> events = {"user": ["ann", "ann", "bob", "bob", "cem"], "item": ["blue", "rain", "blue", "iron", "dust"]}
        >>> model = OneClassMF(rank=2, random_state=0).fit(events)
        >>> model.recommend(["ann"], n=1)[0].tolist(), model.recommend(interactions=[["iron"]], n=1)[0].tolist()
        ([['iron']], [['blue']])
        """
        left, seen = self._left_rows(users, interactions, features, targets)
        return top_k(
            left,
            self.right_factors_,
            n,
            exclude=seen if exclude_seen else None,
            allow=allow,
            block=block,
            n_threads=self.n_threads,
        )

    @asks(LEFT)
    def score_users(
        self, users: ArrayLike | None = None, interactions: Any = None, features: Any = None, targets: Any = None
    ) -> Array:
        """Scores of every item for users of the training matrix, or for new ones as in :meth:`recommend`."""
        left, _ = self._left_rows(users, interactions, features, targets)
        return blocked_product(left, self.right_factors_.T, SCORED_ROWS, resolve_threads(self.n_threads))

    @asks()
    def score_pairs(self, users: ArrayLike, items: ArrayLike) -> Array:
        """Scores of the pairs (users[t], items[t]), by id or position."""
        check_is_fitted(self)
        rows = checked_positions(users, len(self.left_factors_), "user")
        columns = checked_positions(items, len(self.right_factors_), "item")
        if rows.shape != columns.shape:
            raise ValueError(f"users and items must have one length, got {rows.size} and {columns.size}.")
        return np.asarray(np.einsum("ij,ij->i", self.left_factors_[rows], self.right_factors_[columns]))

    def score(self, interactions: Any, y: None = None) -> float:
        """Mean nDCG@10 of held-out positives (of the training's users and items), which scikit-learn's searches take.

        See :class:`everypair.data.Entries` for those, and :func:`everypair.evaluate.ranking_metrics` for all metrics.
        """
        check_is_fitted(self)
        return held_out_ndcg(self, interactions)

    @asks(RIGHT, answer="item")
    def similar_items(self, items: ArrayLike, n: int = 10) -> tuple[NDArray[np.int32], Array]:
        """Return the ``n`` items nearest to each of ``items`` by cosine, itself left out, and the cosines."""
        return self._similar(self._comparable(1), items, n, "item")

    @asks(LEFT, answer="user")
    def similar_users(self, users: ArrayLike, n: int = 10) -> tuple[NDArray[np.int32], Array]:
        """Return the ``n`` users nearest to each of ``users`` by cosine, itself left out, and the cosines."""
        return self._similar(self._comparable(0), users, n, "user")

    def _comparable(self, side: int) -> Array:
        """Return the columns of a side's factors that are learnt: what a cosine should compare."""
        check_is_fitted(self)
        return self.right_factors_ if side else self.left_factors_

    def _similar(self, factors: Array, entities: ArrayLike, n: int, kind: str) -> tuple[NDArray[np.int32], Array]:
        rows = checked_positions(entities, len(factors), kind)
        return most_similar(factors, rows, n, n_threads=self.n_threads)

    def _left_rows(self, users: ArrayLike | None, interactions: Any, features: Any, targets: Any) -> tuple[Array, Any]:
        """Factors and seen items of known users, or of the new users that are described."""
        check_is_fitted(self)
        if interactions is None and targets is not None:
            raise ValueError("targets are those of new users' interactions: give the interactions as well.")
        if interactions is not None or features is not None:
            if users is not None:
                raise ValueError("give either users (known ones) or a description of new ones, not both.")
            return self._described(interactions, features, targets)
        if users is None:
            return self.left_factors_, self.interactions_
        positions = checked_positions(users, len(self.left_factors_), "user")
        return self.left_factors_[positions], self.interactions_[positions]

    def _described(self, interactions: Any, features: Any, targets: Any) -> tuple[Array, Any]:
        """Factors and seen items of new users."""
        if features is not None:
            raise ValueError(f"{type(self).__name__} was fitted without features: describe new users by interactions.")
        if targets is not None:
            raise ValueError(f"{type(self).__name__} knows no targets: describe new users by interactions alone.")
        rows = checked_rows(interactions, self.right_factors_.shape[0], self.right_factors_.dtype)
        return self.fold_in_users(rows), rows


def checked_positions(values: ArrayLike, size: int, kind: str) -> NDArray[np.int64]:
    """Return positions as a 1-D array, or refuse what is not one of 0..size − 1."""
    array = np.atleast_1d(np.asarray(values))
    if array.size == 0:
        return np.empty(0, np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise TypeError(
            f"{kind}s must be integer positions (one or a 1-D array), got dtype {array.dtype} with {array.ndim} "
            "dimensions: this model was fitted on a matrix; one that is fitted on events is asked by id."
        )
    if array.min() < 0 or array.max() >= size:
        bad = array[(array < 0) | (array >= size)][0]
        raise ValueError(
            f"{kind} {bad} is unknown: the model was fitted on {size} {kind}s (0 to {size - 1}); "
            f"new ones need their interactions."
        )
    return array.astype(np.int64)


def checked_rows(interactions: Any, width: int, dtype: Any, what: str = "interactions") -> Any:
    """Check the rows of new users (c × n): like training data, but rows may all be empty."""
    rows, _ = as_csr(interactions, dtype, what)
    if rows.shape[1] != width:
        raise ValueError(
            f"{what} must have one column per training item ({width}), got shape {rows.shape}; new entities are rows."
        )
    if rows.nnz and not np.isfinite(rows.data).all():
        raise ValueError(f"{what} has NaN or infinite values.")
    if np.any(rows.data == 0):
        raise ValueError(f"{what} stores explicit zeros: call eliminate_zeros() first.")
    return sp.csr_array(rows)
