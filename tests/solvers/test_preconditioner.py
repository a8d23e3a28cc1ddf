"""P⁻¹ as the solvers apply it, against the dense inverse of P as it is written."""

from functools import partial

import numpy as np
import pytest

from everypair.features.laplacian import Laplacian
from everypair.features.matrix import Features
from everypair.parallel import single_threaded_blas
from everypair.problem.embedding import Embedding, SideInformation
from everypair.solvers import preconditioner
from everypair.solvers.preconditioner import Preconditioner, low_rank_factor

from ..problem.brute import COLUMNS, PLAIN_LOSSES, Case, build, start
from ..problem.test_side_information import known_of

GRAPHS = ("none", "plain", "normalised")
SHAPE, WIDTHS = (7, 6), (4, 3)


def prepared(embedding, graph, case, *, side=0, **options):
    """A problem with one informed side, that side's block and the point where it stands."""
    known = [known_of(1 - side, "linear", False), None]
    known[1] = known_of(side, embedding, graph != "none", normalized=graph == "normalised")
    problem = build(case, shape=SHAPE, known=tuple(known if side else known[::-1]), **options)
    thetas = start(problem.dense)
    other = problem.objective.factors(1 - side, thetas[1 - side])
    block = problem.objective.side(side, other, problem.objective.gram(1 - side, other))
    return problem, block, block.at(block.enter(thetas[side]))


def matrix_of(solve, rows):
    """The matrix of a linear map on matrices with that many rows, entries in row-major order."""
    units = np.eye(rows * COLUMNS).reshape(-1, rows, COLUMNS)
    with single_threaded_blas():
        return np.column_stack([solve(unit).ravel() for unit in units])


def applied(block, point):
    made = Preconditioner(block.embedding, block.rows.this_weights)
    solve = made.at(block.other, block.sigma, point.pairs.column_curvatures())
    return matrix_of(solve, len(block.embedding.ridge))


def written_out(problem, block, side=0):
    """(p, Vᵀ(Q + diag τ)V, X, λ_g L) of the formula, from the problem written out over every pair."""
    dense, known = problem.dense, problem.dense.known[side]
    pairs = dense.stored, dense.weights, dense.targets, np.outer(dense.p, dense.q)
    stored, c, y, w = (matrix.T if side else matrix for matrix in pairs)
    p, q = (dense.q, dense.p) if side else (dense.p, dense.q)
    factors = block.at(block.enter(start(dense)[side])).factors
    curvature = c * PLAIN_LOSSES[dense.loss][2](y, factors @ block.other.T)
    tau = np.sum(np.where(stored, curvature - w, 0), axis=0) / p.sum()
    inner = (block.other.T * (q + tau)) @ block.other
    laplacian = np.zeros((len(p), len(p)))
    if known.similarity is not None:
        links = (known.similarity + known.similarity.T) / 2 * (1 - np.eye(len(p)))
        degrees = links.sum(axis=1)
        if known.normalized:
            root = np.where(degrees > 0, degrees, 1) ** -0.5
            links, degrees = root[:, None] * links * root, (degrees > 0) * 1.0
        laplacian = known.graph_reg * (np.diag(degrees) - links)
    return p, inner, known.features, laplacian


@pytest.mark.parametrize("side", [0, 1], ids=["left", "right"])
@pytest.mark.parametrize("scheme", ["constant", "arrays"])
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("loss", PLAIN_LOSSES)
def test_features_alone_are_inverted_exactly(loss, graph, scheme, side):
    problem, block, point = prepared("linear", graph, Case(loss=loss, scheme=scheme), side=side)
    p, inner, X, laplacian = written_out(problem, block, side)
    ridge = problem.dense.known[side].feature_reg * np.eye(X.shape[1]) + X.T @ laplacian @ X
    formula = np.kron(X.T @ np.diag(p) @ X, inner) + np.kron(ridge, np.eye(COLUMNS))
    np.testing.assert_allclose(applied(block, point), np.linalg.inv(formula), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("scheme", ["constant", "arrays"])
def test_own_vectors_alone_are_inverted_with_the_diagonal_of_the_graph(scheme, graph):
    problem, block, point = prepared("table", graph, Case(scheme=scheme))
    p, inner, _, laplacian = written_out(problem, block)
    ridge = np.diag(problem.dense.ridge[0] + np.diag(laplacian))
    formula = np.kron(np.diag(p), inner) + np.kron(ridge, np.eye(COLUMNS))
    np.testing.assert_allclose(applied(block, point), np.linalg.inv(formula), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("loss", PLAIN_LOSSES)
def test_own_vectors_and_features_are_inverted_exactly_where_weights_and_ridge_are_constant(loss):
    problem, block, point = prepared("both", "none", Case(loss=loss), exponent=0)
    p, inner, X, _ = written_out(problem, block)
    lift = np.hstack([np.eye(len(p)), X])
    formula = np.kron(lift.T @ np.diag(p) @ lift, inner) + np.kron(np.diag(problem.dense.ridge[0]), np.eye(COLUMNS))
    np.testing.assert_allclose(applied(block, point), np.linalg.inv(formula), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("limit", [preconditioner.EXACT_FEATURES, 0], ids=["exact", "low-rank"])
@pytest.mark.parametrize("biases", ["unbiased", "biased"])
@pytest.mark.parametrize("scheme", ["constant", "arrays"])
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("embedding", ["table", "linear", "both"])
def test_always_symmetric_and_positive_definite(embedding, graph, scheme, biases, limit, monkeypatch):
    monkeypatch.setattr(preconditioner, "EXACT_FEATURES", limit)
    monkeypatch.setattr(preconditioner, "low_rank_factor", partial(low_rank_factor, rank=2))
    _, block, point = prepared(embedding, graph, Case(scheme=scheme, biases=biases))
    inverse = applied(block, point)
    free = np.tile(block.free, len(block.embedding.ridge))
    assert not inverse[np.ix_(~free, free)].any()  # a constant column never moves
    inverse = inverse[np.ix_(free, free)]
    np.testing.assert_allclose(inverse, inverse.T, rtol=1e-9, atol=1e-11)
    assert np.linalg.eigvalsh(inverse).min() > 1e-4


@pytest.mark.parametrize("scheme", ["constant", "arrays"])
@pytest.mark.parametrize("graph", GRAPHS)
def test_few_directions_and_a_diagonal_are_inverted_exactly(graph, scheme, monkeypatch):
    few = partial(low_rank_factor, rank=2)
    monkeypatch.setattr(preconditioner, "EXACT_FEATURES", 0)
    monkeypatch.setattr(preconditioner, "low_rank_factor", few)
    problem, block, point = prepared("linear", graph, Case(scheme=scheme))
    p, inner, X, laplacian = written_out(problem, block)
    factor = few(block.embedding.features, block.rows.this_weights)
    assert factor.shape == (WIDTHS[0], 2)
    rest = np.diag(np.maximum(np.diag(X.T @ np.diag(p) @ X) - np.sum(factor**2, axis=1), 0))
    assert rest.max() > 0.01
    ridge = problem.dense.known[0].feature_reg * np.eye(X.shape[1]) + np.diag(np.diag(X.T @ laplacian @ X))
    formula = np.kron(factor @ factor.T + rest, inner) + np.kron(ridge, np.eye(COLUMNS))
    np.testing.assert_allclose(applied(block, point), np.linalg.inv(formula), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("rank", [3, 10])
def test_low_rank_factor_holds_the_leading_directions(rank):
    random = np.random.default_rng(0)
    left, right = (np.linalg.qr(random.normal(size=(size, 40)))[0] for size in (90, 60))
    matrix = (left * 0.7 ** np.arange(40)) @ right.T
    weights = random.uniform(0.5, 1.5, 90)
    gram = matrix.T @ np.diag(weights) @ matrix
    factor = low_rank_factor(Features(matrix), weights, rank=rank)
    assert factor.shape == (60, rank)
    best = np.linalg.eigvalsh(gram)[::-1]
    assert np.linalg.norm(gram - factor @ factor.T, 2) < 1.2 * best[rank]
    np.testing.assert_allclose(np.sum(factor**2, axis=0)[::-1][:2], best[:2], rtol=0.02)
    full = low_rank_factor(Features(matrix[:, :5]), weights, rank=rank)
    if rank >= 5:
        np.testing.assert_allclose(full @ full.T, gram[:5, :5], atol=1e-12)


@pytest.mark.parametrize("embedding", ["table", "linear", "both"])
def test_without_weights_of_unobserved_pairs_and_without_ridge_it_still_is_positive(embedding):
    _, block, point = prepared(embedding, "none", Case(), negative_weight=0.0, reg=(0.0, 0.0))
    inverse = applied(block, point)
    assert np.isfinite(inverse).all()
    assert np.linalg.eigvalsh((inverse + inverse.T) / 2).min() > 0


@pytest.mark.parametrize("limit", [preconditioner.EXACT_FEATURES, 0], ids=["exact", "low-rank"])
@pytest.mark.parametrize("feature_reg", [0.0, 0.01, 1.0])
def test_single_precision_keeps_it_positive_where_features_depend_on_each_other(feature_reg, limit, monkeypatch):
    monkeypatch.setattr(preconditioner, "EXACT_FEATURES", limit)
    random = np.random.default_rng(0)
    matrix = 10 * random.normal(size=(500, 3)) @ random.normal(size=(3, 60))
    features = Features(matrix, np.float32)
    embedding = Embedding.of(np.ones(500, np.float32), SideInformation(features, feature_reg, own=False), None)
    made = Preconditioner(embedding, np.ones(500, np.float32))
    sigma = np.geomspace(1, 1e4, COLUMNS).astype(np.float32)
    solve = made.at(np.zeros((4, COLUMNS), np.float32), sigma, np.zeros(4))
    gradient = features.adjoint(random.normal(size=(500, COLUMNS)).astype(np.float32))  # as it is without ridge
    scaled = solve(gradient)
    assert scaled.dtype == np.float32
    back = features.gram(np.ones(500)) @ scaled.astype(np.float64) * sigma + feature_reg * scaled
    assert np.linalg.norm(back - gradient) < 0.05 * np.linalg.norm(gradient)
    assert (np.sum(gradient * scaled, axis=0) > 0).all()
    assert np.array_equal(
        Preconditioner(embedding, np.ones(500, np.float32), 2).at(
            np.zeros((4, COLUMNS), np.float32), sigma, np.zeros(4)
        )(gradient),
        scaled,
    )


@pytest.mark.parametrize("graph_reg", [1e3, 1e6, 1e9, 1e12])
def test_a_graph_that_weighs_far_more_than_everything_else(graph_reg):
    random = np.random.default_rng(0)
    matrix = random.normal(size=(60, 9))
    matrix[:, 2], matrix[:, 3], matrix[:, 4] = matrix[:, 1], 0, 1  # dependent, empty and constant features
    features = Features(matrix)
    graph = Laplacian.from_similarity(random.random((60, 60)) < 0.1, dtype=np.float64)
    known = SideInformation(features, 0.0, own=False, graph=graph, graph_reg=graph_reg)
    made = Preconditioner(Embedding.of(np.ones(60), known, None), np.full(60, 1e-3))
    inverse = matrix_of(made.at(np.zeros((4, COLUMNS)), np.ones(COLUMNS), np.zeros(4)), 9)
    np.testing.assert_allclose(inverse, inverse.T, rtol=1e-6, atol=1e-9 * inverse.max())
    assert np.linalg.eigvalsh(inverse).min() > 0
