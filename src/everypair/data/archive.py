"""Arrays of an npz file, without pickle."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def read_archive(path: Path, names: list[str] | None = None) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file that `numpy.savez` wrote, all or those of these names.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "a.npz")
    >>> np.savez(path, user=[1, 2])
    >>> read_archive(path)["user"].tolist()
    [1, 2]
    """
    arrays = {}
    for name in array_names(path) if names is None else names:
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
                arrays[name] = np.asarray(archive[name])
        except KeyError:
            raise ValueError(f"{path} has no array {name}.") from None
        except (ValueError, MemoryError, OSError, EOFError, NotImplementedError, zipfile.BadZipFile, zlib.error) as why:
            raise ValueError(f"{path}: the array {name} cannot be read: {why}.") from None
    return arrays


def array_names(path: Path) -> list[str]:
    """Return the names of the arrays of an npz file."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            return list(archive.files)
    except (ValueError, OSError, EOFError, NotImplementedError, zipfile.BadZipFile) as failure:
        raise ValueError(f"{path} is no npz file that can be read: {failure}") from None
