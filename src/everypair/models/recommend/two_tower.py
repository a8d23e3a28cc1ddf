"""TwoTower: neural embeddings of both sides, trained on every pair."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from everypair import check
from everypair.data.pairs import Pairs
from everypair.models.codec import Parts, storable
from everypair.models.estimator import FittedAttribute
from everypair.models.recommend.defaults import auto_negative_weight
from everypair.models.recommend.factorization import check_rank
from everypair.models.recommend.growth import GrowingModel
from everypair.models.recommend.naming import fits
from everypair.models.recommend.side_information import pair_of
from everypair.models.recommend.state import OneClassState
from everypair.neural.fold_in import folded_rows
from everypair.neural.functions import REGISTERED, PureTower
from everypair.neural.inputs import Inputs
from everypair.neural.layers import ACTIVATIONS, Layers
from everypair.neural.objective import TowerObjective
from everypair.neural.optimizers.choose import SEARCHED, check_optimizer, make_optimizer
from everypair.neural.optimizers.state import TowerState
from everypair.neural.sides import SidePlan
from everypair.neural.towers import Perceptron
from everypair.neural.trees import Both
from everypair.parallel import resolve_threads
from everypair.problem.layout import LEFT, RIGHT, Layout
from everypair.problem.losses import Loss, get_loss
from everypair.problem.negatives import Negatives, Scheme, Value, check_scheme, resolve_value
from everypair.problem.ridge import Ridge
from everypair.solvers.fold_in import solve_to_optimum
from everypair.solvers.loop import Callback, StopRules, checked_callbacks
from everypair.training.train import train
from everypair.training.validation import make_validator
from everypair.types import Array

REG_SHARE = 0.2  # reg="auto", in units of the mean number of positives of an entity
AUTO_DROPOUT = 0.5
storable(TowerState)


@storable
@dataclass(frozen=True, kw_only=True)
class TwoTowerState(OneClassState):
    """Parameters of both towers, the fields of :class:`Layers`, and the names of towers brought along."""

    theta: tuple[Any, Any]
    layers: tuple[Any, ...]
    towers: tuple[str | None, str | None]


class TwoTower(GrowingModel):
    """Two networks whose inner products score every pair: s_ij = f(x_i)·g(z_j), trained on all m·n of them.

    L = Σ_Ω c ℓ(y, s) + ½ Σ_{∉Ω} p_i q_j (ỹ − s)² + ½ λ ‖θ‖² at the cost of the stored pairs and of the towers. Needs
    the extra ``everypair[neural]``.

    Parameters
    ----------
    widths : widths of the hidden layers of either tower; ``()`` is a linear one.
    rank : number of factors k, the width of the last layer, which is linear.
    activation : ``"elu"``, ``"relu"``, ``"tanh"`` or ``"identity"``.
    loss, negative_weight, negative_scheme, negative_value : as in :class:`~everypair.OneClassMF`; factors of a fitted
        one may be imputed, ``negative_value=(mf.left_factors_, mf.right_factors_)``.
    reg : ridge λ of all parameters (or a (left, right) pair, or ``"auto"``: 0.2 times the mean number of positives of
        an entity).
    own_vectors : whether every entity has an id of its own besides its features; one value or a (left, right) pair, as
        are the next two.
    normalize : scale every row of the features to length 1.
    id_dropout : share of ids left out in every step of ``"adam"`` where an entity also has features, so that features
        learn to stand alone and entities that come later are understood; ``"auto"`` is ½, and 0 with another
        optimiser.
    biases : whether layers have biases.
    temperature : τ makes scores cosines divided by τ; ``None`` leaves them inner products.
    towers : bring your own: a :class:`~everypair.neural.functions.PureTower`, a registered name, or a (left, right)
        pair; ``None`` is the built-in network.
    optimizer : ``"adam"`` on the exact gradient of every pair; ``"gauss-newton"``, ``"newton"``, ``"newton-unit"``,
        ``"gd"``, ``"gd-diag"``, ``"sampling"``, ``"sg46"``, ``"sogram"`` (these three and ``"naive"`` also with
        ``"-diag"``) are there to be compared, see :mod:`everypair.neural.optimizers.choose`.
    learning_rate : length of the steps of optimisers that do not search for it; ``None`` is each one's own.
    max_iter, tol, patience, time_limit : as in :class:`~everypair.OneClassMF`; a sweep is five steps of ``"adam"``. It
        stops at ``tol`` only with an optimiser that never raises the objective.
    random_state, n_threads, dtype, verbose : as in :class:`~everypair.OneClassMF`. jax has threads of its own.

    Attributes
    ----------
    left_factors_, right_factors_ : embeddings f(x_i) (m × k) and g(z_j) (n × k), to export or to index.
    theta_ : parameters of both towers, trees of arrays.
    history_, objective_, status_ : as in :class:`~everypair.OneClassMF`.
    negative_weight_, reg_ : what ``"auto"`` became.

    Examples
    --------
    >>> import numpy as np
    >>> blocks = np.kron(np.eye(2), np.ones((6, 5)))  # two groups of users, two of items
    >>> blocks[0, 0] = 0                              # one event was not observed
    >>> model = TwoTower(widths=(8,), rank=4, max_iter=20, random_state=0).fit(blocks)
    >>> items, scores = model.recommend([0], n=1)
    >>> int(items[0, 0])
    0
    """

    state_: TwoTowerState
    theta_ = FittedAttribute()

    def __init__(
        self,
        widths: tuple[int, ...] = (256, 256),
        rank: int = 128,
        activation: str = "elu",
        loss: str | Loss = "logistic",
        negative_weight: float | str = "auto",
        negative_scheme: Scheme = "constant",
        negative_value: Value | str = "auto",
        reg: float | tuple[float, float] | str = "auto",
        own_vectors: bool | tuple[bool, bool] = True,
        normalize: bool | tuple[bool, bool] = False,
        id_dropout: float | str = "auto",
        biases: bool = True,
        temperature: float | None = None,
        towers: Any = None,
        optimizer: str = "adam",
        learning_rate: float | None = None,
        max_iter: int = 100,
        tol: float = 1e-5,
        patience: int | None = None,
        time_limit: float | None = None,
        random_state: Any = None,
        n_threads: int | None = None,
        dtype: str = "float32",
        verbose: bool = False,
    ) -> None:
        self.widths = widths
        self.rank = rank
        self.activation = activation
        self.loss = loss
        self.negative_weight = negative_weight
        self.negative_scheme = negative_scheme
        self.negative_value = negative_value
        self.reg = reg
        self.own_vectors = own_vectors
        self.normalize = normalize
        self.id_dropout = id_dropout
        self.biases = biases
        self.temperature = temperature
        self.towers = towers
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.tol = tol
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
        *,
        targets: Any = None,
        start: Any = None,
        validation: Any = None,
        callbacks: Iterable[Callback] = (),
    ) -> Self:
        """Learn both towers from interactions: events with ids, or a matrix (users × items).

        Arguments are those of :meth:`OneClassMF.fit`, without graphs. ``start`` is a fitted model with factors, such as
        a :class:`~everypair.OneClassMF`, on the same users and items: ids start from its factors.
        """
        rules = StopRules.checked(self.max_iter, self.tol, self.patience, self.time_limit)
        layers = self._checked_layers()
        functions = checked_towers(self.towers)
        own = _flags("own_vectors", self.own_vectors)
        normalize = _flags("normalize", self.normalize)
        check_optimizer(self.optimizer)
        dropout, rate = self._checked_steps()
        threads, dtype = resolve_threads(self.n_threads), check.float_dtype(self.dtype)
        random, callbacks = check.generator(self.random_state), checked_callbacks(callbacks)
        check_scheme(self.negative_scheme)
        loss = get_loss(self.loss)
        value = resolve_value(self.negative_value, loss)
        pairs = Pairs.from_matrix(interactions, targets, dtype)
        check_rank(layers.rank, pairs.shape)
        weight = auto_negative_weight(self.negative_weight, pairs, loss)
        negatives = Negatives.from_scheme(pairs, weight, self.negative_scheme, value)
        ridge = Ridge.checked(auto_tower_reg(self.reg, pairs), 0.0)
        training = pairs.to_csr()
        validate: Any = make_validator(training, validation, self.patience, threads)
        given = left_features, right_features
        plans = [
            SidePlan.of(side, layers, functions[side], own[side], normalize[side], given[side], dtype, threads)
            for side in (LEFT, RIGHT)
        ]
        left, right = (plan.tower(count, known) for plan, count, known in zip(plans, pairs.shape, given))
        objective = TowerObjective(
            pairs, loss, negatives, (left, right), ridge.reg, dtype=dtype, n_threads=threads
        )  # fmt: skip
        theta = starting_parameters(objective, start, random)
        solver = make_optimizer(self.optimizer, objective, rate, dropout, int(random.integers(2**31)))
        outcome = train(
            solver, TowerState(theta, solver.fresh(theta)), rules, validate=validate, callbacks=callbacks,
            verbose=self.verbose, warm_up=lambda: objective.gradient(objective.at(theta)),
            identity=(self, pairs, given, validation, None if start is None else theta),
        )  # fmt: skip
        found: Any = outcome.state
        if found.left is None:  # interrupted before the first sweep was over
            point = objective.at(found.theta)
            found = TowerState(found.theta, found.memory, 0, point.value, point.left, point.right)
        self.state_ = TwoTowerState(
            left_factors=found.left, right_factors=found.right, interactions=training, targets=pairs.targets,
            rank=layers.rank, layout=Layout(layers.rank), history=outcome.history, objective=found.objective,
            status=outcome.status, loss=loss, negatives=negatives, negative_loss="squared", ridge=ridge,
            feature_weights=(None, None), feature_maps=(plans[LEFT].feature_map, plans[RIGHT].feature_map),
            feature_reg=(None, None), own_vectors=own, graphs=(False, False), negative_weight=weight,
            theta=found.theta, layers=tuple(layers), towers=tower_names(self.towers),
        )  # fmt: skip
        return self

    def explain(self, user: Any, item: Any, n: int | None = None) -> NoReturn:
        """Refused: a network's factors are not a sum over a user's pairs."""
        check_is_fitted(self)
        raise NotImplementedError("TwoTower cannot split a score into contributions of pairs: use OneClassMF.")

    def to_parts(self, *, serve_only: bool = False) -> Parts:
        """The fitted model as values and arrays; towers brought along must be registered by name."""
        functions = self.towers if isinstance(self.towers, list | tuple) else (self.towers,)
        if isinstance(self.towers, PureTower) or any(isinstance(one, PureTower) for one in functions):
            raise TypeError(
                "towers of your own are functions, which are not written down: give them names by "
                'everypair.neural.functions.register_tower("name", tower) and fit with towers="name".'
            )
        return super().to_parts(serve_only=serve_only)

    def _checked_layers(self) -> Layers:
        widths = self.widths
        if not isinstance(widths, tuple | list):
            raise ValueError(f"widths must be a tuple of the widths of hidden layers, () for none, got {widths!r}.")
        if not isinstance(self.activation, str) or self.activation not in ACTIVATIONS:
            raise ValueError(f"activation must be one of {', '.join(map(repr, ACTIVATIONS))}, got {self.activation!r}.")
        temperature = None if self.temperature is None else _number("temperature", self.temperature, above=0.0)
        return Layers(
            tuple(check.integer("every width", width) for width in widths),
            check.integer("rank", self.rank),
            self.activation,
            check.flag("biases", self.biases),
            temperature,
        )

    def _checked_steps(self) -> tuple[float, float | None]:
        """Dropout and length of steps, refused where the optimiser would ignore them."""
        adam = self.optimizer == "adam"
        if isinstance(self.id_dropout, str) and self.id_dropout == "auto":
            dropout = AUTO_DROPOUT if adam else 0.0
        else:
            dropout = _number("id_dropout", self.id_dropout, least=0.0, below=1.0)
        if dropout and not adam:
            raise ValueError(f'id_dropout needs optimizer="adam", not {self.optimizer!r}: leave it at "auto".')
        if self.learning_rate is None:
            return dropout, None
        if self.optimizer in SEARCHED:
            raise ValueError(f"optimizer={self.optimizer!r} searches for its steps: leave learning_rate at None.")
        return dropout, _number("learning_rate", self.learning_rate, above=0.0)

    def _plan(self, side: int) -> SidePlan:
        state = self.state_
        name = state.towers[side]
        function = checked_towers(self.towers if name is None else (name, name))[side]
        return SidePlan(
            side, Layers(*state.layers), function, state.own_vectors[side], state.feature_maps[side],
            self.right_factors_.dtype, resolve_threads(self.n_threads),
        )  # fmt: skip

    def _new_factors(
        self, side: int, rows: Any, features: Any, weights: ArrayLike | None, values: ArrayLike | None, targets: Any
    ) -> Array:
        """Features go through the tower; events find the row of ids that training would have given."""
        if rows is None and features is None:
            raise ValueError("give the interactions of new entities, their features, or both.")
        if rows is None and not (weights is None and values is None and targets is None):
            raise ValueError("weights, values and targets say how interactions count: give those as well.")
        plan, state = self._plan(side), self.state_
        if features is not None and plan.feature_map is None:
            name = ("left", "right")[side]
            raise ValueError(f"this model was fitted without {name}_features, so it cannot read those of new entities.")
        theta = state.theta[side]
        if rows is None:
            assert plan.feature_map is not None
            count = plan.feature_map(features, None, plan.dtype).shape[0]
            return plan.tower(count, features, with_ids=False).at(theta).factors
        problem = self._row_problem(side, rows, self._aligned_targets(rows, targets), weights, values)
        other = self.right_factors_ if side == LEFT else self.left_factors_
        if plan.function is not None:
            if features is not None:
                raise ValueError("with towers of your own describe new entities by interactions or by features.")
            return solve_to_optimum(problem, other, plan.n_threads)
        said = plan.feature_product(theta, rows.shape[0], features)
        tower = Perceptron(Inputs(len(said)), plan.layers, plan.dtype)
        return folded_rows(tower, theta, said, problem, other, state.reg[side], plan.n_threads)


def auto_tower_reg(reg: Any, pairs: Pairs) -> Any:
    """Resolve ``"auto"``: 0.2 · |Ω⁺| / (m + n) over entities that have a positive; the rest is checked elsewhere.

    >>> auto_tower_reg("auto", Pairs.from_matrix(np.ones((4, 4))))
    0.4
    """
    if not isinstance(reg, str) or reg != "auto":
        return reg
    entities = np.count_nonzero(pairs.left_counts) + np.count_nonzero(pairs.right_counts)
    return REG_SHARE * pairs.n_positives / int(entities)


def starting_parameters(objective: TowerObjective, start: Any, random: np.random.Generator) -> Both:
    """Random parameters; ids start from the factors of ``start``, if given, and at zero without a stored pair."""
    if start is not None and not any(isinstance(one, Perceptron) and one.inputs.ids for one in objective.towers):
        raise ValueError("start gives ids their first values, and no side of this model has ids of its own.")
    left, right = (tower.start(random) for tower in objective.towers)
    for side, theta in enumerate((left, right)):
        tower = objective.towers[side]
        if not isinstance(tower, Perceptron) or not tower.inputs.ids:
            continue
        if start is not None:
            factors = np.asarray((start.left_factors_, start.right_factors_)[side])
            _fill(theta["ids"], factors, ("left", "right")[side])
        rows = objective.factor_space.rows[side]
        theta["ids"][np.diff(rows.indptr) == 0] = 0
    return left, right


def _fill(ids: Array, factors: Array, side: str) -> None:
    """Put learnt factors into the first columns of the rows of ids."""
    if len(factors) != len(ids) or factors.shape[1] > ids.shape[1]:
        raise ValueError(
            f"start has {side} factors of shape {factors.shape}: there must be {len(ids)} rows, and at most "
            f"{ids.shape[1]} columns, the width of the first layer."
        )
    ids[:, : factors.shape[1]] = factors


def checked_towers(towers: Any) -> tuple[PureTower | None, PureTower | None]:
    """The (left, right) towers brought along, by themselves or by name; ``None`` is the built-in one."""
    both = (towers, towers) if towers is None or isinstance(towers, str | PureTower) else towers
    if not isinstance(both, tuple | list) or len(both) != 2:
        raise ValueError(
            f"towers must be a PureTower, a registered name, a (left, right) pair or None, got {towers!r}."
        )
    found: list[PureTower | None] = []
    for one in both:
        if isinstance(one, str):
            if one not in REGISTERED:
                known = ", ".join(map(repr, REGISTERED)) or "none yet"
                raise ValueError(f"no tower is registered as {one!r} (registered: {known}); see register_tower.")
            one = REGISTERED[one]
        elif one is not None and not isinstance(one, PureTower):
            raise ValueError(f"a tower must be a PureTower, a registered name or None, got {one!r}.")
        found.append(one)
    return found[LEFT], found[RIGHT]


def tower_names(towers: Any) -> tuple[str | None, str | None]:
    """The (left, right) names of registered towers."""
    both = (towers, towers) if towers is None or isinstance(towers, str | PureTower) else towers
    left, right = (one if isinstance(one, str) else None for one in both)
    return left, right


def _flags(name: str, value: Any) -> tuple[bool, bool]:
    left, right = (check.flag(name, one) for one in pair_of(name, value))
    return left, right


def _number(
    name: str, value: Any, least: float = -math.inf, above: float = -math.inf, below: float = math.inf
) -> float:
    if not check.is_number(value) or not (least <= value < below and above < value):
        bounds = [f"≥ {least:g}"] * math.isfinite(least) + [f"> {above:g}"] * math.isfinite(above)
        bounds += [f"< {below:g}"] * math.isfinite(below)
        raise ValueError(f"{name} must be a finite number {' and '.join(bounds)}, got {value!r}.")
    return float(value)
