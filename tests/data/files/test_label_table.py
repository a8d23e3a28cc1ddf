"""Multi-label data from Parquet: a list of labels, numbers in columns or sparse rows."""

import numpy as np
import pandas as pd
import pytest

from everypair.data import read_multilabel

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

DENSE = {"age": [1.5, 0.0, -2.0], "new": [True, False, True], "labels": [["war", "love"], [], ["war", "war"]]}
SPARSE = {"indices": [[3, 0], [], [1]], "values": [[0.5, 2.0], [], [1.0]], "labels": [[4], [], [1, 0]]}


def written(path, columns, **types):
    arrays = {name: pa.array(values, types.get(name)) for name, values in columns.items()}
    pq.write_table(pa.table(arrays), path / "a.parquet", row_group_size=2)
    return path / "a.parquet"


CODED = pa.ListArray.from_arrays([0, 2, 2, 4], pa.array(["war", "love", "war", "war"]).dictionary_encode())


@pytest.mark.parametrize(
    "labels", [pa.array(DENSE["labels"]), pa.array(DENSE["labels"], pa.large_list(pa.large_string())), CODED]
)
def test_numbers_in_columns_and_names_of_labels(tmp_path, labels):
    path = written(tmp_path, {**DENSE, "labels": labels})
    data = read_multilabel(path)
    assert data.X.toarray().tolist() == [[1.5, 1], [0, 0], [-2, 1]]
    assert data.Y.toarray().tolist() == [[1, 1], [0, 0], [0, 1]]
    assert (data.feature_names, data.label_names) == (("age", "new"), ("love", "war"))


def test_sparse_rows_and_positions_of_labels(tmp_path):
    data = read_multilabel(written(tmp_path, SPARSE))
    assert data.X.toarray().tolist() == [[2, 0, 0, 0.5], [0, 0, 0, 0], [0, 1, 0, 0]]
    assert data.Y.toarray().tolist() == [[0, 0, 0, 0, 1], [0, 0, 0, 0, 0], [1, 1, 0, 0, 0]]
    assert (data.feature_names, data.label_names) == (None, None)


def test_a_test_file_in_the_columns_of_its_training_file(tmp_path):
    assert read_multilabel(written(tmp_path, SPARSE), n_features=7).X.shape == (3, 7)
    data = read_multilabel(written(tmp_path, DENSE), label_names=["war", "peace", "love"])
    assert data.Y.toarray().tolist() == [[1, 0, 1], [0, 0, 0], [1, 0, 0]]
    assert data.label_names == ("war", "peace", "love")


def test_columns_by_other_names(tmp_path):
    columns = {"id": [7, 8, 9], "age": DENSE["age"], "tags": DENSE["labels"]}
    data = read_multilabel(written(tmp_path, columns), labels="tags", features=["age"])
    assert data.feature_names == ("age",)
    assert data.Y.sum() == 3
    data = read_multilabel(written(tmp_path, {"id": [7, 8, 9], **SPARSE}), features=["indices", "values"])
    assert data.X.shape == (3, 4)


def test_lists_of_frames_and_fixed_length(tmp_path):
    pd.DataFrame(DENSE).to_parquet(tmp_path / "b.parquet")
    assert read_multilabel(tmp_path / "b.parquet").label_names == ("love", "war")
    fixed = {**SPARSE, "labels": [[4], [2], [1]]}
    assert read_multilabel(written(tmp_path, fixed, labels=pa.list_(pa.int32(), 1))).Y.shape == (3, 5)


@pytest.mark.parametrize(
    ("columns", "options", "problem"),
    [
        (
            {**DENSE, "labels": [["a"], None, []]},
            {},
            "column 'labels' has 1 missing values, the first in row 1.*empty list",
        ),
        ({**DENSE, "labels": [["a"], [], ["b", None]]}, {}, "row 2: column 'labels' holds a missing value"),
        ({**DENSE, "labels": ["a", "b", "c"]}, {}, "column 'labels' holds string: labels are lists"),
        (
            {**DENSE, "labels": [[0.5], [], []]},
            {},
            "column 'labels' holds lists of double: labels are strings or whole",
        ),
        ({**SPARSE, "labels": [[0], [], [-1]]}, {}, "row 2: column 'labels' holds -1: labels count from 0"),
        ({**SPARSE, "labels": [[0], [10**9], []]}, {}, "row 1: column 'labels' holds 1000000000, beyond 2²⁴"),
        ({**DENSE, "age": [1.0, None, 2.0]}, {}, "column 'age' has 1 missing values, the first in row 1"),
        ({**DENSE, "age": [1.0, 2.0, np.inf]}, {}, "row 2: column 'age' holds inf"),
        ({**DENSE, "age": [1.0, 1e300, 2.0]}, {}, "row 1: column 'age' holds 1e\\+300, which is no finite float32"),
        ({**DENSE, "age": ["old", "new", "?"]}, {}, "column 'age' holds string, and features are numbers"),
        ({**SPARSE, "values": [[0.5], [], [1.0]]}, {}, "'indices' and 'values' are of different length in row 0"),
        ({**SPARSE, "indices": [[3, 3], [], [1]]}, {}, "row 0: column 'indices' holds 3 twice"),
        ({**SPARSE, "indices": [[-3, 0], [], [1]]}, {}, "row 0: column 'indices' holds -3: features count from 0"),
        ({**SPARSE, "values": [["a", "b"], [], ["c"]]}, {}, "column 'values' holds lists of string"),
        ({**SPARSE, "indices": [[0.5, 1.0], [], [1.0]]}, {}, "column 'indices' holds lists of double"),
        ({**SPARSE, "age": [1, 2, 3]}, {}, "Say features=\\['indices', 'values'\\]"),
        ({"indices": SPARSE["indices"], "labels": SPARSE["labels"]}, {}, "'indices' and 'values', or numbers"),
        (SPARSE, {"n_features": 2}, "row 0: column 'indices' holds 3: with 2 features it is from 0 to 1"),
        (DENSE, {"n_features": 2}, "leave out n_features="),
        (DENSE, {"label_names": ["love"]}, "row 0: column 'labels' holds 'war', which is not among the 1 label_names"),
        (
            DENSE,
            {"labels": "tags"},
            "no column 'tags': it has 'age', 'new', 'labels'. Add it, or name that of the labels",
        ),
        (DENSE, {"features": ["height"]}, "no column 'height'"),
        (DENSE, {"features": ["labels"]}, "cannot be a feature"),
        ({"labels": [["a"]]}, {}, "no column besides 'labels'"),
        ({"age": [], "labels": []}, {}, "has no rows"),
    ],
)
def test_what_cannot_be_read_names_file_column_and_row(tmp_path, columns, options, problem):
    with pytest.raises(ValueError, match=rf"a\.parquet.*{problem}"):
        read_multilabel(written(tmp_path, columns), **options)


def test_damaged_files_and_options_of_others(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(ValueError, match=r"a\.parquet is damaged or cut off"):
        read_multilabel(tmp_path / "a.parquet")
    with pytest.raises(ValueError, match="index_base= belongs to libsvm files"):
        read_multilabel(written(tmp_path, DENSE), index_base=0)
    with pytest.raises(TypeError, match="must be a list of columns"):
        read_multilabel(written(tmp_path, DENSE), features="age")
    with pytest.raises(ValueError, match="n_features must be positive"):
        read_multilabel(written(tmp_path, SPARSE), n_features=0)
