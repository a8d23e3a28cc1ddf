"""Odd but legal data give finite answers, and what makes no sense is refused in a sentence, never by an accident."""

import numpy as np
import pytest
import scipy.sparse as sp

from everypair.models.completion import GaussianRatings, KernelCompletion, NeighborMF

RNG = np.random.default_rng(0)
N, M = 12, 9
LEFT, RIGHT = RNG.standard_normal((N, 3)), RNG.standard_normal((M, 2))
BINDS = (RNG.standard_normal((N, M)) > 0.5).astype(float)
STARS = np.round(3 + RNG.standard_normal((N, M)))
SHOWN = RNG.random((N, M)) < 0.6
GAPS = SHOWN.copy()
GAPS[3], GAPS[:, 2] = False, False
ALIKE = np.exp(-np.square(LEFT[:, None] - LEFT[None]).sum(axis=2) / 4)
NOT_POSITIVE = np.where(np.eye(N), 1.0, ALIKE - 0.9)
ODD_SIMILARITIES = {
    "not positive": NOT_POSITIVE,
    "asymmetric": ALIKE + 0.5 * RNG.random((N, N)),
    "all equal": np.ones((N, N)),
    "identity": np.eye(N, dtype=int),
    "other units": 1e6 * ALIKE,
    "sparse": sp.csr_array(np.where(ALIKE > 0.3, ALIKE, 0)),
    "greater off the diagonal": ALIKE + 5 * (1 - np.eye(N)),
    "opposite": 2 * np.eye(N) - 1,
}
CLASSES = {
    "1 × 2": (np.array([[1.0, 0.0]]), None),
    "2 × 1": (np.array([[1.0], [0.0]]), None),
    "one row": (BINDS[:1], None),
    "one column": (BINDS[:, :1], None),
    "all observed": (BINDS, None),
    "nothing in a row and a column": (BINDS, GAPS),
    "NaN": (np.where(SHOWN, BINDS, np.nan), None),
    "infinite off the mask": (np.where(SHOWN, BINDS, np.inf), SHOWN),
    "sparse mask": (BINDS, sp.csr_array(SHOWN)),
    "mask of numbers": (BINDS, SHOWN.astype(float)),
    "booleans": (BINDS > 0, SHOWN),
    "other values": (BINDS * 2e6 - 1e6, SHOWN),
    "one positive": (np.where(np.arange(N * M).reshape(N, M) == 0, 1.0, 0.0), None),
}
VALUES = {
    "one entry": (np.array([[2.0]]), None),
    "constant": (np.full((N, M), 3.0), SHOWN),
    "zero": (np.zeros((N, M)), SHOWN),
    "one value of a row": (STARS, np.eye(N, M, dtype=bool)),
    "1e6": (STARS * 1e6, SHOWN),
    "1e-9": (STARS * 1e-9, SHOWN),
    "far from zero": (STARS + 1e6, SHOWN),
    "stars with gaps": (STARS, GAPS),
    "sparse": (sp.csr_array(np.where(SHOWN, STARS, 0)), None),
}


def answers(model, Y, mask, **sides):
    """Everything finite, and all questions of one mind."""
    model.fit(Y, mask, **sides)
    completed = model.complete()
    assert np.isfinite(completed).all()
    assert model.predict([0], [0])[0] == pytest.approx(completed[0, 0])
    columns, scores = model.recommend([0], n=2, exclude_seen=False)
    np.testing.assert_allclose(scores[0][columns[0] >= 0], completed[0, columns[0][columns[0] >= 0]], rtol=1e-9)
    return completed


@pytest.mark.parametrize("case", CLASSES)
@pytest.mark.parametrize("make", [KernelCompletion, GaussianRatings, lambda: NeighborMF(random_state=0)])
def test_two_values(make, case, capfd):
    Y, mask = CLASSES[case]
    completed = answers(make(), Y, mask)
    known = np.asarray(Y, float)[... if mask is None else np.asarray(sp.csr_array(mask).toarray(), bool)]
    low, high = np.nanmin(known), np.nanmax(known)
    assert np.all((completed > low - (high - low)) & (completed < high + (high - low)))
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("case", VALUES)
@pytest.mark.parametrize("make", [KernelCompletion, GaussianRatings])
def test_values(make, case, capfd):
    Y, mask = VALUES[case]
    completed = answers(make(), Y, mask)
    if case in ("constant", "zero", "one entry"):
        np.testing.assert_allclose(completed, sp.csr_array(Y).toarray().ravel()[0], atol=1e-9)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("case", ODD_SIMILARITIES)
@pytest.mark.parametrize("make", [KernelCompletion, lambda **kernel: NeighborMF(random_state=0, **kernel)])
def test_similarities(make, case):
    S = ODD_SIMILARITIES[case]
    model = make(kernel=("similarity", "rbf"))
    answers(model, BINDS, GAPS, left_features=S, right_features=RIGHT)
    assert np.isfinite(model.complete(left_features=S[[0]])).all()


@pytest.mark.parametrize(
    "features",
    [
        np.column_stack([LEFT, np.ones(N)]),
        LEFT * [1, 1e9, 1e-9],
        np.repeat(LEFT, 3, axis=1),
        np.repeat([[0.0, 1.0]], N, axis=0) * (np.arange(N) > 5)[:, None],
        sp.csr_array(np.where(LEFT > 0.8, LEFT, 0)),
        RNG.standard_normal((N, 200)),
        LEFT > 0,
    ],
    ids=["a constant", "units", "repeated", "two kinds of rows", "sparse with empty rows", "wide", "booleans"],
)
@pytest.mark.parametrize("make", [KernelCompletion, lambda: NeighborMF(random_state=0)])
def test_features(make, features):
    answers(make(), BINDS, GAPS, left_features=features, right_features=RIGHT)


@pytest.mark.parametrize("make", [KernelCompletion, GaussianRatings, NeighborMF])
@pytest.mark.parametrize(
    ("Y", "mask", "words"),
    [
        (np.empty((0, 5)), None, "at least one entry"),
        (BINDS, np.zeros((N, M), bool), "no observed entry"),
        (BINDS, SHOWN.T, "the shape of Y"),
        (BINDS, SHOWN.astype(str), "must hold booleans"),
        (np.where(SHOWN, BINDS, np.nan), ~SHOWN, "NaN where the mask calls it observed"),
        (np.where(SHOWN, BINDS, np.inf), None, "infinite values"),
        (BINDS * 1e200, SHOWN, "rescale it"),
        (BINDS[0], None, "must be a matrix"),
        (BINDS.astype(str), None, "must hold numbers"),
        (BINDS * 1j, None, "must hold numbers"),
    ],
)
def test_what_makes_no_sense_is_refused(make, Y, mask, words):
    with pytest.raises((ValueError, TypeError), match=words):
        make().fit(Y, mask)


@pytest.mark.parametrize("make", [KernelCompletion, NeighborMF])
@pytest.mark.parametrize(
    ("kernel", "features", "words"),
    [
        ("rbf", np.zeros((N, 2)), "the same in every row"),
        ("rbf", sp.csr_array((N, 2)), "the same in every row"),
        ("rbf", np.where(LEFT > 1, np.nan, LEFT), "NaN or infinite"),
        ("rbf", LEFT * 1e200, "too large"),
        ("rbf", LEFT[:-1], r"one row per entity of that side \(12\)"),
        ("rbf", RIGHT, r"one row per entity of that side \(12\)"),
        ("rbf", LEFT.astype(str), "must hold numbers"),
        ("similarity", 1 - ALIKE, "each entity's with itself is greater than 0"),
        ("similarity", ALIKE[:, :-1], "one column per entity"),
        ("similarity", np.where(ALIKE < 0.1, np.nan, ALIKE), "NaN or infinite"),
    ],
)
def test_features_that_make_no_sense_are_refused(make, kernel, features, words):
    with pytest.raises((ValueError, TypeError), match=words):
        make(kernel=kernel).fit(BINDS, SHOWN, left_features=features)
