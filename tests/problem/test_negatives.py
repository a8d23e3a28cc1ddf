import numpy as np
import pytest

from everypair.data.pairs import Pairs
from everypair.problem.negatives import Negatives, check_scheme

M, N = 4, 5
MATRIX = np.array([[1, 1, 1, 0, -1], [0, 0, 0, 0, 0], [2, 0, 1, 0, 0], [3, 1, 0, 0, 0]])
LEFT_COUNTS, RIGHT_COUNTS = np.array([3, 0, 2, 2]), np.array([3, 2, 2, 0, 0])  # positives only
ARRAYS = (np.array([1.0, 2.0, 0.0, 5.0]), np.array([0.5, 0.5, 1.0, 0.0, 3.0]))
SCHEMES = ["uniform", "user-count", "item-rarity", ("item-count", 1), ("item-count", -0.5), ["item-count", 0], ARRAYS]


@pytest.fixture
def pairs():
    return Pairs.from_matrix(MATRIX)


@pytest.mark.parametrize("weight", [0.0, 0.03, 7])
@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
def test_mean_weight_over_every_pair(pairs, scheme, weight):
    negatives = Negatives.from_scheme(pairs, weight, scheme)
    every = np.outer(negatives.left, negatives.right)
    assert every.shape == (M, N)
    assert every.mean() == pytest.approx(weight, rel=1e-14)
    assert negatives.left.mean() == pytest.approx(1, rel=1e-14)


@pytest.mark.parametrize(
    ("scheme", "left", "right"),
    [
        ("uniform", np.ones(M), np.ones(N)),
        ("user-count", np.maximum(LEFT_COUNTS, 1), np.ones(N)),
        ("item-rarity", np.ones(M), M - RIGHT_COUNTS),
        (("item-count", 1), np.ones(M), np.maximum(RIGHT_COUNTS, 1)),
        (("item-count", 0), np.ones(M), np.ones(N)),
        (("item-count", 0.5), np.ones(M), np.sqrt(np.maximum(RIGHT_COUNTS, 1))),
        (("item-count", -0.5), np.ones(M), 1 / np.sqrt(np.maximum(RIGHT_COUNTS, 1))),
        (("item-count", np.float32(-1)), np.ones(M), 1 / np.maximum(RIGHT_COUNTS, 1)),
        (ARRAYS, *ARRAYS),
    ],
    ids=repr,
)
def test_shape_of_the_weights(pairs, scheme, left, right):
    negatives = Negatives.from_scheme(pairs, 0.2, scheme)
    np.testing.assert_allclose(negatives.left, left / np.mean(left), rtol=1e-14)
    np.testing.assert_allclose(negatives.right, 0.2 * np.asarray(right) / np.mean(right), rtol=1e-14)


@pytest.mark.parametrize("scheme", SCHEMES[:-1], ids=repr)
def test_new_rows_weigh_what_training_rows_with_their_counts_weigh(pairs, scheme):
    negatives = Negatives.from_scheme(pairs, 0.2, scheme)
    np.testing.assert_allclose(negatives.left_weights(LEFT_COUNTS), negatives.left, rtol=1e-14)
    np.testing.assert_allclose(negatives.right_weights(RIGHT_COUNTS), negatives.right, rtol=1e-14)


def test_new_rows_under_array_weights_weigh_the_mean(pairs):
    negatives = Negatives.from_scheme(pairs, 0.2, ARRAYS)
    np.testing.assert_allclose(negatives.left_weights(np.array([0, 9])), [1, 1])
    np.testing.assert_allclose(negatives.right_weights(np.array([0, 9, 1])), [0.2, 0.2, 0.2])


def test_a_new_column_seen_by_more_than_everyone_is_no_negative(pairs):
    negatives = Negatives.from_scheme(pairs, 0.2, "item-rarity")
    assert negatives.right_weights(np.array([M + 3])).tolist() == [0]


def test_values(pairs):
    assert Negatives.from_scheme(pairs, 0.2, value=-1).value == -1.0
    left, right = np.ones((M, 2), np.float32), np.ones((N, 2)).tolist()
    value = Negatives.from_scheme(pairs, 0.2, value=(left, right)).value
    assert [part.shape for part in value] == [(M, 2), (N, 2)]
    assert all(part.dtype == np.float64 for part in value)


@pytest.mark.parametrize("weight", [-1, np.nan, np.inf])
def test_bad_weights_are_refused(pairs, weight):
    with pytest.raises(ValueError, match="negative_weight must be a finite number ≥ 0"):
        Negatives.from_scheme(pairs, weight)


@pytest.mark.parametrize(
    "scheme", ["constant", "", None, 3, ("item-count",), ("rarity", 1), ("item-count", 1, 2), np.ones((2, 3))], ids=repr
)
def test_unknown_schemes_are_refused(pairs, scheme):
    with pytest.raises(ValueError, match="negative_scheme must be one of"):
        check_scheme(scheme)
    with pytest.raises(ValueError, match="negative_scheme must be one of"):
        Negatives.from_scheme(pairs, 0.1, scheme)


@pytest.mark.parametrize("exponent", [np.nan, np.inf, "1", None])
def test_bad_exponents_are_refused(pairs, exponent):
    with pytest.raises(ValueError, match="needs a finite number β"):
        Negatives.from_scheme(pairs, 0.1, ("item-count", exponent))


@pytest.mark.parametrize(
    ("p", "q", "words"),
    [
        (np.ones(M + 1), np.ones(N), rf"p of .* one weight per left entity \({M},\)"),
        (np.ones(M), np.ones((N, 1)), rf"q of .* one weight per right entity \({N},\)"),
        (np.ones(M), -np.ones(N), "q of .* finite and ≥ 0"),
        (np.full(M, np.nan), np.ones(N), "p of .* finite and ≥ 0"),
        (np.full(M, np.inf), np.ones(N), "p of .* finite and ≥ 0"),
        (np.zeros(M), np.ones(N), "zero everywhere"),
        (np.ones(M), np.zeros(N), "zero everywhere"),
    ],
)
def test_bad_array_weights_are_refused(pairs, p, q, words):
    with pytest.raises(ValueError, match=words):
        Negatives.from_scheme(pairs, 0.1, (p, q))


def test_rarity_where_everyone_has_everything_is_refused():
    with pytest.raises(ValueError, match="zero everywhere"):
        Negatives.from_scheme(Pairs.from_matrix(np.ones((2, 3))), 0.1, "item-rarity")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.nan, "negative_value must be finite"),
        (np.inf, "negative_value must be finite"),
        ((np.ones((M, 2)),), "a number or a pair"),
        ((np.ones((N, 2)), np.ones((M, 2))), rf"shapes \({M}, r\) and \({N}, r\)"),
        ((np.ones((M, 2)), np.ones((N, 3))), rf"shapes \({M}, r\) and \({N}, r\)"),
        ((np.ones(M), np.ones(N)), rf"shapes \({M}, r\) and \({N}, r\)"),
        ((np.full((M, 1), np.nan), np.ones((N, 1))), "must be finite"),
        ((np.ones((M, 1)), np.full((N, 1), np.inf)), "must be finite"),
    ],
)
def test_bad_values_are_refused(pairs, value, words):
    with pytest.raises(ValueError, match=words):
        Negatives.from_scheme(pairs, 0.1, value=value)


@pytest.mark.parametrize("scale", [5e-324, 1e-320, 1e-300, 1e300, 1e308])
def test_only_the_shape_of_given_weights_counts(scale):
    pairs = Pairs.from_matrix(np.eye(4))
    shape = np.array([1.0, 1.0, 1.0, 0.0])
    expected = Negatives.from_scheme(pairs, 0.5, (shape, shape))
    for scheme in ((scale * shape, shape), (shape, scale * shape)):
        found = Negatives.from_scheme(pairs, 0.5, scheme)
        np.testing.assert_allclose(found.left, expected.left, rtol=1e-12)
        np.testing.assert_allclose(found.right, expected.right, rtol=1e-12)
        assert found.left_weights(np.array([1])) == pytest.approx(1.0)
