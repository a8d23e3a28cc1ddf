import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from everypair.features.knn import knn_graph


def knn_graph_twin(features, k, metric):
    """All similarities at once; the k greatest of each row; averaged with its transpose."""
    known = np.flatnonzero(features.any(axis=1))
    directed = np.zeros((len(features), len(features)))
    for i in known:
        others = known[known != i]
        if metric == "cosine":
            lengths = np.linalg.norm(features[others], axis=1) * np.linalg.norm(features[i])
            similarity = features[others] @ features[i] / lengths
        else:
            similarity = 1 / (1 + np.linalg.norm(features[others] - features[i], axis=1))
        nearest = np.argsort(-similarity)[:k]
        directed[i, others[nearest]] = np.maximum(similarity[nearest], 0)
    return (directed + directed.T) / 2


def features(rows=40, columns=12, seed=0):
    rng = np.random.default_rng(seed)
    dense = rng.normal(size=(rows, columns)) * (rng.random((rows, columns)) < 0.5)
    dense[[3, 17]] = 0
    return dense


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("k", [1, 5, 100])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_matrix, sp.coo_array])
def test_like_all_similarities(metric, k, convert):
    dense = features()
    graph = knn_graph(convert(dense), k, metric)
    np.testing.assert_allclose(graph.toarray(), knn_graph_twin(dense, k, metric), atol=1e-7)


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_symmetric_non_negative_no_loops_zero_rows_isolated(metric):
    graph = knn_graph(sp.csr_array(features()), 4, metric)
    assert graph.format == "csr"
    assert graph.has_canonical_format
    assert (graph != graph.T).nnz == 0
    assert graph.data.min() > 0
    assert (graph.diagonal() == 0).all()
    assert np.diff(graph.indptr)[[3, 17]].tolist() == [0, 0]


def test_identical_rows_are_no_loops():
    graph = knn_graph(np.ones((6, 3)), 2)
    assert (graph.diagonal() == 0).all()
    assert np.diff(graph.indptr).min() >= 2
    np.testing.assert_allclose(graph.data[graph.data > 0.6], 1.0)


def test_nothing_to_connect():
    assert knn_graph(np.zeros((4, 2))).nnz == 0
    assert knn_graph(np.array([[1.0, 0], [0, 0]])).shape == (2, 2)
    assert knn_graph(np.array([[1.0], [-1.0]])).nnz == 0  # a negative cosine is cut to 0


def test_precision_follows_the_features():
    assert knn_graph(features().astype(np.float32)).dtype == np.float32
    assert knn_graph((features() > 0).astype(int)).dtype == np.float64


def test_never_all_pairs_at_once():
    rows = 12_000  # all pairs would take 576 MB in float32
    matrix = sp.random(rows, 50, density=0.04, format="csr", dtype=np.float32, rng=np.random.default_rng(0))
    tracemalloc.start()
    try:
        knn_graph(matrix, 5)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 300 * 2**20


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((np.ones(3),), ValueError, "non-empty matrix"),
        ((np.array([["a"]]),), TypeError, "real numbers"),
        ((np.array([[np.nan, 1]]),), ValueError, "NaN"),
        ((np.ones((3, 2)), 0), ValueError, "k must be"),
        ((np.ones((3, 2)), 1, "manhattan"), ValueError, "metric"),
    ],
)
def test_bad_input_is_refused_with_a_sentence(arguments, error, message):
    with pytest.raises(error, match=message):
        knn_graph(*arguments)
