"""Further ideas beside Blend(), on validation entries: each is kept only if it wins on three of five data sets.

    python experiments/blend/further.py [--data ml100k …] [--ideas …] [--smoke]

A tenth of the training entries is held out, test data is never read. A win is a mean gain of nDCG@10 over users of more
than two standard errors of that gain, user by user. Weights per activity are chosen on one half of the users and
measured on the other. Writes results/further_<data>.json (other ideas that are there are kept); report.py makes the
table.

B by the logistic loss: log(1 + e^(1 − g)) on stored pairs, g = xb, and ½ w g² on every other pair, on the neighbours of
the least-squares B; Newton steps from zero, whose all-pairs part is the same Gram matrix.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).parents[1]))
from datasets import split

from everypair import Blend, ItemItem, OneClassMF
from everypair.data import load_debian, split_entries
from everypair.metrics.held_out import HeldOut, users_with_positives
from everypair.metrics.per_row import average_rows, rows_error
from everypair.models.recommend.blend.scale import scaled

RESULTS = Path(__file__).parent / "results"
DATA = ("ml100k", "lastfm_hetrec", "citeulike_t", "debian", "ml1m")
WEIGHTS = (0.0, 0.1, 0.3, 0.5, 0.8, 1.2, 2.0)
NEWTON_STEPS = 3
IDEAS = (
    "B in both directions", "users on users added, 0.3", "users on users added, 0.1", "rank × 2, ridge × 1.3",
    "scores × d_j^0.1", "scores × d_j^−0.1", "B by the logistic loss, w = 1", "B by the logistic loss, w = 0.3",
    "weights by activity",
)  # fmt: skip
Score = Callable[[Any], Any]


def logistic_coefficients(items: ItemItem, likes: Any, negative_weights: tuple[float, ...]) -> dict[float, Any]:
    """B for each w by Newton steps over all pairs, on the support of ``items`` and with its d and its ridge."""
    users = items.state_.user_weights
    columns = sp.csc_matrix(likes, dtype=np.float64)
    by_column = sp.csc_matrix(items.coefficients_)
    squares = np.asarray(columns.multiply(users[:, None]).sum(axis=0)).ravel()  # G_ll
    made: dict[float, list[Any]] = {w: [] for w in negative_weights}
    for item in range(columns.shape[1]):
        support = by_column.indices[by_column.indptr[item] : by_column.indptr[item + 1]]
        neighbours = columns[:, support]
        gram = (neighbours.T @ neighbours.multiply(users[:, None])).toarray()
        penalty = np.diag(items.reg + items.reg_scale * squares[support])
        rows = columns.indices[columns.indptr[item] : columns.indptr[item + 1]]
        own, weights = neighbours[rows].toarray(), users[rows]
        for w, found in made.items():
            every, b = w * gram + penalty, np.zeros(len(support))
            for _ in range(NEWTON_STEPS if len(rows) else 0):
                g = own @ b
                pull = 1 / (1 + np.exp(g - 1))
                slope = every @ b - own.T @ (weights * (pull + w * g))
                curvature = every + own.T @ ((weights * (pull * (1 - pull) - w))[:, None] * own)
                b -= np.linalg.solve(curvature, slope)
            found.append(b)
    return {
        w: sp.csc_matrix((np.concatenate(found), by_column.indices, by_column.indptr), shape=by_column.shape).tocsr()
        for w, found in made.items()
    }


def candidates(train: Any, ideas: list[str]) -> dict[str, Score]:
    """Blend() and the ideas, each a function from users to scores."""
    blend = Blend(random_state=0).fit(train)
    factors, items = blend.models_
    likes = sp.csr_matrix(train, dtype=np.float32)
    likes.data[:] = 1
    counts = np.maximum(np.diff(likes.tocsc().indptr), 1).astype(np.float32)

    def z(scores: Any, zero: float = 0.0) -> Any:
        return scaled(scores, zero, 2)

    def parts(users: Any) -> tuple[Any, Any]:
        return z(factors.score_users(users), -1.0), z(items.score_users(users))

    def by_other(coefficients: Any) -> Score:
        return lambda users: parts(users)[0] + 0.3 * z((likes[users] @ coefficients).toarray())

    def both_directions() -> Score:
        both = sp.csr_matrix(items.coefficients_)
        return by_other(((both + both.T) / 2).tocsr())

    @cache
    def by_logistic_loss() -> dict[float, Any]:
        return logistic_coefficients(items, likes, (1.0, 0.3))

    def logistic(negative_weight: float) -> Score:
        return by_other(by_logistic_loss()[negative_weight].astype(np.float32))

    @cache
    def people() -> Any:
        """Users regressed on users."""
        return sp.csr_matrix(ItemItem().fit(likes.T).coefficients_).T.tocsr()

    def with_users(weight: float) -> Score:
        return lambda users: blend.score_users(users) + weight * z((people()[users] @ likes).toarray())

    def larger() -> Score:
        rank, ridge = factors.rank_, np.asarray(factors.reg_)
        model = OneClassMF(**{**factors.get_params(), "rank": min(2 * rank, max(train.shape)),
                              "reg": tuple((1.3 * ridge).tolist())}).fit(train)  # fmt: skip
        return lambda users: z(model.score_users(users), -1.0) + 0.3 * parts(users)[1]

    def corrected(exponent: float) -> Score:
        return lambda users: blend.score_users(users) * counts**exponent

    makers: dict[str, Callable[[], Score]] = {
        "B in both directions": both_directions,
        "users on users added, 0.3": lambda: with_users(0.3),
        "users on users added, 0.1": lambda: with_users(0.1),
        "rank × 2, ridge × 1.3": larger,
        "scores × d_j^0.1": lambda: corrected(0.1),
        "scores × d_j^−0.1": lambda: corrected(-0.1),
        "B by the logistic loss, w = 1": lambda: logistic(1.0),
        "B by the logistic loss, w = 0.3": lambda: logistic(0.3),
    }
    chosen: dict[str, Score] = {"Blend()": blend.score_users}
    chosen |= {idea: make() for idea, make in makers.items() if idea in ideas}
    if "weights by activity" in ideas:
        for weight in WEIGHTS:
            chosen[f"weight {weight}"] = lambda users, weight=weight: (lambda a, b: a + weight * b)(*parts(users))
    return chosen


def by_activity(values: dict[str, Any], base: Any, activity: Any) -> Any:
    """Gains of weights chosen per quartile of activity on the other half of the users."""
    gains = np.zeros(len(base))
    quartile = np.searchsorted(np.quantile(activity, [0.25, 0.5, 0.75]), activity)
    half = np.random.default_rng(0).random(len(base)) < 0.5
    tried = [values[f"weight {weight}"] for weight in WEIGHTS]
    for group in range(4):
        for own in (half, ~half):
            chosen = max(tried, key=lambda value: value[(quartile == group) & ~own].mean())
            place = (quartile == group) & own
            gains[place] = (chosen - base)[place]
    return gains


def study(name: str, train: Any, ideas: list[str], before: dict[str, Any]) -> dict[str, Any]:
    train, validation = split_entries(train, 0.1, random_state=100)
    users = users_with_positives(validation)
    held_out = HeldOut(train, validation, users, n_threads=2)
    values = {idea: held_out.values("ndcg@10", score) for idea, score in candidates(train, ideas).items()}
    base = values["Blend()"]
    gains = {idea: value - base for idea, value in values.items() if not idea.startswith("weight")}
    if "weights by activity" in ideas:
        gains["weights by activity"] = by_activity(values, base, np.diff(sp.csr_array(train).indptr)[users])
    record = {
        idea: {"gain": average_rows(gain), "standard_error": rows_error(gain)}
        for idea, gain in gains.items()
        if idea != "Blend()"
    }
    for idea, row in record.items():
        print(f"{name:14s} {idea:26s} {100 * row['gain']:+.3f} ± {100 * row['standard_error']:.3f}", flush=True)
    return {"data": name, "users": len(users), "ndcg@10": float(base.mean()), "ideas": {**before, **record}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=DATA, choices=DATA)
    parser.add_argument("--ideas", nargs="+", default=list(IDEAS), choices=IDEAS)
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder to write to")
    parser.add_argument("--smoke", action="store_true")
    options = parser.parse_args()
    for name in ["debian"] if options.smoke else options.data:
        path = options.results / f"further_{name}.json"
        before = json.loads(path.read_text())["ideas"] if path.exists() and not options.smoke else {}
        train = load_debian().depends[:1000] if options.smoke else split(name)[0]
        record = study(name, train, options.ideas, before)
        if not (options.smoke and options.results == RESULTS):
            options.results.mkdir(exist_ok=True)
            path.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
