import numpy as np
import pytest
import scipy.sparse as sp

from everypair.features.laplacian import Laplacian
from everypair.features.matrix import Features


def example(size=8, seed=0):
    """Similarities one way only, with self-loops; node 5 is linked to itself alone."""
    random = np.random.default_rng(seed)
    similarity = random.random((size, size)) * (random.random((size, size)) < 0.4)
    similarity[0, 0] = similarity[3, 3] = 2.0
    similarity[5] = similarity[:, 5] = 0
    similarity[5, 5] = 4.0
    assert not np.array_equal(similarity, similarity.T)
    return similarity, random


def distances(similarity, factors):
    """½ Σ S_ij ‖u_i − u_j‖², as it is written."""
    rows = range(len(factors))
    return 0.5 * sum(similarity[i, j] * np.sum((factors[i] - factors[j]) ** 2) for i in rows for j in rows)


def matrix_of(laplacian):
    return laplacian.product(np.eye(laplacian.matrix.shape[0]))


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, sp.csc_matrix, sp.coo_array, np.ndarray.tolist])
def test_quadratic_form_is_the_sum_of_distances(kind):
    similarity, random = example()
    factors = random.normal(size=(8, 5))
    laplacian = Laplacian.from_similarity(kind(similarity), dtype=np.float64)
    form = np.sum(factors * laplacian.product(factors))
    assert form == pytest.approx(distances(similarity, factors), rel=1e-12)


def test_normalised_form_is_the_sum_of_scaled_distances():
    similarity, random = example()
    factors = random.normal(size=(8, 5))
    laplacian = Laplacian.from_similarity(similarity, normalized=True, dtype=np.float64)
    links = (similarity + similarity.T) / 2 * (1 - np.eye(8))
    degrees = links.sum(axis=1)
    scaled = factors / np.sqrt(np.where(degrees > 0, degrees, 1))[:, None]
    assert np.sum(factors * laplacian.product(factors)) == pytest.approx(distances(links, scaled), rel=1e-12)
    eigenvalues = np.linalg.eigvalsh(matrix_of(laplacian))
    assert eigenvalues.min() > -1e-14
    assert eigenvalues.max() <= 2
    assert np.array_equal(laplacian.diagonal, [1, 1, 1, 1, 1, 0, 1, 1])


@pytest.mark.parametrize("normalized", [False, True])
def test_both_directions_of_a_link_are_averaged_and_loops_dropped(normalized):
    similarity, _ = example()
    laplacian = matrix_of(Laplacian.from_similarity(similarity, normalized=normalized, dtype=np.float64))
    np.testing.assert_allclose(laplacian, laplacian.T, atol=1e-15)
    averaged = (similarity + similarity.T) / 2
    without_loops = averaged * (1 - np.eye(8))
    for same in (averaged, without_loops, similarity.T):
        other = Laplacian.from_similarity(same, normalized=normalized, dtype=np.float64)
        np.testing.assert_allclose(matrix_of(other), laplacian, atol=1e-15)
    if not normalized:
        np.testing.assert_allclose(laplacian, np.diag(without_loops.sum(axis=1)) - without_loops, atol=1e-15)


@pytest.mark.parametrize("normalized", [False, True])
def test_a_node_without_neighbours_has_a_zero_row(normalized):
    similarity, _ = example()
    laplacian = Laplacian.from_similarity(similarity, normalized=normalized, dtype=np.float64)
    assert not matrix_of(laplacian)[5].any()
    assert not matrix_of(laplacian)[:, 5].any()
    assert laplacian.diagonal[5] == 0
    empty = Laplacian.from_similarity(sp.csr_array((4, 4)), normalized=normalized, dtype=np.float64)
    assert not empty.product(np.ones((4, 2))).any()


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_form_in_feature_space(kind, normalized):
    similarity, random = example()
    matrix = random.normal(size=(8, 3)) * (random.random((8, 3)) < 0.6)
    laplacian = Laplacian.from_similarity(similarity, normalized=normalized, dtype=np.float64)
    features = Features(kind(matrix))
    expected = matrix.T @ matrix_of(laplacian) @ matrix
    np.testing.assert_allclose(laplacian.form(features), expected, atol=1e-14)
    np.testing.assert_allclose(laplacian.form_diagonal(features), np.diag(expected), atol=1e-14)


def test_precision_and_threads():
    similarity, random = example(700)
    factors = random.normal(size=(700, 5))
    exact = Laplacian.from_similarity(similarity, dtype=np.float64).product(factors)
    laplacian = Laplacian.from_similarity(similarity)
    one, two = (laplacian.product(factors.astype(np.float32), n_threads) for n_threads in (1, 2))
    assert one.dtype == np.float32
    assert np.array_equal(one, two)
    np.testing.assert_allclose(one, exact, rtol=1e-4, atol=1e-2)


@pytest.mark.parametrize(
    ("similarity", "sentence"),
    [
        ([[0.0, -1.0], [1.0, 0.0]], "friends has negative similarities: cut them"),
        ([[0.0, np.nan], [1.0, 0.0]], "friends has NaN or infinite similarities"),
        ([[0.0, np.inf], [1.0, 0.0]], "friends has NaN or infinite similarities"),
        (np.ones((2, 3)), r"friends must be square.*got shape \(2, 3\)"),
        (np.ones(3), "friends must be two-dimensional"),
    ],
)
def test_bad_graphs_are_refused(similarity, sentence):
    with pytest.raises(ValueError, match=sentence):
        Laplacian.from_similarity(similarity, name="friends")
    if np.ndim(similarity) == 2:
        with pytest.raises(ValueError, match=sentence):
            Laplacian.from_similarity(sp.coo_array(similarity), name="friends")
