"""What converged defaults do to ranking quality: OneClassMF() beside sixteen plain sweeps, three 9:1 splits each.

    python experiments/defaults/convergence.py [--data ml100k …]

Nothing is chosen: both columns are defaults, the earlier ones written out.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from datasets import positives
from smoke import parse

from everypair import OneClassMF
from everypair.data import split_entries
from everypair.evaluate import ranking_metrics

RESULTS = Path(__file__).parent / "results"
DATA = ("ml1m", "ml100k", "filmtrust", "lastfm_hetrec", "citeulike_t", "douban_monti", "flixster_monti",
        "yahoo_music_monti", "ciaodvd", "debian")  # fmt: skip
VARIANTS = {"before": {"solver": "newton", "max_iter": 16, "tol": 1e-4}, "now": {}}


def measured(name: str, splits: int, rank: int) -> dict[str, dict[str, list[float]]]:
    matrix, rows = positives(name), {}
    for variant, parameters in VARIANTS.items():
        ndcg, sweeps = [], []
        for seed in range(splits):
            train, test = split_entries(matrix, 0.1, random_state=seed)
            model = OneClassMF(rank=rank, random_state=seed, **parameters).fit(train)
            ndcg.append(ranking_metrics(model, train, test, (10,))["ndcg@10"])
            sweeps.append(model.n_iter_)
        rows[variant] = {"ndcg@10": ndcg, "sweeps": sweeps}
        error = 100 * np.std(ndcg, ddof=1) / np.sqrt(splits)
        print(f"{name:20s}{variant:8s}{100 * np.mean(ndcg):7.2f} ± {error:.2f}  sweeps {sweeps}", flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="*", default=list(DATA))
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--rank", type=int, default=64)
    options = parse(parser, RESULTS, data=["ml100k"], splits=2, rank=4)
    for name in options.data:
        path = Path(options.results) / f"convergence_{name}.json"
        path.write_text(json.dumps(measured(name, options.splits, options.rank), indent=1) + "\n")


if __name__ == "__main__":
    main()
