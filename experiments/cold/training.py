"""How features should take part in training: jointly as they are, scaled, or a regression on what training found.

    python experiments/cold/training.py [--data ml100k lastfm_hetrec debian ml1m citeulike_t] [--smoke]

V = T + XW with ½ λ‖T‖² and ½ λ_f‖W‖² is own vectors shrunk towards what features say, ½ λ Σ_j ‖v_j − x_jW‖²: the joint
objective is the hierarchical ridge regression. "refitted" trains without features, regresses the factors on features,
every item by the others (five folds), and solves items towards that and then users again, so many times. A tenth of the
training entries is held out, test entries are never read. Every row is stored in results/training_<data>.json.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).parents[1]))
import datasets
import smoke
from common import RESULTS, by_rows, cpu, csr, friends, interactions, item_features, keep, read

from everypair import OneClassMF, Side, split_entries
from everypair.data.rows import StoredRows
from everypair.features.ridge_weights import choose_ridge, ridge_weights
from everypair.features.row_scale import RowScale

DATA = ("ml100k", "lastfm_hetrec", "debian", "ml1m", "citeulike_t")
FOLDS, CHOICE_ROWS = 5, 1000
FACTORS = (0.1, 0.3, 3.0, 10.0)  # of the automatic ridge of W


def data_of(name: str) -> tuple[Any, Any]:
    """Training events with the side that has features as items, and its features."""
    if name == "citeulike_t":
        return csr(datasets.sparse(datasets.read(name), "train_p10")), item_features(name)
    if name == "ml1m":
        return csr(datasets.sparse(datasets.read(name), "pos_train")), item_features(name)
    if name == "lastfm_hetrec":
        return csr(interactions(name).T), friends(name)
    return interactions(name), item_features(name)


def predicted(rows: Any, factors: Any, seed: int) -> Any:
    """What features say of every factor that was not in the regression."""
    random = np.random.default_rng(seed)
    mean = factors.mean(axis=0)
    chosen = np.sort(random.permutation(len(factors))[:CHOICE_ROWS])
    ridge = choose_ridge(rows[chosen], (factors - mean)[chosen])
    fold, out = random.integers(0, FOLDS, len(factors)), np.empty_like(factors)
    for one in range(FOLDS):
        out[fold == one] = mean + rows[fold == one] @ ridge_weights(
            rows[fold != one], (factors - mean)[fold != one], ridge
        )
    return out


def refitted(model: Any, rows: Any, rounds: int, seed: int) -> Callable[[Any], Any]:
    """Scores after so many rounds of regression, items and users."""
    state = model.state_
    likes = state.interactions
    busy = np.flatnonzero(np.bincount(likes.indices, minlength=likes.shape[1]))
    for _ in range(rounds):
        centers = np.zeros_like(state.item_factors)
        centers[busy] = predicted(rows[busy], state.item_factors[busy], seed)
        columns = StoredRows.of(sp.csr_array(likes.T))
        items = state.fold_in(1, columns, state.negatives.right, None, centers, None, 1)
        state = replace(state, item_factors=items)
        state = replace(
            state, user_factors=state.fold_in(0, StoredRows.of(likes), state.negatives.left, None, None, None, 1)
        )
    return lambda users: state.user_factors[users] @ state.item_factors.T


def rows_of(train: Any, features: Any, seed: int) -> dict[str, Callable[[], Callable[[Any], Any]]]:
    """Every row of the table as what computes scores of users."""
    rank, kept = min(64, *train.shape), {}
    scaled = RowScale.of(features)(features, np.float32)

    def joint(given: Any, **side: Any) -> Callable[[Any], Any]:
        model = OneClassMF(rank=rank, items=Side(**side), random_state=seed).fit(train, item_features=given)
        kept["reg"] = model.feature_reg_[1]
        return model.score_users

    def plain() -> Any:
        if "plain" not in kept:
            kept["plain"] = OneClassMF(rank=rank, random_state=seed).fit(train)
        return kept["plain"]

    def searched(factor: float) -> Callable[[Any], Any]:
        if "scaled" not in kept:
            joint(scaled)
            kept["scaled"] = kept["reg"]
        return joint(scaled, feature_reg=factor * kept["scaled"])

    return {
        "without features": lambda: plain().score_users,
        "joint (default)": lambda: joint(features),
        "joint, fit_intercept": lambda: joint(features, fit_intercept=True),
        "joint, idf^½ and unit rows": lambda: joint(scaled),
        **{
            f"joint, idf^½ and unit rows, feature_reg × {factor:g}": (lambda factor=factor: searched(factor))
            for factor in FACTORS
        },
        **{f"refitted, {rounds}": (lambda rounds=rounds: refitted(plain(), scaled, rounds, seed)) for rounds in (1, 4)},
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=DATA, choices=DATA)
    parser.add_argument("--rows", nargs="+", help="these alone")
    options = smoke.parse(parser, RESULTS, data=("citeulike_t",))
    for name in options.data:
        path = options.results / f"training_{name}.json"
        results = read(path)
        likes, features = data_of(name)
        train, held_out = split_entries(likes, 0.1, random_state=7)
        for row, make in rows_of(csr(train), features, seed=0).items():
            if row in results or (options.rows and row not in options.rows):
                continue
            scores, seconds = cpu(make)
            results[row] = {**by_rows(scores, held_out, train), "cpu": seconds}
            keep(path, results)
            print(name, row, results[row], flush=True)


if __name__ == "__main__":
    main()
