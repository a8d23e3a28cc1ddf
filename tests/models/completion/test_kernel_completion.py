"""What KernelCompletion claims, beside dense systems and by hand."""

import numpy as np
import pandas as pd
import pytest

from everypair.data.observed import Observed
from everypair.features.row_scale import RowScale
from everypair.models.completion import KernelCompletion
from everypair.models.completion.kernel_learner import MaskedKernelLearner
from everypair.models.completion.offsets import Offsets
from everypair.solvers.kernel_ridge import products

RNG = np.random.default_rng(0)
N, M = 36, 24
LEFT, RIGHT = RNG.standard_normal((N, 3)), RNG.standard_normal((M, 2))
SCORE = LEFT @ RNG.standard_normal((3, 2)) @ RIGHT.T
CLASSES = (SCORE > 1).astype(float)
MASK = RNG.random((N, M)) < 0.5
MASK[4], MASK[:, 6] = False, False


def similarity(X):
    return np.exp(-np.square(X[:, None] - X[None]).sum(axis=2) / 4)


def rbf(X):
    Z = RowScale.of(X)(X)
    return np.exp(-np.square(Z[:, None] - Z[None]).sum(axis=2))


def dense_completion(Y, mask, K_r, K_c, offsets, reg):
    i, j = np.nonzero(mask)
    K = K_r[np.ix_(i, i)] * K_c[np.ix_(j, j)]
    A = np.zeros(mask.shape)
    A[i, j] = np.linalg.solve(K + reg * np.eye(len(i)), (Y - offsets)[i, j])
    return offsets + K_r @ A @ K_c


def test_the_first_stage_is_the_dense_system(monkeypatch):
    monkeypatch.setattr("everypair.models.completion.kernel_learner.TOL", 1e-12)
    K_r, K_c = (
        (rbf(LEFT) + 0.1 + 0.3 * np.eye(N)) / 1.4,
        (similarity(RIGHT) + 0.3 * np.eye(M)) / 1.3,
    )
    expected = dense_completion(CLASSES, MASK, K_r, K_c, CLASSES[MASK].mean(), 0.2)
    model = KernelCompletion(kernel=("rbf", "similarity"), reg=0.2, refine=False)
    model.fit(CLASSES, MASK, left_features=LEFT, right_features=similarity(RIGHT))
    np.testing.assert_allclose(model.complete(), expected, atol=1e-8)
    assert (model.reg_, model.refinements_, model.errors_) == (0.2, (), None)


def test_new_entities_are_answered_by_the_first_stage():
    """A new row like a known one has its values, less what the known one's own part adds."""
    model = KernelCompletion(kernel="similarity").fit(
        CLASSES, MASK, left_features=similarity(LEFT), right_features=similarity(RIGHT)
    )
    assert model.refinements_ == ("profiles",)
    first = KernelCompletion(kernel="similarity", refine=False, reg=model.reg_).fit(
        CLASSES, MASK, left_features=similarity(LEFT), right_features=similarity(RIGHT)
    )
    unseen = first.complete()[4]  # of which nothing is observed: its own part says nothing
    np.testing.assert_allclose(model.complete()[4], unseen, atol=1e-12)
    np.testing.assert_allclose(model.complete(similarity(LEFT)[[4]])[0], unseen, atol=1e-8)
    np.testing.assert_allclose(model.complete(right_features=similarity(RIGHT)[[6]])[:, 0], first.complete()[:, 6])
    assert not np.allclose(model.complete()[3], first.complete()[3])


@pytest.mark.parametrize("sides", ["both", "left", "none"])
def test_hidden_entries_are_never_looked_at(sides):
    features = {"both": (LEFT, RIGHT), "left": (LEFT, None), "none": (None, None)}[sides]
    noise = np.where(MASK, CLASSES, RNG.normal(100, 50, CLASSES.shape))
    models = [
        KernelCompletion().fit(Y, MASK, left_features=features[0], right_features=features[1])
        for Y in (CLASSES, noise, np.where(MASK, CLASSES, np.nan))
    ]
    for other in models[1:]:
        assert np.array_equal(other.complete(), models[0].complete())
        assert (other.reg_, other.errors_) == (models[0].reg_, models[0].errors_)


def test_what_is_held_out_is_observed_and_not_trained_on(monkeypatch):
    seen = []
    built = MaskedKernelLearner.built

    def watched(self, recipe, ridge, first):
        seen.append(self.observed)
        return built(self, recipe, ridge, first)

    monkeypatch.setattr(MaskedKernelLearner, "built", watched)
    model = KernelCompletion().fit(CLASSES, MASK, left_features=LEFT, right_features=RIGHT)
    *trials, last = seen
    assert last.nnz == MASK.sum()
    for trial in trials:
        assert 0.7 * MASK.sum() < trial.nnz < 0.9 * MASK.sum()
        assert MASK[trial.rows, trial.indices].all()
    best = min(model.errors_, key=model.errors_.get)
    assert (" and ".join(model.refinements_) or "first") == best


def test_features_of_columns_alone_are_those_of_rows_turned():
    for refine in (False, True):
        rows = KernelCompletion(refine=refine, reg=0.3).fit(CLASSES, MASK, left_features=LEFT)
        columns = KernelCompletion(refine=refine, reg=0.3).fit(CLASSES.T, MASK.T, right_features=LEFT)
        np.testing.assert_allclose(columns.complete(), rows.complete().T, atol=1e-12)
        new = LEFT[:2] + 0.1
        np.testing.assert_allclose(columns.complete(right_features=new), rows.complete(new).T, atol=1e-12)


def test_a_learnt_covariance_tells_of_columns_that_go_together():
    random = np.random.default_rng(1)
    X = random.standard_normal((150, 3))
    label = (X @ random.standard_normal((3, 4)) + random.standard_normal((150, 4)) > 0).astype(float)
    Y = np.repeat(label, 3, axis=1)  # each label thrice
    mask = random.random(Y.shape) < 0.5
    plain, learnt = (KernelCompletion(refine=refine).fit(Y, mask, left_features=X) for refine in (False, "auto"))
    assert "covariance" in learnt.refinements_
    assert learnt.score(Y, ~mask) > plain.score(Y, ~mask) + 0.02


def test_the_ridge_of_tested_pairs_has_a_ceiling():
    """Noise asks for the strongest ridge; of pairs with features on both sides for the strongest that there is."""
    noise = np.random.default_rng(3).random((N, M)) < 0.2
    both = KernelCompletion(refine=False).fit(noise, MASK, left_features=LEFT, right_features=RIGHT)
    left = KernelCompletion(refine=False).fit(noise, MASK, left_features=LEFT)
    assert both.reg_ == 0.3
    assert left.reg_ > 0.3


def test_landmarks_come_close_to_all_rows(monkeypatch):
    exact = KernelCompletion(reg=0.1, refine=False).fit(SCORE, MASK, left_features=LEFT, right_features=RIGHT)
    monkeypatch.setattr(products, "EXACT", 20)
    monkeypatch.setattr(products, "LANDMARKS", 34)
    near = KernelCompletion(reg=0.1, refine=False).fit(SCORE, MASK, left_features=LEFT, right_features=RIGHT)
    gap = np.linalg.norm(near.complete() - exact.complete())
    assert 0 < gap < 0.05 * np.linalg.norm(exact.complete())
    new = LEFT[:3] + 0.1
    np.testing.assert_allclose(near.complete(new), exact.complete(new), atol=0.2)


def test_similarities_are_matched_by_name():
    rows, columns = [f"drug {i}" for i in range(N)], [f"target {j}" for j in range(M)]
    Y = pd.DataFrame(np.where(MASK, CLASSES, np.nan), rows, columns)
    S = pd.DataFrame(similarity(LEFT), rows, rows)
    model = KernelCompletion(kernel="similarity", refine=False)
    expected = model.fit(Y, left_features=S).complete()
    again = model.fit(Y, left_features=S.sample(frac=1, random_state=0).sample(frac=1, random_state=1, axis=1))
    np.testing.assert_allclose(again.complete(), expected, atol=1e-12)
    new = S.iloc[[4]].rename(index={"drug 4": "drug x"})
    np.testing.assert_allclose(
        again.complete(new.sample(frac=1, random_state=2, axis=1)), again.complete(new), atol=1e-12
    )
    with pytest.raises(ValueError, match="one column per entity"):
        model.fit(Y, left_features=S.rename(columns={"drug 3": "drug 99"}))


def test_offsets_by_hand():
    Y = np.array([[1.0, 5.0], [3.0, np.nan], [np.nan, 4.0]])
    observed = Observed.from_matrix(Y)
    both = Offsets.of_both(observed)
    for i in range(3):
        known = ~np.isnan(Y[i])
        rest = (Y[i] - both.columns)[known]
        np.testing.assert_allclose(both.rows[i], rest.sum() / (known.sum() + 10), atol=1e-6)
    plain = both.values(np.zeros(Y.shape))[observed.rows, observed.indices]
    np.testing.assert_allclose(plain + both.residual(observed), observed.values)
    turned = both.transposed
    assert (turned.rows is both.columns, turned.columns is both.rows) == (True, True)


def test_progress_is_shown_on_request(capsys, monkeypatch):
    monkeypatch.setattr("everypair.progress.SECONDS_BETWEEN_LINES", 0.0)
    KernelCompletion(verbose=True).fit(CLASSES, MASK, left_features=LEFT, right_features=RIGHT)
    said = capsys.readouterr().err
    assert "first stage" in said
    assert "profiles" in said
    KernelCompletion().fit(CLASSES, MASK, left_features=LEFT)
    assert capsys.readouterr().err == ""


def test_what_makes_no_sense_is_refused(monkeypatch):
    model = KernelCompletion(kernel="similarity")
    with pytest.raises(ValueError, match=r"one row and one column per entity of that side \(36\)"):
        model.fit(CLASSES, MASK, left_features=LEFT)
    S = similarity(LEFT)
    S[2, 2] = 0.0
    with pytest.raises(ValueError, match="number 2 has 0"):
        model.fit(CLASSES, MASK, left_features=S)
    with pytest.raises(ValueError, match="the same in every row"):
        KernelCompletion().fit(CLASSES, MASK, left_features=np.ones((N, 2)))
    for kernel in ("linear", ("rbf",), ("rbf", "cosine")):
        with pytest.raises(ValueError, match="kernel must be one of"):
            KernelCompletion(kernel=kernel).fit(CLASSES, MASK, left_features=LEFT)
    with pytest.raises(ValueError, match="refine must be"):
        KernelCompletion(refine="perhaps").fit(CLASSES, MASK)
    monkeypatch.setattr("everypair.models.completion.kernel_completion.LARGEST", 800)
    with pytest.raises(ValueError, match="take MLRM or FNNM"):
        KernelCompletion().fit(CLASSES, MASK)
