"""Multi-label data from files: X (instances × features) and the indicator Y (instances × labels).

    format      the file
    "xc"        text of the Extreme Classification repository: header "n d L", rows "l1,l2 f:v f:v"
    "libsvm"    the same rows without a header, labels any integers
    "npz"       numpy arrays NAME_indptr, NAME_indices, NAME_data, NAME_shape for X and Y
    "parquet"   a column of lists of labels, features in columns or sparse: :mod:`~everypair.data.files.label_table`

Text may be gzip. Errors name the file and the line.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from everypair.check import as_csr
from everypair.data.archive import array_names, read_archive
from everypair.data.files.instances import MultiLabelData
from everypair.data.files.label_table import read_label_table
from everypair.data.files.lines import first_bytes, numbered_lines
from everypair.data.files.text import looks_like_header, read_libsvm, read_xc

FORMATS = ("xc", "libsvm", "npz", "parquet")
OPTIONS = {
    "labels": ("xc", "parquet"),
    "features": ("parquet",),
    "index_base": ("libsvm",),
    "n_features": ("libsvm", "parquet"),
    "label_names": ("libsvm", "parquet"),
    "split": ("npz",),
}

AnyPath = str | os.PathLike[str]


def read_multilabel(
    path: AnyPath,
    format: str = "auto",
    *,
    labels: AnyPath | None = None,
    features: Sequence[str] | None = None,
    index_base: int | None = None,
    n_features: int | None = None,
    label_names: Sequence[str] | None = None,
    split: str | None = None,
) -> MultiLabelData:
    """Read multi-label data from a file.

    Parameters
    ----------
    path
        The file; gzip text is recognised by its first bytes.
    format
        ``"xc"``, ``"libsvm"``, ``"npz"``, ``"parquet"``, or ``"auto"``: by how the file begins.
    labels
        xc: the file of the labels ("n L", rows "l:1") where ``path`` holds features only ("n d", rows "f:v").
        parquet: the column of the labels, by default "labels": lists of strings, or of whole numbers from 0.
    features
        parquet: the columns of the features, by default all others: numbers, or two columns "indices" and "values"
        with the lists of a sparse row.
    index_base
        libsvm: the first feature is number 1 or 0; ``None`` takes 0 if the file uses it, else 1.
    n_features, label_names
        libsvm: the number of features and the labels in the order of their columns. By default the largest
        index and the labels in the file, ascending. Give both, and ``index_base``, to read a test file in
        the columns of its training file. parquet: the same, for sparse rows and for the names of labels.
    split
        npz: which of several pairs to read, such as ``"train"`` for X_train and Y_train.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "tiny.txt")
    >>> _ = path.write_text("2 3 4\\n1,3 0:0.5 2:1\\n 1:2\\n")
    >>> data = read_multilabel(path)
    >>> data.X.toarray().tolist(), data.Y.toarray().tolist()
    ([[0.5, 0.0, 1.0], [0.0, 2.0, 0.0]], [[0.0, 1.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0]])
    """
    if format not in (*FORMATS, "auto"):
        raise ValueError(f"format must be one of {', '.join(FORMATS)} or auto, got {format!r}.")
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"There is no file {file}.")
    kind = _recognise(file) if format == "auto" else format
    given = {
        "labels": labels,
        "features": features,
        "index_base": index_base,
        "n_features": n_features,
        "label_names": label_names,
        "split": split,
    }
    for name, formats in OPTIONS.items():
        if given[name] is not None and kind not in formats:
            raise ValueError(f"{name}= belongs to {' and '.join(formats)} files, but {file} is read as {kind}.")
    if n_features is not None and n_features < 1:
        raise ValueError(f"n_features must be positive, got {n_features!r}.")
    if kind == "xc":
        return read_xc(file, None if labels is None else Path(labels))
    if kind == "libsvm":
        if index_base not in (None, 0, 1):
            raise ValueError(f"index_base must be 0, 1 or None, got {index_base!r}.")
        return read_libsvm(file, index_base, n_features, label_names)
    if kind == "parquet":
        column = None if labels is None else str(labels)
        return read_label_table(file, column, features, n_features, label_names)
    return _read_npz(file, split)


def _recognise(path: Path) -> str:
    """Return the format of a file by its beginning."""
    known = {b"PK\x03\x04": "npz", b"PAR1": "parquet"}.get(first_bytes(path, 4))
    if known is not None:
        return known
    for number, line in numbered_lines(path):
        if number == 1 and looks_like_header(line):
            return "xc"
        if line.strip():
            if line.lstrip()[:1] in (b"@", b"%"):
                raise ValueError(
                    f"{path} looks like ARFF: make it Parquet or npz first, as in the docs of multi-label files."
                )
            return "libsvm"
    raise ValueError(f"{path} is empty.")


def _read_npz(path: Path, split: str | None) -> MultiLabelData:
    files = array_names(path)
    X_name, Y_name = _choose_pair(path, files, split)
    X, Y = _matrix(path, X_name), _matrix(path, Y_name)
    names = [_names(path, files, *which) for which in (("feature", X.shape[1]), ("label", Y.shape[1]))]
    _check_values(X, Y, (X_name, Y_name), f"{path}: ")
    return MultiLabelData(X, Y, *names)


def _check_values(X: Any, Y: Any, names: tuple[str, str], source_name: str) -> None:
    """Refuse what no file of multi-label data may hold."""
    if X.shape[0] != Y.shape[0]:
        raise ValueError(
            f"{source_name}{names[0]} has {X.shape[0]} rows and {names[1]} {Y.shape[0]}, they must be the same."
        )
    if not np.isfinite(X.data).all():
        raise ValueError(
            f"{source_name}{names[0]} holds NaN or infinite values, or some beyond float32: mend them first."
        )
    if not np.isin(Y.data, (0, 1)).all():
        raise ValueError(f"{source_name}{names[1]} must hold 0 and 1 only.")


def _choose_pair(path: Path, files: Sequence[str], split: str | None) -> tuple[str, str]:
    """Return the names of X and Y, whose other parts, as in X_train or train_X, are ``split``."""
    stored = {name.removesuffix("_indptr") for name in files if name.endswith("_indptr")}
    pairs = {}
    for name in sorted(stored):
        parts = name.split("_")
        partner = "_".join("Y" if part == "X" else part for part in parts)
        if "X" in parts and partner in stored:
            pairs["_".join(part for part in parts if part != "X")] = name, partner
    if not pairs:
        raise ValueError(f"{path} has no pair of sparse matrices X and Y: arrays X_indptr, Y_indptr, … are needed.")
    if split is None and len(pairs) == 1:
        return next(iter(pairs.values()))
    if (split or "") not in pairs:
        raise ValueError(f"{path} has the splits {', '.join(map(repr, pairs))}: choose one with split=.")
    return pairs[split or ""]


def _matrix(path: Path, name: str) -> Any:
    parts = ("data", "indices", "indptr", "shape")
    arrays = read_archive(path, [f"{name}_{part}" for part in parts])
    data, indices, indptr, shape = (arrays[f"{name}_{part}"] for part in parts)
    if shape.shape != (2,) or shape.dtype.kind not in "iu":
        raise ValueError(f"{path}: {name}_shape must be two integers, got {shape.tolist()!r}.")
    for part, array in (("indices", indices), ("indptr", indptr)):
        if array.dtype.kind not in "iu":
            raise ValueError(f"{path}: {name}_{part} must be integers, got {array.dtype}.")
    try:
        matrix, stored = as_csr(sp.csr_array((data, indices, indptr), shape=tuple(shape.tolist())), np.float32, name)
    except (ValueError, TypeError, MemoryError) as failure:
        raise ValueError(f"{path}: {name} is no sparse matrix that can be read: {failure}") from None
    if stored != matrix.nnz:
        raise ValueError(f"{path}: {name} stores {stored - matrix.nnz} entries twice.")
    return matrix


def _names(path: Path, files: Sequence[str], kind: str, count: int) -> tuple[str, ...] | None:
    key = f"{kind}_names"
    if key not in files:
        return None
    names = read_archive(path, [key])[key]
    if names.dtype.kind != "U" or names.shape != (count,):
        raise ValueError(f"{path}: {key} must be {count} strings, got {names.dtype} of shape {names.shape}.")
    return tuple(names.tolist())


def write_multilabel(path: AnyPath, data: MultiLabelData, format: str = "xc") -> None:
    """Write what `read_multilabel` reads back: ``"npz"`` everything, ``"xc"`` without the names.

    Text is gzip where ``path`` ends in .gz. What could not be read back is refused before anything is written, and a
    file of that name is replaced only when the new one is complete.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "tiny.txt")
    >>> write_multilabel(path, MultiLabelData(sp.csr_array([[0.5, 0.0]]), sp.csr_array([[0, 1]])))
    >>> path.read_text()
    '1 2 2\\n1 0:0.5\\n'
    """
    if format not in ("xc", "npz"):
        raise ValueError(f"format must be xc or npz, got {format!r}.")
    X, Y = as_csr(data.X, np.float32, "X")[0], as_csr(data.Y, np.float32, "Y")[0]
    _check_values(X, Y, ("X", "Y"), "")
    if format == "xc" and not (Y.data == 1).all():
        raise ValueError("An xc file holds labels that are present only: Y must store nothing but 1, or write npz.")
    names = {"feature_names": (data.feature_names, X.shape[1]), "label_names": (data.label_names, Y.shape[1])}
    for name, (given, count) in names.items():
        if given is not None and (len(given) != count or not all(isinstance(one, str) for one in given)):
            raise ValueError(f"{name} must be {count} strings, one per column, got {len(given)} values.")
    file = Path(path)
    partial = file.with_name(file.name + ".partial")
    try:
        if format == "npz":
            _write_npz(partial, X, Y, {name: given for name, (given, _) in names.items() if given is not None})
        else:
            _write_xc(partial, X, Y, packed=file.suffix == ".gz")
        os.replace(partial, file)
    finally:
        partial.unlink(missing_ok=True)


def _write_npz(path: Path, X: Any, Y: Any, names: dict[str, tuple[str, ...]]) -> None:
    arrays: dict[str, Any] = {name: np.array(given) for name, given in names.items()}
    for name, matrix in (("X", X), ("Y", Y)):
        arrays |= {f"{name}_{part}": getattr(matrix, part) for part in ("indptr", "indices", "data", "shape")}
    with path.open("wb") as archive:
        np.savez_compressed(archive, **arrays)


def _write_xc(path: Path, X: Any, Y: Any, packed: bool) -> None:
    with gzip.open(path, "wb") if packed else path.open("wb") as file:
        file.write(f"{X.shape[0]} {X.shape[1]} {Y.shape[1]}\n".encode())
        for i in range(X.shape[0]):
            labels = ",".join(map(str, Y.indices[Y.indptr[i] : Y.indptr[i + 1]]))
            here = slice(X.indptr[i], X.indptr[i + 1])
            features = "".join(f" {f}:{v:.9g}" for f, v in zip(X.indices[here], X.data[here]))
            file.write(f"{labels}{features or ' '}\n".encode())
