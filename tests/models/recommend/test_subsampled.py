import numpy as np
import pytest
import scipy.sparse as sp

from everypair import SubsampledMF
from everypair.problem import get_loss
from everypair.testing import block_matrix

VALUES = {"squared": 0.0, "logistic": -1.0, "squared_hinge": -1.0}


def brute_force(model, matrix, value, targets=None):
    """Σ over stored and drawn pairs, plus the ridge λ·max(1, |Ω_i⁺|), one by one."""
    scores = model.user_factors_ @ model.item_factors_.T
    loss, drawn = get_loss(model.loss), model.sampled_.toarray()
    total = 0.0
    for i, j in zip(*np.nonzero(matrix)):
        y = 1.0 if matrix[i, j] > 0 else loss.dislike_target
        total += abs(matrix[i, j]) * float(loss.value(y if targets is None else targets[i, j], scores[i, j]))
    for i, j in zip(*np.nonzero(drawn)):
        assert matrix[i, j] == 0
        total += float(loss.value(value, scores[i, j]))
    k = model.rank
    for counts, factors, own in (
        (np.sum(matrix > 0, axis=1), model.user_factors_, [*range(k), k]),
        (np.sum(matrix > 0, axis=0), model.item_factors_, [*range(k), k + 1]),
    ):
        free = factors[:, own] if model.biases else factors
        total += 0.5 * model.reg * np.sum(np.maximum(counts, 1)[:, None] * free**2)
    return total


@pytest.mark.parametrize("loss", VALUES)
@pytest.mark.parametrize("biases", [False, True])
def test_the_objective_is_the_sum_over_positives_and_drawn_pairs(loss, biases):
    random = np.random.default_rng(0)
    matrix = (random.random((15, 12)) < 0.3) * random.uniform(0.5, 2, (15, 12))
    matrix[3, 4] = -2.0
    model = SubsampledMF(
        rank=3, loss=loss, ratio=1.5, biases=biases, max_iter=3, reg=0.03, random_state=1, dtype="float64"
    ).fit(matrix)
    assert model.sampled_.nnz == round(1.5 * np.sum(matrix > 0))
    assert model.objective_ == pytest.approx(brute_force(model, matrix, VALUES[loss]), rel=1e-10)


def test_own_values_and_targets():
    matrix = np.random.default_rng(1).random((12, 10)) < 0.3
    matrix = matrix.astype(float)
    targets = np.where(matrix > 0, 3.0, 0.0)
    model = SubsampledMF(rank=3, negative_value=-0.5, max_iter=2, random_state=0, dtype="float64")
    model.fit(matrix, targets=targets)
    assert model.objective_ == pytest.approx(brute_force(model, matrix, -0.5, targets), rel=1e-10)


@pytest.mark.parametrize(
    ("loss", "solver"),
    [("squared", "als"), ("squared", "newton"), ("squared", "block"), ("squared", "cd"), ("logistic", "newton")],
)
def test_solvers_agree_and_converge(solver, loss):
    matrix, _ = block_matrix()
    fixed = {"rank": 3, "loss": loss, "reg": 0.1, "max_iter": 400, "tol": 1e-13, "random_state": 0, "dtype": "float64"}
    model = SubsampledMF(solver=solver, **fixed).fit(matrix)
    best = SubsampledMF(solver="block", **fixed).fit(matrix)
    assert model.objective_ == pytest.approx(best.objective_, rel=1e-6)
    values = [entry["objective"] for entry in model.history_]
    assert (np.diff(values) <= 1e-12 * values[0]).all()


def test_als_solves_rows_exactly():
    """After a sweep every right row is the ridge regression on the left factors of its pairs."""
    matrix, _ = block_matrix()
    model = SubsampledMF(rank=3, reg=0.1, solver="als", max_iter=1, random_state=0, dtype="float64").fit(matrix)
    drawn = model.sampled_.toarray()
    for j in range(matrix.shape[1]):
        rows = np.flatnonzero((matrix[:, j] > 0) | (drawn[:, j] < 0))
        design = model.user_factors_[rows]
        system = design.T @ design + 0.1 * max(1, matrix[:, j].sum()) * np.eye(3)
        expected = np.linalg.solve(system, design.T @ matrix[rows, j])
        np.testing.assert_allclose(model.item_factors_[j], expected, atol=1e-9)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_fold_in_is_the_sub_problem_of_training(loss):
    """New users and items end where the slope over their pairs, drawn ones included, and ridge is zero."""
    matrix, _ = block_matrix()
    model = SubsampledMF(rank=3, loss=loss, reg=0.1, max_iter=5, random_state=0, dtype="float64").fit(matrix)
    for side, rows, folded, other in (
        (0, matrix[::5], model.fold_in_users(matrix[::5]), model.item_factors_),
        (1, matrix.T[::4], model.fold_in_items(matrix[:, ::4]), model.user_factors_),
    ):
        new, columns = model.sampling_.draw_rows(side, sp.csr_array(rows), model.n_sampled_, model.fold_in_seed_)
        for i, row in enumerate(rows):
            stored, drawn = np.flatnonzero(row), columns[new == i]
            slopes = [
                *model.loss_.slope(1.0, other[stored] @ folded[i]),
                *model.loss_.slope(VALUES[loss], other[drawn] @ folded[i]),
            ]
            gradient = other[np.concatenate([stored, drawn])].T @ slopes + 0.1 * len(stored) * folded[i]
            np.testing.assert_allclose(gradient, 0, atol=1e-7)


def test_a_folded_in_user_does_not_depend_on_the_others():
    matrix, _ = block_matrix()
    model = SubsampledMF(rank=3, random_state=0, dtype="float64").fit(matrix)
    together = model.fold_in_users(matrix)
    np.testing.assert_allclose(model.fold_in_users(matrix[[30]])[0], together[30], atol=1e-12)


def test_explanations_add_up_and_name_drawn_pairs():
    matrix, _ = block_matrix()
    model = SubsampledMF(rank=3, reg=0.1, max_iter=200, tol=1e-14, random_state=0, dtype="float64").fit(matrix)
    explanation = model.explain(3, 5)
    assert explanation.score == pytest.approx(model.score_pairs([3], [5])[0])
    assert explanation.base + explanation.contributions.sum() == pytest.approx(explanation.score)
    assert explanation.base == pytest.approx(0, abs=1e-5)  # nothing but pairs makes a score
    counted = np.flatnonzero(matrix[3] + abs(model.sampled_.toarray()[3]))
    assert sorted(explanation.items.tolist()) == counted.tolist()


def test_resampling_draws_anew_in_every_sweep():
    matrix, _ = block_matrix()
    once, often = (
        SubsampledMF(rank=3, resample=flag, solver=solver, max_iter=6, tol=0, random_state=0, dtype="float64").fit(
            matrix
        )
        for flag, solver in ((False, "newton"), (True, "auto"))
    )
    assert once.history_[0]["objective"] == often.history_[0]["objective"]
    assert once.history_[1]["objective"] != often.history_[1]["objective"]
    assert often.n_iter_ == 6
    assert (once.sampled_ != often.sampled_).nnz > 0
    assert often.objective_ == pytest.approx(brute_force(often, matrix, 0.0), rel=1e-10)


def test_only_what_was_passed_counts_as_seen():
    matrix, _ = block_matrix()
    model = SubsampledMF(rank=3, random_state=0).fit(matrix)
    assert np.array_equal(model.interactions_.toarray(), matrix)


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"scheme": "popular"}, "scheme must be one of"),
        ({"ratio": -1}, "ratio must be"),
        ({"ratio": "many"}, "ratio must be"),
        ({"ratio": 1000}, "pairs are unknown"),
        ({"reg": 0}, "reg must be above 0"),
        ({"solver": "magic"}, r"solver must be Newton\(…\) or one of"),
        ({"negative_value": (np.ones((44, 1)), np.ones((21, 1)))}, "negative_value must be one number"),
        ({"rank": 0}, "rank must be"),
        ({"patience": 2}, "validation"),
        ({"reg": True}, "reg must be a finite number"),
        ({"biases": "no"}, "biases must be True or False"),
        ({"resample": "yes"}, "resample must be True or False"),
    ],
)
def test_what_makes_no_sense_is_refused(params, match):
    with pytest.raises(ValueError, match=match):
        SubsampledMF(**{"rank": 3, **params}).fit(block_matrix()[0])


def test_weights_of_new_rows_are_refused():
    matrix, _ = block_matrix()
    model = SubsampledMF(rank=3, random_state=0).fit(matrix)
    with pytest.raises(ValueError, match="samples its negatives"):
        model.fold_in_users(matrix[:2], weights=[1.0, 1.0])
