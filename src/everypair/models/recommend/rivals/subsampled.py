"""SubsampledMF: matrix factorization on the positives and a sample of the unknown pairs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from everypair import check
from everypair.data.pairs import Pairs
from everypair.data.sampling import Sampling, check_sampling_scheme
from everypair.models.estimator import FittedAttribute
from everypair.models.recommend.explanation import Explanation
from everypair.models.recommend.factorization import FactorizationModel, check_rank, learnt_fields
from everypair.models.recommend.naming import asks, fits
from everypair.models.recommend.side_information import SideOptions, informed_sides
from everypair.models.recommend.state import SubsampledState
from everypair.parallel import resolve_threads
from everypair.problem.layout import LEFT, Layout
from everypair.problem.losses import Loss, get_loss
from everypair.problem.negatives import Negatives, resolve_value
from everypair.problem.objective import Objective
from everypair.problem.ridge import Ridge
from everypair.solvers.choose import check_solver, solver_maker
from everypair.solvers.fold_in import solve_to_optimum
from everypair.solvers.loop import Callback, Solver, StopRules, checked_callbacks
from everypair.solvers.state import Factors
from everypair.training.start import warm_start
from everypair.training.train import train
from everypair.training.validation import make_validator
from everypair.training.warm_up import sweep_on_two_pairs
from everypair.types import Array


class SubsampledMF(FactorizationModel):
    """Factorize positives Ω⁺ and sampled negatives Ω⁻, nothing else: F = Σ_Ω c ℓ(y, s) + Σ_{Ω⁻} ℓ(ỹ, s) + ridge.

    It exists to be compared with :class:`~everypair.OneClassMF`, which counts every pair at a similar cost and ranked
    better on the three data sets of ``experiments/negsel``.

    Parameters
    ----------
    rank : number of factors k.
    loss : ``"squared"``, ``"logistic"``, ``"squared_hinge"`` or a :class:`~everypair.problem.losses.Loss`.
    scheme : how negatives are drawn: ``"uniform"``, ``"user"``, ``"item-f"``, ``"item-w"`` or ``"item-s"``, see
        :mod:`everypair.data.sampling`.
    ratio : number of negatives per positive, |Ω⁻|/|Ω⁺|.
    negative_value : their target ỹ, or ``"auto"``: −1, and 0 for the squared loss. Each has weight 1.
    resample : draw new negatives before every sweep; the objective is then another one at each sweep and ``tol`` does
        not apply.
    reg, reg_exponent : ridge λ > 0 (or a (left, right) pair), and how it is scaled: ``"count"`` for λ·max(1, |Ω_i⁺|),
        or the power of a row's total weight.
    biases : learn a bias for every user and every item.
    own_vectors, feature_reg, normalize, fit_intercept, graph_reg, normalize_graph : side information, as in
        :class:`~everypair.OneClassMF`.
    solver : as in :class:`~everypair.OneClassMF`; ``"sg-reform"`` draws from the counted pairs only.
    max_iter, tol, patience, time_limit, cg_steps, random_state, n_threads, dtype, verbose : as in
        :class:`~everypair.OneClassMF`.

    Attributes
    ----------
    left_factors_, right_factors_, history_, objective_, status_, reg_ : as in :class:`~everypair.OneClassMF`.
    interactions_ : what was passed to ``fit``, without the sampled negatives.
    sampled_ : the negatives of the last sweep, a CSR array of −1 where a pair was drawn.

    Examples
    --------
    >>> import numpy as np
    >>> blocks = np.kron(np.eye(2), np.ones((6, 5)))  # two groups of users, two of items
    >>> blocks[0, 0] = 0                              # one event was not observed
    >>> blocks = np.pad(blocks, ((0, 0), (0, 5)))
    >>> model = SubsampledMF(rank=2, ratio=0.8, random_state=1).fit(blocks)
    >>> items, scores = model.recommend([0], n=1)
    >>> int(items[0, 0]), model.sampled_.nnz
    (0, 47)
    """

    state_: SubsampledState
    sampled_ = FittedAttribute()
    sampling_ = FittedAttribute()
    n_sampled_ = FittedAttribute()
    sampled_value_ = FittedAttribute()
    fold_in_seed_ = FittedAttribute()

    def __init__(
        self,
        rank: int = 64,
        loss: str | Loss = "squared",
        scheme: str = "uniform",
        ratio: float = 1.0,
        negative_value: float | str = "auto",
        resample: bool = False,
        reg: float | tuple[float, float] = 0.1,
        reg_exponent: float | str = "count",
        biases: bool = False,
        own_vectors: bool | tuple[bool, bool] = True,
        feature_reg: float | str | tuple[float | str, float | str] = "auto",
        normalize: bool | tuple[bool, bool] = False,
        fit_intercept: bool | tuple[bool, bool] = False,
        graph_reg: float | tuple[float, float] = 0.1,
        normalize_graph: bool | tuple[bool, bool] = False,
        solver: str = "auto",
        max_iter: int = 50,
        tol: float = 3e-4,
        cg_steps: int = 3,
        patience: int | None = None,
        time_limit: float | None = None,
        random_state: Any = None,
        n_threads: int | None = None,
        dtype: str = "float32",
        verbose: bool = False,
    ) -> None:
        self.rank = rank
        self.loss = loss
        self.scheme = scheme
        self.ratio = ratio
        self.negative_value = negative_value
        self.resample = resample
        self.reg = reg
        self.reg_exponent = reg_exponent
        self.biases = biases
        self.own_vectors = own_vectors
        self.feature_reg = feature_reg
        self.normalize = normalize
        self.fit_intercept = fit_intercept
        self.graph_reg = graph_reg
        self.normalize_graph = normalize_graph
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.cg_steps = cg_steps
        self.patience = patience
        self.time_limit = time_limit
        self.random_state = random_state
        self.n_threads = n_threads
        self.dtype = dtype
        self.verbose = verbose

    @fits
    def fit(
        self,
        interactions: Any,
        left_features: Any = None,
        right_features: Any = None,
        left_graph: Any = None,
        right_graph: Any = None,
        *,
        targets: Any = None,
        validation: Any = None,
        callbacks: Iterable[Callback] = (),
        start: Any = None,
    ) -> Self:
        """Draw negatives and learn both sides' factors; the arguments are those of :meth:`OneClassMF.fit`."""
        rules = StopRules.checked(self.max_iter, self.tol, self.patience, self.time_limit)
        layout = Layout(check.integer("rank", self.rank), check.flag("biases", self.biases))
        threads = resolve_threads(self.n_threads)
        dtype = check.float_dtype(self.dtype)
        random = check.generator(self.random_state)
        callbacks = checked_callbacks(callbacks)
        check_sampling_scheme(self.scheme)
        ratio = _checked_ratio(self.ratio)
        resample = check.flag("resample", self.resample)
        loss = get_loss(self.loss)
        value = _checked_value(self.negative_value, loss)
        options = SideOptions.both(self)
        given = (left_features, right_features, left_graph, right_graph)
        check_solver(self.solver, loss, any(part is not None for part in given))
        cg_steps = check.integer("cg_steps", self.cg_steps)
        ridge = _checked_ridge(self.reg, self.reg_exponent)
        pairs = Pairs.from_matrix(interactions, targets, dtype, n_threads=threads)
        check_rank(layout.rank, pairs.shape)
        training = pairs.to_csr()
        validate = make_validator(training, validation, self.patience, threads)
        stored_targets = np.broadcast_to(pairs.resolve_targets(loss.dislike_target), pairs.nnz)
        sampling = Sampling.from_scheme(pairs, self.scheme)
        count = round(ratio * pairs.n_positives)
        negatives = Negatives.from_scheme(pairs, 0.0, value=value)
        fold_in_seed = int(random.integers(2**63))
        informed, maps = informed_sides(options, pairs.shape, *given, dtype)
        drawn: list[tuple[Array, Array]] = []

        def objective_of(counted: Pairs) -> Objective:
            return Objective(
                counted,
                loss,
                negatives,
                ridge,
                layout=layout,
                dtype=dtype,
                n_threads=threads,
                side_information=informed,
            )

        def draw() -> Objective:
            drawn[:] = [sampling.draw(pairs, count, random)]
            counted, counted_targets = with_negatives(training, stored_targets, *drawn[0], value)
            return objective_of(Pairs.from_matrix(counted, counted_targets, dtype))

        begin = warm_start(objective_of(pairs), layout, random, start)
        solver = "newton" if self.resample and self.solver == "auto" else self.solver  # momentum needs one objective
        make_solver = solver_maker(solver, layout.columns, cg_steps, fold_in_seed % 2**31)
        objective = draw()
        outcome = train(
            Resampled(objective, draw, make_solver, random) if resample else make_solver(objective), begin, rules,
            validate=validate, callbacks=callbacks, verbose=self.verbose,
            warm_up=sweep_on_two_pairs(make_solver, objective, layout.columns),
            identity=(self, pairs, informed, validation, None if start is None else begin),
        )  # fmt: skip
        rows, columns = drawn[0]
        self.state_ = SubsampledState(
            interactions=training, targets=pairs.targets, ridge=ridge, sampling=sampling, n_sampled=count,
            sampled_value=value, fold_in_seed=fold_in_seed,
            sampled=sp.csr_array((np.full(len(rows), -1, dtype), (rows, columns)), shape=pairs.shape),
            **learnt_fields(objective, outcome, layout, maps),
        )  # fmt: skip
        return self

    @asks(answer="why")
    def explain(self, user: Any, item: Any, n: int | None = None) -> Explanation:
        """Split the score of a pair into contributions of the user's pairs, the sampled negatives among them.

        The pair with item j contributes −r_j v·v_j/λ_i with r_j the slope of its loss. The base term holds the item's
        bias and what training left unsolved.
        """
        return super().explain(user, item, n)

    def _counted_row(self, row: int) -> tuple[Any, Array | None]:
        stored, targets = super()._counted_row(row)
        if targets is None:
            targets = np.where(stored.data > 0, 1, self.state_.loss.dislike_target)
        columns = self.sampled_[[row]].indices
        counted, targets = with_negatives(stored, targets, np.zeros_like(columns), columns, self.state_.sampled_value)
        return counted, targets.data

    def _fold_in(
        self,
        side: int,
        rows: Any,
        weights: ArrayLike | None,
        values: ArrayLike | None,
        centers: Array | None,
        targets: Array | None,
    ) -> Array:
        """New rows get negatives by the same scheme, as many as in training: they depend on the row and the seed."""
        if weights is not None or values is not None:
            raise ValueError(
                "weights and values belong to models that count every pair; this one samples its negatives."
            )
        state = self.state_
        drawn = state.sampling.draw_rows(side, rows, state.n_sampled, state.fold_in_seed)
        stored = np.where(rows.data > 0, 1, state.loss.dislike_target) if targets is None else targets
        counted, wanted = with_negatives(rows, stored, *drawn, state.sampled_value)
        problem = self._row_problem(side, counted, wanted.data, centers=centers)
        other = self.right_factors_ if side == LEFT else self.left_factors_
        return solve_to_optimum(problem, other, resolve_threads(self.n_threads))


class Resampled:
    """A solver that gets new negatives before every sweep but the first."""

    descends = False

    def __init__(
        self,
        objective: Objective,
        draw: Callable[[], Objective],
        make: Callable[[Objective], Solver[Factors]],
        random: np.random.Generator,
    ) -> None:
        self._next: Objective | None = objective
        self._draw = draw
        self._make = make
        self._random = random
        self._before: dict[str, Any] | None = None  # the random numbers before the last draw

    def step(self, state: Factors) -> Factors:
        """One sweep over both sides, on other negatives than the last."""
        objective = self._next or self._drawn()
        self._next = None
        return self._make(objective).step(state)

    def _drawn(self) -> Objective:
        self._before = dict(self._random.bit_generator.state)
        return self._draw()

    def memory(self) -> dict[str, Any]:
        """The random numbers before the last draw."""
        return {"before": self._before}

    def recall(self, memory: dict[str, Any], state: Factors) -> None:
        """Draw the last negatives again; the next ones follow."""
        self._next = None
        if memory["before"] is not None:
            self._random.bit_generator.state = memory["before"]
            self._drawn()


def with_negatives(training: Any, targets: Array, rows: Array, columns: Array, value: float) -> tuple[Any, Any]:
    """Return Ω ∪ Ω⁻ as CSR arrays of signed weights (−1 for a drawn pair) and of targets, of the same pattern."""
    own_rows = np.repeat(np.arange(training.shape[0]), np.diff(training.indptr))
    places = (np.concatenate([own_rows, rows]), np.concatenate([training.indices, columns]))
    signed = np.concatenate([training.data, np.full(len(rows), -1, training.dtype)])
    wanted = np.concatenate([targets, np.full(len(rows), value)]).astype(training.dtype)
    return sp.csr_array((signed, places), shape=training.shape), sp.csr_array((wanted, places), shape=training.shape)


def _checked_ratio(ratio: Any) -> float:
    if not check.is_number(ratio) or not 0 <= ratio < math.inf:
        raise ValueError(f"ratio must be a number ≥ 0 of negatives per positive, got {ratio!r}.")
    return float(ratio)


def _checked_value(value: Any, loss: Loss) -> float:
    checked = resolve_value(value, loss)
    if isinstance(checked, tuple | list):
        raise ValueError(f'negative_value must be one number or "auto" where negatives are sampled, got {value!r}.')
    return float(checked)


def _checked_ridge(reg: Any, exponent: Any) -> Ridge:
    ridge = Ridge.checked(reg, exponent)
    if min(ridge.reg) == 0:
        raise ValueError("reg must be above 0: nothing else holds rows that have few pairs.")
    return ridge
