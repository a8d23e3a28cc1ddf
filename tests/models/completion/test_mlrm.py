"""MLRM as an estimator: coding, correction, orientation, regularisation by a path, feature names, what is refused."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from everypair.data.observed import Observed
from everypair.metrics import completion_metrics
from everypair.models.completion import MLRM
from everypair.models.completion import path as path_module
from everypair.models.completion.correction import PRIOR, Correction
from everypair.models.completion.rivals import FNNM, FPCA, IMC, SIMC, Maxide
from everypair.solvers.completion import shrinkage
from everypair.solvers.loop import Status
from everypair.testing.completion import planted

REGS = {"nuclear_reg": 200.0, "l1_reg": 100.0}


def binary(seed=0, n=50, m=40):
    random = np.random.default_rng(seed)
    A, C = random.standard_normal((n, 5)), random.standard_normal((m, 4))
    score = A @ random.standard_normal((5, 4)) @ C.T + 0.5 * random.standard_normal((n, m))
    return (score > 2.0).astype(float), random.random((n, m)) < 0.5, A, C


def test_rows_are_columns_of_the_transposed_matrix():
    case = planted()
    rows = MLRM(**REGS, pairs="rows", correct=None).fit(
        case.truth, case.mask, left_features=case.left, right_features=case.right
    )
    columns = MLRM(**REGS, correct=None).fit(
        case.truth.T, case.mask.T, left_features=case.right, right_features=case.left
    )
    np.testing.assert_allclose(rows.complete(), columns.complete().T, atol=1e-9)
    assert rows.objective_ == pytest.approx(columns.objective_)
    np.testing.assert_allclose(rows.complete().sum(axis=0), 0, atol=1e-8)
    valued = MLRM(**REGS, pairs="rows").fit(case.truth, case.mask, left_features=case.left, right_features=case.right)
    turned = MLRM(**REGS).fit(case.truth.T, case.mask.T, left_features=case.right, right_features=case.left)
    np.testing.assert_allclose(valued.complete(), turned.complete().T, atol=1e-9)
    np.testing.assert_allclose(
        valued.complete(left_features=case.left[:2] + 1), turned.complete(right_features=case.left[:2] + 1).T, atol=1e-9
    )
    _, values = valued.recommend([3], n=2, exclude_seen=False)
    np.testing.assert_allclose(values[0], np.sort(valued.complete()[3])[::-1][:2])


@pytest.mark.parametrize("sides", [(True, False), (False, True), (False, False)])
def test_a_side_without_features_has_the_identity(sides):
    case = planted()
    left, right = case.left if sides[0] else None, case.right if sides[1] else None
    model = MLRM(**REGS).fit(case.truth, case.mask, left_features=left, right_features=right)
    explicit = MLRM(**REGS)
    if any(sides):
        explicit.fit(
            case.truth,
            case.mask,
            left_features=np.eye(40) if left is None else left,
            right_features=np.eye(30) if right is None else right,
        )
    else:
        explicit.set_params(variant="transductive").fit(case.truth, case.mask)
        assert model.status_ is Status.SOLVED
        assert model.side_weights_ is None
        assert model.side_terms_ == []
    np.testing.assert_allclose(model.complete(), explicit.complete(), atol=1e-6)
    if sides[0]:
        assert model.complete(left_features=case.left[:3]).shape == (3, 30)
        with pytest.raises(ValueError, match="without right_features"):
            model.complete(right_features=case.right)


def test_noise_is_local_with_larger_regularisation():
    case = planted()
    tight = {"tol": 1e-13, "max_iter": 3000}
    arguments = {"Y": case.truth, "mask": case.mask, "left_features": case.left, "right_features": case.right}
    noise = MLRM(nuclear_reg=60.0, l1_reg=30.0, noise_reg=0.5, variant="noise", **tight).fit(**arguments)
    plain = MLRM(nuclear_reg=60.0, l1_reg=30.0, noise_reg=0.5, variant="noise", accelerate=False, **tight).fit(
        **arguments
    )
    local = MLRM(nuclear_reg=180.0, l1_reg=90.0, **tight).fit(**arguments)
    np.testing.assert_allclose(noise.complete(), local.complete(), atol=1e-6)
    np.testing.assert_allclose(plain.complete(), local.complete(), atol=1e-4)


def test_codings():
    Y, mask, A, C = binary()
    regs = {"nuclear_reg": 20.0, "l1_reg": 100.0}
    scores = {
        coding: MLRM(**regs, coding=coding).fit(Y, mask, left_features=A, right_features=C).complete()
        for coding in ("01", "±1", "centred", None)
    }
    np.testing.assert_array_equal(scores["01"], scores[None])
    zeros_hidden = MLRM(**regs, coding="01").fit(np.where(mask, Y, 0), left_features=A, right_features=C).complete()
    np.testing.assert_allclose(zeros_hidden, scores["01"], atol=1e-10)  # the loss does not see observed zeros
    assert not np.allclose(scores["±1"], scores["01"])
    moved = MLRM(**regs, coding="01").fit(5 + 2 * Y, mask, left_features=A, right_features=C).complete()
    np.testing.assert_allclose(moved, scores["01"], atol=1e-10)  # any two values
    by_hand = np.where(mask, Y - (np.where(mask, Y, 0).sum(1) / mask.sum(1))[:, None], 0)
    centred = MLRM(**regs, coding=None, correct=None).fit(by_hand, mask, left_features=A, right_features=C).complete()
    np.testing.assert_allclose(centred, scores["centred"], atol=1e-10)


def test_scores_of_two_values_rank_and_others_become_values():
    Y, mask, A, C = binary()
    assert (
        MLRM(nuclear_reg=20.0, l1_reg=100.0).fit(Y, mask, left_features=A, right_features=C).state_.correction is None
    )
    case = planted()
    valued = MLRM(**REGS).fit(case.truth, case.mask, left_features=case.left, right_features=case.right)
    scores = MLRM(**REGS, correct=None).fit(case.truth, case.mask, left_features=case.left, right_features=case.right)
    seen = case.truth[case.mask]
    assert valued.complete().min() >= seen.min()
    assert valued.complete().max() <= seen.max()
    first, second = (model.recommend(n=30, exclude_seen=False)[0] for model in (valued, scores))
    assert np.array_equal(first, second)  # a correction does not change the order


def test_correction_by_least_squares():
    random = np.random.default_rng(0)
    scores = random.standard_normal((6, 400))
    offset, scale = random.standard_normal(6), np.array([0.5, 1.0, 2.0, 1.5, 1.0, 0.8])
    observed = Observed.from_matrix(offset[:, None] + scale[:, None] * scores)
    found = Correction.learn("offset-scale", observed, scores.ravel())
    np.testing.assert_allclose(found.scale, scale, atol=0.03)
    np.testing.assert_allclose(found.offset, offset, atol=0.05)
    turned = Correction.learn("offset-scale", observed.transposed, observed.transpose_values(scores.ravel()), True)
    np.testing.assert_allclose(turned.scale, found.scale)
    only = Correction.learn("offset", observed, scores.ravel())
    assert (only.scale == 1).all()
    gap = (offset[:, None] + (scale[:, None] - 1) * scores).mean(axis=1)
    np.testing.assert_allclose(only.offset, (400 * gap + PRIOR * gap.mean()) / (400 + PRIOR))


def test_a_row_without_observations_is_typical_and_scales_are_not_negative():
    random = np.random.default_rng(0)
    scores = random.standard_normal((5, 30))
    Y = -3 * scores + 1
    Y[2] = np.nan
    observed = Observed.from_matrix(Y)
    found = Correction.learn("offset-scale", observed, scores[~np.isnan(Y)])
    assert (found.scale == 0).all()
    assert found.typical_scale == 0
    assert found.offset[2] == pytest.approx(found.typical_offset)
    good = Correction.learn(
        "offset-scale", Observed.from_matrix(np.where(np.isnan(Y), np.nan, 2 * scores + 1)), scores[~np.isnan(Y)]
    )
    assert good.scale[2] == pytest.approx(good.typical_scale) == pytest.approx(2.0)


@pytest.mark.parametrize(
    "make", [MLRM, FNNM, SIMC, Maxide, lambda: IMC(rank=4)], ids=["MLRM", "FNNM", "SIMC", "Maxide", "IMC"]
)
def test_defaults_work_untuned(make):
    Y, mask, A, C = binary()
    model = make().fit(Y, mask, left_features=A, right_features=C)
    assert completion_metrics(model.complete(), Y, ~mask)["auc"] > 0.9
    assert len(model.path_) >= 3
    assert set(model.regularisation_) == set(model.regularisers)
    best = max(model.path_, key=lambda point: point["auc"])
    assert all(best[name] == value for name, value in model.regularisation_.items())


def test_defaults_without_features():
    random = np.random.default_rng(0)
    Y = random.standard_normal((60, 3)) @ random.standard_normal((3, 50))
    mask = random.random(Y.shape) < 0.5
    model = FPCA().fit(Y, mask)
    assert completion_metrics(model.complete(), Y, ~mask)["r2"] > 0.95
    assert 3 <= len(model.path_) <= len(path_module.SHARES["nuclear_reg"])
    ranked = MLRM().fit(Y, mask)
    assert completion_metrics(ranked.complete(), Y, ~mask)["r2"] > 0.5


def test_the_path_sees_observed_entries_only(monkeypatch):
    """Whatever stands at hidden entries changes nothing; held-out entries are not trained on."""
    Y, mask, A, C = binary()
    one, two = (MLRM().fit(filled, mask, left_features=A, right_features=C) for filled in (Y, np.where(mask, Y, 1 - Y)))
    assert one.path_ == two.path_
    splits = []
    original = path_module.fifth_held_out
    monkeypatch.setattr(path_module, "fifth_held_out", lambda observed: splits.append(original(observed)) or splits[-1])
    MLRM().fit(Y, mask, left_features=A, right_features=C)
    kept, held_out = splits[0]
    assert kept.nnz + held_out.nnz == mask.sum()
    assert (kept.to_csr().astype(bool).multiply(held_out.with_values(np.ones(held_out.nnz)).to_csr())).nnz == 0


def test_one_regulariser_may_be_given():
    Y, mask, A, C = binary()
    model = MLRM(nuclear_reg=50.0).fit(Y, mask, left_features=A, right_features=C)
    assert model.regularisation_["nuclear_reg"] == 50.0
    assert 3 <= len(model.path_) <= len(path_module.SHARES["l1_reg"])
    assert all("nuclear_reg" not in point for point in model.path_)


def test_too_little_to_hold_out_takes_the_usual_share():
    model = MLRM().fit([[1.0, 0.0, np.nan], [0.0, 1.0, 1.0]])
    assert model.path_ == []
    assert model.regularisation_["nuclear_reg"] > 0


def test_a_time_limit_holds_for_the_path_too():
    Y, mask, A, C = binary()
    model = MLRM(time_limit=1e-6).fit(Y, mask, left_features=A, right_features=C)
    assert len(model.path_) == 1
    assert model.status_ is Status.TIME_LIMIT


def test_validation_watches_auc_and_keeps_the_best():
    Y, mask, A, C = binary()
    shown = mask & (np.random.default_rng(3).random(mask.shape) < 0.8)
    held_out = np.where(mask & ~shown, Y, np.nan)
    model = MLRM(nuclear_reg=1.0, l1_reg=0.01, patience=2, tol=0.0).fit(
        Y, shown, left_features=A, right_features=C, validation=held_out
    )
    seen = [entry["auc"] for entry in model.history_]
    assert model.status_ is Status.NO_IMPROVEMENT
    where = mask & ~shown
    assert completion_metrics(model.complete(), Y, where)["auc"] == pytest.approx(max(seen))
    with pytest.raises(ValueError, match="both values"):
        MLRM(nuclear_reg=1.0, l1_reg=1.0).fit(
            Y, shown, left_features=A, right_features=C, validation=np.where(where & (Y == 0), 0.0, np.nan)
        )


def test_score_of_two_values_is_auc_and_scikit_learn_searches_by_it():
    Y, mask, A, C = binary()
    shown = mask & (np.random.default_rng(3).random(mask.shape) < 0.8)
    held_out, rows = np.where(mask & ~shown, Y, np.nan), np.arange(len(Y))
    model = MLRM(nuclear_reg=20.0, l1_reg=100.0).fit(Y, shown, left_features=A, right_features=C)
    assert model.score(held_out) == pytest.approx(completion_metrics(model.complete(), Y, mask & ~shown)["auc"])
    with pytest.raises(ValueError, match="both values of the training matrix, 0 and 1"):
        model.score(np.where(held_out == 0, 0.0, np.nan))
    seen = np.where(shown, Y, np.nan)
    grid = {"nuclear_reg": [1.0, 1e4], "l1_reg": [1.0]}
    plain = GridSearchCV(MLRM(), grid, cv=[(rows, rows)]).fit(seen)  # at the entries that it learns from
    assert plain.best_params_["nuclear_reg"] == 1.0
    search = GridSearchCV(MLRM(), grid, cv=[(rows, rows)], scoring=lambda model, *_: model.score(held_out)).fit(seen)
    assert search.best_score_ == search.best_estimator_.score(held_out)


class Frame:
    """Enough of a data frame."""

    def __init__(self, matrix, columns):
        self.matrix, self.columns = matrix, columns

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.matrix, dtype)


def test_terms_have_the_names_of_features():
    case = planted()
    named = Frame(case.left, ["age", "size", "hue", "mass"])
    grouped = {"x": case.right[:, :2], "y": case.right[:, 2:]}
    model = MLRM(**REGS).fit(case.truth, case.mask, left_features=named, right_features=grouped)
    terms = model.side_terms_
    assert {left for left, _, _ in terms} <= {"age", "size", "hue", "mass"}
    assert {right for _, right, _ in terms} <= {"x0", "x1", "y0"}
    assert (np.diff([abs(weight) for *_, weight in terms]) <= 0).all()
    assert len(terms) == model.side_weights_.nnz
    one_sided = MLRM(**REGS).fit(case.truth, case.mask, left_features=named)
    assert one_sided.side_terms_[0][1].startswith("column ")


def test_what_does_not_combine_is_refused():
    case, (Y, mask, A, C) = planted(), binary()
    valued, labelled = (case.truth, case.mask, case.left, case.right), (Y, mask, A, C)
    for options, data, words in (
        ({"variant": "lokal"}, labelled, "variant must be one of"),
        ({"coding": "10"}, labelled, "coding must be one of"),
        ({"correct": True}, labelled, "correct must be one of"),
        ({"pairs": "both"}, labelled, "pairs must be one of"),
        ({"svd": "fast"}, labelled, "svd must be"),
        ({"noise_reg": 1.0}, labelled, "belongs to variant"),
        ({"variant": "noise", "noise_reg": 0}, labelled, "noise_reg must be"),
        ({"variant": "transductive"}, labelled, "uses no features"),
        ({"variant": "global"}, (Y, mask), "explains M by features"),
        ({"coding": "±1"}, valued, "two values"),
        ({"correct": None, "nuclear_reg": "auto"}, valued, "scores without a level"),
        ({"orthonormal": 1}, labelled, "orthonormal must be"),
        ({}, (Y[:, :1], mask[:, :1]), "no pairs of columns"),
        ({"pairs": "rows"}, (Y[:1], mask[:1]), "no pairs of rows"),
        ({}, (Y, mask, 0 * A), "zero everywhere"),
    ):
        with pytest.raises(ValueError, match=words):
            MLRM(**{**REGS, **options}).fit(*data[:2], **dict(zip(("left_features", "right_features"), data[2:])))
    for model in (IMC(), SIMC(), Maxide()):
        with pytest.raises(ValueError, match="completes by features"):
            model.fit(Y, mask)
    with pytest.raises(ValueError, match="rank"):
        IMC(rank=0).fit(Y, mask, left_features=A)
    with pytest.raises(ValueError, match="continuation"):
        FPCA(continuation=1.0).fit(Y, mask)
    with pytest.raises(ValueError, match="step"):
        FPCA(step=2.5).fit(Y, mask)


def test_large_matrices_take_the_truncated_way_and_agree(monkeypatch):
    monkeypatch.setattr(shrinkage, "WIDE", shrinkage.KRYLOV)
    random = np.random.default_rng(0)
    Y = random.standard_normal((150, 4)) @ random.standard_normal((4, 120))
    mask = random.random(Y.shape) < 0.4
    A = random.standard_normal((150, 3))
    regs = {"nuclear_reg": 250.0, "l1_reg": 500.0}
    exact, truncated = (
        MLRM(**regs, svd=svd, correct=None).fit(Y, mask, left_features=A) for svd in ("exact", "truncated")
    )
    assert 0 < exact.rank_ < 30
    np.testing.assert_allclose(truncated.complete(), exact.complete(), atol=1e-3)


def test_the_loss_over_observed_pairs_is_their_sum():
    random = np.random.default_rng(0)
    A, C = random.standard_normal((14, 3)), random.standard_normal((11, 2))
    Y = A @ random.standard_normal((3, 2)) @ C.T + random.standard_normal((14, 1)) * 3
    mask = random.random(Y.shape) < 0.6
    given = {"nuclear_reg": 0.5, "l1_reg": 0.2, "max_iter": 3000, "tol": 1e-12}
    models = [
        MLRM(mask="observed", accelerate=accelerate, **given).fit(Y, mask, left_features=A, right_features=C)
        for accelerate in (True, False)
    ]
    for model in models:
        M, N = model.left_vectors_ * model.singular_values_ @ model.right_vectors_.T, model.side_weights_.toarray()
        E, value = M + A @ N @ C.T - Y, 0.5 * model.singular_values_.sum() + 0.2 * np.abs(N).sum()
        for row in range(len(Y)):
            e = E[row, mask[row]]
            pairs = sum((e[p] - e[q]) ** 2 for p in range(len(e)) for q in range(p))
            value += 0.5 * pairs / max(len(e), 1)
        assert model.objective_ == pytest.approx(value, rel=1e-9)
    twin = FNNM(offsets="rows", **given).fit(Y, mask, left_features=A, right_features=C)
    assert models[0].objective_ == pytest.approx(models[1].objective_, rel=1e-6)
    assert twin.objective_ == pytest.approx(models[0].objective_, rel=1e-6)
    assert models[0].n_iter_ < models[1].n_iter_
    with pytest.raises(ValueError, match="belongs to variant"):
        MLRM(mask="observed", variant="noise").fit(Y, mask)
