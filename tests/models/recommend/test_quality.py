"""Quality on real data: the embedded one always, larger ones where the folder EVERYPAIR_DATA has them."""

import os
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from everypair import OneClassMF, Popularity
from everypair.data import load_debian, split_entries, split_rows
from everypair.evaluate import ranking_metrics


def test_debian_dependencies_far_ahead_of_popularity():
    train, test = split_entries(load_debian().depends, 0.1, random_state=0)
    floor = ranking_metrics(Popularity().fit(train), train, test, ks=(10,))
    model = OneClassMF(rank=16, random_state=0).fit(train)
    quality = ranking_metrics(model, train, test, ks=(10,))
    assert quality["ndcg@10"] > 1.5 * floor["ndcg@10"]
    assert quality["recall@10"] > 1.5 * floor["recall@10"]
    assert quality["ndcg@10"] > 0.37


def test_debian_packages_that_were_not_in_training():
    split = split_rows(load_debian().depends, 0.05, 0.2, random_state=0)
    model = OneClassMF(rank=16, random_state=0).fit(split.train)
    quality = ranking_metrics(model, None, split.test, ks=(10,), fold_in=split.fold_in)
    floor = ranking_metrics(Popularity().fit(split.train), None, split.test, ks=(10,), fold_in=split.fold_in)
    assert quality["ndcg@10"] > 1.5 * floor["ndcg@10"]


def read(name):
    folder = os.environ.get("EVERYPAIR_DATA")
    if not folder or not Path(folder, name).is_file():
        pytest.skip(f"{name} is needed: set EVERYPAIR_DATA to the folder that holds it.")
    with np.load(Path(folder, name), allow_pickle=False) as archive:
        return {key: archive[key] for key in archive.files}


def matrix(arrays, name):
    parts = (arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr"))
    return sp.csr_array(tuple(parts), shape=tuple(arrays[f"{name}_shape"])).astype(np.float32)


@pytest.fixture(scope="module")
def movies():
    """All 575,281 pairs of rating 4 or more; a tenth held out."""
    arrays = read("ml1m.npz")
    liked = (matrix(arrays, "pos_train") + matrix(arrays, "pos_test")).tocsr()
    assert liked.nnz == 575_281
    return split_entries(liked, 0.1, random_state=0)


SWEEPS = {"max_iter": 16, "tol": 0.0}
CASES = {
    "squared": (
        {"loss": "squared", "negative_weight": 0.5, "negative_value": 0.0, "reg": 0.006, "reg_exponent": 1.0, **SWEEPS},
        {"ndcg@10": 25.3},
    ),
    "logistic": (
        {
            "loss": "logistic",
            "negative_weight": 2**-4,
            "negative_value": -1.0,
            "reg": 0.3,
            "reg_exponent": 0.5,
            **SWEEPS,
        },
        {"ndcg@10": 25.6, "recall@20": 32.3},
    ),
    "defaults": ({}, {"ndcg@10": 25.2}),
}


@pytest.mark.slow
@pytest.mark.parametrize(("params", "floors"), CASES.values(), ids=CASES)
def test_movies(movies, params, floors):
    train, test = movies
    measured = {name: [] for name in floors}
    for seed in range(3):
        model = OneClassMF(rank=64, random_state=seed, **params).fit(train)
        assert model.n_iter_ >= 16 or not params
        quality = ranking_metrics(model, train, test, ks=(10, 20))
        for name in floors:
            measured[name].append(100 * quality[name])
    means = {name: round(float(np.mean(values)), 2) for name, values in measured.items()}
    assert all(means[name] >= floor for name, floor in floors.items()), means


@pytest.mark.slow
def test_businesses_at_scale():
    arrays = read("yelp2018.npz")
    train, test = matrix(arrays, "train"), matrix(arrays, "test")
    model = OneClassMF(rank=256, random_state=0).fit(train)
    quality = ranking_metrics(model, train, test, ks=(20,))
    assert 100 * quality["recall@20"] >= 6.6, quality
    assert 100 * quality["ndcg@20"] >= 5.45, quality
