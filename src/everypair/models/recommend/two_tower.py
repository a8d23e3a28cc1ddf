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
from everypair.models.recommend.defaults import auto_negative_weight, auto_reg
from everypair.models.recommend.factorization import check_rank
from everypair.models.recommend.recommender import Recommender
from everypair.models.recommend.training_data import training_data
from everypair.models.recommend.two_tower_start import (
    linear_objective,
    linear_start,
    may_start_linear,
    starting_parameters,
    with_linear_path,
)
from everypair.models.recommend.two_tower_state import TwoTowerState, checked_towers, tower_names
from everypair.neural.activations import ACTIVATIONS
from everypair.neural.functions import PureTower
from everypair.neural.layers import Layers
from everypair.neural.objective import NO_RIDGE, TowerObjective
from everypair.neural.optimizers.adam import AdamState
from everypair.neural.optimizers.choose import SEARCHED, check_optimizer, is_stochastic, make_optimizer, optimizer_name
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

AUTO_REG = 0.5  # of parameters that read ids alone: the embeddings have a ridge of their own
SPARSE, MOST_FACTOR = 10, 1.4  # reg="auto" in units of OneClassMF's, whose rank is half of the default here
REG_SHARE = 0.2  # of those that read features, in units of the mean number of positives of an entity
AUTO_DROPOUT = 0.5
SWEEPS, FEW_SWEEPS = 100, 5
TOLERANCE, TOLERANCES = 1e-5, {"gauss-newton": 3e-4}  # relative decrease in one sweep
for _cls in (AdamState, DampedState, DescentState, GaussNewton, NewtonState, StochasticState):
    storable(_cls)


@estimator
class TwoTower(Training, FactorizationAttributes, Recommender):
    """Two networks whose inner products score every pair: s_ij = f(x_i)·g(z_j), trained on all m·n of them.

    L = Σ_Ω c ℓ(y, s) + ½ Σ_{∉Ω} p_i q_j (ỹ − s)² + ½ Σ ρ_i ‖u_i‖² + ½ Σ ρ̄_j ‖v_j‖² + ½ λ ‖θ‖² at the cost of the stored
    pairs and of the towers. Only networks of your own need the extra ``everypair[neural]`` (jax).

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
        "ridge ρ of the embeddings, or of the rows of ids beside a linear path; "
        '"auto" is 1 to 1.4 times OneClassMF\'s, more where entities have more positives, and 0 where networks read '
        "features without a linear path, or with a stochastic optimizer, which knows none.",
    )
    reg_exponent: float | str = parameter(0.75, "as in OneClassMF.")
    id_reg: float | tuple[float, float] | str = parameter(
        "auto",
        "ridge λ of the rows of ids that a network reads, one number or a (users, items) pair; "
        f'"auto" is {AUTO_REG:g} with ids alone, with features {REG_SHARE:g} times the mean positives of an entity.',
    )
    feature_reg: float | tuple[float, float] | str = parameter(
        "auto",
        'the same of the weights of features: of W of a linear path, where "auto" is OneClassMF\'s, else of the first '
        "layer.",
    )
    layer_reg: float | tuple[float, float] | str = parameter(
        "auto",
        "the same of the layers' matrices, of the weights of features that a network beside a linear path reads, and "
        "of all parameters of towers of your own; biases have none.",
    )
    linear_start: bool = parameter(
        True,
        "whether training starts with the scores of the linear model of the same objective, a OneClassMF, where the "
        "towers can carry it; else at random.",
        check.flag,
    )
    linear_path: bool = parameter(
        True,
        "whether, where a side has features x, its embeddings are t_i + x W + MLP(x), x with a constant 1, so that the "
        "networks add to a linear model; else MLP([id, x]). Towers of your own and cosines have none.",
        check.flag,
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
        'share of ids left out in every step of "adam", or sweep of another optimizer, where an entity also has '
        "features, so that features learn to stand alone and entities that come later are understood; "
        '"auto" is ½ with "adam", else 0.',
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
        "auto",
        '"adam" on the exact gradient of every pair; "gauss-newton", whose settings are everypair.GaussNewton(…); '
        '"auto" is the latter with ids alone or a linear path, unless there is a learning_rate; '
        '"newton", "newton-unit", "gd", "gd-diag", "sampling", "sg46", "sogram" (these three and "naive" also with '
        '"-diag") are there to be compared, see everypair.neural.optimizers.choose.',
    )
    learning_rate: float | None = parameter(
        None,
        "length of the steps of optimizers that do not search for it; None is each one's own.",
        or_none(number(above=0)),
    )
    max_iter: int | str = parameter(  # type: ignore[assignment]
        "auto",
        'stop after so many sweeps; one is five steps of "adam". "auto" is 100, but 5 of "gauss-newton" from a linear '
        "start beside a linear path: more of them fit the features to those who were there.",
        or_auto(check.integer),
    )
    tol: float | str = parameter(  # type: ignore[assignment]
        "auto",
        'stop when the objective falls by less than this share of itself; "auto" is 3e-4 with "gauss-newton" and 1e-5 '
        "with others.",
        or_auto(check.tolerance),
    )

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
        if self.optimizer != "auto":
            check_optimizer(self.optimizer)
        threads, dtype, random, loss = values.n_threads, values.dtype, values.random_state, values.loss
        callbacks = checked_callbacks(callbacks)
        value = resolve_value(self.negative_value, loss)
        alone = user_features is None and item_features is None
        path = values.linear_path and not alone and functions == (None, None) and values.temperature is None
        optimizer = self._optimizer(alone or path, values.learning_rate)
        dropout = values.id_dropout
        if dropout is None:
            dropout = AUTO_DROPOUT if optimizer == "adam" else 0.0
        values.tol = TOLERANCES.get(optimizer_name(optimizer), TOLERANCE) if values.tol is None else values.tol
        if values.max_iter is None:
            few = path and (values.linear_start or start is not None) and optimizer_name(optimizer) == "gauss-newton"
            values.max_iter = FEW_SWEEPS if few else SWEEPS
        rules = stop_rules(values)
        data = training_data(interactions, features=(user_features, item_features), validation=validation)
        pairs = Pairs.from_matrix(data.matrix, targets, dtype)
        check_rank(layers.rank, pairs.shape)
        weight = auto_negative_weight(self.negative_weight, pairs, loss)
        negatives = Negatives.from_scheme(pairs, weight, self.negative_scheme, value)
        exact = not is_stochastic(optimizer)
        ridge = Ridge.checked(self._ridge(pairs, loss, path or (exact and alone)), values.reg_exponent)
        weights = weight_ridges(self, pairs, alone)
        training = pairs.to_csr()
        validate: Any = make_validator(training, data.validation, self.patience, threads)
        plans = [
            SidePlan.of(
                side, layers, functions[side], values.own_vectors[side], values.normalize[side], data.features[side],
                dtype, threads, path,
            )
            for side in (LEFT, RIGHT)
        ]  # fmt: skip
        left, right = (plan.tower(count, one) for plan, count, one in zip(plans, pairs.shape, data.features))
        layout = Layout(layers.rank if path else min(layers.outs))
        linear = linear_objective(
            pairs, loss, negatives, ridge, (left, right), layout, ridge_pair("feature_reg", self.feature_reg), dtype,
            threads,
        )  # fmt: skip
        id_reg = (0.0, 0.0) if path else (float(weights[LEFT].ids), float(weights[RIGHT].ids))
        if path:
            weights = with_linear_path(weights, linear)
        objective = TowerObjective(
            pairs, loss, negatives, (left, right), weights, ridge=NO_RIDGE if path else ridge, dtype=dtype,
            n_threads=threads,
        )  # fmt: skip
        if start is None and values.linear_start and (exact or path) and may_start_linear(objective.towers):
            start = linear_start(linear, layout, rules, random, self.verbose)
        theta = starting_parameters(objective, start, (layers, functions), random)
        solver = make_optimizer(optimizer, objective, values.learning_rate, dropout, int(random.integers(2**31)))
        outcome = train(
            solver, solver.fresh(theta), rules, validate=validate,
            callbacks=callbacks, verbose=self.verbose, warm_up=lambda: objective.gradient(objective.at(theta)),
            identity=(self, pairs, data.features, data.validation, None if start is None else theta),
        )  # fmt: skip
        found: Any = outcome.state
        if found.left is None:  # interrupted before the first sweep was over
            point = objective.at(found.theta)
            found = replace(found, **evaluated(point, 0))
        centers = None
        if plans[LEFT].feature_map is not None and functions[LEFT] is None:
            centers = plans[LEFT].centers(found.theta[LEFT], pairs.shape[LEFT], data.features[LEFT])
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
                id_reg=id_reg, functions=None if own == (None, None) else own,
                linear_path=path,
                user_centers=centers,
            )
        )  # fmt: skip
        return self

    @property
    def most_sweeps(self) -> int:
        """How many sweeps a bar is for."""
        return SWEEPS if isinstance(self.max_iter, str) else self.max_iter

    def to_parts(self, *, serve_only: bool = False) -> Parts:
        """The fitted model as values and arrays; towers brought along must be registered by name."""
        functions = self.towers if isinstance(self.towers, list | tuple) else (self.towers,)
        if any(isinstance(one, PureTower) for one in functions):
            raise TypeError(
                "towers of your own are functions, which are not written down: give them names by "
                'everypair.neural.functions.register_tower("name", tower) and fit with towers="name".'
            )
        return super().to_parts(serve_only=serve_only)

    def _optimizer(self, second_order: bool, rate: float | None) -> str | GaussNewton:
        """The optimizer, which ``"auto"`` chooses by what towers read; a rate is refused where nothing would use it."""
        if self.optimizer == "auto":
            return "gauss-newton" if second_order and rate is None else "adam"
        name = optimizer_name(self.optimizer)
        if rate is not None and name in SEARCHED:
            raise ValueError(f"optimizer={name!r} searches for its steps: leave learning_rate at None.")
        return self.optimizer

    def _ridge(self, pairs: Pairs, loss: Loss, wanted: bool) -> Any:
        """The ridge of embeddings, or of the rows of ids beside a linear path."""
        if self.reg != "auto":
            return self.reg
        return ridge_factor(pairs) * auto_reg("auto", pairs, loss) if wanted else 0.0


def mean_positives(pairs: Pairs) -> float:
    """Positives per user or item that has any."""
    entities = np.count_nonzero(pairs.left_counts) + np.count_nonzero(pairs.right_counts)
    return float(pairs.n_positives / max(int(entities), 1))


def ridge_factor(pairs: Pairs) -> float:
    """``reg="auto"`` in units of OneClassMF's: (d/10)^⅕ between 1 and 1.4, d the mean positives of an entity.

    >>> ridge_factor(Pairs.from_matrix(np.ones((6, 5)))), round(ridge_factor(Pairs.from_matrix(np.ones((40, 40)))), 2)
    (1.0, 1.15)
    """
    return float(np.clip((mean_positives(pairs) / SPARSE) ** 0.2, 1, MOST_FACTOR))


def weight_ridges(model: TwoTower, pairs: Pairs, alone: bool) -> tuple[Penalties, Penalties]:
    """The ridges of ids, features and layers on either side."""
    auto = AUTO_REG if alone else REG_SHARE * mean_positives(pairs)
    kinds = [ridge_pair(name, getattr(model, name)) for name in ("id_reg", "feature_reg", "layer_reg")]
    left, right = (Penalties(*(auto if one is None else one for one in regs)) for regs in zip(*kinds))
    return left, right


def ridge_pair(name: str, value: Any) -> tuple[float | None, float | None]:
    """One ridge for both sides or a (users, items) pair, ``None`` for ``"auto"``.

    >>> ridge_pair("layer_reg", 0.5), ridge_pair("layer_reg", "auto")
    ((0.5, 0.5), (None, None))
    """
    if isinstance(value, str) and value == "auto":
        return None, None
    both = tuple(value) if isinstance(value, tuple | list) else (value, value)
    if len(both) != 2 or not all(check.is_number(one) and 0 <= one < np.inf for one in both):
        raise ValueError(f'{name} must be a finite number ≥ 0, a (users, items) pair of them or "auto", got {value!r}.')
    return float(both[0]), float(both[1])


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
