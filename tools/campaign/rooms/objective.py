"""F, its gradient and its Hessian times a vector, against the sum over every pair in plain numpy."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
from trials import Case, Room

from problem import brute

Both = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
STENCIL = ((-2, 1 / 12), (-1, -8 / 12), (1, 8 / 12), (2, -1 / 12))  # of a first derivative, to fourth order
STEP = 1e-3


def trial(case: Case, folder: Path) -> str:
    of = brute.Case(*(case[field] for field in brute.Case._fields))
    chance = np.random.default_rng(case["seed"])
    known = tuple(side(chance, size, case[name]) for size, name in zip(case["shape"], ("left", "right")))
    try:
        problem = brute.build(
            of, shape=tuple(case["shape"]), seed=case["seed"], negative_weight=case["negative_weight"],
            reg=tuple(case["reg"]), exponent=case["exponent"], n_threads=case["threads"], known=known,
            dense_features=case["dense"],
        )  # fmt: skip
    except ValueError as refusal:
        if "no positive entry" not in str(refusal):
            raise
        return "nothing positive: refused"
    left, right = brute.start(problem.dense, seed=case["seed"] + 1)
    expected = problem.dense.value(left, right)
    assert math.isclose(problem.objective.value(left, right), expected, rel_tol=1e-9, abs_tol=1e-9), "F"
    for number, this in enumerate((left, right)):
        learnt = problem.dense.learnt(number)
        direction = chance.normal(size=this.shape) * learnt

        def both(moved: np.ndarray, number: int = number) -> tuple[np.ndarray, np.ndarray]:
            return (moved, right) if number == 0 else (left, moved)

        if of.loss == "squared_hinge" and across_the_kink(problem.dense, both, 2 * STEP * direction, this):
            return "squared_hinge, across its kink"
        along = [(share / STEP, both(this + steps * STEP * direction)) for steps, share in STENCIL]
        slope = sum(share * problem.dense.value(*at) for share, at in along)
        gradient = problem.objective.gradient(number, left, right)
        size = np.abs(gradient).sum() + 1
        assert abs((gradient * direction).sum() - slope) < 1e-7 * size, "gradient"
        assert not gradient[:, ~learnt].any(), "gradient of a constant column"
        change = sum(share * problem.objective.gradient(number, *at) for share, at in along)
        product = problem.objective.hessian_vector(number, direction, left, right)
        np.testing.assert_allclose(product, change, rtol=1e-5, atol=1e-6 * size, err_msg="H·s")
    return of.loss


def across_the_kink(dense: brute.Dense, both: Both, step: np.ndarray, this: np.ndarray) -> bool:
    """Whether a stored pair is on another side of the hinge at one end of a difference than at the other."""
    ends = [both(this + sign * step) for sign in (-1, 1)]
    sides = [dense.targets * (dense.factors(0, left) @ dense.factors(1, right).T) < 1 for left, right in ends]
    return bool((sides[0] != sides[1])[dense.stored].any())


def side(chance: np.random.Generator, size: int, kind: str) -> brute.Known:
    """What is known of a side."""
    features = chance.normal(size=(size, 3)) if "features" in kind else None
    similarity = None
    if "graph" in kind:
        similarity = np.where(chance.random((size, size)) < 0.4, chance.random((size, size)), 0.0)
    return brute.Known(features, 0.3, "alone" not in kind, similarity, 0.2 if similarity is not None else 0.0)


ROOM = Room(
    "objective",
    "The objective, its gradient and its curvature are the sums over all pairs that the papers write down.",
    "random problems of every loss, scheme, target, ridge and side information against plain loops and differences",
    {
        "loss": tuple(brute.PLAIN_LOSSES),
        "scheme": brute.SCHEMES,
        "value": brute.VALUES,
        "weights": ("unit", "random"),
        "targets": ("default", "explicit"),
        "dislikes": ("liked", "disliked"),
        "biases": ("unbiased", "biased"),
        "left": ("nothing", "features", "features alone", "graph", "features and graph"),
        "right": ("nothing", "features", "features alone", "graph", "features and graph"),
        "shape": ([4, 3], [7, 6], [5, 40], [40, 5], [33, 29]),
        "negative_weight": (0.4, 0.0, 1e-6, 1.0, 30.0),
        "reg": ([0.1, 0.3], [0.0, 0.0], [0.2, 0.0], [1e-6, 1e3]),
        "exponent": (0, 0.5, 1, "count"),
        "threads": (1, 2),
        "dense": (False, True),
        "seed": range(100_000),
    },
    trial,
)
