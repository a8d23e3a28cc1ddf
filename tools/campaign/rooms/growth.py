"""Who comes later, against plain sub-problems: the derivative of the row's own objective is zero where fold-in ends.

G(u) = Σ_stored c ℓ(y, u·v) + Σ_others p q ½(ỹ − u·v)² + ½ λ‖u‖²      (the same loss on every pair in SameLossMF)
G(u) = −Σ_stored c log(u·v) + Σ_all u·v + Σ (λ u − a log u)            (PoissonMF)
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from estimators import FAMILIES, fitted, refusal
from trials import Case, Room

from everypair.models.registry import ESTIMATORS
from everypair.problem.losses import get_loss

NAMES = tuple(name for name in FAMILIES["recommender"] if name != "TwoTower")
ROWWISE = ("OneClassMF", "SameLossMF")
CLOSE = 2e-5


def trial(case: Case, folder: Path) -> str:
    name = case["model"]
    more = {
        "dtype": "float64", "loss": case["loss"], "negative_scheme": case["scheme"], "reg": case["reg"],
        "reg_exponent": case["exponent"], "negative_weight": case["negative_weight"],
    }  # fmt: skip
    more = {key: value for key, value in more.items() if key == "dtype" or name in ROWWISE}
    try:
        model, _ = fitted(name, case, **more)
    except ValueError as failure:
        return f"{name}: {refusal(failure)}"
    chance = np.random.default_rng(case["seed"] + 1)
    m, n = model.interactions_.shape
    rows = np.where(chance.random((3, n)) < case["density"], 1.0 + chance.integers(3, size=(3, n)), 0.0)
    rows[0, 0] = 1.0
    if name in ROWWISE:
        rows[1, -1] = -1.0
    offers = ESTIMATORS[name].offers
    if name in (*ROWWISE, "PoissonMF"):
        for row, folded in zip(rows, model.fold_in_users(rows)):
            stationary(model, 0, row, folded)
        if not case["features"] or name == "PoissonMF":
            columns = np.where(chance.random((m, 2)) < case["density"], 1.0, 0.0)
            columns[0] = 1.0
            for column, folded in zip(columns.T, model.fold_in_items(columns)):
                stationary(model, 1, column, folded)
    scores = model.score_users(interactions=rows)
    known = model.interactions_.toarray()
    if name == "ItemItem":
        B = model.coefficients_
        B = B if isinstance(B, np.ndarray) else B.toarray()
        share = model.score_users(interactions=np.zeros((1, n)))
        np.testing.assert_allclose(scores, share + np.sign(rows) @ B, atol=close(scores), err_msg="base + x B")
    if name == "Popularity":
        assert np.ptp(scores, axis=0).max() == 0, "popularity depends on the user"
    if "add_users" in offers:
        grows(model, rows, known, scores)
        if name != "ContentItems":
            adds_items(model, chance, case["density"])
    return name


def grows(model: Any, rows: np.ndarray, known: np.ndarray, scores: np.ndarray) -> None:
    """Users who are appended are what describing them says, and nothing else changes."""
    before = model.score_users()
    places = model.add_users(interactions=rows)
    m = len(before)
    assert places.tolist() == [m, m + 1, m + 2]
    np.testing.assert_allclose(model.score_users()[:m], before, atol=close(before), err_msg="known users changed")
    np.testing.assert_allclose(model.score_users(places), scores, atol=close(scores), err_msg="a new user's scores")
    assert np.array_equal(model.interactions_.toarray(), np.vstack([known, rows]).astype(known.dtype)), "other events"
    items, _ = model.recommend(places, n=known.shape[1])
    for shown, row in zip(items, rows):
        assert set(shown[shown >= 0].tolist()) == set(np.flatnonzero(row == 0).tolist()), "the list of a new user"


def adds_items(model: Any, chance: np.random.Generator, density: float) -> None:
    """Items that are appended leave the scores of the others, and are offered to those who do not have them."""
    before = model.score_users()
    m, n = before.shape
    columns = (chance.random((m, 2)) < density) * 1.0
    columns[0] = 1.0
    assert model.add_items(interactions=columns).tolist() == [n, n + 1]
    after = model.score_users()
    assert after.shape == (m, n + 2)
    assert np.isfinite(after).all(), "scores that are no numbers"
    if type(model).__name__ != "Blend":  # whose scale is that of all items
        np.testing.assert_allclose(after[:, :n], before, atol=close(before), err_msg="known items changed")
    assert np.array_equal(model.interactions_.toarray()[:, n:], columns), "other events"


def close(scores: np.ndarray) -> float:
    """How far apart equal scores may be by rounding: dense ones are matrix products."""
    return (1e-5 if scores.dtype == np.float32 else 1e-9) * (float(np.abs(scores).max()) + 1e-12)


def stationary(model: Any, side: int, row: np.ndarray, found: np.ndarray) -> None:
    """Refuse factors at which the row's own objective still has a slope."""
    other = (model.item_factors_ if side == 0 else model.user_factors_).astype(float)
    u, c = found.astype(float), np.abs(row)
    scores = other @ u
    if type(model).__name__ == "PoissonMF":
        slope = -other.T @ (np.maximum(row, 0) / scores) + other.sum(axis=0) + model.reg - model.smoothing / u
        size = other.T @ (np.maximum(row, 0) / scores) + other.sum(axis=0) + model.reg + model.smoothing / u
        assert (np.abs(slope * u) <= 1e-3 * size * u + 1e-8).all(), f"slope {slope}"
        return
    loss, negatives = get_loss(model.loss), model.negatives_
    counts = np.array([(row > 0).sum()])
    own = float((negatives.left_weights if side == 0 else negatives.right_weights)(counts)[0])
    weights = own * (negatives.right if side == 0 else negatives.left)
    stored, target = row != 0, np.where(row > 0, 1.0, loss.dislike_target)
    value = float(negatives.value)
    same = type(model).__name__ == "SameLossMF"
    apart = loss.slope(np.full(len(row), value), scores) if same else scores - value
    slopes = np.where(stored, c * loss.slope(target, scores), weights * apart)
    total = float(c.sum() + weights.sum())
    exponent = model.reg_exponent
    ridge = model.reg * (max(1, int(counts[0])) if exponent == "count" else total**exponent)
    slope = other.T @ slopes + ridge * u
    size = np.abs(other).T @ np.abs(slopes) + ridge * np.abs(u)
    assert (np.abs(slope) <= CLOSE * (size.max() + 1e-9)).all(), f"slope {slope} beside {size}"


ROOM = Room(
    "growth",
    "Fold-in ends where the row's own objective has no slope; users and items that are appended are what fold-in says, "
    "and what was there does not change.",
    "random models of every recommender, rows and columns against derivatives in plain numpy and products by hand",
    {
        "model": NAMES,
        "shape": ([12, 9], [5, 4], [30, 25], [8, 60]),
        "density": (0.4, 0.15, 0.7),
        "loss": ("squared", "logistic", "pseudo_huber"),
        "scheme": ("uniform", "user-count", "item-rarity", ("item-count", 0.5)),
        "reg": (0.1, 0.01, 2.0),
        "exponent": (1, 0.5, 0, "count"),
        "negative_weight": (0.3, 0.02, 1.0),
        "features": (False, True),
        "seed": range(100_000),
    },
    trial,
)
