"""Novelty, intra-list diversity, serendipity, coverage: against loops over lists."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from everypair import OneClassMF, Popularity
from everypair.evaluate import list_metrics
from everypair.metrics import beyond_accuracy


def problem(seed=0, m=30, n=18, length=8):
    random = np.random.default_rng(seed)
    kind = random.random((m, n))
    kind[:, 4] = 0.5  # an item that nobody has
    kind[:6, :] += 0.4 * (random.random(n) < 0.8)
    train = np.where(kind < 0.25, 1.0, np.where(kind < 0.3, -1.0, 0.0))  # with dislikes, which are seen
    test = ((kind > 0.9) & (train == 0)).astype(float)
    lists = np.full((m, length), -1)
    for i in range(m):
        free = random.permutation(np.flatnonzero(train[i] == 0))[: random.integers(0, length + 1)]
        lists[i, : len(free)] = free
    return train, test, lists


def cosine(a, b):
    size = np.linalg.norm(a) * np.linalg.norm(b)
    return float(a @ b / size) if size else 0.0


def by_loops(lists, train, test, k, vectors, users):
    """Every metric from its definition."""
    m, n = train.shape
    counts = [(train[:, j] > 0).sum() for j in range(n)]
    values = {name: [] for name in ("novelty", "diversity", "popularity", "serendipity")}
    shown = set()
    for line, user in enumerate(users):
        first = [j for j in lists[line][:k] if j >= 0]
        shown |= set(first)
        if first:
            values["novelty"].append(
                sum(-math.log2((counts[j] + 1) / (m + 1)) / math.log2(m + 1) for j in first) / len(first)
            )
            values["popularity"].append(sum(counts[j] / max(counts) for j in first) / len(first))
        pairs = [(a, b) for a in range(len(first)) for b in range(a)]
        if pairs:
            alike = [cosine(vectors[first[a]], vectors[first[b]]) for a, b in pairs]
            values["diversity"].append(1 - sum(alike) / len(alike))
        good = set(np.flatnonzero(test[user] > 0))
        if good:
            unseen = sorted((j for j in range(n) if train[user, j] == 0), key=lambda j: (-counts[j], j))
            values["serendipity"].append(len((set(first) & good) - set(unseen[:k])) / k)
    return values, len(shown) / n


@pytest.mark.parametrize("k", [1, 3, 8])
@pytest.mark.parametrize("given", ["columns", "features", "sparse features"])
@pytest.mark.parametrize("some", [False, True])
def test_lists_equal_their_definitions(k, given, some):
    train, test, lists = problem()
    features = np.random.default_rng(1).standard_normal((18, 5))
    features[2] = 0
    vectors = (train > 0).T.astype(float) if given == "columns" else features
    users = np.array([3, 17, 4, 29, 12]) if some else np.arange(30)
    lists = lists[users]
    options = {} if given == "columns" else {"features": sp.csr_array(features) if "sparse" in given else features}
    found = beyond_accuracy(lists, train, test, [k], users=users if some else None, **options)
    values, coverage = by_loops(lists, train, test, k, vectors, users)
    assert found.pop(f"coverage@{k}") == coverage
    for name, of_lists in values.items():
        if not of_lists:
            assert math.isnan(found[f"{name}@{k}"])
            continue
        assert found[f"{name}@{k}"] == pytest.approx(np.mean(of_lists), abs=1e-12)
        if len(of_lists) > 1:
            error = np.std(of_lists, ddof=1) / np.sqrt(len(of_lists))
            assert found.standard_errors[f"{name}@{k}"] == pytest.approx(error, abs=1e-12)
    assert set(found) == {f"{name}@{k}" for name in values}


def test_many_lists_are_cut_into_blocks(monkeypatch):
    train, test, lists = problem()
    whole = beyond_accuracy(lists, train, test, [5])
    monkeypatch.setattr("everypair.metrics.lists._LISTS_AT_ONCE", 7)
    assert beyond_accuracy(lists, train, test, [5]) == pytest.approx(whole, rel=1e-12)


def test_the_ends_of_novelty():
    train = np.array([[1, 0, 0], [1, 0, 0], [1, 0, 0]])
    assert beyond_accuracy([[0]] * 3, train, ks=[1])["novelty@1"] == 0.0
    assert beyond_accuracy([[1]] * 3, train, ks=[1])["novelty@1"] == 1.0


def test_a_model_and_the_popular():
    train, test, _ = problem(m=60)
    sparse = sp.csr_array(train)
    popular, personal = Popularity().fit(sparse), OneClassMF(rank=4, random_state=0).fit(sparse)
    users = np.flatnonzero(test.sum(axis=1))
    lists, _ = personal.recommend(users, n=5)
    assert list_metrics(personal, sparse, test, [5]) == beyond_accuracy(lists, sparse, test, [5], users=users)
    found = list_metrics(popular, sparse, test, [5])
    assert found["serendipity@5"] == 0.0
    assert found["popularity@5"] > list_metrics(personal, sparse, test, [5])["popularity@5"]
    assert "serendipity@5" not in list_metrics(popular, sparse, ks=[5])


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"lists": [[0.5]]}, "matrix of item positions"),
        ({"lists": [0, 1]}, "matrix of item positions"),
        ({"lists": [[18]] * 30}, "items outside 0 … 17"),
        ({"lists": [[0]] * 3}, "3 lists for 30 users"),
        ({"lists": [[0]], "users": [30]}, "users must be positions 0 … 29"),
        ({"ks": [9]}, "lists have 8 items and ks asks for 9"),
        ({"features": np.ones((3, 2))}, "a row for each of 18 items"),
        ({"test": np.ones((2, 2))}, "test must have the shape of train"),
    ],
)
def test_bad_lists(change, sentence):
    train, test, lists = problem()
    options = {"lists": lists, "train": train, "test": test, "ks": [1]} | change
    with pytest.raises(ValueError, match=sentence):
        beyond_accuracy(**options)
