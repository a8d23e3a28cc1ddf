"""The parameters of models that count every pair, and those of features and graphs on either side."""

from __future__ import annotations

from everypair import check
from everypair.models.parameters import Training, estimator, parameter
from everypair.models.recommend.defaults import checked_rank
from everypair.models.recommend.side import Side, check_side
from everypair.problem.losses import LOSSES, Loss, get_loss
from everypair.problem.negatives import SCHEMES, Scheme, Value, check_scheme
from everypair.solvers.choose import Newton
from everypair.words import listed


@estimator
class SideParameters:
    """The parameters of factorizations that learn from features and graphs."""

    users: Side = parameter(Side(), "how the features and the graph of users are used.", check_side)
    items: Side = parameter(Side(), "how the features and the graph of items are used.", check_side)


@estimator
class OneClassParameters(SideParameters, Training):
    """The parameters of models that count every pair."""

    rank: int | str = parameter(
        64,
        'number of factors k; "auto" is the power of 2 at or below √(users + items), counting those that have '
        "events, from 16 to 256: better than 64 on large sparse data, where it takes longer.",
        lambda name, value: checked_rank(value),
    )
    loss: str | Loss = parameter(
        "logistic",
        f"on stored pairs: {listed(LOSSES, 9)} or a everypair.problem.losses.Loss.",
        lambda name, value: get_loss(value),
    )
    negative_weight: float | str = parameter(
        "auto", 'mean weight p_i q_j of a pair that is not stored; "auto" is a multiple of the density.'
    )
    negative_scheme: Scheme = parameter(
        "uniform",
        f'shape of those weights: {listed(SCHEMES, 9)}, ("item-count", β) or arrays (p, q).',
        lambda name, value: check_scheme(value),
    )
    negative_value: Value | str = parameter(
        "auto",
        'the score ỹ they are pulled to: a number, matrices (Ũ, Ṽ) with ỹ = Ũ Ṽᵀ, or "auto": −1, and 0 for the '
        "squared loss.",
    )
    reg: float | tuple[float, float] | str = parameter(
        "auto", 'ridge λ of users and items, one number or a (users, items) pair; "auto" goes by their number.'
    )
    reg_exponent: float | str = parameter(
        0.75, 'the power ν of a row\'s total weight that scales the ridge, or "count" for λ·max(1, |Ω_i⁺|).'
    )
    weighting: tuple[str, float] | None = parameter(
        None,
        '("degree", γ) multiplies the weight of a stored pair by (d_i d_j)^−γ, of mean 1, where d_i and d_j count'
        " the stored pairs of its user and its item.",
    )
    biases: bool = parameter(False, "learn a bias for every user and every item.", check.flag)
    solver: str | Newton = parameter(
        "auto",
        '"newton" solves rows by Newton–CG, and a side with features or a graph by trust-region Newton ("tron"); '
        '"auto" is that with both sides balanced and momentum between sweeps, everypair.Newton(cg_steps=…) sets '
        'steps; "tron" moves all parameters of a side together; "newton-linesearch", "gradient", "nonlinear-cg", '
        '"gradient-region", "block", "als", "cd", "sg-reform", "sg-bsearch", "sg-dense", "sg-descent" and "sg-rows" '
        "are there to be compared (see everypair.solvers.choose).",
    )
