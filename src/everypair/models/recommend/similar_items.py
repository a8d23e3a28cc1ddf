"""Items side by side in several models: cos(l, j) = Σ_p w_p cos_p(l, j) / Σ_p w_p over the models that compare items.

A mean of cosines is the product of unit vectors put side by side, so one tile of items after the other is compared with
all others; beside a tile, a copy of every model's vectors scaled to unit length is held.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.kernels.select import select_top
from everypair.models.recommend.base import FactorModel
from everypair.models.recommend.item_item import ItemItem
from everypair.parallel import even_chunks
from everypair.retrieve.similar import unit_rows
from everypair.types import Array

_TILE_SCORES = 2**22  # cosines compared at once


def most_similar_on_average(
    models: Sequence[Any], weights: Sequence[float], rows: NDArray[np.int64], n: int
) -> tuple[NDArray[np.int32], Array]:
    """The ``n`` items with the greatest mean cosine to each of ``rows``, itself left out, and the means."""
    vectors = _unit_items(models, weights)
    if not vectors:
        raise ValueError("none of the models of this blend that have a weight compares items.")
    total = sum(weight for weight, _ in vectors)
    n_items = vectors[0][1].shape[0]
    nearest = np.empty((len(rows), n), np.int32)
    cosines = np.empty((len(rows), n), np.result_type(*(unit.dtype for _, unit in vectors)))
    for start, stop in even_chunks(len(rows), max(1, _TILE_SCORES // n_items)):
        tile = np.zeros((stop - start, n_items), cosines.dtype)
        for weight, unit in vectors:
            product = unit[rows[start:stop]] @ unit.T
            tile += cosines.dtype.type(weight / total) * (product.toarray() if sp.issparse(product) else product)
        np.clip(tile, -1, 1, out=tile)
        tile[np.arange(stop - start), rows[start:stop]] = -np.inf
        select_top(tile, n, nearest[start:stop], cosines[start:stop], 0, stop - start)
    return nearest, cosines


def _unit_items(models: Sequence[Any], weights: Sequence[float]) -> list[tuple[float, Any]]:
    """(weight, item vectors of length 1) of the models that have any; a blend in a blend counts by its models."""
    found: list[tuple[float, Any]] = []
    for model, weight in zip(models, weights):
        if weight == 0:
            continue
        if isinstance(model, FactorModel):
            if model._comparable(1).shape[1] > 1:  # one number per item has no direction
                found.append((weight, unit_rows(model._comparable(1))))
        elif isinstance(model, ItemItem):
            found.append((weight, model.unit_items()))
        elif hasattr(model, "models_"):
            inner = _unit_items(model.models_, model.weights_)
            total = sum(share for share, _ in inner)
            found += [(weight * share / total, unit) for share, unit in inner]
    return found
