"""The vectors of a model by factors, for an index that knows nothing of it: s_ij = q_i · x_j over all users and items.

Biases are columns: where users have b_i, items have 1 there, so that the product of both is the whole score. An index
that has no inner product takes x'_j = (x_j, √(M² − ‖x_j‖²)) with M the longest of them: all have length M then, the
product with (q, 0) is unchanged, and nearest by cosine or by distance is greatest by score.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from everypair.models.recommend.factors import FactorState
from everypair.types import Array


class Vectors(NamedTuple):
    """Ids (positions of a model without ids) and a row for each."""

    ids: Any
    rows: Array


def vectors_of(model: Any, side: str = "items", augment: bool = False) -> Vectors:
    """The vectors of ``"items"``, to be indexed, or of ``"users"``, to ask with; ``augment`` makes items equally long.

    >>> from everypair import OneClassMF
    >>> model = OneClassMF(rank=2, random_state=0).fit({"user": ["ann", "bob"], "item": ["blue", "rain"]})
    >>> items, users = vectors_of(model), vectors_of(model, "users")
    >>> bool(np.allclose(users.rows @ items.rows.T, model.score_users()))
    True
    >>> longer = vectors_of(model, augment=True).rows
    >>> longer.shape, bool(np.allclose(np.linalg.norm(longer, axis=1), np.linalg.norm(longer[0])))
    ((2, 3), True)
    """
    state = model.state_
    if side not in ("items", "users"):
        raise ValueError(f"side must be 'items' or 'users', got {side!r}.")
    if not isinstance(state, FactorState):
        raise ValueError(
            f"{type(model).__name__} has no vectors whose product is its score: models by factors have, such as "
            "OneClassMF, TwoTower and BPR."
        )
    rows, ids = (state.item_factors, state.item_ids) if side == "items" else (state.user_factors, state.user_ids)
    rows = np.ascontiguousarray(rows)
    if augment:
        squares = np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
        last = np.sqrt(np.maximum(squares.max(initial=0) - squares, 0)) if side == "items" else np.zeros(len(rows))
        rows = np.column_stack([rows, last.astype(rows.dtype)])
    return Vectors(np.arange(len(rows)) if ids is None else ids.values, rows)
