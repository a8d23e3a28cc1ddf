"""What the experiments on newcomers and sparse users share: features of items, what is held out, metrics, results."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).parents[1]))
import datasets

from everypair.data import load_debian
from everypair.metrics.held_out import HeldOut
from everypair.metrics.per_row import ndcg, recall

RESULTS = Path(__file__).parent / "results"
COLD_SHARE = 7  # one item in so many is held out
KS = {"ndcg@10": (ndcg, 10), "recall@20": (recall, 20), "recall@100": (recall, 100)}


def item_features(name: str) -> sp.csr_array:
    """What is known of items: words, words and tags, or genres, decades and people."""
    if name == "debian":
        return csr(load_debian().features)
    archive = datasets.read(name.split("_with_")[0].removesuffix("_tags"))
    if name.startswith("citeulike_t"):
        parts = [datasets.sparse(archive, "item_words")]
        parts += [datasets.sparse(archive, "item_tags")] if "_tags" in name else []
        parts += [with_self(datasets.sparse(archive, "citations_sym"))] if name.endswith("_with_citations") else []
        return csr(sp.hstack(parts))
    if name == "ml1m":
        stored = "item_features_data" in archive
        films = datasets.sparse(archive, "item_features").toarray() if stored else archive["item_features"]
        people = [datasets.sparse(archive, part) for part in ("item_directors", "item_actors")]
        return csr(sp.hstack([csr(films[:, :18]), decades(films[:, 18] * 10), *people]))
    if name == "ml100k":
        films = archive["item_features"]
        return csr(sp.hstack([csr(films[:, :19]), decades(films[:, 19] * 10)]))
    if name == "flixster_monti":
        return with_self(datasets.sparse(archive, "graph_movies"))
    if name == "ciaodvd":
        return csr(np.eye(18)[archive["item_genre_id"]])
    raise ValueError(f"there are no features of items in {name}.")


def friends(name: str) -> sp.csr_array:
    """Rows of a symmetric graph and of the identity: neighbours share a feature, and so do those with one neighbour."""
    archive = datasets.read(name)
    return with_self(datasets.sparse(archive, "friends"))


def with_self(graph: Any) -> sp.csr_array:
    """Links in both directions as ones, and every node linked to itself."""
    linked = sp.csr_array(graph)
    return csr((linked + linked.T + sp.eye_array(linked.shape[0])) > 0)


def decades(numbers: Any) -> sp.csr_array:
    """One column per decade."""
    return csr(np.eye(12)[np.clip(numbers, 0, 11).astype(int)])


def csr(matrix: Any) -> sp.csr_array:
    """A float32 matrix by rows, without stored zeros."""
    rows = sp.csr_array(matrix, dtype=np.float32)
    rows.eliminate_zeros()
    return rows


def interactions(name: str) -> sp.csr_array:
    """Users × items; packages are the items of debian, which dependencies use."""
    if name == "debian":
        return csr(csr(datasets.positives("debian")).T)
    return csr(datasets.positives(name.removesuffix("_tags")))


def cold_split(likes: Any, seed: int, most: int) -> tuple[Any, Any]:
    """Positions of items to learn from, at most ``most`` of those with events, and of newcomers."""
    busy = np.flatnonzero(np.bincount(likes.indices, minlength=likes.shape[1]))
    order = np.random.default_rng(seed).permutation(busy)[: most * COLD_SHARE // (COLD_SHARE - 1)]
    count = len(order) // COLD_SHARE
    return np.sort(order[count:]), np.sort(order[:count])


def by_rows(scores: Callable[[Any], Any], truth: Any, seen: Any = None) -> dict[str, float]:
    """× 100, the mean over rows that have something to find; ``scores(rows)`` is dense."""
    truth = sp.csr_array(truth)
    seen = sp.csr_array(truth.shape) if seen is None else seen
    ranking = HeldOut(seen, truth, np.flatnonzero(np.diff(truth.indptr)), n_threads=1).ranking(scores)
    return {name: 100 * float(np.nanmean(metric(ranking, k))) for name, (metric, k) in KS.items()}


def cpu(work: Callable[[], Any]) -> tuple[Any, float]:
    """What ``work`` returns and its CPU seconds over all threads."""
    start = time.process_time()
    return work(), time.process_time() - start


def read(path: Path) -> dict[str, Any]:
    """Stored results, or none."""
    return json.loads(path.read_text()) if path.exists() else {}


def keep(path: Path, results: dict[str, Any]) -> None:
    """Store results as they come."""
    path.write_text(json.dumps(results, indent=1) + "\n")
