"""Tiny generated data sets in the form of the real ones, for smoke runs: the same names, keys and kinds of values.

Ratings of low rank: user i likes item j where u_i · v_j + noise is large. Labels follow features the same way.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

USERS, ITEMS, FEATURES, LABELS = 60, 40, 15, 7
RATED = {"yahoo_music_monti": 20}  # points a star is worth where ratings go to 100
WHOLE = ("rcv1subset1_top944",)  # multi-label sets that come without a split


def archive(name: str) -> dict[str, Any]:
    """Return what ``numpy.load`` would give of the data set's file."""
    random = np.random.default_rng(list(name.encode()))
    if name.startswith("ml_"):
        return multilabel(random, name.removeprefix("ml_") in WHOLE)
    stars = ratings(random) * RATED.get(name, 1)
    if name == "ml100k":
        rows, columns = stars.nonzero()
        features = (random.random((USERS, 6)) < 0.4).astype(np.float64)
        features[:, 0] = 1
        return {"user": rows, "item": columns, "rating": stars[rows, columns], "shape": np.array(stars.shape),
                "user_features": features}  # fmt: skip
    train, test = halves(stars, random)
    words, tags = ((random.random((ITEMS, count)) < 0.2) * 2.0 for count in (FEATURES, 6))
    likes, (few, more) = (stars >= 4) * 1.0, halves((stars >= 4) * 1.0, random)
    users, items = (links(size, random) for size in (USERS, ITEMS))
    found = {
        "ml1m": {"pos_train": few, "pos_test": more},
        "yelp2018": {"train": few, "test": more},
        "citeulike_t": {"all": likes, "train_p1": more, "test_p1": few, "train_p10": few, "test_p10": more,
                        "item_words": words, "item_tags": tags, "citations_sym": items},
        "lastfm_hetrec": {"plays": likes, "friends": users},
    }.get(name, {"train": train, "test": test, "ratings": stars, "graph_users": users})  # fmt: skip
    return stored(found)


def ratings(random: np.random.Generator) -> Any:
    """One to five stars where rated, 0 elsewhere; every user and every item has a rating of five."""
    taste = random.standard_normal((USERS, 3)) @ random.standard_normal((3, ITEMS))
    taste += 0.5 * random.standard_normal(taste.shape)
    stars = np.ceil(5 * taste.argsort(axis=None).argsort().reshape(taste.shape) / taste.size + 1e-9)
    stars *= random.random(stars.shape) < 0.6
    stars[np.arange(USERS), np.arange(USERS) % ITEMS] = 5
    return stars


def multilabel(random: np.random.Generator, whole: bool) -> dict[str, Any]:
    """Sparse features, three rows in ten for each label, and a row without any."""
    X = random.random((140, FEATURES)) * (random.random((140, FEATURES)) < 0.5)
    scores = X @ random.standard_normal((FEATURES, LABELS)) + 0.3 * random.standard_normal((140, LABELS))
    Y = (scores > np.quantile(scores, 0.7, axis=0)) * 1.0
    Y[0] = 0
    if whole:
        return stored({"X_all": X, "Y_all": Y})
    return stored({"X_train": X[:90], "Y_train": Y[:90], "X_test": X[90:], "Y_test": Y[90:]})


def halves(matrix: Any, random: np.random.Generator) -> tuple[Any, Any]:
    """About four fifths of the entries, and the others."""
    first = random.random(matrix.shape) < 0.8
    return matrix * first, matrix * ~first


def links(size: int, random: np.random.Generator) -> Any:
    """A symmetric graph of zeros and ones without self-loops."""
    upper = np.triu(random.random((size, size)) < 0.1, 1)
    return (upper | upper.T) * 1.0


def stored(matrices: dict[str, Any]) -> dict[str, Any]:
    """The arrays of CSR matrices under the names that the files have."""
    arrays: dict[str, Any] = {}
    for name, matrix in matrices.items():
        rows = sp.csr_matrix(matrix)
        arrays |= {f"{name}_data": rows.data, f"{name}_indices": rows.indices, f"{name}_indptr": rows.indptr,
                   f"{name}_shape": np.array(rows.shape)}  # fmt: skip
    return arrays
