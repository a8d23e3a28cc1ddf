"""Features and graphs on either side: value, gradient and Hessian·vector against the sum over every pair."""

from itertools import product

import numpy as np
import pytest

from everypair.features.laplacian import Laplacian
from everypair.features.matrix import Features
from everypair.problem.embedding import Embedding, SideInformation

from .brute import PLAIN_LOSSES, Case, Known, build, start
from .test_objective import difference

SHAPE, WIDTHS = (7, 6), (4, 3)
LEFT = ("table", "sparse", "dense", "both")
RIGHT = ("table", "linear", "both")
GRAPHS = ("none", "left", "right", "two")


def known_of(side, embedding, graph, *, shape=SHAPE, widths=WIDTHS, normalized=False, regs=(0.2, 0.8)):
    """Side information of one side: some features, none of the first; node 2 of the graph stands alone."""
    random = np.random.default_rng(10 + side)
    size = shape[side]
    features = random.normal(size=(size, widths[side])) * (random.random((size, widths[side])) < 0.7)
    features /= np.maximum(np.linalg.norm(features, axis=1, keepdims=True), 1e-9)
    features[0] = 0
    similarity = random.random((size, size)) * (random.random((size, size)) < 0.4)
    similarity[2] = similarity[:, 2] = 0
    return Known(
        None if embedding == "table" else features,
        regs[0],
        embedding in ("table", "both"),
        similarity if graph else None,
        regs[1],
        normalized,
    )


def informed(left, right, graph, case, **options):
    """A problem with those embeddings; the left graph is a plain Laplacian, the right one is normalised."""
    known = (
        known_of(0, left, graph in ("left", "two")),
        known_of(1, right, graph in ("right", "two"), normalized=True),
    )
    return build(case, shape=SHAPE, known=known, dense_features=left == "dense", **options)


EVERY_SIDE = [
    (left, right, graph, Case(loss=loss)) for left, right, graph, loss in product(LEFT, RIGHT, GRAPHS, PLAIN_LOSSES)
]
EVERY_WEIGHT = [
    (left, right, graph, Case("logistic", scheme, value, dislikes=dislikes, biases=biases))
    for (left, right, graph), scheme, value, dislikes, biases in product(
        [("sparse", "both", "two"), ("both", "table", "right"), ("dense", "linear", "none"), ("table", "table", "two")],
        ("constant", "arrays"),
        ("minus", "low_rank"),
        ("liked", "disliked"),
        ("unbiased", "biased"),
    )
]
every_problem = pytest.mark.parametrize(
    ("left", "right", "graph", "case"),
    EVERY_SIDE + EVERY_WEIGHT,
    ids=["-".join([*sides, str(case)]) for *sides, case in EVERY_SIDE + EVERY_WEIGHT],
)


@every_problem
def test_value_is_the_sum_over_every_pair(left, right, graph, case):
    problem = informed(left, right, graph, case)
    thetas = start(problem.dense)
    assert problem.objective.value(*thetas) == pytest.approx(problem.dense.value(*thetas), rel=1e-10)


@every_problem
def test_gradient_is_the_slope_of_the_sum_over_every_pair(left, right, graph, case):
    problem = informed(left, right, graph, case)
    thetas = start(problem.dense)
    for side, this in enumerate(thetas):
        coordinates = np.eye(this.size).reshape(-1, *this.shape)

        def value(moved, side=side):
            return problem.dense.value(*((moved, thetas[1]) if side == 0 else (thetas[0], moved)))

        expected = difference(value, this, coordinates).reshape(this.shape)
        learnt = problem.dense.learnt(side)
        gradient = problem.objective.gradient(side, *thetas)
        np.testing.assert_allclose(gradient[:, learnt], expected[:, learnt], rtol=1e-8, atol=1e-9)
        assert not gradient[:, ~learnt].any()


@every_problem
def test_hessian_vector_is_the_slope_of_the_gradient(left, right, graph, case):
    problem = informed(left, right, graph, case)
    thetas = start(problem.dense)
    for side, this in enumerate(thetas):
        direction = np.random.default_rng(2).normal(size=this.shape)
        learnt = problem.dense.learnt(side)

        def gradient(moved, side=side):
            return problem.objective.gradient(side, *((moved, thetas[1]) if side == 0 else (thetas[0], moved)))

        expected = difference(gradient, this, direction * learnt)
        product = problem.objective.hessian_vector(side, direction, *thetas)
        np.testing.assert_allclose(product, expected, rtol=1e-8, atol=1e-9)
        assert not product[:, ~learnt].any()


@pytest.mark.parametrize("loss", PLAIN_LOSSES)
def test_float32_is_the_same_function_to_single_precision(loss):
    case = Case(loss=loss, scheme="arrays", biases="biased")
    problem = informed("both", "linear", "two", case, dtype=np.float32)
    exact = informed("both", "linear", "two", case)
    thetas = start(problem.dense, dtype=np.float32)
    wide = tuple(theta.astype(np.float64) for theta in thetas)
    assert problem.objective.value(*thetas) == pytest.approx(problem.dense.value(*wide), rel=1e-5)
    for side in (0, 1):
        gradient = problem.objective.gradient(side, *thetas)
        product = problem.objective.hessian_vector(side, thetas[side], *thetas)
        assert gradient.dtype == product.dtype == np.float32
        np.testing.assert_allclose(gradient, exact.objective.gradient(side, *wide), rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(
            product, exact.objective.hessian_vector(side, wide[side], *wide), rtol=1e-4, atol=1e-4
        )


@pytest.mark.parametrize("embedding", ["linear", "both"])
def test_the_constant_column_of_feature_parameters_does_not_count(embedding):
    problem = informed(embedding, "table", "left", Case(biases="biased"))
    left, right = start(problem.dense)
    value, slope = problem.objective.value(left, right), problem.objective.gradient(1, left, right)
    left[:, -1] = np.random.default_rng(3).normal(size=len(left))
    assert problem.objective.value(left, right) == value
    assert np.array_equal(problem.objective.gradient(1, left, right), slope)
    assert (problem.objective.factors(0, left)[:, -1] == 1).all()


def test_parameters_of_other_shapes_are_refused():
    problem = informed("both", "linear", "none", Case())
    left, right = start(problem.dense)
    assert (left.shape, right.shape) == ((7 + 4, 5), (3, 5))
    with pytest.raises(ValueError, match=r"parameters must have shapes \(11, k\) and \(3, k\)"):
        problem.objective.value(problem.objective.factors(0, left), right)


def test_what_an_embedding_is_made_of():
    ridge = np.array([1.0, 2.0])
    features, graph = Features(np.ones((2, 3))), Laplacian.from_similarity(np.ones((2, 2)), dtype=np.float64)
    assert Embedding.of(ridge, None, None).independent
    assert Embedding.of(ridge, SideInformation(graph=graph, graph_reg=0.0), None).independent
    assert not Embedding.of(ridge, SideInformation(graph=graph, graph_reg=0.5), None).independent
    lonely = Embedding.of(ridge, SideInformation(own=False), None)  # without features there are only own vectors
    assert lonely.independent
    assert lonely.own
    linear = Embedding.of(ridge, SideInformation(features, 0.7, own=False), None)
    assert linear.ridge.tolist() == [0.7, 0.7, 0.7]
    theta = np.arange(10.0).reshape(5, 2)
    assert (len(linear.own_part(theta[:3])), len(linear.feature_part(theta[:3]))) == (0, 3)
    both = Embedding.of(ridge, SideInformation(features, 0.7), None)
    assert both.ridge.tolist() == [1, 2, 0.7, 0.7, 0.7]
    assert np.array_equal(both.own_part(theta), theta[:2])
    assert np.array_equal(both.feature_part(theta), theta[2:])
    gradient = np.array([[1.0, -1.0], [0.5, 2.0]])
    assert np.sum(both.lift(theta) * gradient) == pytest.approx(np.sum(theta * both.adjoint(gradient)))
