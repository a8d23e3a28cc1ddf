"""An estimator of any family with random data, from a case, and everything that it can be asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from trials import Case

from everypair.models.registry import ESTIMATORS, estimator_class

FAMILIES = {
    family: tuple(name for name, entry in ESTIMATORS.items() if entry.family == family)
    for family in ("recommender", "classifier", "completion")
}


class Fitted(NamedTuple):
    """A fitted model, and what it was fitted on, by the names of ``fit``'s arguments."""

    model: Any
    data: dict[str, Any]


def made(name: str, case: Case, **more: Any) -> Any:
    """An unfitted estimator with those of the wanted parameters that it has."""
    wanted = {
        "rank": 2, "max_iter": 3, "random_state": case["seed"] % 1000, "n_threads": 1, "n_models": 2, "widths": (3,),
        "n_trees": 3, "n_clusters": 2, "nuclear_reg": 0.5, "l1_reg": 0.1, "dtype": case.get("dtype"), **more,
    }  # fmt: skip
    cls = estimator_class(name)
    offered = cls().get_params()
    return cls(
        **{key: value for key, value in wanted.items() if key in offered and not (key == "dtype" and value is None)}
    )


def fitted(name: str, case: Case, **more: Any) -> Fitted:
    """A model fitted on random data of its family; what it refuses is a ``ValueError`` with a sentence."""
    chance = np.random.default_rng(case["seed"])
    data = {"recommender": events, "classifier": labels, "completion": entries}[ESTIMATORS[name].family](
        name, case, chance
    )
    return Fitted(made(name, case, **more).fit(**data), data)


def events(name: str, case: Case, chance: np.random.Generator) -> dict[str, Any]:
    """Interactions, and features of a side where they are asked for or needed."""
    m, n = case["shape"]
    matrix = np.where(chance.random((m, n)) < case["density"], np.rint(4 * chance.lognormal(size=(m, n)) + 1) / 4, 0.0)
    matrix[0, 0] = 1.0
    reads = estimator_class(name).reads_features
    wanted = case["features"] or name == "ContentItems"
    sides = (("user_features", m, 3), ("item_features", n, 2))
    given = {key: chance.random((size, width)) for (key, size, width), reader in zip(sides, reads) if reader and wanted}
    return {"interactions": sp.csr_array(matrix), **given}


def labels(name: str, case: Case, chance: np.random.Generator) -> dict[str, Any]:
    """Rows with labels that their features tell about."""
    n, d = max(case["shape"][0], 8), 4
    X = chance.normal(size=(n, d)) * (chance.random((n, d)) < 0.8)
    Y = (X @ chance.normal(size=(d, 3)) + 0.3 * chance.normal(size=(n, 3)) > 0.2).astype(int)
    Y[0], Y[1] = 1, 0
    return {"X": sp.csr_array(X) if case["features"] else X, "y": sp.csr_array(Y) if case["sparse"] else Y}


def entries(name: str, case: Case, chance: np.random.Generator) -> dict[str, Any]:
    """A matrix with holes, and features of both sides where they are asked for or needed."""
    m, n = (max(size, 6) for size in case["shape"])
    left, right = chance.normal(size=(m, 3)), chance.normal(size=(n, 2))
    Y = left @ chance.normal(size=(3, 2)) @ right.T + 0.1 * chance.normal(size=(m, n))
    Y = np.sign(Y) if name == "NeighborMF" else Y
    mask = chance.random((m, n)) < max(case["density"], 0.3)
    mask[0, :2] = mask[1, 1:3] = True
    wanted = case["features"] or name in ("IMC", "SIMC", "Maxide", "FNNM", "NeighborMF")
    given: dict[str, Any] = {}
    if wanted and name not in ("FPCA",):
        given = {} if name == "GaussianRatings" else {"left_features": left}
        given["right_features"] = right
    return {"Y": np.where(mask, Y, np.nan), **given}


def questions(one: Fitted) -> dict[str, Callable[[], Any]]:
    """Everything that a fitted model can be asked, by name; arrays, or tuples of them."""
    model, data = one
    entry = ESTIMATORS[type(model).__name__]
    if entry.family == "classifier":
        X = data["X"]
        asked = {"scores": lambda: model.predict_scores(X), "top": lambda: model.predict_topk(X, 2)}
        if hasattr(model, "predict_proba"):
            asked["chances"] = lambda: model.predict_proba(X)
        return asked | {
            "labels": lambda: sp.csr_array(model.predict(X)).toarray(),
            "one": lambda: model.predict_scores(X[:1]),
        }
    if entry.family == "completion":
        asked = {
            "all": model.complete, "lists": lambda: model.recommend([0, 1], n=4),
            "entries": lambda: model.predict([0, 1], [1, 0]),
        }  # fmt: skip
        if "left_features" in data and model.state_.left_side is not None:
            asked["new rows"] = lambda: model.complete(left_features=data["left_features"][:2])
        return asked
    rows, m = data["interactions"][:3], data["interactions"].shape[0]
    asked = {
        "lists": lambda: model.recommend(n=5), "scores": lambda: model.score_users([0, m - 1]),
        "pairs": lambda: model.score_pairs([0, m - 1], [0, 0]),
        "new lists": lambda: model.recommend(interactions=rows, n=3),
        "one": lambda: model.recommend([0], n=3),
    }  # fmt: skip
    if "similar_items" in entry.offers:
        asked["similar items"] = lambda: model.similar_items([0], n=3)
    if "similar_users" in entry.offers:
        asked["similar users"] = lambda: model.similar_users([0, 1], n=3)
    if "fold_in_users" in entry.offers:
        asked["folded users"] = lambda: model.fold_in_users(rows)
    if "explain" in entry.offers and type(model).__name__ != "SameLossMF":  # whose scores are no such sums
        asked["reasons"] = lambda: tuple(np.asarray(part) for part in model.explain(0, 0))
    return asked


def answers(one: Fitted, without: tuple[str, ...] = ()) -> dict[str, tuple[Any, ...]]:
    """All answers as tuples of arrays."""
    asked = {name: ask() for name, ask in questions(one).items() if name not in without}
    return {name: tuple(map(np.asarray, told if isinstance(told, tuple) else (told,))) for name, told in asked.items()}


def check_same(one: dict[str, tuple[Any, ...]], other: dict[str, tuple[Any, ...]], where: str) -> None:
    """Refuse answers that differ by a bit."""
    assert one.keys() == other.keys(), where
    for name, arrays in one.items():
        for first, second in zip(arrays, other[name], strict=True):
            assert first.dtype == second.dtype, f"{name}: another type {where}"
            assert first.tobytes() == second.tobytes(), f"{name}: other bits {where}"


def refusal(failure: ValueError) -> str:
    """What is refused has a sentence."""
    if len(str(failure)) < 20:
        raise AssertionError("a refusal without a sentence") from failure
    return "refused"
