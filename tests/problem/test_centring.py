"""Free offsets: a projection, the loss over observed pairs, and models that use it."""

import numpy as np
import pytest

from everypair.data.observed import Observed
from everypair.models.completion.rivals import FNNM, FPCA, IMC, SIMC, Maxide
from everypair.problem.completion.centring import KINDS, Centring

RNG = np.random.default_rng(0)
N, M = 15, 12
E = np.where(RNG.random((N, M)) < 0.5, RNG.standard_normal((N, M)), np.nan)
E[3] = np.nan
PATTERN = Observed.from_matrix(E)


def basis(kind):
    """Columns that offsets span, at the entries."""
    rows = (PATTERN.rows[:, None] == np.arange(N)).astype(float)
    columns = (PATTERN.indices[:, None] == np.arange(M)).astype(float)
    return {"rows": rows, "columns": columns, "both": np.hstack([rows, columns])}[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_what_least_squares_leaves(kind):
    X = basis(kind)
    expected = PATTERN.values - X @ np.linalg.lstsq(X, PATTERN.values, rcond=None)[0]
    centred = Centring(PATTERN, kind)
    np.testing.assert_allclose(centred(PATTERN.values), expected, atol=1e-10)
    np.testing.assert_allclose(centred(expected), expected, atol=1e-10)
    rows, columns = centred.offsets(PATTERN.values)
    np.testing.assert_allclose(rows[PATTERN.rows] + columns[PATTERN.indices] + expected, PATTERN.values, atol=1e-10)
    turned = centred.turned(PATTERN.transposed)
    np.testing.assert_allclose(turned(PATTERN.transposed.values), PATTERN.transpose_values(expected), atol=1e-10)


def test_offsets_of_rows_are_the_loss_over_observed_pairs():
    centred = Centring(PATTERN, "rows")(PATTERN.values)
    for row in range(N):
        e = E[row][~np.isnan(E[row])]
        pairs = sum((e[p] - e[q]) ** 2 for p in range(len(e)) for q in range(p))
        np.testing.assert_allclose(len(e) * np.sum(centred[PATTERN.rows == row] ** 2), pairs, atol=1e-10)


LEFT, RIGHT = RNG.standard_normal((N, 3)), RNG.standard_normal((M, 2))
TRUTH = LEFT @ RNG.standard_normal((3, 2)) @ RIGHT.T
SHOWN = RNG.random((N, M)) < 0.7
SHOWN[:, 0] = SHOWN[0] = True
MODELS = {
    "fnnm": lambda **offsets: FNNM(nuclear_reg=0.3, l1_reg=0.01, max_iter=3000, tol=1e-10, **offsets),
    "fnnm, momentum": lambda **offsets: FNNM(
        nuclear_reg=0.3, l1_reg=0.01, max_iter=3000, tol=1e-10, accelerate=True, **offsets
    ),
    "fpca": lambda **offsets: FPCA(nuclear_reg=0.1, tol=1e-9, max_iter=3000, **offsets),
    "maxide": lambda **offsets: Maxide(nuclear_reg=0.01, tol=1e-10, **offsets),
    "imc": lambda **offsets: IMC(rank=2, reg=0.01, tol=1e-10, max_iter=300, **offsets),
    "simc": lambda **offsets: SIMC(nuclear_reg=0.1, l1_reg=0.01, tol=1e-7, max_iter=20000, **offsets),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("kind", KINDS)
def test_levels_change_nothing_but_themselves(name, kind):
    """A matrix with other levels of rows or columns is completed to the same and those levels."""
    features = {} if name == "fpca" else {"left_features": LEFT, "right_features": RIGHT}
    plain = MODELS[name](offsets=kind).fit(TRUTH, SHOWN, **features)
    levels = np.zeros((N, M))
    if kind != "columns":
        levels = levels + RNG.normal(0, 5, (N, 1))
    if kind != "rows":
        levels = levels + RNG.normal(0, 5, M)
    moved = MODELS[name](offsets=kind).fit(TRUTH + levels, SHOWN, **features)
    np.testing.assert_allclose(moved.objective_, plain.objective_, rtol=1e-3)
    np.testing.assert_allclose(moved.complete(), plain.complete() + levels, atol=0.02)
    error = np.linalg.norm((moved.complete() - TRUTH - levels)[~SHOWN]) / np.linalg.norm(TRUTH[~SHOWN])
    assert error < 0.6
    if name == "fpca":  # levels are of low rank too
        return
    bare = MODELS[name]().fit(TRUTH + levels, SHOWN, **features)
    assert np.linalg.norm((bare.complete() - TRUTH - levels)[~SHOWN]) > 2 * error * np.linalg.norm(TRUTH[~SHOWN])


def test_a_row_of_which_nothing_is_known_has_the_usual_level():
    shown = SHOWN.copy()
    shown[4] = False
    model = FPCA(nuclear_reg=0.1, offsets="rows").fit(TRUTH + 7, shown)
    np.testing.assert_allclose(model.complete()[4], model.state_.offsets.usual_row)
    assert abs(model.complete()[4] - 7).max() < 1
    again = type(model).from_parts(*model.to_parts())
    assert np.array_equal(again.complete(), model.complete())
    with pytest.raises(ValueError, match="offsets must be one of 'rows', 'columns', 'both' or None"):
        FPCA(offsets="cells").fit(TRUTH, shown)
