"""TwoTower: neural embeddings of both sides, trained on every pair."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from everypair import check
from everypair.data.pairs import Pairs
from everypair.models.codec import Parts, storable
from everypair.models.estimator import FittedAttribute
from everypair.models.parameters import (
    Training,
    checked,
    estimator,
    number,
    one_of,
    or_auto,
    or_none,
    parameter,
    stop_rules,
)
from everypair.models.recommend.attributes import FactorizationAttributes
from everypair.models.recommend.defaults import auto_negative_weight
from everypair.models.recommend.factorization import FactorizationState, check_description, check_rank
from everypair.models.recommend.fitted import Answer, Newcomers
from everypair.models.recommend.growth import grown_fields, known_with, refreshed_users
from everypair.models.recommend.positions import KINDS
from everypair.models.recommend.recommender import Recommender
from everypair.models.recommend.training_data import training_data
from everypair.neural.activations import ACTIVATIONS
from everypair.neural.fold_in import folded_rows
from everypair.neural.functions import REGISTERED, PureTower
from everypair.neural.inputs import Inputs
from everypair.neural.layers import Layers
from everypair.neural.objective import TowerObjective
from everypair.neural.optimizers.adam import AdamState
from everypair.neural.optimizers.choose import SEARCHED, check_optimizer, make_optimizer, optimizer_name
from everypair.neural.optimizers.estimates import StochasticState
from everypair.neural.optimizers.gauss_newton import DampedState, GaussNewton
from everypair.neural.optimizers.gd import DescentState
from everypair.neural.optimizers.newton import NewtonState
from everypair.neural.optimizers.state import evaluated
from everypair.neural.penalties import Penalties
from everypair.neural.sides import SidePlan
from everypair.neural.towers import Perceptron
from everypair.neural.trees import Both
from everypair.problem.layout import LEFT, RIGHT, Layout
from everypair.problem.losses import Loss, get_loss
from everypair.problem.negatives import Negatives, Scheme, Value, check_scheme, resolve_value
from everypair.problem.ridge import Ridge
from everypair.solvers.fold_in import solve_to_optimum
from everypair.solvers.loop import Callback, checked_callbacks
from everypair.training.train import train
from everypair.training.validation import make_validator
from everypair.types import Array

REG_SHARE = 0.2  # reg="auto", in units of the mean number of positives of an entity
AUTO_DROPOUT = 0.5
for _cls in (AdamState, DampedState, DescentState, GaussNewton, NewtonState, StochasticState):
    storable(_cls)


@storable
@dataclass(frozen=True, kw_only=True)
class TwoTowerState(FactorizationState):
    """Parameters of both towers, the fields of :class:`Layers`, and the names of towers brought along.

    ``functions`` are those towers themselves where they have no name: such a value cannot be written down.
    """

    negative_weight: float
    theta: tuple[Any, Any]
    layers: tuple[Any, ...]
    towers: tuple[str | None, str | None]
    functions: Any = None

    def new_factors(self, side: int, rows: Any, new: Newcomers, targets: Any, n_threads: int) -> Array:
        """Features go through the tower; events find the row of ids that training would have given."""
        check_description(rows, new)
        plan, theta = self._plan(side, n_threads), self.theta[side]
        if new.features is not None:
            self.map_of(side)
        if rows is None:
            count = self.map_of(side)(new.features, None, plan.dtype).shape[0]
            return plan.tower(count, new.features, with_ids=False).at(theta).factors
        problem = self.row_problem(side, rows, self.aligned_targets(rows, targets), new.weights, new.values)
        other = self.item_factors if side == LEFT else self.user_factors
        if plan.function is not None:
            if new.features is not None:
                raise ValueError("with towers of your own describe new entities by interactions or by features.")
            return solve_to_optimum(problem, other, n_threads)
        centers = new.centers
        if centers is None:
            centers = plan.feature_product(theta, rows.shape[0], new.features)
        tower = Perceptron(Inputs(len(centers)), plan.layers, plan.dtype)
        return folded_rows(tower, theta, centers, problem, other, self.reg[side], n_threads)

    def grown(self, side: int, newcomers: Newcomers, n_threads: int) -> TwoTowerState:
        """The same with new users or items, whose embeddings are folded in."""
        fold = self.folded_users if side == LEFT else self.folded_items
        grown: TwoTowerState = grown_fields(self, side, fold(newcomers, n_threads), newcomers, n_threads)
        return grown

    def with_events(self, users: NDArray[Any], rows: Any, n_threads: int) -> Answer:
        """Scores of known users if they had these events."""
        return self.described(known_with(self, users, rows), n_threads)

    def refreshed(self, interactions: Any, users: NDArray[Any], n_threads: int) -> TwoTowerState:
        """The same with further events of users, whose rows of ids are found anew."""
        refreshed: TwoTowerState = refreshed_users(self, interactions, users, n_threads)
        return refreshed

    def centers_of(self, features: Any, count: int | None, n_threads: int) -> Array:
        """What features say of users: the first product of their tower."""
        count = self.map_of(LEFT)(features, count, self.item_factors.dtype).shape[0]
        return self._plan(LEFT, n_threads).feature_product(self.theta[LEFT], count, features)

    def _plan(self, side: int, n_threads: int) -> SidePlan:
        name = self.towers[side]
        function = checked_towers(self.functions if name is None else (name, name))[side]
        return SidePlan(
            side, Layers(*self.layers), function, self.own_vectors[side], self.feature_maps[side],
            self.item_factors.dtype, n_threads,
        )  # fmt: skip


@estimator
class TwoTower(Training, FactorizationAttributes, Recommender):
    """Two networks whose inner products score every pair: s_ij = f(x_i)·g(z_j), trained on all m·n of them.

    L = Σ_Ω c ℓ(y, s) + ½ Σ_{∉Ω} p_i q_j (ỹ − s)² + ½ λ ‖θ‖² at the cost of the stored pairs and of the towers. Only
    networks of your own need the extra ``everypair[neural]`` (jax).

    Attributes
    ----------
    user_factors_, item_factors_ : embeddings f(x_i) (m × k) and g(z_j) (n × k), to export or to index.
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

    widths: tuple[int, ...] = parameter(
        (256, 256),
        "widths of the hidden layers of either tower; () is a linear one.",
        lambda name, value: checked_widths(value),
    )
    rank: int = parameter(128, "number of factors k, the width of the last layer, which is linear.", check.integer)
    activation: str = parameter("elu", '"elu", "relu", "tanh" or "identity".', one_of(*ACTIVATIONS))
    loss: str | Loss = parameter("logistic", "as in OneClassMF.", lambda name, value: get_loss(value))
    negative_weight: float | str = parameter("auto", "as in OneClassMF.")
    negative_scheme: Scheme = parameter("uniform", "as in OneClassMF.", lambda name, value: check_scheme(value))
    negative_value: Value | str = parameter(
        "auto", "as in OneClassMF; factors of a fitted one may be imputed: (mf.user_factors_, mf.item_factors_)."
    )
    reg: float | tuple[float, float] | str = parameter(
        "auto",
        'ridge λ of all parameters (or a (users, items) pair, or "auto": 0.2 times the mean positives of an entity).',
    )
    own_vectors: bool | tuple[bool, bool] = parameter(
        True,
        "whether every entity has an id of its own besides its features; one value or a (users, items) pair.",
        lambda name, value: flags(name, value),
    )
    normalize: bool | tuple[bool, bool] = parameter(
        False,
        "scale every row of the features to length 1; one value or a (users, items) pair.",
        lambda name, value: flags(name, value),
    )
    id_dropout: float | str = parameter(
        "auto",
        'share of ids left out in every step of "adam" where an entity also has features, so that features learn '
        'to stand alone and entities that come later are understood; "auto" is ½, and 0 with another optimizer.',
        or_auto(number(least=0, below=1)),
    )
    layer_biases: bool = parameter(True, "whether layers have biases.", check.flag)
    temperature: float | None = parameter(
        None, "τ makes scores cosines divided by τ; None leaves them inner products.", or_none(number(above=0))
    )
    towers: Any = parameter(
        None,
        "bring your own: a everypair.neural.functions.PureTower, a registered name, or a (users, items) pair; "
        "None is the built-in network.",
    )
    optimizer: str | GaussNewton = parameter(
        "adam",
        '"adam" on the exact gradient of every pair; "gauss-newton", whose settings are everypair.GaussNewton(…); '
        '"newton", "newton-unit", "gd", "gd-diag", "sampling", "sg46", "sogram" (these three and "naive" also with '
        '"-diag") are there to be compared, see everypair.neural.optimizers.choose.',
    )
    learning_rate: float | None = parameter(
        None,
        "length of the steps of optimizers that do not search for it; None is each one's own.",
        or_none(number(above=0)),
    )
    max_iter: int = parameter(100, 'stop after so many sweeps; one is five steps of "adam".', check.integer)
    tol: float = parameter(1e-5)

    fitted_class: ClassVar[type] = TwoTowerState
    reads_features: ClassVar[tuple[bool, bool]] = (True, True)
    negative_weight_ = FittedAttribute()
    theta_ = FittedAttribute()

    def fit(
        self,
        interactions: Any,
        *,
        user_features: Any = None,
        item_features: Any = None,
        targets: Any = None,
        start: Any = None,
        validation: Any = None,
        callbacks: Iterable[Callback] = (),
    ) -> Self:
        """Learn both towers from interactions: events with ids, or a matrix (users × items).

        Arguments are those of :meth:`OneClassMF.fit`, without graphs. ``start`` is a fitted model with factors, such as
        a :class:`~everypair.OneClassMF`, on the same users and items: ids start from its factors.
        """
        values = checked(self)
        layers = Layers(values.widths, values.rank, values.activation, values.layer_biases, values.temperature)
        functions = checked_towers(self.towers)
        check_optimizer(self.optimizer)
        dropout = self._dropout(values.id_dropout)
        optimizer = optimizer_name(self.optimizer)
        if values.learning_rate is not None and optimizer in SEARCHED:
            raise ValueError(f"optimizer={optimizer!r} searches for its steps: leave learning_rate at None.")
        threads, dtype, random, loss = values.n_threads, values.dtype, values.random_state, values.loss
        callbacks = checked_callbacks(callbacks)
        value = resolve_value(self.negative_value, loss)
        data = training_data(interactions, features=(user_features, item_features), validation=validation)
        pairs = Pairs.from_matrix(data.matrix, targets, dtype)
        check_rank(layers.rank, pairs.shape)
        weight = auto_negative_weight(self.negative_weight, pairs, loss)
        negatives = Negatives.from_scheme(pairs, weight, self.negative_scheme, value)
        ridge = Ridge.checked(auto_tower_reg(self.reg, pairs), 0.0)
        training = pairs.to_csr()
        validate: Any = make_validator(training, data.validation, self.patience, threads)
        plans = [
            SidePlan.of(
                side, layers, functions[side], values.own_vectors[side], values.normalize[side], data.features[side],
                dtype, threads,
            )
            for side in (LEFT, RIGHT)
        ]  # fmt: skip
        left, right = (plan.tower(count, one) for plan, count, one in zip(plans, pairs.shape, data.features))
        reg = Penalties.same(ridge.reg[LEFT]), Penalties.same(ridge.reg[RIGHT])
        objective = TowerObjective(pairs, loss, negatives, (left, right), reg, dtype=dtype, n_threads=threads)
        theta = starting_parameters(objective, start, random)
        solver = make_optimizer(self.optimizer, objective, values.learning_rate, dropout, int(random.integers(2**31)))
        outcome = train(
            solver, solver.fresh(theta), stop_rules(values), validate=validate,
            callbacks=callbacks, verbose=self.verbose, warm_up=lambda: objective.gradient(objective.at(theta)),
            identity=(self, pairs, data.features, data.validation, None if start is None else theta),
        )  # fmt: skip
        found: Any = outcome.state
        if found.left is None:  # interrupted before the first sweep was over
            point = objective.at(found.theta)
            found = replace(found, **evaluated(point, 0))
        centers = None
        if plans[LEFT].feature_map is not None and functions[LEFT] is None:
            centers = plans[LEFT].feature_product(found.theta[LEFT], pairs.shape[LEFT], data.features[LEFT])
        names = tower_names(self.towers)
        own = tuple(function if name is None else None for function, name in zip(functions, names))
        self.state_ = data.named(
            TwoTowerState(
                user_factors=found.left, item_factors=found.right, interactions=training, targets=pairs.targets,
                rank=layers.rank, layout=Layout(layers.rank), history=outcome.history, objective=found.objective,
                status=outcome.status, loss=loss, negatives=negatives, negative_loss="squared", ridge=ridge,
                feature_weights=(None, None), feature_maps=(plans[LEFT].feature_map, plans[RIGHT].feature_map),
                feature_reg=(None, None), own_vectors=values.own_vectors, graphs=(False, False),
                negative_weight=weight, theta=found.theta, layers=tuple(layers), towers=names,
                functions=None if own == (None, None) else own, user_centers=centers,
            )
        )  # fmt: skip
        return self

    def to_parts(self, *, serve_only: bool = False) -> Parts:
        """The fitted model as values and arrays; towers brought along must be registered by name."""
        functions = self.towers if isinstance(self.towers, list | tuple) else (self.towers,)
        if any(isinstance(one, PureTower) for one in functions):
            raise TypeError(
                "towers of your own are functions, which are not written down: give them names by "
                'everypair.neural.functions.register_tower("name", tower) and fit with towers="name".'
            )
        return super().to_parts(serve_only=serve_only)

    def _dropout(self, share: float | None) -> float:
        """The share of ids left out, refused where the optimizer would ignore it."""
        adam = optimizer_name(self.optimizer) == "adam"
        if share is None:
            return AUTO_DROPOUT if adam else 0.0
        if share and not adam:
            raise ValueError(f'id_dropout needs optimizer="adam", not {self.optimizer!r}: leave it at "auto".')
        return share


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
            factors = np.asarray((start.user_factors_, start.item_factors_)[side])
            _fill(theta["ids"], factors, KINDS[side])
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
    """The towers of users and items brought along, by themselves or by name; ``None`` is the built-in one."""
    both = (towers, towers) if towers is None or isinstance(towers, str | PureTower) else towers
    if not isinstance(both, tuple | list) or len(both) != 2:
        raise ValueError(
            f"towers must be a PureTower, a registered name, a (users, items) pair or None, got {towers!r}."
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
    """The names of registered towers."""
    both = (towers, towers) if towers is None or isinstance(towers, str | PureTower) else towers
    left, right = (one if isinstance(one, str) else None for one in both)
    return left, right


def checked_widths(widths: Any) -> tuple[int, ...]:
    """Widths of hidden layers, () for none."""
    if not isinstance(widths, tuple | list):
        raise ValueError(f"widths must be a tuple of the widths of hidden layers, () for none, got {widths!r}.")
    return tuple(check.integer("every width", width) for width in widths)


def flags(name: str, value: Any) -> tuple[bool, bool]:
    """One switch for both sides, or a (users, items) pair."""
    both = value if isinstance(value, tuple | list) else (value, value)
    if len(both) != 2:
        raise ValueError(f"{name} must be one value or a (users, items) pair, got {value!r}.")
    return check.flag(name, both[0]), check.flag(name, both[1])
