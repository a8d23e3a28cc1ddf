"""Features as a linear model of labels reads them: scaled by what the training rows are like, then a constant 1.

    dense     x_f ← (x_f − m_f) / (σ_f √d), cut at 3σ_f        sparse    x ← x / ‖x‖        and then  x ← (x, 1)

Which of the two is told by :class:`~everypair.features.row_scale.RowScale`; ``normalize=True`` is unit rows for either,
``normalize=False`` neither.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from numpy.typing import NDArray

from everypair.features.row_scale import RowScale
from everypair.features.scaling import prepare_features


@dataclass(frozen=True)
class Preparation:
    """What is done to rows, those of training and those that come later."""

    scale: RowScale | None
    normalize: bool
    fit_intercept: bool

    @classmethod
    def of(cls, X: Any, normalize: bool | None, fit_intercept: bool, sample_weight: NDArray[Any] | None = None) -> Self:
        """Learn from the rows of training; ``normalize=None`` leaves it to them.

        >>> import numpy as np
        >>> Preparation.of(np.array([[1.0], [3.0]]), None, True)(np.array([[4.0]])).tolist()
        [[2.0, 1.0]]
        """
        if normalize is not None:
            return cls(None, normalize, fit_intercept)
        scale = RowScale.of(X, robust=True, sample_weight=sample_weight)
        return cls(None, True, fit_intercept) if scale.center is None else cls(scale, False, fit_intercept)

    def __call__(self, X: Any) -> Any:
        """Prepared rows, sparse or dense, in the precision of ``X``."""
        rows = X if self.scale is None else self.scale(X, X.dtype)
        return prepare_features(rows, self.normalize, self.fit_intercept)
