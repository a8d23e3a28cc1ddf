"""Kernel features for prepared rows: the landmark map of x, with the constant 1 kept last where there is one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.features.nystrom import KernelFunction, NystromFeatures


@dataclass(frozen=True)
class KernelMap:
    """z(x) = K^{-1/2} k(x) over landmarks c_t, k(x)_t = k(c_t, x), so that z(x)·z(y) ≈ k(x, y), or k(x) itself.

    A ridge ½ λ ‖W‖² of weights on z is that of the kernel's space, ½ λ tr(AᵀKA) of coefficients A on k; on k itself it
    is ½ λ ‖A‖². See :class:`NystromFeatures`.

    >>> rows = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0]])  # two features and the constant
    >>> KernelMap.fit(rows, "linear", 10, "auto", True, seed=0)(rows).round(3).tolist()
    [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]
    """

    features: NystromFeatures
    has_constant: bool

    @classmethod
    def fit(
        cls,
        X: Any,
        kernel: KernelFunction,
        n_landmarks: int,
        gamma: Any,
        has_constant: bool,
        seed: int,
        whiten: bool = True,
    ) -> KernelMap:
        """Choose landmarks among the rows; ``gamma="auto"`` is 1/d, as ``gamma="scale"`` of scikit-learn's SVC."""
        own = X[:, :-1] if has_constant else X
        options = {}
        if kernel == "rbf":
            options["gamma"] = 1 / own.shape[1] if isinstance(gamma, str) else gamma
        features = NystromFeatures(
            n_landmarks, append=False, kernel=kernel, whiten=whiten, random_state=seed, n_threads=1, **options
        )
        return cls(features.fit(own), has_constant)

    def __call__(self, X: Any) -> NDArray[Any]:
        """Features of prepared rows, dense."""
        mapped = self.features.transform(X[:, :-1] if self.has_constant else X)
        if not self.has_constant:
            return np.asarray(mapped)
        return np.hstack([mapped, np.ones((len(mapped), 1), mapped.dtype)])
