"""BPR: factors that rank a user's positives above everything else, by stochastic gradient."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from everypair import check
from everypair.data.pairs import Pairs
from everypair.kernels.bpr import fold_rows
from everypair.models.estimator import FittedAttribute
from everypair.models.recommend.base import FactorModel, checked_rows
from everypair.models.recommend.factorization import check_rank
from everypair.models.recommend.naming import asks, fits
from everypair.models.recommend.state import RankingState
from everypair.parallel import Chunk, balanced_chunks, resolve_threads, run_chunks
from everypair.problem.layout import LEFT
from everypair.solvers.loop import Callback, StopRules, checked_callbacks
from everypair.solvers.rivals.pairwise import START_SQUARES, Positives, StochasticRanking
from everypair.solvers.state import Factors
from everypair.training.start import START_SCALE
from everypair.training.train import train
from everypair.training.validation import make_validator
from everypair.types import Array

TRIPLE_WEIGHTS = ("user", "equal")
FOLD_IN_PASSES, FOLD_IN_LEAST = 50, 1000  # steps per positive of a new user, and at least


class BPR(FactorModel):
    """Rank positives above unknown items: Σ_i a_i Σ_{j∈Ω_i⁺, l∈Ω̄_i} c_ij [log(1 + e^{−(s_ij − s_il)}) + ridge].

    Bayesian personalised ranking with s_ij = w_i·h_j + b̄_j: the all-pairs AUC loss, by stochastic gradient over sampled
    triples (user, positive, negative). It exists to be compared with :class:`~everypair.OneClassMF`. A positive is
    drawn in proportion to a_i |Ω̄_i| c_ij, its negative uniformly among the items Ω̄_i that are not positives of its
    user, observed dislikes included. Training is sequential: the same seed gives the same bits.

    Parameters
    ----------
    rank : number of factors k.
    triple_weight : ``"user"``: a_i = 1/|Ω̄_i|, so that every positive counts the same, as usual with sampled negatives;
        ``"equal"``: a_i = 1, the plain sum over all triples of NegSel's (B.4).
    learning_rate : η of AdaGrad with one rate per factor row.
    reg : ridge λ of the rows of every drawn triple, biases included.
    max_iter : epochs of |Ω⁺| updates each.
    patience, time_limit : stop after ``patience`` epochs without a better validation nDCG@10, or after so many seconds.
    random_state : seed of the start and of all draws.
    n_threads : threads of retrieval and fold-in; training is sequential.
    dtype, verbose : as in :class:`~everypair.OneClassMF`.

    Attributes
    ----------
    left_factors_, right_factors_ : U = [W, 1] (m × (k + 1)) and V = [H, b̄] (n × (k + 1)).
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

    state_: RankingState
    rank_ = FittedAttribute()
    learning_rate_ = FittedAttribute()
    fold_in_seed_ = FittedAttribute()
    reg_ = FittedAttribute()
    history_ = FittedAttribute()
    objective_ = FittedAttribute()
    status_ = FittedAttribute()
    n_iter_ = FittedAttribute()

    def __init__(
        self,
        rank: int = 64,
        learning_rate: float = 0.1,
        reg: float = 0.01,
        max_iter: int = 60,
        patience: int | None = None,
        time_limit: float | None = None,
        random_state: Any = None,
        n_threads: int | None = None,
        dtype: str = "float32",
        verbose: bool = False,
        triple_weight: str = "user",
    ) -> None:
        self.rank = rank
        self.learning_rate = learning_rate
        self.reg = reg
        self.max_iter = max_iter
        self.patience = patience
        self.time_limit = time_limit
        self.random_state = random_state
        self.n_threads = n_threads
        self.dtype = dtype
        self.verbose = verbose
        self.triple_weight = triple_weight

    @fits
    def fit(self, interactions: Any, *, validation: Any = None, callbacks: Iterable[Callback] = ()) -> Self:
        """Learn both sides' factors; the arguments are those of :meth:`OneClassMF.fit`."""
        rules = StopRules.checked(self.max_iter, 0.0, self.patience, self.time_limit)
        rank = check.integer("rank", self.rank)
        rate = _checked_number("learning_rate", self.learning_rate, above=True)
        reg = _checked_number("reg", self.reg, above=False)
        if not isinstance(self.triple_weight, str) or self.triple_weight not in TRIPLE_WEIGHTS:
            raise ValueError(f'triple_weight must be "user" or "equal", got {self.triple_weight!r}.')
        threads = resolve_threads(self.n_threads)
        dtype = check.float_dtype(self.dtype)
        random = check.generator(self.random_state)
        callbacks = checked_callbacks(callbacks)
        pairs = Pairs.from_matrix(interactions, dtype=dtype)
        check_rank(rank, pairs.shape)
        training = pairs.to_csr()
        validate = make_validator(training, validation, self.patience, threads)
        seeds = random.integers(1, 2**63, size=3)
        start = _random_start(pairs, rank, random, dtype)
        positives = Positives(training, equal_triples=self.triple_weight == "equal")
        solver = StochasticRanking(positives, pairs.shape, rate, reg, seeds[:2], dtype)
        outcome = train(
            solver, start, rules, warm_up=lambda: _epoch_on_two_pairs(dtype), validate=validate, callbacks=callbacks,
            verbose=self.verbose, identity=(self, pairs, validation),
        )  # fmt: skip
        self.state_ = RankingState(
            left_factors=outcome.state.left, right_factors=outcome.state.right, interactions=training, rank=rank,
            history=outcome.history, objective=outcome.state.objective, status=outcome.status, learning_rate=rate,
            reg=reg, fold_in_seed=int(seeds[2]),
        )  # fmt: skip
        return self

    @asks(LEFT)
    def fold_in_users(self, rows: Any) -> Array:
        """Factors (c, k + 1) of new users from their interactions (c × n): training's steps with the items fixed.

        Every row starts from zero with the same random numbers, so its factors depend on the row and the seed alone. A
        row without positives gets zero factors and is ranked by the items' biases. To one user
        alone ``triple_weight`` makes no difference.
        """
        check_is_fitted(self)
        right = self.right_factors_
        positives = Positives(checked_rows(rows, len(right), right.dtype, "rows"))
        left = np.empty((len(positives.indptr) - 1, right.shape[1]), right.dtype)
        number = right.dtype.type

        def work(chunk: Chunk, worker: int) -> None:
            fold_rows(
                *chunk, FOLD_IN_PASSES, FOLD_IN_LEAST, positives.indptr, positives.indices, positives.sums,
                number(self.state_.learning_rate), number(self.state_.reg), number(START_SQUARES), right, left,
                np.uint64(self.state_.fold_in_seed),
            )  # fmt: skip

        run_chunks(work, balanced_chunks(positives.indptr), resolve_threads(self.n_threads))
        return left

    def fold_in_items(self, columns: Any) -> Array:
        """Refused: a new item has no place in the other users' rankings."""
        check_is_fitted(self)
        raise NotImplementedError(
            "BPR learns items only against each other and cannot fold in new ones: fit again, or use OneClassMF."
        )

    def _comparable(self, side: int) -> Array:
        factors = super()._comparable(side)
        return np.ascontiguousarray(factors[:, : self.rank_])


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


def _checked_number(name: str, value: Any, above: bool) -> float:
    if not check.is_number(value) or not math.isfinite(value) or value < 0 or (above and value == 0):
        raise ValueError(f"{name} must be a finite number {'>' if above else '≥'} 0, got {value!r}.")
    return float(value)
