"""BPR: factors that rank a user's positives above everything else, by stochastic gradient."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from everypair import check
from everypair.data.pairs import Pairs
from everypair.kernels.bpr import fold_rows
from everypair.models.codec import storable
from everypair.models.estimator import FittedAttribute
from everypair.models.parameters import Iterating, checked, estimator, number, one_of, parameter
from everypair.models.recommend.attributes import TrainedAttributes
from everypair.models.recommend.factorization import check_rank
from everypair.models.recommend.factors import TrainedState
from everypair.models.recommend.fitted import Newcomers
from everypair.models.recommend.recommender import Recommender
from everypair.models.recommend.training_data import training_data
from everypair.models.state_checks import check_count
from everypair.parallel import Chunk, balanced_chunks, run_chunks
from everypair.solvers.loop import Callback, StopRules, checked_callbacks
from everypair.solvers.rivals.pairwise import START_SQUARES, Positives, StochasticRanking
from everypair.solvers.state import Factors
from everypair.training.start import START_SCALE
from everypair.training.train import train
from everypair.training.validation import make_validator
from everypair.types import Array

FOLD_IN_PASSES, FOLD_IN_LEAST = 50, 1000  # steps per positive of a new user, and at least


@storable
@dataclass(frozen=True, kw_only=True)
class BPRState(TrainedState):
    """Factors with the item's bias in the last column, and what fold-in by stochastic ranking needs."""

    learning_rate: float
    reg: float
    fold_in_seed: int

    def check(self) -> None:
        """Factors, and the item's bias in the last column."""
        super().check()
        check_count("rank", self.rank, self.user_factors.shape[1] - 1)

    def vectors(self, side: int) -> Array:
        """Factors without the bias."""
        return np.ascontiguousarray(super().vectors(side)[:, : self.rank])

    def folded_users(self, users: Newcomers, n_threads: int) -> Array:
        """Factors (c, k + 1) of new users: training's steps with the items fixed.

        Every row starts from zero with the same random numbers, so its factors depend on the row and the seed alone. A
        row without positives gets zero factors and is ranked by the items' biases. To one user alone ``triple_weight``
        makes no difference.
        """
        right = self.item_factors
        positives = Positives(self.events_alone(users).tocsr())
        left = np.empty((len(positives.indptr) - 1, right.shape[1]), right.dtype)
        number_of = right.dtype.type

        def work(chunk: Chunk, worker: int) -> None:
            fold_rows(
                *chunk, FOLD_IN_PASSES, FOLD_IN_LEAST, positives.indptr, positives.indices, positives.sums,
                number_of(self.learning_rate), number_of(self.reg), number_of(START_SQUARES), right, left,
                np.uint64(self.fold_in_seed),
            )  # fmt: skip

        run_chunks(work, balanced_chunks(positives.indptr), n_threads)
        return left


@estimator
class BPR(Iterating, TrainedAttributes, Recommender):
    """Rank positives above unknown items: Σ_i a_i Σ_{j∈Ω_i⁺, l∈Ω̄_i} c_ij [log(1 + e^{−(s_ij − s_il)}) + ridge].

    Bayesian personalised ranking with s_ij = w_i·h_j + b̄_j: the all-pairs AUC loss, by stochastic gradient over sampled
    triples (user, positive, negative). It exists to be compared with :class:`~everypair.OneClassMF`. A positive is
    drawn in proportion to a_i |Ω̄_i| c_ij, its negative uniformly among the items Ω̄_i that are not positives of its
    user, observed dislikes included. Training is sequential: the same seed gives the same bits.

    Attributes
    ----------
    user_factors_, item_factors_ : U = [W, 1] (m × (k + 1)) and V = [H, b̄] (n × (k + 1)).
    history_ : one dict per epoch; ``"objective"`` is the mean of loss and ridge over a fixed sample of triples.
    objective_, status_ : the last of these and a sentence on why training stopped.

    Examples
    --------
    >>> import numpy as np
    >>> blocks = np.kron(np.eye(2), np.ones((6, 5)))  # two groups of users, two of items
    >>> blocks[0, 0] = 0                              # one event was not observed
    >>> model = BPR(rank=2, random_state=0).fit(blocks)
    >>> items, scores = model.recommend([0], n=1)
    >>> int(items[0, 0])
    0
    """

    rank: int = parameter(64, "number of factors k.", check.integer)
    learning_rate: float = parameter(0.1, "η of AdaGrad with one rate per factor row.", number(above=0))
    reg: float = parameter(0.01, "ridge λ of the rows of every drawn triple, biases included.", number(least=0))
    triple_weight: str = parameter(
        "user",
        '"user": a_i = 1/|Ω̄_i|, so that every positive counts the same, as usual with sampled negatives; '
        '"equal": a_i = 1, the plain sum over all triples of NegSel\'s (B.4).',
        one_of("user", "equal"),
    )
    max_iter: int = parameter(60, "epochs of |Ω⁺| updates each.", check.integer)

    fitted_class: ClassVar[type] = BPRState
    learning_rate_ = FittedAttribute()
    fold_in_seed_ = FittedAttribute()

    def fit(self, interactions: Any, *, validation: Any = None, callbacks: Iterable[Callback] = ()) -> Self:
        """Learn both sides' factors; the arguments are those of :meth:`OneClassMF.fit`."""
        values = checked(self)
        rules = StopRules(values.max_iter, 0.0, values.patience, values.time_limit)
        callbacks = checked_callbacks(callbacks)
        random, dtype = values.random_state, values.dtype
        data = training_data(interactions, validation=validation)
        pairs = Pairs.from_matrix(data.matrix, dtype=dtype)
        check_rank(values.rank, pairs.shape)
        training = pairs.to_csr()
        validate = make_validator(training, data.validation, self.patience, values.n_threads)
        seeds = random.integers(1, 2**63, size=3)
        start = _random_start(pairs, values.rank, random, dtype)
        positives = Positives(training, equal_triples=values.triple_weight == "equal")
        solver = StochasticRanking(positives, pairs.shape, values.learning_rate, values.reg, seeds[:2], dtype)
        outcome = train(
            solver, start, rules, warm_up=lambda: _epoch_on_two_pairs(dtype), validate=validate, callbacks=callbacks,
            verbose=self.verbose, identity=(self, pairs, data.validation),
        )  # fmt: skip
        self.state_ = data.named(
            BPRState(
                user_factors=outcome.state.left, item_factors=outcome.state.right, interactions=training,
                rank=values.rank, history=outcome.history, objective=outcome.state.objective, status=outcome.status,
                learning_rate=values.learning_rate, reg=values.reg, fold_in_seed=int(seeds[2]),
            )
        )  # fmt: skip
        return self


def _random_start(pairs: Pairs, rank: int, random: np.random.Generator, dtype: Any) -> Factors:
    """Small random numbers; a user without positives, who is never drawn, stays at zero."""
    left, right = (
        (random.standard_normal((size, rank + 1)) * (START_SCALE / np.sqrt(rank))).astype(dtype) for size in pairs.shape
    )
    left[pairs.left_counts == 0] = 0
    left[:, rank] = 1
    right[:, rank] = 0
    return Factors(left, right)


def _epoch_on_two_pairs(dtype: Any) -> object:
    """Compile before the clock starts."""
    pairs = Pairs.from_matrix(np.eye(2), dtype=dtype)
    solver = StochasticRanking(Positives(pairs.to_csr()), (2, 2), 0.1, 0.1, np.array([1, 2]), dtype)
    return solver.step(Factors(np.ones((2, 2), dtype), np.ones((2, 2), dtype)))
