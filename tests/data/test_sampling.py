import numpy as np
import pytest
import scipy.sparse as sp

from everypair.data import Pairs, sample_negatives, sampling
from everypair.data.sampling import SCHEMES, Sampling

BY_CHANCE = tuple(scheme for scheme in SCHEMES if scheme != "user-quota")


def random_pairs(m=40, n=30, density=0.2, seed=0):
    matrix = np.random.default_rng(seed).random((m, n)) < density * np.linspace(0.2, 1.8, n)
    matrix[0] = False  # a user without positives
    matrix[:, 0] = False
    matrix[1, 1:] = True
    return Pairs.from_matrix(matrix.astype(float)), matrix


@pytest.mark.parametrize("scheme", BY_CHANCE)
def test_distinct_outside_and_reproducible(scheme):
    pairs, matrix = random_pairs()
    rows, columns = sample_negatives(pairs, 200, scheme, np.random.default_rng(3))
    assert rows.dtype == columns.dtype == np.int64
    assert len(set(zip(rows.tolist(), columns.tolist()))) == len(rows) == 200
    assert not matrix[rows, columns].any()
    again = sample_negatives(pairs, 200, scheme, np.random.default_rng(3))
    assert np.array_equal(rows, again[0])
    assert np.array_equal(columns, again[1])
    assert not np.array_equal(rows, sample_negatives(pairs, 200, scheme, np.random.default_rng(4))[0])


@pytest.mark.parametrize("scheme", BY_CHANCE)
def test_draws_follow_the_scheme(scheme):
    """First draws of many short samples against p_i q_j over unknown pairs: a chi-square statistic of their rows and of
    their columns within five standard deviations of its mean."""
    pairs, matrix = random_pairs()
    left, right = matrix.sum(axis=1), matrix.sum(axis=0)
    p = left if scheme == "user-count" else np.ones(40)
    q = {"item-count": right, "item-rarity": 40 - right, "item-inverse": 1 / np.maximum(right, 1)}.get(
        scheme, np.ones(30)
    )
    chances = np.where(matrix, 0, np.outer(p, q))
    chances /= chances.sum()
    random = np.random.default_rng(0)
    trials = 1500
    drawn = np.array([sample_negatives(pairs, 1, scheme, random) for _ in range(trials)])[:, :, 0]
    for axis, size in ((0, 40), (1, 30)):
        expected = trials * chances.sum(axis=1 - axis)
        seen = np.bincount(drawn[:, axis], minlength=size)
        assert not seen[expected == 0].any()
        kept = expected > 0
        freedom = kept.sum() - 1
        statistic = np.sum((seen[kept] - expected[kept]) ** 2 / expected[kept])
        assert abs(statistic - freedom) < 5 * np.sqrt(2 * freedom)


@pytest.mark.parametrize("ratio", [0.5, 1.0, 3.0])
def test_every_user_gets_a_share(ratio):
    """ratio · |Ω_i⁺| of what the user can still get, rounded so that the shares sum to the whole."""
    pairs, matrix = random_pairs()
    counts, drawable = matrix.sum(axis=1), matrix.any(axis=0)
    total = round(ratio * matrix.sum())
    rows, columns = sample_negatives(pairs, total, "user-quota", np.random.default_rng(3))
    assert len(set(zip(rows.tolist(), columns.tolist()))) == len(rows)
    assert not matrix[rows, columns].any()
    assert drawable[columns].all()
    most = np.sum(~matrix & drawable, axis=1)
    assert most[1] == 0 < counts[1]
    seen = np.bincount(rows, minlength=40)
    if ratio != 0.5:
        assert np.array_equal(seen, np.minimum(ratio * counts, most))
    assert np.all(np.abs(seen - np.minimum(ratio * counts, most)) < 1)
    again = sample_negatives(pairs, total, "user-quota", np.random.default_rng(3))
    assert np.array_equal((rows, columns), again)
    assert not np.array_equal((rows, columns), sample_negatives(pairs, total, "user-quota", np.random.default_rng(4)))
    assert sample_negatives(pairs, 0, "user-quota")[0].shape == (0,)


@pytest.mark.parametrize("rounds", [0, 1, 10])
def test_shares_are_draws_without_replacement(rounds, monkeypatch):
    """Ordered pairs (a, b) of a user with two positives have chance q_a/Q · q_b/(Q − q_a), rejected or not."""
    monkeypatch.setattr(sampling, "QUOTA_ROUNDS", rounds)
    matrix = np.zeros((30, 7))
    matrix[0, :2] = 1
    for item, popularity in enumerate((1, 2, 9, 5, 2, 1)):
        matrix[1 : 1 + popularity, item] = 1
    pairs = Pairs.from_matrix(matrix)
    weights = np.where(matrix[0] > 0, 0, matrix.sum(axis=0))
    shares = weights / weights.sum()
    expected = np.outer(shares, shares) / (1 - shares)[:, None]
    np.fill_diagonal(expected, 0)
    random, trials = np.random.default_rng(0), 2000
    seen = np.zeros((7, 7))
    for _ in range(trials):
        rows, columns = sample_negatives(pairs, int(matrix.sum()), "user-quota", random)
        seen[tuple(columns[rows == 0])] += 1
    kept = expected > 0
    assert not seen[~kept].any()
    statistic = np.sum((seen[kept] - trials * expected[kept]) ** 2 / (trials * expected[kept]))
    freedom = kept.sum() - 1
    assert abs(statistic - freedom) < 5 * np.sqrt(2 * freedom)


def test_every_unknown_pair_can_be_drawn():
    pairs, matrix = random_pairs()
    unknown = np.sum(~matrix)
    rows, columns = sample_negatives(pairs, unknown, random=0)
    seen = np.zeros_like(matrix)
    seen[rows, columns] = True
    assert np.array_equal(seen, ~matrix)
    with pytest.raises(ValueError, match=f"only {unknown} pairs are unknown"):
        sample_negatives(pairs, unknown + 1, random=0)
    assert sample_negatives(pairs, 0, random=0)[0].shape == (0,)


def test_dislikes_are_not_drawn():
    matrix = np.array([[1.0, -1.0, 0.0]])
    rows, columns = sample_negatives(Pairs.from_matrix(matrix), 1, random=0)
    assert (rows.tolist(), columns.tolist()) == ([0], [2])


def test_an_exhausted_scheme_is_refused():
    pairs, matrix = random_pairs()  # item-count never draws the item without positives
    drawable = np.sum(~matrix[:, 1:])
    with pytest.raises(ValueError, match=f"only {drawable} pairs .*item-count"):
        sample_negatives(pairs, drawable + 1, "item-count", 0)
    skewed = Sampling("item-inverse", np.ones(40), np.array([1.0] * 29 + [1e-12]))  # possible, and hopeless
    with pytest.raises(ValueError, match="hardly ever draws the rest"):
        skewed.draw(pairs, int(np.sum(~matrix)), np.random.default_rng(0))
    full = np.array([[1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    with pytest.raises(ValueError, match="only 0 pairs"):
        sample_negatives(Pairs.from_matrix(full), 1, "item-rarity", 0)


def test_other_schemes_are_refused():
    pairs, _ = random_pairs()
    for scheme in ("popular", None, 3):
        with pytest.raises(ValueError, match="scheme must be one of"):
            sample_negatives(pairs, 3, scheme)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("side", [0, 1])
def test_new_rows_get_as_many_as_training_gives(scheme, side):
    pairs, matrix = random_pairs()
    sampling = Sampling.from_scheme(pairs, scheme)
    rows = sp.csr_array((matrix if side == 0 else matrix.T).astype(float))
    own = (sampling.left, sampling.right)[side]
    new, columns = sampling.draw_rows(side, rows, 300, seed=5)
    dense = rows.toarray() > 0
    assert not dense[new, columns].any()
    assert len(set(zip(new.tolist(), columns.tolist()))) == len(new)
    other = (sampling.right, sampling.left)[side]
    most = np.sum(~dense & (other > 0), axis=1)
    expected = np.minimum(np.rint(300 * own / own.sum()), most)
    assert np.array_equal(np.bincount(new, minlength=len(own)), expected)


def test_a_new_row_does_not_depend_on_the_others():
    pairs, matrix = random_pairs()
    sampling = Sampling.from_scheme(pairs, "item-rarity")
    rows = sp.csr_array(matrix.astype(float))
    new, columns = sampling.draw_rows(0, rows, 400, seed=1)
    for row in (0, 1, 17, 39):
        alone = sampling.draw_rows(0, rows[[row]], 400, seed=1)[1]
        assert np.array_equal(alone, columns[new == row])
    assert not np.array_equal(sampling.draw_rows(0, rows, 400, seed=2)[1], columns)


def test_the_order_of_new_rows_follows_the_weights():
    """The first column of an empty new row is j with chance q_j."""
    pairs, _ = random_pairs()
    sampling = Sampling.from_scheme(pairs, "item-rarity")
    empty = sp.csr_array((1, 30))
    first = [sampling.draw_rows(0, empty, 40, seed)[1][0] for seed in range(1000)]
    expected = 1000 * sampling.right / sampling.right.sum()
    statistic = np.sum((np.bincount(first, minlength=30) - expected) ** 2 / expected)
    assert abs(statistic - 29) < 5 * np.sqrt(58)
