import math

import numpy as np
import pytest
import scipy.sparse as sp

from everypair import BPR
from everypair.kernels.bpr import draw_triples
from everypair.solvers.rivals.pairwise import START_SQUARES, Positives, StochasticRanking
from everypair.testing import block_matrix

from ...kernels.twins import Numbers, triple


def random_matrix(seed=0):
    random = np.random.default_rng(seed)
    matrix = (random.random((9, 8)) < 0.4) * random.integers(1, 4, (9, 8)).astype(float)
    matrix[0, 0], matrix[4] = -1.0, 0.0
    return matrix


def test_fold_in_is_the_same_steps_with_items_fixed():
    matrix = random_matrix()
    model = BPR(rank=2, max_iter=3, random_state=0, dtype="float64").fit(matrix)
    row = matrix[1:2]
    right, u = model.item_factors_, np.zeros(3)
    u[2] = 1
    numbers, square = Numbers(model.fold_in_seed_), START_SQUARES
    updates = max(1000, 50 * int(np.sum(row > 0)))
    kept = []
    for update in range(updates):
        _, j, l = triple(row, numbers)
        difference = right[j] - right[l]
        g = -difference[:2] / (1 + math.exp(u @ difference)) + 0.01 * u[:2]
        square += np.sum(g**2) / 2
        u[:2] -= 0.1 * g / np.sqrt(square)
        if 2 * update >= updates:
            kept.append(u[:2].copy())
    folded = model.fold_in_users(matrix[[4, 1]])
    np.testing.assert_allclose(folded[1], [*np.mean(kept, axis=0), 1.0], rtol=1e-8)
    assert folded[0].tolist() == [0, 0, 1]  # no positives: ranked by the items' biases


def test_the_objective_is_the_mean_over_its_triples():
    matrix = random_matrix()
    solver = StochasticRanking(
        Positives(sp.csr_array(matrix)), (9, 8), 0.1, 0.3, np.array([5, 6]), np.dtype(np.float64)
    )
    users, positives, negatives = solver.triples
    assert (matrix[users, positives] > 0).all()
    assert (matrix[users, negatives] <= 0).all()
    random = np.random.default_rng(2)
    left, right = random.standard_normal((9, 3)), random.standard_normal((8, 3))
    left[:, 2] = 1
    total = 0.0
    for i, j, l in solver.triples.T:
        total += math.log1p(math.exp(-left[i] @ (right[j] - right[l])))
        total += 0.15 * (left[i, :2] @ left[i, :2] + right[j] @ right[j] + right[l] @ right[l])
    assert solver.value(left, right) == pytest.approx(total / len(users))


def test_the_objective_falls_and_history_is_kept():
    matrix, _ = block_matrix()
    model = BPR(rank=2, max_iter=30, random_state=0).fit(matrix)
    values = [entry["objective"] for entry in model.history_]
    assert len(values) == 30
    assert values[-1] < 0.5 * values[0]
    assert model.objective_ == values[-1]


def test_patience_keeps_the_best_epoch():
    matrix, held_out = block_matrix()
    validation = np.zeros_like(matrix)
    validation[np.arange(44), held_out] = 1
    model = BPR(rank=2, max_iter=200, patience=3, random_state=0).fit(matrix, validation=validation)
    assert model.n_iter_ < 200
    assert "validation" in str(model.status_)


def test_a_user_who_likes_everything_is_passed_over():
    matrix = np.ones((3, 4))
    matrix[1:, 2:] = 0
    assert np.isfinite(BPR(rank=2, max_iter=2, random_state=0).fit(matrix).score_users()).all()
    assert np.isfinite(BPR(rank=2, max_iter=2, random_state=0).fit(np.ones((2, 2))).score_users()).all()


def test_new_items_are_refused():
    matrix, _ = block_matrix()
    with pytest.raises(AttributeError, match=r"BPR has no fold_in_items: OneClassMF, .* have it"):
        BPR(rank=2, max_iter=1).fit(matrix).fold_in_items(matrix[:, :1])


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"learning_rate": 0}, "learning_rate"),
        ({"reg": -1}, "reg"),
        ({"rank": 0}, "rank"),
        ({"max_iter": 0}, "max_iter"),
    ],
)
def test_what_makes_no_sense_is_refused(params, match):
    with pytest.raises(ValueError, match=f"{match} must be"):
        BPR(**{"rank": 2, **params}).fit(block_matrix()[0])


def test_triples_count_by_user_or_all_the_same():
    matrix = sp.csr_array([[1.0, 1.0, 1.0, 1.0, 0.0], [2.0, 0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0, 1.0]])
    liked = matrix.toarray() > 0
    others = 5 - liked.sum(axis=1)
    for equal in (False, True):
        positives = Positives(matrix, equal_triples=equal)
        triples = np.empty((3, 200_000), np.int64)
        state = np.array([7], np.uint64)
        draw_triples(positives.indptr, positives.indices, positives.owners, positives.sums, 5, triples, state)
        triples = triples[:, triples[2] >= 0]  # the last user has no other item
        found = np.zeros((3, 5, 5))
        np.add.at(found, tuple(triples), 1 / triples.shape[1])
        weights = matrix.toarray()[:, :, None] * liked[:, :, None] * ~liked[:, None, :]
        if not equal:
            weights = weights / np.maximum(others, 1)[:, None, None]
        np.testing.assert_allclose(found, weights / weights.sum(), atol=0.005)


def test_equal_triples_learn_and_fold_in_alike():
    matrix, held_out = block_matrix()
    model = BPR(rank=3, max_iter=150, triple_weight="equal", random_state=0).fit(matrix)
    assert np.mean(model.recommend(n=1)[0][:, 0] == held_out) == 1
    assert np.mean(model.recommend(interactions=matrix, n=1)[0][:, 0] == held_out) == 1
    user = BPR(rank=3, max_iter=150, random_state=0).fit(matrix)
    assert not np.array_equal(user.user_factors_, model.user_factors_)  # groups have 13, 14 and 15 other items
    for other in ("triples", None, ["user"]):
        with pytest.raises(ValueError, match="triple_weight must be one of 'user', 'equal'"):
            BPR(rank=3, triple_weight=other).fit(matrix)
