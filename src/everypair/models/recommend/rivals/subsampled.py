"""SubsampledMF: matrix factorization on the positives and a sample of the unknown pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from everypair import check
from everypair.data.pairs import Pairs
from everypair.data.sampling import SCHEMES, Sampling, check_sampling_scheme
from everypair.models.codec import storable
from everypair.models.estimator import FittedAttribute
from everypair.models.parameters import Training, checked, estimator, number, parameter, stop_rules
from everypair.models.recommend.attributes import FactorizationAttributes
from everypair.models.recommend.cold import learnt_newcomers
from everypair.models.recommend.explanation import Explanation
from everypair.models.recommend.factorization import FactorizationState, check_rank, stored_row
from everypair.models.recommend.factorization_parameters import SideParameters
from everypair.models.recommend.places import learnt_fields
from everypair.models.recommend.recommender import Recommender
from everypair.models.recommend.side import read_sides
from everypair.models.recommend.training_data import training_data
from everypair.models.serve_only import TRAINING_ONLY
from everypair.models.state_checks import check_array, check_matrix
from everypair.problem.layout import Layout
from everypair.problem.losses import Loss, get_loss
from everypair.problem.negatives import Negatives, resolve_value
from everypair.problem.objective import Objective
from everypair.problem.ridge import Ridge
from everypair.solvers.choose import Newton, check_solver, solver_maker
from everypair.solvers.fold_in import solve_to_optimum
from everypair.solvers.loop import Callback, Solver, checked_callbacks
from everypair.solvers.state import Factors
from everypair.training.start import warm_start
from everypair.training.train import train
from everypair.training.validation import make_validator
from everypair.training.warm_up import sweep_on_two_pairs
from everypair.types import Array
from everypair.words import listed


@dataclass(frozen=True, kw_only=True)
class SampledFactors(FactorizationState):
    """How negatives were drawn, which fold-in repeats for new rows."""

    sampling: Sampling
    n_sampled: int
    sampled_value: float
    fold_in_seed: int

    def check(self) -> None:
        """Factors, and weights of users and items to draw."""
        super().check()
        check_array("sampling", self.sampling.left, len(self.user_factors))
        check_array("sampling", self.sampling.right, len(self.item_factors))

    def fold_in(
        self,
        side: int,
        rows: Any,
        weights: ArrayLike | None,
        values: ArrayLike | None,
        centers: Array | None,
        targets: Array | None,
        n_threads: int,
    ) -> Array:
        """New rows get negatives by the same scheme, as many as in training: they depend on the row and the seed."""
        if weights is not None or values is not None:
            raise ValueError(
                "weights and values belong to models that count every pair; this one samples its negatives."
            )
        rows = rows.tocsr()
        drawn = self.sampling.draw_rows(side, rows, self.n_sampled, self.fold_in_seed)
        stored = np.where(rows.data > 0, 1, self.loss.dislike_target) if targets is None else targets
        counted, wanted = with_negatives(rows, stored, *drawn, self.sampled_value)
        problem = self.row_problem(side, counted, wanted.data, centers=centers)
        return solve_to_optimum(problem, self.fixed_for(side, problem, n_threads), n_threads)


@storable
@dataclass(frozen=True, kw_only=True)
class SubsampledState(SampledFactors):
    """The negatives of the last sweep, where they are kept (−1 at every drawn pair)."""

    sampled: Any = field(metadata=TRAINING_ONLY)

    def check(self) -> None:
        """Factors, and drawn pairs of the same users and items."""
        super().check()
        if self.sampled is not None:
            check_matrix("sampled", self.sampled, self.shape)

    def explain(self, user: int, item: int, n: int | None) -> Explanation:
        """The pair with item j, stored or drawn, contributes −r_j v·v_j/λ_i with r_j the slope of its loss."""
        stored, targets = stored_row(self, user)
        if targets is None:
            targets = np.where(stored.data > 0, 1, self.loss.dislike_target)
        columns = self.sampled[[user]].indices
        counted, targets = with_negatives(stored.tocsr(), targets, np.zeros_like(columns), columns, self.sampled_value)
        return self.explanation(user, item, n, counted, targets.data)


@estimator
class SubsampledParameters(Training):
    """The parameters of one subsampled factorization."""

    rank: int | str = parameter(64, "number of factors k.", check.integer)
    loss: str | Loss = parameter("squared", "as in OneClassMF.", lambda name, value: get_loss(value))
    scheme: str = parameter(
        "uniform",
        f"how negatives are drawn: {listed(SCHEMES, 9)}; see everypair.data.sampling.",
        lambda name, value: check_sampling_scheme(value),
    )
    ratio: float = parameter(1.0, "number of negatives per positive, |Ω⁻|/|Ω⁺|.", number(least=0))
    negative_value: float | str = parameter(
        "auto", 'their target ỹ, or "auto": −1, and 0 for the squared loss. Each has weight 1.'
    )
    resample: bool = parameter(
        False,
        "draw new negatives before every sweep; the objective is another one at each, and tol does not apply.",
        check.flag,
    )
    reg: float | tuple[float, float] = parameter(0.1, "ridge λ > 0 of users and items, or a (users, items) pair.")
    reg_exponent: float | str = parameter(
        "count", 'how the ridge is scaled: "count" for λ·max(1, |Ω_i⁺|), or the power of a row\'s weight.'
    )
    biases: bool = parameter(False, "learn a bias for every user and every item.", check.flag)
    solver: str | Newton = parameter(
        Newton(cg_steps=3), 'as in OneClassMF; "sg-reform" draws from the counted pairs only.'
    )


@estimator
class SubsampledMF(SubsampledParameters, SideParameters, FactorizationAttributes, Recommender):
    """Factorize positives Ω⁺ and sampled negatives Ω⁻, nothing else: F = Σ_Ω c ℓ(y, s) + Σ_{Ω⁻} ℓ(ỹ, s) + ridge.

    It exists to be compared with :class:`~everypair.OneClassMF`, which counts every pair at a similar cost and ranked
    better on the three data sets of ``experiments/negsel``.

    Attributes
    ----------
    user_factors_, item_factors_, history_, objective_, status_, reg_ : as in :class:`~everypair.OneClassMF`.
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

    fitted_class: ClassVar[type] = SubsampledState
    reads_features: ClassVar[tuple[bool, bool]] = (True, True)
    sampled_ = FittedAttribute()
    sampling_ = FittedAttribute()
    n_sampled_ = FittedAttribute()
    sampled_value_ = FittedAttribute()
    fold_in_seed_ = FittedAttribute()

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
        """Draw negatives and learn both sides' factors; the arguments are those of :meth:`OneClassMF.fit`."""
        values = checked(self)
        rules = stop_rules(values)
        callbacks = checked_callbacks(callbacks)
        features, graphs = (user_features, item_features), (user_graph, item_graph)
        check_solver(values.solver, values.loss, any(part is not None for part in (*features, *graphs)))
        loss, random, dtype, threads = values.loss, values.random_state, values.dtype, values.n_threads
        value, ridge = _checked_value(values.negative_value, loss), _checked_ridge(values.reg, values.reg_exponent)
        layout = Layout(values.rank, values.biases)
        data = training_data(interactions, features=features, graphs=graphs, validation=validation)
        pairs = Pairs.from_matrix(data.matrix, targets, dtype, n_threads=threads)
        check_rank(layout.rank, pairs.shape)
        training = pairs.to_csr()
        validate = make_validator(training, data.validation, self.patience, threads)
        stored_targets = np.broadcast_to(pairs.resolve_targets(loss.dislike_target), pairs.nnz)
        sampling = Sampling.from_scheme(pairs, values.scheme)
        count = round(values.ratio * pairs.n_positives)
        negatives = Negatives.from_scheme(pairs, 0.0, value=value)
        fold_in_seed = int(random.integers(2**63))
        sides = read_sides((values.users, values.items), pairs.shape, data.features, graphs, dtype)
        information = (sides[0].information, sides[1].information)
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
                side_information=information,
            )

        def draw() -> Objective:
            drawn[:] = [sampling.draw(pairs, count, random)]
            counted, counted_targets = with_negatives(training, stored_targets, *drawn[0], value)
            return objective_of(Pairs.from_matrix(counted, counted_targets, dtype))

        begin = warm_start(objective_of(pairs), layout, random, start)
        solver, newton = values.solver, Newton.of(values.solver)
        if values.resample and newton is not None:
            solver = replace(newton, momentum=False)  # which needs one objective
        make_solver = solver_maker(solver, layout.columns, fold_in_seed % 2**31)
        objective = draw()
        outcome = train(
            Resampled(objective, draw, make_solver, random) if values.resample else make_solver(objective), begin,
            rules, validate=validate, callbacks=callbacks, verbose=self.verbose,
            warm_up=sweep_on_two_pairs(make_solver, objective, layout.columns),
            identity=(self, pairs, information, data.validation, None if start is None else begin),
        )  # fmt: skip
        rows, columns = drawn[0]
        state = SubsampledState(
            interactions=training, targets=pairs.targets, ridge=ridge, sampling=sampling, n_sampled=count,
            sampled_value=value, fold_in_seed=fold_in_seed,
            sampled=sp.csr_array((np.full(len(rows), -1, dtype), (rows, columns)), shape=pairs.shape),
            **learnt_fields(objective, outcome, layout, sides),
        )  # fmt: skip
        self.state_ = data.named(learnt_newcomers(state, sides, threads))
        return self


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


def _checked_value(value: Any, loss: Loss) -> float:
    resolved = resolve_value(value, loss)
    if isinstance(resolved, tuple | list):
        raise ValueError(f'negative_value must be one number or "auto" where negatives are sampled, got {value!r}.')
    return float(resolved)


def _checked_ridge(reg: Any, exponent: Any) -> Ridge:
    ridge = Ridge.checked(reg, exponent)
    if min(ridge.reg) == 0:
        raise ValueError("reg must be above 0: nothing else holds rows that have few pairs.")
    return ridge
