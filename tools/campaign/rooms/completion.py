"""Completed matrices against sorting, fixed points, closed forms and dense systems."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from estimators import FAMILIES, fitted, made, refusal
from trials import Case, Room

from models.completion.test_rivals import shrink


def trial(case: Case, folder: Path) -> str:
    name = case["model"]
    more = {
        "nuclear_reg": case["reg"],
        "reg": case["reg"],
        "max_iter": case["max_iter"],
        "tol": 1e-12,
        **SPECIAL.get(name, {}),
    }
    try:
        model, data = fitted(name, case, **more)
    except ValueError as failure:
        return f"{name}: {refusal(failure)}"
    Y = data["Y"]
    seen, chance = ~np.isnan(Y), np.random.default_rng(case["seed"] + 1)
    matrix = model.complete()
    assert matrix.shape == Y.shape
    assert np.isfinite(matrix).all(), "values that are no numbers"
    close = 1e-8 * (np.abs(matrix).max() + 1)
    rows, columns = (chance.integers(size, size=20) for size in Y.shape)
    np.testing.assert_allclose(model.predict(rows, columns), matrix[rows, columns], atol=close, err_msg="predict")
    n = min(4, Y.shape[1])
    items, values = model.recommend(n=n)
    for row, (shown, own) in enumerate(zip(items, values)):
        hidden = np.where(seen[row], -np.inf, matrix[row])
        there = np.isfinite(np.sort(hidden)[::-1][:n])
        np.testing.assert_allclose(own[there], np.sort(hidden)[::-1][:n][there], atol=close, err_msg="the best values")
        np.testing.assert_allclose(matrix[row, shown[there]], own[there], atol=close, err_msg="whose values")
        assert not seen[row, shown[there]].any(), "an entry that was observed"
        assert (shown[~there] == -1).all()
    noise = np.where(seen, Y, chance.normal(100, 50, Y.shape))
    sides = {key: value for key, value in data.items() if key != "Y"}
    again = made(name, case, **more).fit(noise, seen, **sides).complete()
    assert np.array_equal(again, matrix), "hidden entries were looked at"
    if name in CHECKS:
        CHECKS[name](model, Y, seen, sides, matrix)
    return name


def fixed_point(model: Any, Y: np.ndarray, seen: np.ndarray, sides: dict[str, Any], matrix: np.ndarray) -> None:
    """FPCA: X = D_μ(X − P_Ω(X − Y)) where it says that it is solved."""
    if model.status_.name == "SOLVED":
        gap = np.where(seen, matrix - np.where(seen, Y, 0), 0)
        np.testing.assert_allclose(
            matrix, shrink(matrix - gap, model.nuclear_reg), atol=1e-3 * (1 + np.abs(matrix).max())
        )


def objective(model: Any, Y: np.ndarray, seen: np.ndarray, sides: dict[str, Any], matrix: np.ndarray) -> None:
    """FNNM: λ1‖M‖* + λ2‖N‖₁ + ½‖P_Ω(M + A N Cᵀ − Y)‖², and it never rises."""
    M = (model.left_vectors_ * model.singular_values_) @ model.right_vectors_.T
    N = model.side_weights_.toarray()
    both = M + sides["left_features"] @ N @ sides["right_features"].T
    np.testing.assert_allclose(both, matrix, atol=1e-7 * (1 + np.abs(matrix).max()), err_msg="M + A N Cᵀ")
    gap = np.where(seen, both - np.where(seen, Y, 0), 0)
    value = model.nuclear_reg * np.linalg.norm(M, "nuc") + model.l1_reg * np.abs(N).sum() + 0.5 * np.sum(gap**2)
    np.testing.assert_allclose(model.objective_, value, rtol=1e-6, err_msg="F")
    never_rises(model)


def features_alone(model: Any, Y: np.ndarray, seen: np.ndarray, sides: dict[str, Any], matrix: np.ndarray) -> None:
    """Maxide: λ‖Z‖* + ½‖P_Ω(A Z Cᵀ − Y)‖² never rises, and the matrix is A Z Cᵀ."""
    Z = model.side_weights_.toarray()
    found = sides["left_features"] @ Z @ sides["right_features"].T
    np.testing.assert_allclose(found, matrix, atol=1e-7 * (1 + np.abs(matrix).max()), err_msg="A Z Cᵀ")
    never_rises(model)


def never_rises(model: Any) -> None:
    """Refuse a history that goes up."""
    values = np.array([entry["objective"] for entry in model.history_])
    assert (np.diff(values) <= 1e-9 * (1 + np.abs(values[0]))).all(), "F rises"


def one_shrinkage(model: Any, Y: np.ndarray, seen: np.ndarray, sides: dict[str, Any], matrix: np.ndarray) -> None:
    """MLRM without features: Ŷ = D_{λ/√m}(Y₀ Π)."""
    if sides:
        return
    m = Y.shape[1]
    centred = np.eye(m) - 1 / m
    found = shrink(np.where(seen, Y, 0) @ centred, model.nuclear_reg / np.sqrt(m))
    np.testing.assert_allclose(matrix, found, atol=1e-6 * (1 + np.abs(found).max()), err_msg="one shrinkage")


SPECIAL = {"MLRM": {"coding": None, "correct": None}, "Maxide": {"orthonormal": False}}
CHECKS = {"FPCA": fixed_point, "FNNM": objective, "Maxide": features_alone, "MLRM": one_shrinkage}
ROOM = Room(
    "completion",
    "A completed matrix, its entries and its lists are the same; hidden entries are never looked at; the methods "
    "minimise what their papers write down.",
    "every completion method on random matrices with holes against sorting; FPCA's fixed point, FNNM's and Maxide's "
    "objectives, MLRM's closed form, in plain numpy",
    {
        "model": FAMILIES["completion"],
        "shape": ([8, 7], [20, 12], [6, 40], [40, 6]),
        "density": (0.6, 0.3, 0.9),
        "reg": (0.5, 0.05, 5.0),
        "max_iter": (5, 60, 400),
        "features": (False, True),
        "seed": range(100_000),
    },
    trial,
)
