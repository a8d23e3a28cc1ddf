"""Matrices in other byte orders, masked arrays and tables of events: converted, or refused with a sentence."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from everypair.check import as_csr, dense_array, refuse_events
from everypair.data import Labels, Pairs
from everypair.features import knn_graph
from everypair.features.feature_map import FeatureMap, checked_matrix

DENSE = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])


@pytest.mark.parametrize("dtype", [">f8", ">f4", ">i4", ">u2", "<f8"])
def test_any_byte_order(dtype):
    array = DENSE.astype(dtype)
    csr, _ = as_csr(array, np.float32, "interactions")
    np.testing.assert_array_equal(csr.toarray(), DENSE)
    assert dense_array(array, "X").dtype.isnative
    np.testing.assert_array_equal(checked_matrix(array, "X"), DENSE)
    assert Pairs.from_matrix(array).nnz == 3
    assert Labels.from_y((array > 0).astype(dtype)).positives.nnz == 3
    assert knn_graph(array, k=1).shape == (2, 2)


def test_big_endian_positions():
    matrix = sp.csr_array(DENSE)
    matrix.indices, matrix.indptr = matrix.indices.astype(">i4"), matrix.indptr.astype(">i4")
    np.testing.assert_array_equal(Pairs.from_matrix(matrix).to_csr().toarray(), DENSE)


@pytest.mark.parametrize(
    "use",
    [Pairs.from_matrix, Labels.from_y, knn_graph, lambda matrix: FeatureMap.of(matrix, "user_features")],
)
def test_masked_arrays_are_refused_where_something_is_masked(use):
    ones = (DENSE > 0).astype(float)
    masked = np.ma.array(ones, mask=[[False, True, False], [False, False, False]])
    with pytest.raises(ValueError, match="has 1 masked entries, which would count as values: fill them"):
        use(masked)
    use(np.ma.array(ones))


@pytest.mark.parametrize("convert", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_table_of_events_is_no_matrix(convert):
    table = convert({"userId": [1, 2], "movieId": [3, 4], "rating": [5.0, 4.0]})
    with pytest.raises(ValueError, match=r"'userId', 'movieId', 'rating'\), not a matrix .*read_events\(frame\)"):
        Pairs.from_matrix(table)
    refuse_events(convert({"age": [1.0], "height": [2.0]}), "X")


def test_a_frame_with_a_column_per_item_is_a_matrix():
    assert Pairs.from_matrix(pd.DataFrame(DENSE, columns=["blue", "rain", "iron"])).nnz == 3


@pytest.mark.parametrize("form", ["dok", "lil", "dia", "bsr", "coo", "csc"])
def test_features_in_any_sparse_format(form):
    features = sp.csr_array(DENSE).asformat(form)
    mapped = FeatureMap.of(features, "user_features")(features)
    np.testing.assert_array_equal(mapped.toarray(), DENSE)


def test_zeros_are_explained():
    cancelled = sp.coo_array(([1.0, -1.0, 1.0], ([0, 0, 1], [0, 0, 1])))
    with pytest.raises(ValueError, match=r"stores pairs several times whose values cancel.*sum_duplicates\(\)"):
        Pairs.from_matrix(cancelled)
    with pytest.raises(ValueError, match="has values that are 0 as float32: rescale"):
        Pairs.from_matrix([[1e-50, 1.0]])
    with pytest.raises(ValueError, match="stores explicit zeros"):
        Pairs.from_matrix(sp.coo_array(([0.0, 1.0], ([0, 1], [0, 1]))))


def test_columns_of_the_same_name_are_refused():
    with pytest.raises(ValueError, match="interactions is a frame with columns of the same name"):
        Pairs.from_matrix(pd.DataFrame([[1.0, 2.0]], columns=["blue", "blue"]))


@pytest.mark.parametrize("last", [0, 3])
def test_rows_that_run_backwards_are_refused(last):
    matrix = sp.csr_array((3, 4))
    matrix.data, matrix.indices = np.ones(3), np.array([0, 1, 9], np.int32)
    matrix.indptr = np.array([0, 3, 2, last], np.int32)
    with pytest.raises(ValueError, match="interactions is not a valid CSR matrix: index pointer values"):
        as_csr(matrix, np.float64, "interactions")
