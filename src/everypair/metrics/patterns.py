"""Which pairs of a matrix count: patterns of positives and of everything stored, as sorted CSR.

A stored value above 0 is a positive, below 0 a dislike, and a stored 0 an observed negative. A dense array
stores its non-zero entries.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from everypair.check import as_csr
from everypair.data.pairs import kept_pointers

Matrix = Any  # any scipy sparse matrix or array, or anything numpy takes for a two-dimensional array


def to_csr(matrix: Matrix, name: str) -> sp.csr_array:
    """Return ``matrix`` as CSR with ascending columns, summed duplicates and no NaN; the input is left alone.

    >>> to_csr([[0, 2], [1, 0]], "truth").indices.tolist()
    [1, 0]
    """
    csr, _ = as_csr(matrix, np.float64, name)
    if np.isnan(csr.data).any():
        raise ValueError(f"{name} holds NaN: drop those entries, or set them to 0 where they are no positives.")
    return csr


def stored_pattern(matrix: Matrix, name: str) -> sp.csr_array:
    """Every stored pair: positives, dislikes and observed zeros.

    >>> stored_pattern([[0, 2, -1]], "train").indices.tolist()
    [1, 2]
    """
    csr = to_csr(matrix, name)
    return _pattern(csr.indptr, csr.indices, csr.shape)


def positive_pattern(matrix: Matrix, name: str) -> sp.csr_array:
    """The stored pairs with a value above 0.

    >>> positive_pattern([[0, 2, -1]], "test").indices.tolist()
    [1]
    """
    csr = to_csr(matrix, name)
    keep = csr.data > 0
    return _pattern(kept_pointers(csr.indptr, keep), csr.indices[keep], csr.shape)


def count_overlap(one: sp.csr_array, other: sp.csr_array) -> int:
    """Number of pairs in both patterns.

    >>> count_overlap(stored_pattern([[1, 1, 0]], "one"), stored_pattern([[0, 1, 1]], "other"))
    1
    """
    return int(one.multiply(other).nnz)


def without(pattern: sp.csr_array, other: sp.csr_array) -> sp.csr_array:
    """The pairs of a pattern that are not in another.

    >>> without(stored_pattern([[1, 1, 0]], "test"), stored_pattern([[0, 1, 1]], "train")).indices.tolist()
    [0]
    """
    left = sp.csr_array(pattern - pattern.multiply(other))
    left.eliminate_zeros()
    return left


def _pattern(indptr: Any, indices: Any, shape: tuple[int, int]) -> sp.csr_array:
    return sp.csr_array((np.ones(len(indices), dtype=np.int8), indices, indptr), shape=shape)
