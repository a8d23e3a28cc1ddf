"""BPR: factors that rank a user's positives above everything else, by stochastic gradient."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from everypair import check
from everypair.data.pairs import Pairs
from everypair.kernels.bpr import draw_triples, epoch, fold_rows
from everypair.models.recommend.base import FactorModel, checked_rows
from everypair.models.recommend.factorization import START_SCALE, check_rank, make_validator
from everypair.parallel import Chunk, balanced_chunks, resolve_threads, run_chunks
from everypair.problem.negatives import Negatives
from everypair.problem.objective import Objective
from everypair.problem.ridge import Ridge
from everypair.solvers.alternating import Factors
from everypair.solvers.loop import Callback, Status, StopRules, checked_callbacks, run
from everypair.training.progress import Progress, compile_first

Array = NDArray[Any]
START_SQUARES = 1e-3  # what AdaGrad's sums of squares start from: it bounds the first steps
MEASURED_TRIPLES = 100_000  # the most triples of the objective's estimate
FOLD_IN_PASSES, FOLD_IN_LEAST = 50, 1000  # steps per positive of a new user, and at least


class BPR(FactorModel):
    """Rank positives above unknown items: Σ_i 1/|Ω̄_i| Σ_{j∈Ω_i⁺, l∈Ω̄_i} c_ij [log(1 + e^{−(s_ij − s_il)}) + ridge].

    Bayesian personalised ranking with s_ij = w_i·h_j + b̄_j: the all-pairs AUC loss, by stochastic gradient over sampled
    triples (user, positive, negative). It exists to be compared with :class:`~everypair.OneClassMF`. A positive is
    drawn in proportion to its weight c, its negative uniformly among the items Ω̄_i that are not positives of the user,
    observed dislikes included. So triples weigh by user, 1/|Ω̄_i| each; in NegSel's (B.4) all weigh the same.
    Training is sequential: the same seed gives the same bits.

    Parameters
    ----------
    rank : number of factors k.
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

    def fit(self, interactions: Any, *, validation: Any = None, callbacks: Iterable[Callback] = ()) -> Self:
        """Learn both sides' factors; ``validation`` and ``callbacks`` are those of :meth:`OneClassMF.fit`."""
        rules = StopRules.checked(self.max_iter, 0.0, self.patience, self.time_limit)
        rank = check.integer("rank", self.rank)
        rate = _checked_number("learning_rate", self.learning_rate, above=True)
        reg = _checked_number("reg", self.reg, above=False)
        threads = resolve_threads(self.n_threads)
        dtype = check.float_dtype(self.dtype)
        random = check.generator(self.random_state)
        callbacks = checked_callbacks(callbacks)
        pairs = Pairs.from_matrix(interactions, dtype=dtype)
        check_rank(rank, pairs)
        training = pairs.to_csr()
        validate = make_validator(training, validation, self.patience, threads)
        seeds = random.integers(1, 2**63, size=3)
        start = _random_start(pairs, rank, random, dtype)
        solver = StochasticRanking(Positives(training), pairs.shape, rate, reg, seeds[:2], dtype)
        with Progress(rules.max_iter, self.verbose) as progress:
            _compile(dtype, progress)
            outcome = run(solver, start, rules, validate=validate, callbacks=(progress.advance, *callbacks))
        self.left_factors_, self.right_factors_ = outcome.state.left, outcome.state.right
        self.interactions_ = training
        self.history_: list[dict[str, Any]] = outcome.history
        self.objective_: float | None = outcome.state.objective
        self.status_: Status = outcome.status
        self.n_iter_ = len(outcome.history)
        self.fold_in_seed_ = int(seeds[2])
        self.rank_, self.learning_rate_, self.reg_ = rank, rate, reg
        return self

    def fold_in_users(self, rows: Any) -> Array:
        """Factors (c, k + 1) of new users from their interactions (c × n): training's steps with the items fixed.

        Every row starts from zero with the same random numbers, so its factors depend on the row and the seed alone. A
        row without positives gets zero factors and is ranked by the items' biases.
        """
        check_is_fitted(self)
        right = self.right_factors_
        positives = Positives(checked_rows(rows, len(right), right.dtype, "rows"))
        left = np.empty((len(positives.indptr) - 1, right.shape[1]), right.dtype)
        number = right.dtype.type

        def work(chunk: Chunk, worker: int) -> None:
            fold_rows(
                *chunk, FOLD_IN_PASSES, FOLD_IN_LEAST, positives.indptr, positives.indices, positives.sums,
                number(self.learning_rate_), number(self.reg_), number(START_SQUARES), right, left,
                np.uint64(self.fold_in_seed_),
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
        return np.ascontiguousarray(super()._comparable(side)[:, : self.rank_])


class Positives:
    """The positives of CSR rows: ``indptr``, ``indices``, ``owners`` (row of each) and ``sums`` of weights before each.

    >>> import scipy.sparse as sp
    >>> positives = Positives(sp.csr_array([[2.0, 0.0, -1.0], [0.0, 1.0, 3.0]]))
    >>> positives.indptr.tolist(), positives.indices.tolist(), positives.owners.tolist(), positives.sums.tolist()
    ([0, 1, 3], [0, 1, 2], [0, 1, 1], [0.0, 2.0, 3.0, 6.0])
    """

    def __init__(self, rows: Any) -> None:
        liked = rows.data > 0
        self.indptr: Array = np.concatenate([[0], np.cumsum(liked)])[rows.indptr].astype(np.int64)
        self.indices: Array = rows.indices[liked].astype(np.int32)
        self.owners: Array = np.repeat(np.arange(rows.shape[0], dtype=np.int32), np.diff(self.indptr))
        self.sums: Array = np.concatenate([[0.0], np.cumsum(rows.data[liked], dtype=np.float64)])


class StochasticRanking:
    """One epoch of stochastic gradient per step; AdaGrad's sums and the random numbers live here."""

    descends = False  # its objective is an estimate, which may rise

    def __init__(
        self, positives: Positives, shape: tuple[int, int], rate: float, reg: float, seeds: Any, dtype: Any
    ) -> None:
        self.positives = positives
        self.rate, self.reg = dtype.type(rate), dtype.type(reg)
        self.squares = tuple(np.full(size, START_SQUARES, dtype) for size in shape)
        self.state = np.array(seeds[:1], np.uint64)
        triples = np.empty((3, min(MEASURED_TRIPLES, 10 * len(positives.indices))), np.int64)
        draw_triples(
            positives.indptr, positives.indices, positives.owners, positives.sums, shape[1], triples,
            np.array(seeds[1:], np.uint64),
        )  # fmt: skip
        self.triples = triples[:, triples[2] >= 0]

    def step(self, state: Factors) -> Factors:
        """One epoch."""
        left, right = state.left.copy(), state.right.copy()
        p = self.positives
        epoch(len(p.indices), p.indptr, p.indices, p.owners, p.sums, self.rate, self.reg, left, right, *self.squares,
              self.state)  # fmt: skip
        return Factors(left, right, self.value(left, right))

    def value(self, left: Array, right: Array) -> float:
        """Mean of log(1 + e^{−s}) + λ/2 (‖w_i‖² + ‖v_j‖² + ‖v_l‖²) over the fixed triples, 0 where there are none."""
        users, positives, negatives = self.triples
        scores = np.einsum("tf,tf->t", left[users], right[positives] - right[negatives], dtype=np.float64)
        ridge = np.einsum("if,if->i", left[:, :-1], left[:, :-1], dtype=np.float64)[users]
        squares = np.einsum("if,if->i", right, right, dtype=np.float64)
        ridge = ridge + squares[positives] + squares[negatives]
        return float(np.sum(np.logaddexp(0, -scores) + 0.5 * float(self.reg) * ridge) / max(1, len(users)))


def _random_start(pairs: Pairs, rank: int, random: np.random.Generator, dtype: Any) -> Factors:
    """Small random numbers; a user without positives, who is never drawn, stays at zero."""
    left, right = (
        (random.standard_normal((size, rank + 1)) * (START_SCALE / np.sqrt(rank))).astype(dtype) for size in pairs.shape
    )
    left[pairs.left_counts == 0] = 0
    left[:, rank] = 1
    right[:, rank] = 0
    return Factors(left, right)


def _compile(dtype: Any, progress: Progress) -> None:
    """Run one epoch on two pairs before the clock starts."""
    pairs = Pairs.from_matrix(np.eye(2), dtype=dtype)
    tiny = Objective(pairs, "logistic", Negatives.from_scheme(pairs, 0.0), Ridge.checked(1.0, 0.0), dtype=dtype)
    compile_first(
        lambda _: StochasticRanking(Positives(pairs.to_csr()), (2, 2), 0.1, 0.1, np.array([1, 2]), dtype),
        tiny, 2, progress,
    )  # fmt: skip


def _checked_number(name: str, value: Any, above: bool) -> float:
    if not check.is_number(value) or not math.isfinite(value) or value < 0 or (above and value == 0):
        raise ValueError(f"{name} must be a finite number {'>' if above else '≥'} 0, got {value!r}.")
    return float(value)
