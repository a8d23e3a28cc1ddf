"""What rivals that learn in sweeps have in common: a seed, labels missing or not, callbacks, and how training went."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

from everypair.models.estimator import FittedAttribute
from everypair.models.multilabel.base import LinearClassifier, MissingLabels
from everypair.models.parameters import Seeded, Sweeping, estimator
from everypair.solvers.loop import Callback, checked_callbacks


@estimator
class SweepingClassifier(Sweeping, Seeded, MissingLabels, LinearClassifier):
    """Base of classifiers that learn in sweeps: their model has ``history``, ``status`` and ``n_iter``."""

    history_ = FittedAttribute("model")
    status_ = FittedAttribute("model")
    n_iter_ = FittedAttribute("model")

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, mask: Any = None, callbacks: Iterable[Callback] = ()
    ) -> Self:
        """Learn as every multi-label classifier here; a callback gets a :class:`~everypair.solvers.loop.Sweep`."""
        return self._fit_all(X, y, sample_weight, mask, checked_callbacks(callbacks))
