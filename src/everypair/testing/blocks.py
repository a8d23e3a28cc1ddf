"""Data whose answers are known: groups of users who like the items of their group."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

BLOCKS = ((20, 8), (14, 7), (10, 6))  # users and items of each group


def block_matrix() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return three groups of users who like their group's items, and the one such item that each did not show yet.

    >>> matrix, held_out = block_matrix()
    >>> matrix.shape, int(matrix.sum()), held_out[[0, 1, 20]].tolist()
    ((44, 21), 274, [0, 1, 8])
    """
    users, items = np.sum(BLOCKS, axis=0)
    matrix, held_out = np.zeros((users, items)), np.zeros(users, np.int64)
    row = column = 0
    for height, width in BLOCKS:
        rows = np.arange(row, row + height)
        matrix[row : row + height, column : column + width] = 1
        held_out[rows] = column + np.arange(height) % width
        matrix[rows, held_out[rows]] = 0
        row, column = row + height, column + width
    return matrix, held_out


def group_of(position: Any, side: int) -> NDArray[np.int64]:
    """Return the group of users (side 0) or items (side 1).

    >>> group_of([0, 8, 20], side=1).tolist()
    [0, 1, 2]
    """
    ends = np.cumsum([block[side] for block in BLOCKS])
    return np.searchsorted(ends, np.asarray(position), side="right")
