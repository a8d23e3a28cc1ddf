"""Further ideas beside Blend(), on validation entries: each is kept only if it wins on three of five data sets.

    python experiments/blend/further.py [--data ml100k …] [--smoke]

A tenth of the training entries is held out, test data is never read. A win is a mean gain of nDCG@10 over users of more
than two standard errors of that gain, user by user. Weights per activity are chosen on one half of the users and
measured on the other. Writes results/further_<data>.json; report.py makes the table.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).parents[1]))
from datasets import split

from everypair import Blend, ItemItem, OneClassMF
from everypair.data import load_debian, split_entries
from everypair.metrics.patterns import positive_pattern, stored_pattern
from everypair.metrics.per_row import ndcg
from everypair.metrics.ranking import Ranker
from everypair.models.recommend.blend import scaled

RESULTS = Path(__file__).parent / "results"
DATA = ("ml100k", "lastfm_hetrec", "citeulike_t", "debian", "ml1m")
BLOCK, WEIGHTS = 512, (0.0, 0.1, 0.3, 0.5, 0.8, 1.2, 2.0)
Score = Callable[[Any], Any]


def per_user(score: Score, train: Any, validation: Any, users: Any) -> Any:
    """nDCG@10 of every user in ``users``."""
    seen, positives = stored_pattern(train, "train")[users], positive_pattern(validation, "validation")[users]
    ranker = Ranker(seen, positives, top=0)
    for start in range(0, len(users), BLOCK):
        block = users[start : start + BLOCK]
        ranker.add(np.arange(start, start + len(block)), score(block), 2)
    return ndcg(ranker.ranking, 10)


def candidates(train: Any) -> dict[str, Score]:
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

    both = sp.csr_matrix(items.coefficients_)
    both = ((both + both.T) / 2).tocsr()
    twin = ItemItem().fit(likes.T)  # users regressed on users
    people = sp.csr_matrix(twin.coefficients_).T.tocsr()
    rank, ridge = factors.rank, np.asarray(factors.reg_)
    larger = OneClassMF(**{**factors.get_params(), "rank": min(2 * rank, max(train.shape)),
                           "reg": tuple((1.3 * ridge).tolist())}).fit(train)  # fmt: skip

    def corrected(exponent: float) -> Score:
        return lambda users: blend.score_users(users) * counts**exponent

    return {
        "Blend()": blend.score_users,
        "B in both directions": lambda users: parts(users)[0] + 0.3 * z((likes[users] @ both).toarray()),
        "users on users added, 0.3": lambda users: (
            blend.score_users(users) + 0.3 * z((people[users] @ likes).toarray())
        ),
        "users on users added, 0.1": lambda users: (
            blend.score_users(users) + 0.1 * z((people[users] @ likes).toarray())
        ),
        "rank × 2, ridge × 1.3": lambda users: z(larger.score_users(users), -1.0) + 0.3 * parts(users)[1],
        "scores × d_j^0.1": corrected(0.1),
        "scores × d_j^−0.1": corrected(-0.1),
        **{
            f"weight {weight}": lambda users, weight=weight: (lambda a, b: a + weight * b)(*parts(users))
            for weight in WEIGHTS
        },
    }


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


def study(name: str, train: Any) -> dict[str, Any]:
    train, validation = split_entries(train, 0.1, random_state=100)
    users = np.flatnonzero(np.diff(positive_pattern(validation, "validation").indptr))
    values = {idea: per_user(score, train, validation, users) for idea, score in candidates(train).items()}
    base = values["Blend()"]
    gains = {idea: value - base for idea, value in values.items() if not idea.startswith("weight")}
    gains["weights by activity"] = by_activity(values, base, np.diff(sp.csr_array(train).indptr)[users])
    record = {
        idea: {"gain": float(gain.mean()), "standard_error": float(gain.std(ddof=1) / np.sqrt(len(gain)))}
        for idea, gain in gains.items()
        if idea != "Blend()"
    }
    for idea, row in record.items():
        print(f"{name:14s} {idea:26s} {100 * row['gain']:+.3f} ± {100 * row['standard_error']:.3f}", flush=True)
    return {"data": name, "users": len(users), "ndcg@10": float(base.mean()), "ideas": record}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=DATA, choices=DATA)
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder to write to")
    parser.add_argument("--smoke", action="store_true")
    options = parser.parse_args()
    for name in ["debian"] if options.smoke else options.data:
        record = study(name, load_debian().depends[:1000] if options.smoke else split(name)[0])
        if not (options.smoke and options.results == RESULTS):
            options.results.mkdir(exist_ok=True)
            (options.results / f"further_{name}.json").write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
