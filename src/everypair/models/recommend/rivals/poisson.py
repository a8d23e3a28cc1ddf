"""PoissonMF: positive factors under which every pair is a count, most of them zero."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from everypair import check
from everypair.data.pairs import Pairs
from everypair.data.rows import StoredRows
from everypair.models.codec import storable
from everypair.models.parameters import Training, checked, estimator, number, parameter, stop_rules
from everypair.models.recommend.attributes import TrainedAttributes
from everypair.models.recommend.factorization import check_rank
from everypair.models.recommend.factors import TrainedState, check_events_alone
from everypair.models.recommend.fitted import Newcomers
from everypair.models.recommend.positions import checked_columns
from everypair.models.recommend.recommender import Recommender
from everypair.models.recommend.training_data import training_data
from everypair.solvers.loop import Callback, checked_callbacks
from everypair.solvers.rivals.poisson import PoissonSweeps, Prior, column_sums, folded
from everypair.solvers.state import Factors
from everypair.training.train import train
from everypair.training.validation import make_validator
from everypair.types import Array


@storable
@dataclass(frozen=True, kw_only=True)
class PoissonState(TrainedState):
    """Positive factors, and the prior that fold-in needs."""

    reg: float
    smoothing: float

    @cached_property
    def sums(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Σ_i u_i and Σ_j v_j."""
        return column_sums(self.user_factors, 1), column_sums(self.item_factors, 1)

    def prepare(self, n_threads: int) -> None:
        """The sums besides."""
        super().prepare(n_threads)
        self.sums  # noqa: B018

    def folded_users(self, users: Newcomers, n_threads: int) -> Array:
        """Factors of new users: training's problem of one row, solved to its optimum with the items fixed."""
        return self._folded(self.events_alone(users), self.item_factors, self.sums[1], n_threads)

    def folded_items(self, items: Newcomers, n_threads: int) -> Array:
        """The same for new items, with the users fixed."""
        check_events_alone(items, "items")
        rows = checked_columns(items.events, len(self.user_factors), self.item_factors.dtype)
        return self._folded(StoredRows.of(rows), self.user_factors, self.sums[0], n_threads)

    def _folded(self, rows: StoredRows, other: Array, sums: NDArray[np.float64], n_threads: int) -> Array:
        return folded(rows, other, sums, Prior(self.reg, self.smoothing), n_threads)


@estimator
class PoissonMF(Training, TrainedAttributes, Recommender):
    """Factorize counts: F = −Σ_Ω c log s + Σ_all s + Σ_x (λx − a log x), all factors x positive.

    Every pair is a Poisson count with mean s_ij = u_i · v_j, and what is not stored is a count of zero: the term of
    all pairs is linear, (Σ_i u_i) · (Σ_j v_j), and needs no Gram matrix (NegSel (C.6)-(C.7)). A positive of weight c
    counts c times; a dislike of weight w costs w s more. The prior of a factor is Gamma of shape a + 1 and rate λ. It
    exists to be compared with :class:`~everypair.OneClassMF`. No sweep raises F.

    Attributes
    ----------
    user_factors_, item_factors_ : U (m × k) and V (n × k), all above 0.
    history_, objective_, status_ : as in :class:`~everypair.OneClassMF`.

    Examples
    --------
    >>> import numpy as np
    >>> blocks = np.kron(np.eye(2), np.ones((6, 5)))  # two groups of users, two of items
    >>> blocks[0, 0] = 0                              # one event was not observed
    >>> model = PoissonMF(rank=2, random_state=0).fit(blocks)
    >>> items, scores = model.recommend([0], n=1)
    >>> int(items[0, 0])
    0
    """

    rank: int = parameter(64, "number of factors k.", check.integer)
    reg: float = parameter(1.0, "λ > 0, the price of a factor's size.", number(above=0))
    smoothing: float = parameter(
        0.1,
        "a: so many events of each factor are given to every user and item; 0 lets factors vanish.",
        number(least=0),
    )
    max_iter: int = parameter(200)
    tol: float = parameter(1e-5)

    fitted_class: ClassVar[type] = PoissonState

    def fit(self, interactions: Any, *, validation: Any = None, callbacks: Iterable[Callback] = ()) -> Self:
        """Learn both sides' factors; the arguments are those of :meth:`OneClassMF.fit`."""
        values = checked(self)
        rules, callbacks = stop_rules(values), checked_callbacks(callbacks)
        data = training_data(interactions, validation=validation)
        pairs = Pairs.from_matrix(data.matrix, dtype=values.dtype)
        check_rank(values.rank, pairs.shape)
        training = pairs.to_csr()
        validate = make_validator(training, data.validation, self.patience, values.n_threads)
        prior = Prior(values.reg, values.smoothing)
        outcome = train(
            PoissonSweeps(training, prior, values.n_threads), random_start(pairs, values.rank, values.random_state),
            rules, warm_up=lambda: _sweep_on_two_pairs(values.dtype), validate=validate, callbacks=callbacks,
            verbose=self.verbose, identity=(self, pairs, data.validation),
        )  # fmt: skip
        self.state_ = data.named(
            PoissonState(
                user_factors=outcome.state.left, item_factors=outcome.state.right, interactions=training,
                rank=values.rank, history=outcome.history, objective=outcome.state.objective, status=outcome.status,
                reg=values.reg, smoothing=values.smoothing,
            )
        )  # fmt: skip
        return self


def random_start(pairs: Pairs, rank: int, random: np.random.Generator) -> Factors:
    """Factors around √(density/k), between half and one and a half times as large."""
    size = np.sqrt(pairs.n_positives / np.prod(pairs.shape, dtype=np.float64) / rank)
    left, right = (
        (size * (0.5 + random.random((count, rank)))).astype(pairs.rows.weights.dtype) for count in pairs.shape
    )
    return Factors(left, right)


def _sweep_on_two_pairs(dtype: Any) -> object:
    """Compile before the clock starts."""
    solver = PoissonSweeps(Pairs.from_matrix(np.eye(2), dtype=dtype).to_csr(), Prior(1.0, 0.0))
    return solver.step(Factors(np.ones((2, 1), dtype), np.ones((2, 1), dtype)))
