"""Known answers on hand-written files, hostile files, and round trips."""

import gzip
import io
import re
import time
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp

from everypair.data.files.label_file import MultiLabelData, read_multilabel, write_multilabel

XC = "4 5 3\n0,2 0:0.5 4:-1e-1\n 1:2\n1\n\n"


def write(folder, text, name="file.txt"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def check_types(data):
    for matrix in (data.X, data.Y):
        assert isinstance(matrix, sp.csr_array)
        assert matrix.dtype == np.float32
        assert matrix.has_canonical_format
    assert data.X.shape[0] == data.Y.shape[0]


@pytest.mark.parametrize("change", [str, lambda text: text.replace("\n", "\r\n"), lambda text: text.replace(" ", "\t")])
@pytest.mark.parametrize("packed", [False, True])
def test_xc(tmp_path, change, packed):
    raw = change(XC).encode()
    data = read_multilabel(write(tmp_path, gzip.compress(raw) if packed else raw))
    check_types(data)
    assert data.X.toarray().tolist() == np.float32([[0.5, 0, 0, 0, -0.1], [0, 2, 0, 0, 0], [0] * 5, [0] * 5]).tolist()
    assert data.Y.toarray().tolist() == [[1, 0, 1], [0, 0, 0], [0, 1, 0], [0, 0, 0]]
    assert data.feature_names is None
    assert data.label_names is None


def test_xc_with_unsorted_features_stored_zeros_a_label_twice_and_blank_lines_at_the_end(tmp_path):
    data = read_multilabel(write(tmp_path, "2 4 3\n2,0,2 3:1 0:0 1:2\n0:7\n\n\n"))
    check_types(data)
    assert data.X.toarray().tolist() == [[0, 2, 0, 1], [7, 0, 0, 0]]
    assert data.X.nnz == 3
    assert data.Y.toarray().tolist() == [[1, 0, 1], [0, 0, 0]]


def test_xc_with_features_and_labels_apart(tmp_path):
    features, labels = write(tmp_path, "2 3\n0:1 2:0.5\n\n", "X.txt"), write(tmp_path, "2 2\n1:1\n0:1 1:1\n", "Y.txt")
    data = read_multilabel(features, labels=labels)
    check_types(data)
    assert data.X.toarray().tolist() == [[1, 0, 0.5], [0, 0, 0]]
    assert data.Y.toarray().tolist() == [[0, 1], [1, 1]]
    with pytest.raises(ValueError, match=r"features only.*labels="):
        read_multilabel(features)
    with pytest.raises(ValueError, match=r"in the rows.*leave out labels="):
        read_multilabel(write(tmp_path, XC), labels=labels)
    with pytest.raises(ValueError, match=r"Y\.txt, line 1: .*3 rows, but .*X\.txt has 2"):
        read_multilabel(features, labels=write(tmp_path, "3 2\n\n\n\n", "Y.txt"))
    with pytest.raises(ValueError, match=r"Y\.txt, line 3: the label index 2 is out of range"):
        read_multilabel(features, labels=write(tmp_path, "2 2\n\n2:1\n", "Y.txt"))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("2 3 4\n0 0:1\n", "line 2: the header announces 2 row(s), but the file ends after 1"),
        ("1 3 4\n0 0:1\n\n1 0:1\n", "line 4: the header announces 1 row(s), but here is one more"),
        ("1 3 4\n0 3:1\n", "line 2: the feature index 3 is out of range: with 3 features it is from 0 to 2"),
        ("2 3 4\n\n1,4 0:1\n", "line 3: the label index 4 is out of range"),
        ("1 3 4\n-1 0:1\n", "line 2: the label index -1 is out of range"),
        ("1 3 4\n0 -1:1\n", "line 2: '-1' is no index"),
        ("1 3 4\n0 9999999999:1\n", "line 2: the index '9999999999' is out of range"),
        ("1 3 4\n0 " + "9" * 5000 + ":1\n", "line 2: the index '999"),
        ("1 3 4\n0 1:x\n", "line 2: 'x', the value of index 1, is no finite number"),
        ("1 3 4\n0 1:nan\n", "line 2: 'nan', the value of index 1"),
        ("1 3 4\n0 1:--1\n", "line 2: '--1', the value of index 1"),
        ("1 3 4\n0 1:2:3 2\n", "line 2: '2:3', the value of index 1"),
        ("2 3 4\n0 1:1\n0 1:1e39\n", "line 3: the value of feature 1 is too large for float32"),
        ("2 3 4\n0 1:1\n0 2:1 1:1 2:3\n", "line 3: feature 2 is given twice"),
        ("1 3 4\n0 1\n", "line 2: '1' is no entry of the form index:value"),
        ("1 3 4\na,1 1:1\n", "line 2: 'a' is no label"),
        ("1 3 4\n0,,1 1:1\n", "line 2: '' is no label"),
        ("1 3 4\n0 \xb2:1\n", "line 2: '\xb2' is no index"),
        ("1 3 4\n0 1:\x00\n", "is no finite number"),
        ("0 3 4\n", "line 1: the numbers of the header must be from 1 to"),
        ("1 99999999999999999999 4\n0 1:1\n", "line 1: the numbers of the header must be from 1 to"),
    ],
)
def test_bad_xc_files_are_refused_with_the_line(tmp_path, text, problem):
    path = write(tmp_path, text)
    with pytest.raises(ValueError, match=re.escape(problem)) as caught:
        read_multilabel(path)
    assert str(caught.value).startswith(str(path))
    assert len(str(caught.value)) < 250 + len(str(path))


def test_a_long_bad_row_is_refused_at_once(tmp_path):
    start = time.perf_counter()
    for row in ("0 " + "1:1 " * 200_000 + "x", "0" + " " * 500_000 + "x", "1," * 500_000 + "x", "0 " + "1" * 500_000):
        with pytest.raises(ValueError, match="line 2"):
            read_multilabel(write(tmp_path, f"1 3 4\n{row}\n"))
    assert time.perf_counter() - start < 5


@pytest.mark.parametrize("format", ["xc", "libsvm", "auto"])
@pytest.mark.parametrize("content", [b"", b"\n\n", gzip.compress(b"", mtime=0)])
def test_empty_files(tmp_path, format, content):
    with pytest.raises(ValueError, match=r"file\.txt is empty"):
        read_multilabel(write(tmp_path, content), format)


def test_a_gzip_file_that_is_cut_off(tmp_path):
    whole = gzip.compress(np.random.default_rng(0).bytes(2000).hex().encode())
    for damaged in (whole[: len(whole) // 2], whole[:-6] + b"abcdef", whole[:10] + b"\xff" * 20):
        with pytest.raises(ValueError, match=r"file\.txt, after line \d+: the gzip file is damaged"):
            read_multilabel(write(tmp_path, damaged), "libsvm")


def test_libsvm_labels_are_sorted_integers_and_features_count_from_one(tmp_path):
    data = read_multilabel(write(tmp_path, "# head\n10,-2 1:0.5 3:1 # rest\n 2:4\n9\n\n"))
    check_types(data)
    assert data.label_names == ("-2", "9", "10")
    assert data.Y.toarray().tolist() == [[1, 0, 1], [0, 0, 0], [0, 1, 0]]
    assert data.X.toarray().tolist() == [[0.5, 0, 1], [0, 4, 0], [0, 0, 0]]


def test_libsvm_index_base(tmp_path):
    from_zero, from_one = write(tmp_path, "1 0:1 2:2\n", "zero"), write(tmp_path, "1 1:1 3:2\n", "one")
    for path, base in ((from_zero, None), (from_zero, 0), (from_one, None), (from_one, 1)):
        assert read_multilabel(path, index_base=base).X.toarray().tolist() == [[1, 0, 2]]
    assert read_multilabel(from_one, index_base=0).X.toarray().tolist() == [[0, 1, 0, 2]]
    for text in ("1 1:1\n2 0:1 2:2\n", "1\n1 0:1\n"):
        with pytest.raises(
            ValueError, match="line 2: the feature index 0 is out of range: with index_base=1 the first is 1"
        ):
            read_multilabel(write(tmp_path, text), "libsvm", index_base=1)
    with pytest.raises(ValueError, match="index_base must be"):
        read_multilabel(from_zero, index_base=2)


def test_libsvm_test_file_in_the_columns_of_its_training_file(tmp_path):
    path = write(tmp_path, "7 1:1\n3 2:1\n")
    data = read_multilabel(path, n_features=4, label_names=("3", "5", "7"))
    assert data.X.toarray().tolist() == [[1, 0, 0, 0], [0, 1, 0, 0]]
    assert data.Y.toarray().tolist() == [[0, 0, 1], [1, 0, 0]]
    assert data.label_names == ("3", "5", "7")
    with pytest.raises(ValueError, match="line 2: the label 3 is not among the 1 label_names"):
        read_multilabel(path, label_names=["7"])
    with pytest.raises(ValueError, match="line 2: the feature index 2 is out of range"):
        read_multilabel(path, n_features=1)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("1 1:1\n\n2 1:1\n", "line 2: a blank line between rows"),
        ("1 1:1\n2 1:1 1:2\n", "line 2: feature 1 is given twice"),
        ("1.5 1:1\n", "line 1: '1.5' is no label"),
        (" 1:1\n", "no label in any row"),
        ("1\n", "no feature in any row"),
    ],
)
def test_bad_libsvm_files(tmp_path, text, problem):
    path = write(tmp_path, text)
    with pytest.raises(ValueError, match=re.escape(problem)) as caught:
        read_multilabel(path)
    assert str(path) in str(caught.value)


def test_arff_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"looks like ARFF: make it Parquet or npz first"):
        read_multilabel(write(tmp_path, "% Mulan\n@relation bibtex\n"))


def random_data(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 12)).astype(np.float32) * (rng.random((30, 12)) < 0.4)
    Y = (rng.random((30, 7)) < 0.2).astype(np.float32)
    X[3], Y[4], X[5], Y[5], X[29], Y[29] = 0, 0, 0, 0, 0, 0
    return MultiLabelData(
        sp.csr_array(X), sp.csr_array(Y), tuple(f"f é {i}" for i in range(12)), tuple(f"l{i}" for i in range(7))
    )


def assert_same_matrices(one, other):
    for a, b in ((one.X, other.X), (one.Y, other.Y)):
        assert a.shape == b.shape
        for part in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(a, part), getattr(b, part))


@pytest.mark.parametrize(("format", "name"), [("xc", "d.txt"), ("xc", "d.txt.gz"), ("npz", "d.npz"), ("npz", "d")])
def test_round_trip(tmp_path, format, name):
    data = random_data()
    path = tmp_path / name
    write_multilabel(path, data, format)
    back = read_multilabel(path)
    check_types(back)
    assert_same_matrices(data, back)
    if format == "npz":
        assert (back.feature_names, back.label_names) == (data.feature_names, data.label_names)


def test_explicit_zeros_of_Y_survive_npz_and_are_refused_by_xc(tmp_path):
    Y = sp.csr_array((np.float32([0, 1]), [0, 1], [0, 2]), shape=(1, 2))
    data = MultiLabelData(sp.csr_array(np.ones((1, 1), np.float32)), Y)
    write_multilabel(tmp_path / "d.npz", data, "npz")
    assert read_multilabel(tmp_path / "d.npz").Y.data.tolist() == [0, 1]
    with pytest.raises(ValueError, match="write npz"):
        write_multilabel(tmp_path / "d.txt", data)
    with pytest.raises(ValueError, match="format must be xc or npz"):
        write_multilabel(tmp_path / "d.txt", data, "parquet")


def csr_parts(name, dense, dtype=np.int8):
    matrix = sp.csr_array(np.asarray(dense, dtype=dtype))
    return {f"{name}_{part}": getattr(matrix, part) for part in ("indptr", "indices", "data", "shape")}


def test_npz_splits(tmp_path):
    path = tmp_path / "d.npz"
    arrays = csr_parts("X_train", [[1, 2]]) | csr_parts("Y_train", [[0, 1]]) | csr_parts("other", [[1]])
    np.savez(path, **arrays)
    assert read_multilabel(path).X.toarray().tolist() == [[1, 2]]  # the only pair there is
    np.savez(path, **arrays, **csr_parts("test_X", [[3, 4]]), **csr_parts("test_Y", [[1, 0]]))
    assert read_multilabel(path, split="test").X.toarray().tolist() == [[3, 4]]
    assert read_multilabel(path, split="train").Y.toarray().tolist() == [[0, 1]]
    for split in (None, "valid"):
        with pytest.raises(ValueError, match="has the splits 'train', 'test': choose one with split="):
            read_multilabel(path, split=split)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"X_indices": np.array([0, 9], np.int32)}, "X is no sparse matrix"),
        ({"X_indptr": np.array([0, 7], np.int32)}, "X is no sparse matrix"),
        ({"X_indices": np.array([1, 1], np.int32)}, "X stores 1 entries twice"),
        ({"X_data": np.array([1, np.nan])}, "X holds NaN or infinite"),
        ({"X_data": np.array(["a", "b"])}, "X is no sparse matrix"),
        ({"X_data": np.array([{}, {}], dtype=object)}, "X_data cannot be read: Object arrays"),
        ({"X_shape": np.array([1, 2, 3])}, "X_shape must be two integers"),
        ({"X_shape": np.array([-1, 2])}, "X is no sparse matrix"),
        ({"Y_data": np.array([2])}, "Y must hold 0 and 1 only"),
        (csr_parts("Y", [[1], [1]]), "X has 1 rows and Y 2"),
        ({"label_names": np.array(["a"])}, "label_names must be 2 strings"),
        ({"feature_names": np.array([1, 2])}, "feature_names must be 2 strings"),
    ],
)
def test_bad_npz_files(tmp_path, change, problem):
    path = tmp_path / "d.npz"
    np.savez(path, **(csr_parts("X", [[1, 2]]) | csr_parts("Y", [[0, 1]]) | change))
    with pytest.raises(ValueError, match=re.escape(problem)) as caught:
        read_multilabel(path)
    assert str(path) in str(caught.value)


def test_npz_without_X_and_Y_with_a_missing_array_or_damaged(tmp_path):
    path = tmp_path / "d.npz"
    np.savez(path, **csr_parts("X", [[1]]))
    with pytest.raises(ValueError, match="no pair of sparse matrices X and Y"):
        read_multilabel(path)
    arrays = csr_parts("X", [[1]]) | csr_parts("Y", [[1]])
    del arrays["Y_data"]
    np.savez(path, **arrays)
    with pytest.raises(ValueError, match="has no array Y_data"):
        read_multilabel(path)
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(ValueError, match="is no npz file"):
        read_multilabel(path)


def test_bad_arguments(tmp_path):
    path = write(tmp_path, XC)
    with pytest.raises(ValueError, match="format must be one of"):
        read_multilabel(path, "csv")
    with pytest.raises(FileNotFoundError, match="no file"):
        read_multilabel(tmp_path / "absent")
    for name, value in {"index_base": 1, "n_features": 3, "label_names": ["a"], "split": "train"}.items():
        with pytest.raises(ValueError, match=rf"{name}= belongs to .* is read as xc"):
            read_multilabel(path, **{name: value})
    with pytest.raises(ValueError, match="n_features must be positive"):
        read_multilabel(path, "libsvm", n_features=0)
    with pytest.raises(ValueError, match=r"line 1: the header must be"):
        read_multilabel(write(tmp_path, "1 0:1\n"), "xc")


@pytest.mark.parametrize("format", ["xc", "npz"])
@pytest.mark.parametrize(
    ("X", "Y", "names", "problem"),
    [
        (np.ones((2, 2)), np.ones((3, 2)), (None, None), "X has 2 rows and Y 3"),
        ([[np.nan, 1]], [[1, 1]], (None, None), "X holds NaN or infinite values"),
        ([[np.inf, 1]], [[1, 1]], (None, None), "X holds NaN or infinite values"),
        ([[1e300, 1]], [[1, 1]], (None, None), "X holds NaN or infinite values, or some beyond float32"),
        ([[1, 1]], [[1, 2]], (None, None), "Y must hold 0 and 1 only"),
        ([[1, 1]], [[1, 1]], (("a",), None), "feature_names must be 2 strings"),
        ([[1, 1]], [[1, 1]], (None, ("a", 3)), "label_names must be 2 strings"),
    ],
)
def test_what_could_not_be_read_back_is_not_written(tmp_path, format, X, Y, names, problem):
    path = tmp_path / "data"
    path.write_text("what was there before")
    with pytest.raises(ValueError, match=problem):
        write_multilabel(path, MultiLabelData(sp.csr_array(X), sp.csr_array(Y), *names), format)
    assert path.read_text() == "what was there before"
    assert [file.name for file in tmp_path.iterdir()] == ["data"]


def test_an_npz_file_that_claims_more_than_it_holds(tmp_path):
    path = tmp_path / "data.npz"
    write_multilabel(path, random_data(), "npz")
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**12,)})
    members["X_data.npy"] = header.getvalue() + bytes(80)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(ValueError, match="X_data cannot be read: Unable to allocate"):
        read_multilabel(path)


def test_an_npz_file_with_indices_that_are_no_integers(tmp_path):
    path = tmp_path / "data.npz"
    arrays = csr_parts("X", [[1, 2]]) | csr_parts("Y", [[1]])
    for part in ("indices", "indptr"):
        np.savez(path, **arrays | {f"X_{part}": arrays[f"X_{part}"] + 0.5})
        with pytest.raises(ValueError, match=f"X_{part} must be integers, got float64"):
            read_multilabel(path)
