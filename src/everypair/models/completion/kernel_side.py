"""How alike the entities of one side are, as :class:`KernelCompletion` sees it: by scaled features, or as given.

    k(x, x') = exp(−‖x − x'‖²) + c          x: rows scaled by :class:`~everypair.features.row_scale.RowScale`
    k(i, j)  = S_ij / √(S_ii S_jj)           of a similarity, its negative eigenvalues put to zero

An entity has a part of its own besides, d where i = j. All is divided by the largest k(x, x) + d, so that K_ii ≤ 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair import check
from everypair.data.ids import Ids
from everypair.features.feature_map import ONE_MATRIX, FeatureMap
from everypair.features.row_scale import RowScale
from everypair.models.codec import storable
from everypair.models.completion.answering import Source
from everypair.parallel import single_threaded_blas
from everypair.solvers.kernel_ridge.landmarks import Rows
from everypair.solvers.kernel_ridge.points import Points
from everypair.solvers.kernel_ridge.products import EXACT, Matrix, SideKernel, kernel_of
from everypair.types import Array64

CONSTANT = 0.1  # c
OWN = 0.3  # d
LEAST = 1e-9  # diagonal of a similarity
KERNELS = ("rbf", "similarity")


@storable
@dataclass(frozen=True)
class KernelSide:
    """Entities of one side: ``known`` are their scaled rows, or their similarities (then ``scale`` is None).

    ``order`` are the columns of a similarity in the order of the entities, ``lengths`` its √S_ii.
    """

    reader: FeatureMap
    known: Any
    scale: RowScale | None
    order: NDArray[np.int64] | None = None
    lengths: Array64 | None = None

    @classmethod
    def of(cls, features: Any, name: str, rows: int, kernel: str, ids: Ids | None) -> KernelSide:
        """Read the features, or the similarities, of the ``rows`` entities of one side."""
        reader = FeatureMap.of(features, name)
        matrix = reader(features, rows)
        if kernel == "rbf":
            scale = RowScale.of(matrix)
            span = _dense(matrix.max(axis=0) - matrix.min(axis=0))
            if not np.any(scale.scale * span):
                raise ValueError(f"{name} is the same in every row: leave it out.")
            return cls(reader, scale(matrix), scale)
        if matrix.shape[1] != rows:
            raise ValueError(
                f"{name} must have one row and one column per entity of that side ({rows}), the similarities of all "
                f'with all, got shape {matrix.shape}: features need kernel="rbf".'
            )
        if rows > EXACT:
            raise ValueError(f"{name}: similarities of more than {EXACT:,} entities are too many; give features.")
        order = _order(reader, ids, name)
        S = _dense(matrix)[:, order]
        diagonal = np.diag(S)
        if diagonal.min() <= 0:
            raise ValueError(
                f"{name} must be similarities, of which each entity's with itself is greater than 0; "
                f"number {int(diagonal.argmin())} has {diagonal.min():g}."
            )
        return cls(reader, _positive(S), None, order, np.sqrt(diagonal))

    @property
    def total(self) -> float:
        """What all is divided by."""
        return 1 + OWN + (0.0 if self.scale is None else CONSTANT)

    @property
    def own(self) -> float:
        """An entity's own part."""
        return OWN / self.total

    def values(self, some: Rows, others: Rows) -> Matrix:
        """Kernel values of known entities, without their own parts."""
        if self.scale is None:
            return np.asarray(self.known[some][:, others] / self.total)
        return self._scaled(self._points[some], self._points[others])

    def kernel(self, n_threads: int) -> SideKernel:
        """K of the known entities, their own parts included."""
        return kernel_of(self.values, self.known.shape[0], self.own, n_threads)

    def of_new(self, features: Any) -> Matrix:
        """Kernel values of new entities with the known ones."""
        matrix = self.reader(features)
        if self.scale is None:
            assert self.lengths is not None
            return np.asarray(_dense(matrix)[:, self.order] / (self.lengths * self.total))
        return self._scaled(Points.of(self.scale(matrix)), self._points)

    def rescaled(self, weights: Array64) -> KernelSide:
        """The same entities with feature f times ``weights[f]``, in the mean as far apart as before."""
        assert self.scale is not None
        scale = self.scale.weighted(weights)
        ratio = np.divide(scale.scale, self.scale.scale, out=np.zeros_like(scale.scale), where=self.scale.scale > 0)
        again = RowScale(ratio, None if scale.center is None else np.zeros_like(ratio))
        return replace(self, known=again(self.known), scale=scale)

    @cached_property
    def _points(self) -> Points:
        return Points.of(self.known)

    def _scaled(self, some: Points, others: Points) -> Matrix:
        out = some.rbf(others, 1.0)
        out += CONSTANT
        out /= self.total
        return out


def _order(reader: FeatureMap, ids: Ids | None, name: str) -> NDArray[np.int64]:
    """The column of a similarity that each entity has."""
    columns = reader.columns.get(ONE_MATRIX)
    if columns is None or ids is None:
        return np.arange(reader.width)
    if not ids.are_strings:
        raise ValueError(f"the columns of {name} have names, but its entities are numbered: give an array.")
    try:
        return Ids(columns).index(ids, "column")
    except ValueError as failure:
        raise ValueError(f"{name} must have one column per entity of that side: {failure}") from None


def _positive(S: Array64) -> Array64:
    """Symmetric, without negative eigenvalues, 1 on the diagonal."""
    lengths = np.sqrt(np.diag(S))
    S = (S + S.T) / 2 / np.outer(lengths, lengths)
    with single_threaded_blas():
        eigenvalues, vectors = np.linalg.eigh(S)
        S = (vectors * np.maximum(eigenvalues, 0)) @ vectors.T
    lengths = np.sqrt(np.maximum(np.diag(S), LEAST))
    return np.asarray(S / np.outer(lengths, lengths))


def _dense(matrix: Any) -> Array64:
    return np.asarray(matrix.toarray() if sp.issparse(matrix) else matrix, np.float64)


def checked_kernel(name: str, value: Any) -> tuple[str, str]:
    """One word for both sides, or a pair of words.

    >>> checked_kernel("kernel", "rbf"), checked_kernel("kernel", ("similarity", "rbf"))
    (('rbf', 'rbf'), ('similarity', 'rbf'))
    """
    pair = value if isinstance(value, tuple | list) and len(value) == 2 else (value, value)
    left, right = (check.one_of(name, one, KERNELS) for one in pair)
    return left, right


def read_sides(source: Source, kernels: tuple[str, str]) -> tuple[KernelSide | None, KernelSide | None]:
    """Both sides of what ``fit`` was given, each by its kernel."""
    left, right = (
        None if features is None else KernelSide.of(features, name, size, kernel, source.ids(side))
        for side, (features, name, size, kernel) in enumerate(
            zip(
                (source.left_features, source.right_features), ("left_features", "right_features"),
                source.observed.shape, kernels,
            )
        )
    )  # fmt: skip
    return left, right
