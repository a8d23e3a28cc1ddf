"""Lists of all items, known and new alike: with features of items and without, by how many events an item has.

    python experiments/cold/lists.py [--protocols p1 p1_tags p10 p10_tags time mixed ciaodvd flixster_monti] [--smoke]

p1 and p10 are the published splits of citeulike_t, one and ten training articles per user, with words, or words and
tags; rows with citations have those of every article, and the article itself, as features besides. "time" trains on
the first nine tenths of ml100k's likes and ranks for the last tenth, films that had not been seen until then among
them. "mixed" holds out one film of ml1m in seven, and a tenth of the entries of all others. "ciaodvd" and
"flixster_monti" are 9:1 splits over entries, with a film's one genre, and with a graph of films as features.
Weights are found inside the
training data. Every row is stored in results/lists_<protocol>.json when it is measured; report.py makes the table.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).parents[1]))
import datasets
import smoke
from common import RESULTS, by_rows, cpu, csr, item_features, keep, read

from everypair import Blend, ContentItems, OneClassMF, Side, split_entries
from everypair.data import split_cold_items
from everypair.evaluate import recall_by_events

PROTOCOLS = ("p1", "p1_tags", "p10", "p10_tags", "time", "mixed", "ciaodvd", "flixster_monti")

CITED = ", citations too"


def data_of(protocol: str) -> tuple[Any, Any, Any]:
    """Training events, test events and features of items."""
    if protocol.startswith("p1"):
        archive, split = datasets.read("citeulike_t"), protocol.removesuffix("_tags")
        features = item_features("citeulike_t" + protocol.removeprefix(split))
        return *(csr(datasets.sparse(archive, f"{part}_{split}")) for part in ("train", "test")), features
    if protocol == "time":
        archive = datasets.read("ml100k")
        likes = archive["rating"] >= 4
        rows, columns, times = (archive[name][likes] for name in ("user", "item", "timestamp"))
        late = times > np.quantile(times, 0.9)
        parts = (
            csr(sp.coo_array((np.ones(own.sum()), (rows[own], columns[own])), shape=tuple(archive["shape"])))
            for own in (~late, late)
        )
        return *parts, item_features("ml100k")
    if protocol == "mixed":
        known, new = split_cold_items(csr(datasets.positives("ml1m")), 1 / 7, random_state=1)
        train, test = split_entries(known, 0.1, random_state=1)
        return train, csr(test + new), item_features("ml1m")
    train, test = split_entries(csr(datasets.positives(protocol)), 0.1, random_state=1)
    return train, test, item_features(protocol)


def with_citations(protocol: str) -> Any:
    """Features of a split of citeulike_t, and whom an article cites or is cited by."""
    return item_features("citeulike_t" + protocol.removeprefix(protocol.removesuffix("_tags")) + "_with_citations")


def models(shape: tuple[int, int]) -> dict[str, tuple[Any, bool]]:
    """Unfitted models, and whether they are given features."""
    rank = min(64, *shape)
    return {
        "Blend()": (Blend(random_state=0), False),
        "Blend(), features": (Blend(random_state=0), True),
        "ContentItems()": (ContentItems(), True),
        "OneClassMF()": (OneClassMF(rank=rank, random_state=0), False),
        "OneClassMF(), features": (OneClassMF(rank=rank, random_state=0), True),
        "OneClassMF(own_vectors=False), features": (
            OneClassMF(rank=rank, items=Side(own_vectors=False), random_state=0), True,
        ),
    }  # fmt: skip


def measured(model: Any, given: dict[str, Any], train: Any, test: Any) -> dict[str, Any]:
    """Fit and rank."""
    fitted, seconds = cpu(lambda: model.fit(train, **given))
    row = {**by_rows(lambda users: fitted.score_users(users), test, train), "cpu": seconds}
    row["by events"] = {group.name: 100 * group.recall for group in recall_by_events(fitted, train, test)}
    return row | ({"weights": list(fitted.weights_)} if isinstance(model, Blend) else {})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--protocols", nargs="+", default=PROTOCOLS, choices=PROTOCOLS)
    parser.add_argument("--rows", nargs="+", help="these alone")
    options = smoke.parse(parser, RESULTS, protocols=("p10",))
    for protocol in options.protocols:
        path = options.results / f"lists_{protocol}.json"
        results = read(path)
        train, test, features = data_of(protocol)
        rows = results.setdefault("rows", {})
        results |= {"shape": train.shape, "train": train.nnz, "test": test.nnz}
        rows_of = models(train.shape)
        if protocol.startswith("p1"):
            rows_of |= {f"{name}{CITED}": rows_of[name] for name in ("ContentItems()", "Blend(), features")}
        for name, (model, informed) in rows_of.items():
            if name in rows or (options.rows and name not in options.rows):
                continue
            given = {"item_features": features} if informed else {}
            if name.endswith(CITED):
                given = {"item_features": with_citations(protocol)}
            rows[name] = measured(model, given, train, test)
            keep(path, results)
            print(protocol, name, rows[name], flush=True)


if __name__ == "__main__":
    main()
