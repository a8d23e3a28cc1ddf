"""Features of items: what words, tags and citations add, not a table of the paper.

    python experiments/ocsmf/table_features.py [--data citeulike_p1] [--quick | --grid paper] [--sweeps 4]

citeulike_p1, citeulike_p10: the published splits of citeulike-t with one and ten events per user; words (tf-idf) and
tags of the articles as features of items, citations as their graph. debian: packages (users) and dependencies,
9:1; words, tags and section of the packages. LR-wSQ with default negative weight. Entities have no own vectors, or own
vectors with the default ridge, or with 8 times that ridge, which trusts the features more. The ridge of features is
``auto`` and each value of a small grid (``paper``: a longer one), and every point is shown: the best of
them is the best on the test data, so only ``auto`` and the default ridge are fair figures.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import common
import numpy as np
import scipy.sparse as sp
from datasets import read, sparse, split
from sklearn.feature_extraction.text import TfidfTransformer

from everypair import OneClassMF, Side
from everypair.data import load_debian
from everypair.evaluate import ranking_metrics

DATA = ("citeulike_p1", "citeulike_p10", "debian")
RANK = 64
SIDES = ("user", "item")
STRONGER = 8  # times the default ridge of own vectors
FEATURE_REGS: dict[str, tuple[float | str, ...]] = {"quick": ("auto", 1.0), "paper": ("auto", 0.1, 0.3, 1.0, 3.0, 10.0),
                                                     "smoke": ("auto",)}  # fmt: skip
GRAPH_REGS = {"quick": (0.1, 1.0), "paper": (0.01, 0.1, 1.0, 10.0), "smoke": (0.1,)}


@dataclass(frozen=True)
class Known:
    """A split and what is known of the ``side`` (user or item): groups of features and perhaps a graph."""

    train: Any
    test: Any
    side: str
    groups: dict[str, Any]
    graph: Any
    ks: tuple[int, int]

    @classmethod
    def load(cls, name: str) -> Known:
        if name == "debian":
            debian = load_debian()
            rows = np.arange(len(debian.section))
            section = sp.csr_matrix((np.ones(len(rows), np.float32), (rows, debian.section)))
            groups = {"words": tf_idf(debian.features), "tags": tf_idf(debian.tags), "section": section}
            return cls(*split("debian"), "user", groups, None, (5, 20))
        archive, part = read("citeulike_t"), name.removeprefix("citeulike_")
        train, test = sparse(archive, f"train_{part}"), sparse(archive, f"test_{part}")
        groups = {"words": tf_idf(sparse(archive, "item_words")), "tags": tf_idf(sparse(archive, "item_tags"))}
        return cls(train, test, "item", groups, sparse(archive, "citations_sym"), (100, 300))


def tf_idf(counts: Any) -> Any:
    """Rows of unit length; rows without entries stay empty."""
    return TfidfTransformer(sublinear_tf=True).fit_transform(counts).astype(np.float32)


def variants(known: Known, grid: str) -> list[dict[str, Any]]:
    """What is compared: groups of features, own vectors (multiples of their default ridge; 0: none), graph, ridges."""
    none: dict[str, Any] = {"features": (), "own": 1, "graph_reg": None, "feature_reg": None}
    names = tuple(known.groups)
    found = [none]
    for own in (0, 1, STRONGER):
        for count in range(1, len(names) + 1):
            found += [{**none, "features": names[:count], "own": own, "feature_reg": reg} for reg in FEATURE_REGS[grid]]
    if known.graph is not None:
        for weight in GRAPH_REGS[grid]:
            found.append({**none, "graph_reg": weight})
            for own in (0, STRONGER):
                found.append({"features": names, "own": own, "feature_reg": "auto", "graph_reg": weight})
    return found


def run(known: Known, variant: dict[str, Any], options: Any) -> dict[str, Any]:
    """Fit one variant and measure it."""
    place, multiple, graph_reg = SIDES.index(known.side), variant["own"], variant["graph_reg"]
    reg = list(OneClassMF(rank=options.rank, max_iter=1).fit(known.train).reg_)  # the default ridges
    reg[place] *= multiple or 1
    side = Side(
        own_vectors=multiple > 0,
        feature_reg=variant["feature_reg"] or "auto",
        graph_reg=graph_reg or 0.0,
        cold="weights",
    )
    model = OneClassMF(
        rank=options.rank, reg=tuple(reg), max_iter=options.sweeps, tol=0, random_state=0, n_threads=options.threads,
    ).set_params(**{f"{known.side}s": side})  # fmt: skip
    given: dict[str, Any] = {}
    if variant["features"]:
        given[f"{known.side}_features"] = {name: known.groups[name] for name in variant["features"]}
    if graph_reg is not None:
        given[f"{known.side}_graph"] = known.graph
    start = time.process_time()
    model.fit(known.train, **given)
    seconds = time.process_time() - start
    values = ranking_metrics(model, known.train, known.test, ks=known.ks, n_threads=options.threads)
    names = [f"{metric}@{k}" for metric in ("recall", "ndcg") for k in known.ks]
    used = model.feature_reg_[place]
    return {
        **variant, "features": list(variant["features"]), "sweeps": options.sweeps, "cpu_seconds": seconds,
        "feature_reg_used": used, "test": {name: 100 * values[name] for name in names},
    }  # fmt: skip


def report(name: str, rank: int, rows: list[dict[str, Any]]) -> str:
    columns = list(rows[0]["test"])
    head = ("features", "own vectors", "graph", *columns, "feature_reg", "graph_reg", "sweeps", "CPU s")
    cells = []
    for row in rows:
        ridge = row["feature_reg"]
        ridge = f"auto ({row['feature_reg_used']:.3g})" if ridge == "auto" else ("" if ridge is None else f"{ridge:g}")
        weight = "" if row["graph_reg"] is None else f"{row['graph_reg']:g}"
        label, own = " + ".join(row["features"]) or "none", {0: "no", 1: "yes"}.get(row["own"], f"ridge × {row['own']}")
        figures = (float(row["test"][column]) for column in columns)
        graph = "citations" if weight else ""
        cells.append((label, own, graph, *figures, ridge, weight, row["sweeps"], row["cpu_seconds"]))
    note = (
        f"Percent, over users with a test positive; LR-wSQ, rank {rank}, default negative weight; own vectors with "
        "the default ridge or a multiple of it. Words and tags are tf-idf with rows of unit length.\n"
    )
    return f"# Features on {name}\n\n{note}\n" + common.table(head, cells)


def main() -> None:
    parser = common.arguments(__doc__, DATA)
    parser.add_argument("--sweeps", type=int, default=4)
    parser.add_argument("--rank", type=int, default=RANK)
    options = common.parse(parser, common.RESULTS, grid="smoke", rank=4, sweeps=2)
    name = f"table_features_{options.data}"
    if options.report:
        rows = common.stored_rows(options.results, name, needed=True)
        common.write(options.results, name, {"rows": rows}, report(options.data, options.rank, rows))
        return
    known, rows = Known.load(options.data), []
    for variant in variants(known, options.grid):
        rows.append(run(known, variant, options))
        print(variant, rows[-1]["test"], f"{rows[-1]['cpu_seconds']:.1f} s", flush=True)
        common.write(options.results, name, {"rows": rows}, report(options.data, options.rank, rows))


if __name__ == "__main__":
    main()
