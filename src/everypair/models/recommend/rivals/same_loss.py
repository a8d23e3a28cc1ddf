"""SameLossMF: the loss itself on every pair that is not stored, where OneClassMF has a square."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Self

from everypair.models.estimator import FittedAttribute
from everypair.models.parameters import estimator
from everypair.models.recommend.attributes import FactorizationAttributes
from everypair.models.recommend.factorization import OneClassState
from everypair.models.recommend.factorization_parameters import OneClassParameters
from everypair.models.recommend.one_class import fit_every_pair
from everypair.models.recommend.places import FitArguments
from everypair.models.recommend.recommender import Recommender
from everypair.solvers.alternating import SIDE_METHODS
from everypair.solvers.loop import Callback, checked_callbacks


@estimator
class SameLossMF(OneClassParameters, FactorizationAttributes, Recommender):
    """Factorize with one loss on every pair: F = Σ_Ω c ℓ(y, s) + Σ_{∉Ω} p_i q_j ℓ(ỹ, s) + ridge, O(mnk) a sweep.

    It exists to be compared with :class:`~everypair.OneClassMF` on small data, whose square outside Ω costs nothing.

    Attributes
    ----------
    user_factors_, item_factors_, history_, objective_, status_, reg_ : as in :class:`~everypair.OneClassMF`.

    Examples
    --------
    >>> import numpy as np
    >>> blocks = np.kron(np.eye(2), np.ones((6, 5)))
    >>> blocks[0, 0] = 0
    >>> int(SameLossMF(rank=2, random_state=0).fit(blocks).recommend([0], n=1)[0][0, 0])
    0
    """

    fitted_class: ClassVar[type] = OneClassState
    reads_features: ClassVar[tuple[bool, bool]] = (True, True)
    negative_weight_ = FittedAttribute()

    def fit(
        self,
        interactions: Any,
        *,
        user_features: Any = None,
        item_features: Any = None,
        user_graph: Any = None,
        item_graph: Any = None,
        targets: Any = None,
        validation: Any = None,
        callbacks: Iterable[Callback] = (),
        start: Any = None,
    ) -> Self:
        """Learn both sides' factors; the arguments are those of :meth:`OneClassMF.fit`."""
        if self.solver not in ("auto", *SIDE_METHODS):
            raise ValueError(
                f'SameLossMF needs solver="auto" or one of {", ".join(map(repr, SIDE_METHODS))}, not {self.solver!r}.'
            )
        arguments = FitArguments(
            interactions, (user_features, item_features), (user_graph, item_graph), targets, validation, start,
            checked_callbacks(callbacks),
        )  # fmt: skip
        self.state_ = fit_every_pair(self, arguments, negative_loss="same")
        return self
