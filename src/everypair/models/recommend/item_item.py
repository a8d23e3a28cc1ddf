"""ItemItem: every item as a linear function of the other items a user has, fitted over every pair."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from everypair import check
from everypair.data.pairs import Pairs
from everypair.features.feature_map import FeatureMap
from everypair.models.estimator import FittedAttribute
from everypair.models.parameters import Threads, checked, estimator, number, or_none, parameter
from everypair.models.recommend.item_item_state import (
    ItemItemState,
    Regression,
    base_of,
    by_features,
    with_columns,
)
from everypair.models.recommend.recommender import Recommender
from everypair.models.recommend.training_data import training_data
from everypair.problem.item_gram import ItemGram, degree_weights, dense_gram
from everypair.progress import stage
from everypair.solvers.item_regression import ItemRidge, closed_form, closed_form_by_users, regress
from everypair.types import Array

MEMORY_MB = 4096.0


@estimator
class ItemItem(Threads, Recommender):
    """Score s_uj = Σ_l x_ul B_lj from the items a user has; B minimises a square over every pair of user and item.

        ½ Σ_i d_i Σ_j w_ij (y_ij − Σ_l x_il B_lj)² + ½ Σ_lj (reg + reg_scale · G_ll) B_lj²,   B_jj = 0,   G = XᵀDX

    x is 1 for a like and −1 for a dislike; y is 1 for a like, else 0; w_ij is the weight of a stored pair and
    ``negative_weight`` for every other. B_lj is free where l is one of the ``neighbors`` items with the greatest
    G_lj |Ω_l|^−½ > 0; on those the solution is exact. New users need no solving, and every coefficient is a reason. A
    thousandth of an item's share of all users is added to its scores: it orders what a user's items do not tell apart,
    and all items for a user without any.

    Time: Σ_i |Ω_i|² for the Gram matrix and N³/6 multiply-adds for every item. Memory: 8 bytes (float32) for every pair
    of items that share a user and 64 MiB, while training; 8 n N bytes after it.

    Attributes
    ----------
    coefficients_ : B (n × n), sparse, or dense with ``neighbors=None``; column j says what item j depends on.

    Examples
    --------
    >>> import numpy as np
    >>> blocks = np.kron(np.eye(2), np.ones((6, 5)))  # two groups of users, two of items
    >>> blocks[0, 0] = 0                              # one event was not observed
    >>> model = ItemItem(reg=1.0).fit(blocks)
    >>> items, scores = model.recommend([0], n=1)
    >>> int(items[0, 0])
    0
    >>> sorted(model.explain(user=0, item=0).items.tolist())  # because of these
    [1, 2, 3, 4]
    """

    neighbors: int | None = parameter(
        200,
        "number N of other items that an item may depend on; None is all, in closed form (EASE): n² numbers, for "
        "likes of one weight (and m² more, if memory_mb has them, where users are fewer: m³ operations, not n³).",
        or_none(check.integer),
    )
    reg: float = parameter(
        30.0, "the constant part of the ridge of coefficient B_lj, reg + reg_scale · G_ll.", number(least=0)
    )
    reg_scale: float = parameter(1.0, "the part of that ridge that grows with G_ll.", number(least=0))
    negative_weight: float = parameter(
        1.0, "weight of a pair that is not stored, beside the 1 of a stored one.", number(least=0)
    )
    user_exponent: float = parameter(
        0.5,
        "users weigh d_i ∝ |Ω_i|^−exponent, of mean 1: how much less an event of an active user says.",
        number(least=0),
    )
    memory_mb: float = parameter(
        MEMORY_MB, "refuse to train where the Gram matrix needs more, in units of 2²⁰ bytes.", number(least=0)
    )
    dtype: str = parameter("float32", '"float32" or "float64".', lambda name, value: check.float_dtype(value))

    fitted_class: ClassVar[type] = ItemItemState
    reads_features: ClassVar[tuple[bool, bool]] = (False, True)
    coefficients_ = FittedAttribute()

    def fit(self, interactions: Any, *, item_features: Any = None, user_weights: ArrayLike | None = None) -> Self:
        """Learn B from interactions, events or a matrix (users × items) as :meth:`OneClassMF.fit` takes.

        A positive stored value is the weight of a like, a negative value −w a dislike of weight w. ``item_features``,
        a row per item, sparse or dense or a dict of named groups, say which items stand for one without events: it is
        regressed as if its users were the mean of theirs. ``user_weights`` replace the d_i of ``user_exponent``.
        """
        values = checked(self)
        if values.reg == 0 and values.reg_scale == 0:
            raise ValueError("reg and reg_scale are both 0: without a ridge the regression has no unique solution.")
        threads, dtype, neighbors = values.n_threads, values.dtype, values.neighbors
        ridge = ItemRidge(values.reg, values.reg_scale, values.negative_weight)
        data = training_data(interactions, features=(None, item_features))
        pairs = Pairs.from_matrix(data.matrix, dtype=dtype)
        matrix = pairs.to_csr()
        weights = _checked_user_weights(user_weights, pairs, values.user_exponent)
        reader = features = None
        if item_features is not None and neighbors is None:
            raise ValueError(
                "neighbors=None solves for all items at once and reads no item_features: give neighbors a number."
            )
        if item_features is not None:
            reader = FeatureMap.of(data.features[1], "item_features", normalize=True)
            features = reader(data.features[1], matrix.shape[1], dtype)
        empty = np.bincount(matrix.indices, minlength=matrix.shape[1]) == 0
        if neighbors is None:
            stage(f"all coefficients of {matrix.shape[1]:,} items")
            coefficients = _all_neighbors(matrix, weights, ridge, values.memory_mb)
        else:
            stage(f"the Gram matrix of {matrix.shape[1]:,} items")
            gram = ItemGram.of(matrix, weights, dtype, values.memory_mb, threads)
            stage(f"neighbours of {matrix.shape[1]:,} items")
            nearest = gram.nearest(min(neighbors, matrix.shape[1]), threads)
            coefficients = regress(gram, nearest, gram.columns, ridge, threads)[gram.label][:, gram.label]
            if features is not None and empty.any() and not empty.all():
                own = by_features(gram, ridge, features, empty, features[np.flatnonzero(empty)])
                coefficients = with_columns(coefficients, np.flatnonzero(empty), own)
        terms = Regression(
            neighbors or 0, values.reg, values.reg_scale, values.negative_weight, values.user_exponent,
            values.memory_mb,
        )  # fmt: skip
        self.state_ = data.named(
            ItemItemState(
                coefficients=coefficients, base=base_of(matrix, weights), interactions=matrix, user_weights=weights,
                features=features, reader=reader, growth=terms,
            )
        )  # fmt: skip
        return self


def _all_neighbors(matrix: Any, weights: Array, ridge: ItemRidge, memory_mb: float) -> Array:
    if np.any(matrix.data != 1) or ridge.negative_weight != 1:
        raise ValueError(
            "neighbors=None is a closed form for likes of weight 1 and negative_weight=1: give neighbors a number "
            "for weights and dislikes."
        )
    n_items = matrix.shape[1]
    needed = n_items**2 * matrix.dtype.itemsize / 2**20
    if needed > memory_mb:
        raise MemoryError(
            f"neighbors=None needs a dense matrix of {n_items:,} × {n_items:,} items, {needed:,.0f} MiB, and "
            f"memory_mb allows {memory_mb:,.0f}: give neighbors a number, or raise memory_mb."
        )
    penalty = ridge.of(np.asarray(matrix.T @ weights, matrix.dtype))
    by_users = needed + matrix.shape[0] ** 2 * matrix.dtype.itemsize / 2**20
    if matrix.shape[0] < n_items and by_users <= memory_mb and penalty.min() > 0:
        return closed_form_by_users(matrix, weights, penalty)
    return closed_form(dense_gram(matrix, weights), penalty)


def _checked_user_weights(weights: ArrayLike | None, pairs: Pairs, exponent: float) -> Array:
    if weights is None:
        return degree_weights(np.diff(pairs.rows.indptr), exponent)
    given = np.asarray(weights, np.float64)
    if given.shape != (pairs.shape[0],) or not np.isfinite(given).all() or given.min() < 0 or given.max() == 0:
        raise ValueError(
            f"user_weights must be {pairs.shape[0]} finite numbers ≥ 0, one per user and not all 0, got shape "
            f"{given.shape}."
        )
    return given
