"""Whatever cannot be meant is refused before any work, with a sentence that says what to do."""

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

from everypair import OneClassMF
from everypair.problem.losses import LOSSES
from everypair.testing import block_matrix
from everypair.words import listed

MATRIX = block_matrix()[0]


@pytest.fixture
def no_work(monkeypatch):
    """Fail if a kernel would be compiled or a sweep begun."""

    def work(*arguments, **options):
        raise AssertionError("work has begun before the input was refused")

    monkeypatch.setattr("everypair.models.recommend.places.sweep_on_two_pairs", work)
    monkeypatch.setattr("everypair.models.recommend.places.train", work)


def with_value(value):
    matrix = MATRIX.copy()
    matrix[0, 1] = value
    return matrix


def with_explicit_zero():
    matrix = sp.csr_array(MATRIX)
    matrix.data[0] = 0
    return matrix


def with_pointers(place, value):
    matrix = sp.csr_array(MATRIX)
    pointers = matrix.indptr.tolist()
    pointers[place] = np.atleast_1d(value)
    matrix.indptr = np.array(pointers, np.int32)
    return matrix


BAD_INTERACTIONS = {
    "NaN": (with_value(np.nan), ValueError, "interactions has NaN or infinite values.*drop, fill or rescale them"),
    "infinite": (with_value(np.inf), ValueError, "interactions has NaN or infinite values"),
    "NaN in a sparse matrix": (sp.coo_array(with_value(np.nan)), ValueError, "NaN or infinite"),
    "no rows": (np.zeros((0, 21)), ValueError, r"interactions is empty: its shape is \(0, 21\)"),
    "no columns": (sp.csr_array((44, 0)), ValueError, r"interactions is empty: its shape is \(44, 0\)"),
    "nothing stored": (np.zeros((44, 21)), ValueError, "no positive entry.*Is it the right matrix"),
    "nothing positive": (-MATRIX, ValueError, "no positive entry"),
    "explicit zero": (with_explicit_zero(), ValueError, r"explicit zeros.*call eliminate_zeros\(\) first"),
    "opposite duplicates": (
        sp.coo_array(([1.0, -1.0, 1.0], ([0, 0, 1], [1, 1, 2]))),
        ValueError,
        "explicit zeros",
    ),
    "one dimension": (MATRIX[0], ValueError, "two-dimensional .left entities × right entities., got 1-D"),
    "three dimensions": (MATRIX[None], ValueError, "two-dimensional"),
    "ids": ([["anna", "bread"]], TypeError, "read_events"),
    "too large for float32": (MATRIX * 1e300, ValueError, "infinite values as float32"),
    "nothing": (None, TypeError, "sparse matrix or a numeric 2-D array, got NoneType"),
    "complex": (sp.csr_array(MATRIX * 1j), TypeError, r"real numbers, got dtype complex128: take its \.real"),
    "complex array": (MATRIX * 1j, TypeError, "real numbers, got dtype complex128"),
    "objects": (MATRIX.astype(object), TypeError, r"an array of objects: convert it with astype\(float\)"),
    "text": (MATRIX.astype(str), TypeError, "got an array of text"),
    "too small for float32": (MATRIX * 1e-50, ValueError, "values that are 0 as float32: rescale them"),
    "pointers that fall": (
        with_pointers(slice(3, 4), 10**6),
        ValueError,
        "not a valid CSR matrix: index pointer values",
    ),
    "too few pointers": (with_pointers(slice(-3, None), []), ValueError, "not a valid CSR matrix: index pointer size"),
    "lazy frame": (pl.LazyFrame({"user": [1], "item": [2]}), TypeError, r"is a lazy frame: collect\(\) it first"),
}


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(("matrix", "kind", "sentence"), BAD_INTERACTIONS.values(), ids=BAD_INTERACTIONS)
def test_interactions(matrix, kind, sentence):
    with pytest.raises(kind, match=sentence):
        OneClassMF(rank=3).fit(matrix)


BAD_TARGETS = {
    "shape": (MATRIX[:, :20], r"targets have shape \(44, 20\), interactions \(44, 21\)"),
    "fewer": (np.where(MATRIX * np.arange(21) == 20, 0, MATRIX), "exactly the pairs that interactions stores"),
    "elsewhere": (np.roll(MATRIX, 1, axis=1), "or other positions"),
    "NaN": (with_value(np.nan), "NaN or infinite"),
}


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(("targets", "sentence"), BAD_TARGETS.values(), ids=BAD_TARGETS)
def test_targets(targets, sentence):
    with pytest.raises(ValueError, match=sentence):
        OneClassMF(rank=3).fit(MATRIX, targets=targets)


BAD_VALIDATION = {
    "overlap": (MATRIX, "all 274 positives of validation are stored in interactions too"),
    "shape": (np.zeros((44, 20)), r"\(44, 21\) and validation \(44, 20\)"),
    "transposed": (np.zeros((21, 44)), r"validation\.T would fit"),
}


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(("validation", "sentence"), BAD_VALIDATION.values(), ids=BAD_VALIDATION)
def test_validation(validation, sentence):
    with pytest.raises(ValueError, match=sentence):
        OneClassMF(rank=3).fit(MATRIX, validation=validation)


BAD_PARAMETERS = [
    ({"rank": 45}, r"rank=45 is larger than both sides of interactions \(44, 21\): at most 44"),
    ({"rank": "large"}, "rank must be an integer ≥ 1 or \"auto\", got 'large'"),
    ({"rank": 0}, "rank must be an integer ≥ 1, got 0"),
    ({"rank": 2.0}, "rank must be an integer"),
    ({"rank": True}, "rank must be an integer"),
    ({"max_iter": 0}, "max_iter must be an integer ≥ 1"),
    ({"solver": "new"}, r"solver must be Newton\(…\) or one of"),
    ({"tol": -1e-3}, "tol must be a number ≥ 0"),
    ({"tol": float("nan")}, "tol must be a number ≥ 0"),
    ({"patience": 0}, "patience must be a positive integer or None"),
    ({"patience": 2}, r"patience needs validation data: fit\(interactions, validation=held_out\)"),
    ({"time_limit": 0}, "time_limit must be a positive number of seconds"),
    ({"time_limit": float("nan")}, "time_limit must be a positive number of seconds"),
    ({"dtype": "int8"}, 'dtype must be "float32" or "float64"'),
    ({"n_threads": 0}, "n_threads must be a positive integer, or None or -1"),
    ({"n_threads": "many"}, "n_threads must be a positive integer, or None or -1"),
    ({"loss": ["squared"]}, "loss must be one of"),
    ({"loss": "cubic"}, f"loss must be one of {listed(LOSSES, 9)} or a Loss"),
    ({"reg": -0.1}, r"reg must be a finite number ≥ 0 or a pair of them"),
    ({"reg": float("inf")}, "reg must be a finite number"),
    ({"reg": (0.1, 0.1, 0.1)}, r"reg must be .* a pair of them"),
    ({"reg": True}, "reg must be a finite number ≥ 0"),
    ({"reg": (0.1, True)}, "reg must be a finite number ≥ 0"),
    ({"reg_exponent": True}, "reg_exponent must be a number"),
    ({"biases": "no"}, "biases must be True or False, got 'no'"),
    ({"biases": 1}, "biases must be True or False, got 1"),
    ({"reg_exponent": 1.5}, r'reg_exponent must be a number in \[0, 1\] or "count"'),
    ({"reg_exponent": "rows"}, 'or "count", got'),
    ({"negative_weight": -1.0}, "negative_weight must be a finite number ≥ 0"),
    ({"negative_weight": float("nan")}, "negative_weight must be a finite number ≥ 0"),
    ({"negative_weight": "density"}, 'negative_weight must be a finite number ≥ 0 or "auto"'),
    ({"negative_value": "zero"}, r'negative_value must be a number, \(Ũ, Ṽ\) or "auto"'),
    ({"negative_value": float("inf")}, "negative_value must be finite"),
    ({"negative_value": (np.ones((44, 2)), np.ones((21, 3)))}, r"shapes \(44, r\) and \(21, r\)"),
    ({"negative_value": (np.ones((21, 2)), np.ones((44, 2)))}, r"shapes \(44, r\) and \(21, r\)"),
    ({"negative_value": (np.full((44, 1), np.nan), np.ones((21, 1)))}, "must be finite"),
    ({"negative_value": (1.0, 2.0, 3.0)}, "a number or a pair"),
    ({"negative_scheme": "constant"}, "negative_scheme must be one of 'uniform', 'user-count', 'item-rarity'"),
    ({"negative_scheme": ("item-count", "much")}, "needs a finite number β"),
    ({"negative_scheme": ("item-count", float("nan"))}, "needs a finite number β"),
    ({"negative_scheme": ("item-count", True)}, "needs a finite number β"),
    ({"negative_scheme": ("item-count", 400)}, "β = 400 of .* is too large: a few items would have all the weight"),
    ({"negative_scheme": ("item-count", 9)}, "β = 9 of .* is too large.*0 to 1 is usual, −4 to 4 allowed"),
    ({"biases": "yes"}, "biases must be True or False, got 'yes'"),
    ({"n_threads": -2}, "n_threads must be a positive integer, or None or -1 for all cores, got -2"),
    ({"negative_weight": 1e39}, 'the weight of negatives has values too large for float32.* or use dtype="float64"'),
    ({"negative_value": 1e39}, "negative_value has values too large for float32"),
    ({"negative_value": (np.full((44, 1), 1e39), np.ones((21, 1)))}, "negative_value has values too large for float32"),
    ({"reg": 1e39}, "reg, scaled by the weight of a row, has values too large for float32"),
    ({"negative_scheme": (-np.ones(44), np.ones(21))}, r"p of negative_scheme=\(p, q\) must be finite and ≥ 0"),
    ({"negative_scheme": (np.ones(44), -np.ones(21))}, r"q of negative_scheme=\(p, q\) must be finite and ≥ 0"),
    ({"negative_scheme": (np.ones(44), np.full(21, np.nan))}, r"q of .* must be finite"),
    ({"negative_scheme": (np.ones(21), np.ones(44))}, r"one weight per left entity \(44,\), got \(21,\)"),
    ({"negative_scheme": (np.zeros(44), np.ones(21))}, "zero everywhere; set negative_weight=0"),
]


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(("params", "sentence"), BAD_PARAMETERS)
def test_parameters(params, sentence):
    model = OneClassMF(**{"rank": 3, **params})  # scikit-learn's contract: the constructor checks nothing
    with pytest.raises(ValueError, match=sentence):
        model.fit(MATRIX)


WRONG_TYPES = [
    ({"reg": None}, "reg must be"),
    ({"reg": "much"}, "reg must be"),
    ({"reg_exponent": None}, "reg_exponent must be"),
    ({"negative_weight": None}, "negative_weight must be"),
    ({"negative_value": None}, "negative_value must be"),
    ({"time_limit": "5"}, "time_limit must be"),
    ({"random_state": "a seed"}, "random_state must be"),
]


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(("params", "sentence"), WRONG_TYPES)
def test_parameters_of_the_wrong_type(params, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        OneClassMF(**{"rank": 3, **params}).fit(MATRIX)


@pytest.mark.usefixtures("no_work")
def test_callbacks():
    with pytest.raises(TypeError, match="callbacks"):
        OneClassMF(rank=3).fit(MATRIX, callbacks=["stop"])
    with pytest.raises(TypeError, match=r"callbacks must be a list of functions.*write callbacks=\[f\]"):
        OneClassMF(rank=3).fit(MATRIX, callbacks=print)


def test_unknown_positions_and_new_rows():
    model = OneClassMF(rank=3, random_state=0).fit(MATRIX)
    with pytest.raises(ValueError, match=r"user 44 is unknown: the model was fitted on 44 users \(0 to 43\); new ones"):
        model.recommend([44])
    with pytest.raises(TypeError, match="fitted on a matrix; one that is fitted on events is asked by id"):
        model.recommend(["anna"])
    with pytest.raises(ValueError, match="item 21 is unknown"):
        model.score_pairs(0, 21)
    with pytest.raises(
        ValueError, match=r"interactions must have one column per training item \(21\), got shape \(21, 44\)"
    ):
        model.fold_in_users(MATRIX.T)
    with pytest.raises(ValueError, match=r"columns must have one row per training user \(44\).*new items are columns"):
        model.fold_in_items(MATRIX.T)
    for fold_in in (model.fold_in_users, model.fold_in_items):
        with pytest.raises(ValueError, match="NaN or infinite"):
            fold_in(with_value(np.nan))
        with pytest.raises(ValueError, match="eliminate_zeros"):
            fold_in(with_explicit_zero())
        with pytest.raises(TypeError, match="numeric 2-D array"):
            fold_in([["anna", "bread"]])
        with pytest.raises(ValueError, match="finite numbers ≥ 0, one per new row"):
            fold_in(MATRIX, weights=[1.0])
        with pytest.raises(ValueError, match="this model has a constant one"):
            fold_in(MATRIX, values=np.ones((44, 2)))


def test_fold_in_values_must_fit_the_low_rank_value():
    model = OneClassMF(rank=3, negative_value=(np.ones((44, 2)), np.ones((21, 2)))).fit(MATRIX)
    with pytest.raises(ValueError, match=r"values must be finite and of shape \(44, 2\), got \(44, 3\)"):
        model.fold_in_users(MATRIX, values=np.ones((44, 3)))
    with pytest.raises(ValueError, match="finite numbers ≥ 0, one per new row"):
        model.fold_in_users(MATRIX, weights=-np.ones(44))


def test_empty_rows_and_columns_are_legal():
    matrix = MATRIX.copy()
    matrix[5], matrix[:, 5] = 0, 0
    assert np.isfinite(OneClassMF(rank=3).fit(matrix).score_users()).all()
