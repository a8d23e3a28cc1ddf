"""How much should a low rating weigh? Held-out likes, by the weight of dislikes in training.

    python experiments/dislikes/weights.py [--data ml100k] [--losses logistic squared] [--report] [--smoke]

Ratings from a threshold on (4, FilmTrust 3) are likes, lower ones dislikes. A tenth of all rated pairs is the test, a
tenth of the rest the validation; only likes among them are to be found. Dislikes of the training part are left out
("dropped", so that they count like any unknown pair) or stored with the weight −w, w a multiple of the negative weight
of an unknown pair (which ``"auto"`` gives for the likes alone) or 1. Whatever was rated in training is not ranked, in
every variant. Chosen on validation, measured on test, gains user by user beside "dropped".
Writes results/weights_<data>.json and .md.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).parents[1]))
from datasets import read, sparse
from smoke import parse

from everypair import OneClassMF
from everypair.data import split_entries
from everypair.evaluate.ranking_metrics import rank_users
from everypair.metrics.per_row import ndcg, rows_error

RESULTS = Path(__file__).parent / "results"
DATA = ("ml100k", "filmtrust", "douban_monti", "flixster_monti", "ml1m")
LOSSES = ("logistic", "squared")
MULTIPLES = (0.03, 0.1, 0.3, 1.0, 3.0)
THRESHOLDS = {"filmtrust": 3.0}


def rated(name: str) -> Any:
    """+1 for a like, −1 for a dislike, csr."""
    archive = read(name)
    if name == "ml1m":
        likes = sparse(archive, "pos_train") + sparse(archive, "pos_test")
        every = sparse(archive, "all_train") + sparse(archive, "all_test")
        return sp.csr_array(2 * (likes > 0).astype(np.float32) - (every > 0).astype(np.float32))
    if name == "ml100k":
        cells = (archive["user"], archive["item"])
        stars = sp.csr_array((archive["rating"].astype(np.float32), cells), shape=tuple(archive["shape"]))
    elif name == "filmtrust":
        stars = sp.csr_array(sparse(archive, "ratings"))
    else:
        stars = sp.csr_array(sparse(archive, "train") + sparse(archive, "test"))
    stars.data = np.where(stars.data >= THRESHOLDS.get(name, 4.0), 1, -1).astype(np.float32)
    return stars


def weighted(signs: Any, weight: float) -> Any:
    """Likes of weight 1 and dislikes of weight ``weight``; 0 leaves them out."""
    matrix = signs.copy()
    matrix.data = np.where(matrix.data > 0, 1, -weight).astype(np.float32)
    matrix.eliminate_zeros()
    return matrix


def users_of(train: Any, test: Any, weight: float, negative_weight: Any, loss: str, rank: int) -> tuple[Any, float]:
    """nDCG@10 of every user with a held-out like, and the negative weight that was used."""
    options = {"rank": rank, "loss": loss, "negative_weight": negative_weight, "random_state": 0}
    model = OneClassMF(**options).fit(weighted(train, weight))
    ranking, _ = rank_users(model, train, test, [10])
    return ndcg(ranking, 10), model.negative_weight_


def study(train: Any, validation: Any, test: Any, loss: str, rank: int) -> list[dict[str, Any]]:
    """One row per weight, "dropped" first."""
    smaller, held_out = validation
    variants: list[tuple[str, float | None, float | None]] = [("dropped", 0.0, None)]
    variants += [(f"{multiple:g} × negative weight", None, multiple) for multiple in MULTIPLES]
    variants += [("1", 1.0, None)]
    rows: list[dict[str, Any]] = []
    base: dict[str, tuple[Any, float]] = {}
    for name, weight, multiple in variants:
        row: dict[str, Any] = {"weight": name}
        for part, (fitted, judged) in {"validation": (smaller, held_out), "test": (train, test)}.items():
            negative = base[part][1] if part in base else "auto"
            w = multiple * base[part][1] if weight is None else weight
            begin = time.process_time()
            values, used = users_of(fitted, judged, w, negative, loss, rank)
            base.setdefault(part, (values, used))
            gains = values - base[part][0]
            row[part] = {
                "ndcg@10": float(np.nanmean(values)), "gain": float(np.nanmean(gains)),
                "standard_error": rows_error(gains, "test"), "w": float(w), "negative_weight": float(used),
                "cpu_seconds": round(time.process_time() - begin, 2),
            }  # fmt: skip
        rows.append(row)
        print(loss, row, flush=True)
    return rows


def report(data: str, record: dict[str, Any]) -> str:
    """The table of a data set."""
    likes, dislikes = record["likes"], record["dislikes"]
    lines = [
        f"# Dislikes on {data}: nDCG@10 × 100 of held-out likes",
        "",
        f'{likes:,} likes, {dislikes:,} dislikes. Gains beside "dropped", ± standard error over users; † is the best '
        "on validation.",
        "",
        "| loss | weight of a dislike | w | validation | gain | test | gain |",
        "|---|---|---|---|---|---|---|",
    ]
    for loss, rows in record["rows"].items():
        best = max(rows, key=lambda row: row["validation"]["ndcg@10"])
        for row in rows:
            cells = [loss, row["weight"] + (" †" if row is best else ""), f"{row['test']['w']:.3g}"]
            for part in ("validation", "test"):
                found = row[part]
                gain = f"{100 * found['gain']:+.2f} ± {100 * found['standard_error']:.2f}" if found["gain"] else ""
                cells += [f"{100 * found['ndcg@10']:.2f}", gain]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", choices=DATA, default="ml100k")
    parser.add_argument("--losses", nargs="+", choices=LOSSES, default=list(LOSSES))
    parser.add_argument("--rank", type=int, default=64)
    parser.add_argument("--report", action="store_true", help="only write the table again, from the JSON")
    options = parse(parser, RESULTS, rank=4)
    path = options.results / f"weights_{options.data}.json"
    if options.report:
        if not path.exists():
            sys.exit(f"{path} does not exist: run the script without --report first.")
        record = json.loads(path.read_text())
    else:
        signs = rated(options.data)
        train, test = split_entries(signs, 0.1, random_state=0)
        validation = split_entries(train, 0.1, random_state=1)
        record = {"likes": int((signs.data > 0).sum()), "dislikes": int((signs.data < 0).sum()), "rank": options.rank}
        record["rows"] = {loss: study(train, validation, test, loss, options.rank) for loss in options.losses}
        path.write_text(json.dumps(record, indent=1))
    path.with_suffix(".md").write_text(report(options.data, record))
    print(path.with_suffix(".md").read_text())


if __name__ == "__main__":
    main()
