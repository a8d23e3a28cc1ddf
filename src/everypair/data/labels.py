"""Multi-label targets: which labels each row has, lacks, or is not known to have.

    Ω⁺ = positives ⊆ Ω = known entries ⊆ rows × labels

Fully observed labels say 0 wherever they do not say 1, so Ω is everything and is not stored. With missing labels
only Ω counts: its positives are ones, the rest of it are known negatives, and entries outside of it say nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from everypair.check import dense_array
from everypair.data.observed import mask_pattern

UNLABELED = ("negative", "missing")


@dataclass(frozen=True)
class Labels:
    """The labels of n rows: ``positives`` and, unless every entry is known, the ``known`` entries.

    ``positives`` is an n × L ``csr_array`` of float32 ones with sorted indices. ``known`` is ``None`` where every
    entry is known, else a ``csr_array`` that stores 1 at positives and an explicit 0 at known negatives.

    >>> labels = Labels.from_y([[1.0, 0.0], [float("nan"), 1.0]], unlabeled="missing")
    >>> labels.shape, labels.positives.nnz, labels.known.nnz
    ((2, 2), 2, 3)
    """

    positives: sp.csr_array
    known: sp.csr_array | None

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, labels)."""
        rows, labels = self.positives.shape
        return int(rows), int(labels)

    @classmethod
    def from_y(cls, Y: Any, unlabeled: str = "negative", mask: Any = None) -> Labels:
        """Read an indicator matrix, dense or sparse, of zeros and ones or of booleans.

        Parameters
        ----------
        Y
            n × L. One column per label, 1 where the row has it.
        unlabeled
            ``"negative"``: whatever is not 1 is a 0. ``"missing"``: only known entries count; in a sparse Y these
            are the stored ones, explicit zeros being known negatives; in a dense Y all but NaN.
        mask
            With ``unlabeled="missing"``: an n × L matrix, dense or sparse, that is true where Y is known. It then
            alone decides what is known: what a sparse Y does not store is a 0 there.

        Examples
        --------
        >>> Labels.from_y([[1, 0, 1], [0, 0, 1]]).positives.toarray().tolist()
        [[1.0, 0.0, 1.0], [0.0, 0.0, 1.0]]
        >>> Labels.from_y([[1, 0], [0, 1]], "missing", mask=[[True, True], [False, True]]).known.nnz
        3
        """
        if not isinstance(unlabeled, str) or unlabeled not in UNLABELED:
            raise ValueError(f'unlabeled must be "negative" or "missing", got {unlabeled!r}.')
        if mask is not None and unlabeled != "missing":
            raise ValueError('a mask of known labels needs unlabeled="missing"; "negative" counts every entry.')
        positives, pattern = _read_sparse(Y) if sp.issparse(Y) else _read_dense(Y, unlabeled)
        if mask is not None:
            within = mask_pattern(mask, positives.shape, "Y").astype(np.float32)
            if not sp.issparse(Y) and within.multiply(pattern).nnz < within.nnz:
                raise ValueError("Y is NaN at an entry that the mask calls known: let the mask be False there.")
            pattern = within
        known = None
        if unlabeled == "missing" and pattern.nnz < positives.shape[0] * positives.shape[1]:
            positives = sp.csr_array(pattern.multiply(positives))
            known = sp.csr_array(pattern + positives)  # 1 at negatives and 2 at positives, so that none is dropped
            known.data -= 1
            known.sort_indices()
        positives.sort_indices()
        if positives.nnz == 0:
            raise ValueError("Y has no known positive label at all: there is nothing to learn from.")
        return cls(positives, known)

    def rows(self, index: ArrayLike) -> Labels:
        """Return the labels of some rows, by positions or a boolean array.

        >>> Labels.from_y([[1, 0], [0, 1], [1, 1]]).rows([2, 0]).positives.toarray().tolist()
        [[1.0, 1.0], [1.0, 0.0]]
        """
        chosen = np.asarray(index)
        return Labels(self.positives[chosen], None if self.known is None else self.known[chosen])

    @classmethod
    def stacked(cls, parts: Sequence[Labels]) -> Labels:
        """Return the labels of several groups of rows, one below the other.

        >>> Labels.stacked([Labels.from_y([[1, 0]]), Labels.from_y([[0, 1]])]).positives.toarray().tolist()
        [[1.0, 0.0], [0.0, 1.0]]
        """
        positives = sp.csr_array(sp.vstack([part.positives for part in parts], format="csr"))
        if parts[0].known is None:
            return cls(positives, None)
        return cls(positives, sp.csr_array(sp.vstack([part.known for part in parts], format="csr")))


def _read_sparse(Y: Any) -> tuple[sp.csr_array, sp.csr_array]:
    """(positives, stored entries as ones); explicit zeros are stored entries, duplicates are summed."""
    _check_kind(Y.dtype, Y.shape)
    rows = Y.tocsr()
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    if np.isnan(rows.data).any():
        raise ValueError("a sparse Y must not hold NaN: leave unknown entries out, or give a mask.")
    _check_values(rows.data)
    stored = sp.csr_array((np.ones(rows.nnz, np.float32), rows.indices, rows.indptr), shape=rows.shape)
    positives = sp.csr_array((rows.data.astype(np.float32), rows.indices, rows.indptr), shape=rows.shape, copy=True)
    positives.eliminate_zeros()
    return positives, stored


def _read_dense(Y: Any, unlabeled: str) -> tuple[sp.csr_array, sp.csr_array]:
    """(positives, entries that are not NaN as ones)."""
    try:
        dense = dense_array(Y, "Y")
    except ValueError as failure:
        if isinstance(Y, np.ma.MaskedArray):
            raise
        raise ValueError("Y must be a 2-D indicator matrix; MultiLabelBinarizer makes one of lists.") from failure
    _check_kind(dense.dtype, dense.shape)
    known = ~np.isnan(dense)
    if unlabeled == "negative" and not known.all():
        raise ValueError('Y has NaN, which means unknown: set unlabeled="missing", or write 0 for a negative.')
    _check_values(dense[known])
    positives = sp.csr_array(known & (dense == 1), dtype=np.float32)
    return positives, sp.csr_array(known, dtype=np.float32)


def _check_values(values: NDArray[Any]) -> None:
    if values.dtype.kind == "b" or not values.size:
        return
    if values.min() < 0:
        raise ValueError("Y has negative values: write 1 where a row has the label and 0 where it has not, not −1.")
    odd = values[(values != 0) & (values != 1)]
    if odd.size:
        raise ValueError(f"Y must hold zeros and ones only, one column per label, got {odd[0]!s}.")


def _check_kind(dtype: Any, shape: tuple[int, ...]) -> None:
    if len(shape) != 2:
        raise ValueError(
            f"Y must be a 2-D indicator matrix, one column of zeros and ones per class, neither class numbers nor "
            f"continuous, got shape {shape}: use Y.reshape(-1, 1) for one label, MultiLabelBinarizer for lists."
        )
    if 0 in shape:
        raise ValueError(f"Y must have at least one row and one label, got shape {shape}.")
    if dtype.kind not in "biuf":
        raise ValueError(
            f"Unknown label type: Y must hold numbers or booleans, got dtype {dtype}; see MultiLabelBinarizer."
        )
