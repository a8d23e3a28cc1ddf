"""TwoTower: neural embeddings of both sides, trained on every pair."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

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
from everypair.models.recommend.factorization import check_rank
from everypair.models.recommend.recommender import Recommender
from everypair.models.recommend.training_data import training_data
from everypair.models.recommend.two_tower_start import starting_parameters
from everypair.models.recommend.two_tower_state import TwoTowerState, checked_towers, tower_names
from everypair.neural.activations import ACTIVATIONS
from everypair.neural.functions import PureTower
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
from everypair.problem.layout import LEFT, RIGHT, Layout
from everypair.problem.losses import Loss, get_loss
from everypair.problem.negatives import Negatives, Scheme, Value, check_scheme, resolve_value
from everypair.problem.ridge import Ridge
from everypair.solvers.loop import Callback, checked_callbacks
from everypair.training.train import train
from everypair.training.validation import make_validator

REG_SHARE = 0.2  # reg="auto", in units of the mean number of positives of an entity
AUTO_DROPOUT = 0.5
for _cls in (AdamState, DampedState, DescentState, GaussNewton, NewtonState, StochasticState):
    storable(_cls)


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
        a :class:`~everypair.OneClassMF`, on the same users and items: training starts with its scores, to which the
        rows of ids and the layers are set. A TwoTower of the same towers gives its parameters.
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
        theta = starting_parameters(objective, start, (layers, functions), random)
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
