"""The data sets of the experiments, as (train, test) matrices of positives, from the folder named by EVERYPAIR_DATA."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import tiny

from everypair.data import load_debian, split_entries

RECOMMENDATION = (
    "ml100k", "ml1m", "lastfm_hetrec", "citeulike_t", "douban_monti", "flixster_monti", "filmtrust", "ciaodvd",
    "yahoo_music_monti", "yelp2018", "debian",
)  # fmt: skip

_generated = False


def generate() -> None:
    """From now on data sets are tiny generated ones, for a smoke run."""
    global _generated
    _generated = True


def folder() -> Path:
    """Return the data folder, or end with a sentence."""
    path = os.environ.get("EVERYPAIR_DATA")
    if not path or not Path(path).is_dir():
        sys.exit("Set EVERYPAIR_DATA to the folder with the data sets (*.npz); nothing was done.")
    return Path(path)


def read(name: str) -> Any:
    """Return the arrays of a data set's file by name."""
    return tiny.archive(name) if _generated else np.load(folder() / f"{name}.npz", allow_pickle=False)


def sparse(archive: Any, name: str) -> Any:
    """Return the matrix NAME of an archive as float32 CSR."""
    parts = (archive[f"{name}_data"].astype(np.float32), archive[f"{name}_indices"], archive[f"{name}_indptr"])
    return sp.csr_matrix(parts, shape=tuple(archive[f"{name}_shape"]))


def at_least(matrix: Any, threshold: float) -> Any:
    """Keep entries of at least ``threshold``, as ones."""
    coo = matrix.tocoo()
    keep = coo.data >= threshold
    ones = np.ones(int(keep.sum()), np.float32)
    return sp.csr_matrix((ones, (coo.row[keep], coo.col[keep])), shape=matrix.shape)


def positives(name: str) -> Any:
    """All positives of a data set without a published split of its own."""
    if name == "debian":
        return at_least(load_debian().depends, 1)
    archive = read(name)
    if name == "ml100k":
        ratings = sp.csr_matrix(
            (archive["rating"].astype(np.float32), (archive["user"], archive["item"])), shape=tuple(archive["shape"])
        )
        return at_least(ratings, 4)
    if name == "ml1m":
        return at_least(sparse(archive, "pos_train") + sparse(archive, "pos_test"), 1)
    if name == "lastfm_hetrec":
        return at_least(sparse(archive, "plays"), 1)
    if name == "citeulike_t":
        return at_least(sparse(archive, "all"), 1)
    if name in ("douban_monti", "flixster_monti"):
        return at_least(sparse(archive, "train") + sparse(archive, "test"), 4)
    if name == "yahoo_music_monti":
        return at_least(sparse(archive, "train") + sparse(archive, "test"), 80)
    if name == "filmtrust":
        return at_least(sparse(archive, "ratings"), 3)
    if name == "ciaodvd":
        return at_least(sparse(archive, "ratings"), 4)
    raise ValueError(f"unknown data set {name!r}; known: {', '.join(RECOMMENDATION)}")


def split(name: str, seed: int = 0) -> tuple[Any, Any]:
    """(train, test): yelp2018 as published, everything else 9:1 over entries."""
    if name == "yelp2018":
        archive = read(name)
        return at_least(sparse(archive, "train"), 1), at_least(sparse(archive, "test"), 1)
    return split_entries(positives(name), 0.1, random_state=seed)
