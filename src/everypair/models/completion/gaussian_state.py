"""What GaussianRatings has learnt: means, the covariance of columns, and g of every row.

y_ij = μ_j + Σ_j· H_i      H_i: g of row i in the places of its entries
var  = κ (Σ_jj − Σ_jo G_i Σ_oj + σ²)      κ: how much larger left-out errors were than that
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from everypair.data.observed import Observed
from everypair.models.codec import storable
from everypair.models.completion.kernel_side import KernelSide
from everypair.models.completion.trained import TrainedMatrix
from everypair.models.state_checks import check_array, check_matrix
from everypair.parallel import single_threaded_blas
from everypair.solvers.completion.gaussian_rows import fit_row
from everypair.types import Array64


@storable
@dataclass(frozen=True, kw_only=True)
class GaussianMatrix(TrainedMatrix):
    """The fitted state; ``common`` and ``alike`` are the prior's covariances of any two columns and of like ones."""

    mean: Array64
    covariance: Array64
    weights: Any
    noise: float
    calibration: float
    common: float
    alike: float
    right_side: KernelSide | None
    low: float
    high: float

    def check(self) -> None:
        """Refuse parts that do not fit each other."""
        n, m = self.observed.shape
        check_array("mean", self.mean, m)
        check_array("covariance", self.covariance, m, m)
        check_matrix("weights", self.weights, (n, m))

    def read(self, side: str, features: Any) -> Any:
        """The prior's covariances of new columns with the known ones."""
        if side == "left" or self.right_side is None:
            return super().read(side, features)
        with single_threaded_blas():
            return self.common + self.alike * self.right_side.of_new(features)

    def block(
        self, rows: Any, columns: Any, new_left: Any = None, new_right: Any = None, n_threads: int = 1
    ) -> Array64:
        """Values of rows × columns."""
        if new_right is not None:
            return self.shown(self.mean.mean() + self.weights[rows] @ new_right.T)
        return self.shown(self.mean[columns] + self.weights[rows] @ self.covariance[:, columns])

    def shown(self, values: Array64) -> Array64:
        """Values within the observed range."""
        return np.clip(values, self.low, self.high)

    def new_rows(self, entries: Observed) -> Array64:
        """Values of rows of which these entries are known."""
        out = np.tile(self.mean, (entries.shape[0], 1))
        for row in np.flatnonzero(np.diff(entries.indptr)):
            here = slice(entries.indptr[row], entries.indptr[row + 1])
            columns = entries.indices[here]
            found = fit_row(columns, entries.values[here] - self.mean[columns], self.covariance, self.noise)
            out[row] += found.g @ self.covariance[columns]
        return self.shown(out)

    def deviations(self, i: NDArray[np.int64], j: NDArray[np.int64]) -> Array64:
        """Standard deviations of the values of the entries (i[t], j[t])."""
        out = np.empty(len(i))
        with single_threaded_blas():
            for row in np.unique(i):
                here = np.flatnonzero(i == row)
                o = self.observed.indices[self.observed.indptr[row] : self.observed.indptr[row + 1]]
                inner = self.covariance[np.ix_(o, o)]
                inner[np.diag_indices_from(inner)] += self.noise
                factor = scipy.linalg.cholesky(inner, lower=True, overwrite_a=True, check_finite=False)
                told = scipy.linalg.solve_triangular(
                    factor, self.covariance[np.ix_(o, j[here])], lower=True, check_finite=False
                )
                out[here] = np.diag(self.covariance)[j[here]] - np.square(told).sum(axis=0) + self.noise
        return np.sqrt(self.calibration * np.maximum(out, 0.0))
