"""State as values and arrays: what is written is read again, and nothing else is."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

from everypair import MultiLabelMF, OneClassMF
from everypair.models.codec import decode, encode, storable
from everypair.problem import Loss, Negatives, Ridge, get_loss
from everypair.solvers.loop import Status
from everypair.testing import block_matrix

MATRIX = block_matrix()[0]


def round_trip(value):
    arrays = {}
    tree = encode(value, "value", arrays)
    return decode(json.loads(json.dumps(tree, allow_nan=False)), arrays)


@pytest.mark.parametrize(
    "value",
    [None, True, 3, -2.5, "ü", [1, [2.0, None]], (1, ("a", ())), {"a": 1, "b": (2, {"c": []})}, float("inf"), -np.inf,
     np.dtype("float32"), Status.ROSE, Ridge.checked((0.1, 2), "count")],
    ids=repr,
)  # fmt: skip
def test_values_come_back(value):
    again = round_trip(value)
    assert again == value
    assert type(again) is type(value)


def test_not_a_number_comes_back():
    assert np.isnan(round_trip(float("nan")))


@pytest.mark.parametrize("dtype", ["bool", "int32", "int64", "uint8", "float32", "float64"])
def test_arrays_come_back(dtype):
    array = np.arange(6).reshape(2, 3).astype(dtype)
    again = round_trip({"deep": (array,)})["deep"][0]
    assert again.dtype == array.dtype
    assert np.array_equal(again, array)


def test_sparse_matrices_names_and_losses_come_back():
    matrix = sp.csr_array(np.where(np.random.default_rng(0).random((5, 4)) < 0.4, 1.5, 0.0))
    again = round_trip(matrix)
    assert again.shape == (5, 4)
    assert (again != matrix).nnz == 0
    names = round_trip(np.array(["a", "b"], object))
    assert names.dtype == object
    assert names.tolist() == ["a", "b"]
    assert round_trip(get_loss("squared_hinge")) is get_loss("squared_hinge")
    negatives = Negatives(np.ones(2), np.ones(3), (np.zeros((2, 1)), np.zeros((3, 1))), ("item-count", 0.5))
    assert np.array_equal(round_trip(negatives).value[1], negatives.value[1])


def own_loss():
    return Loss(
        "own", value=lambda y, s: 0.5 * (y - s) ** 2, slope=lambda y, s: s - y, curvature=lambda y, s: 1.0 + 0.0 * s
    )


def test_code_is_not_written_down():
    with pytest.raises(TypeError, match="functions of your own"):
        OneClassMF(rank=2, loss=own_loss(), random_state=0).fit(MATRIX).to_parts()
    X, Y = np.eye(8), np.eye(8, 3)
    Y[3:] = Y[:5]
    with pytest.raises(TypeError, match=r"parameters\.kernel is <function .*not written down"):
        MultiLabelMF(kernel=lambda a, b: a @ b.T, random_state=0).fit(X, Y).to_parts()


@pytest.mark.parametrize("value", [object(), {1: 2}, np.array(["text"]), np.array([object()]), 1j])
def test_other_things_are_refused(value):
    with pytest.raises(TypeError):
        encode(value, "thing", {})


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        ({"array": "gone"}, "'gone' is missing"),
        ({"object": "Popen", "fields": {}}, "unknown kind"),
        ({"object": "Ridge", "fields": {"reg": 1}}, "not those of this version: exponent"),
        ({"loss": "own"}, "unknown kind"),
        ({"status": "FINE"}, "unknown kind"),
        ({"dtype": "O"}, "unknown kind"),
        ({}, "unknown kind"),
        ({"eval": "1"}, "unknown kind"),
        (object(), "cannot be object"),
    ],
)
def test_what_cannot_have_been_written_is_refused(tree, words):
    with pytest.raises(ValueError, match=words):
        decode(tree, {})


def test_a_matrix_with_positions_outside_is_refused():
    def matrix(indptr, indices, data, shape=(2, 2)):
        arrays = {"m.data": np.array(data), "m.indices": np.array(indices), "m.indptr": np.array(indptr)}
        return decode({"csr": "m", "shape": list(shape)}, arrays)

    assert matrix([0, 1, 2], [0, 1], [1.0, 2.0]).toarray().tolist() == [[1, 0], [0, 2]]
    for indptr, indices, data, words in (
        ([0, 1, 1], [9], [1.0], "entries outside its 2 × 2"),
        ([0, 1, 1], [-1], [1.0], "entries outside its 2 × 2"),
        ([0, 1], [0], [1.0], "must follow each other"),
        ([1, 1, 1], [0], [1.0], "must follow each other"),
        ([0, 9, 1], [0], [1.0], "must follow each other"),
        ([0, 9, 0], [], [], "must follow each other"),  # which scipy takes for empty, and then reads beyond the end
        ([0, 0, 2], [0], [1.0], "must end with its last entry"),
        ([0, 0, 1], [0], [1.0, 2.0], "must end with its last entry"),
        ([0, 0, 1], [0.0], [1.0], "two of them of positions"),
        ([[0, 0, 1]], [0], [1.0], "made of three lists"),
    ):
        with pytest.raises(ValueError, match=words):
            matrix(indptr, indices or np.array([], int), data)


def test_parts_of_another_class_or_version_are_refused():
    model = OneClassMF(rank=2, random_state=0)
    with pytest.raises(ValueError, match="not fitted yet"):
        model.to_parts()
    values, arrays = model.fit(MATRIX).to_parts()
    with pytest.raises(ValueError, match="parts of a OneClassMF, not of a MultiLabelMF"):
        MultiLabelMF.from_parts(values, arrays)
    with pytest.raises(ValueError, match="no parameter colour in this version"):
        OneClassMF.from_parts({**values, "parameters": {**values["parameters"], "colour": 1}}, arrays)
    with pytest.raises(ValueError, match="not the parts of a model"):
        OneClassMF.from_parts({"class": "OneClassMF"}, arrays)


def test_a_generator_becomes_none():
    model = OneClassMF(rank=2, random_state=np.random.default_rng(0)).fit(MATRIX)
    assert OneClassMF.from_parts(*model.to_parts()).random_state is None


def test_two_parts_of_one_name_are_refused():
    with pytest.raises(TypeError, match="no other part has"):
        storable(type("Ridge", (), {}))


def test_fitted_attributes_are_replaced_as_a_whole():
    model = OneClassMF(rank=2, random_state=0)
    assert not hasattr(model, "user_factors_")
    model.fit(MATRIX)
    with pytest.raises(AttributeError, match="replace state_ as a whole"):
        model.user_factors_ = np.zeros((44, 2))


@pytest.mark.parametrize("field", ["ridge", "user_ids", "loss", "layout", "rank"])
def test_fields_of_another_type_are_refused_when_read(field):
    """Checksums can be made to fit, and a wrong type inside would load and fail when it is used."""
    from everypair import OneClassMF

    values, arrays = OneClassMF(rank=1, random_state=0).fit({"user": ["a", "b"], "item": ["x", "y"]}).to_parts()
    values["state"]["fields"][field] = "five" if field == "rank" else 5
    with pytest.raises(ValueError, match=rf"{field} (of OneClassState )?cannot be"):
        OneClassMF.from_parts(values, arrays)
