"""Beside Spark MLlib's ALS in local mode, in one run: one objective, time of an iteration and held-out nDCG@10.

    Σ_Ω (1 + α)(1 − s)² + Σ_{∉Ω} s² + λ (Σ_i n_i ‖u_i‖² + Σ_j n_j ‖v_j‖²)

α and λ are chosen from a small grid on a tenth of the training pairs, by this library, which minimises the same
objective; a later run takes them from its results. Spark tells nothing between iterations, so it is fitted with one and
with --sweeps of them, and the difference counts; a fit before warms it up. Ours has as many sweeps, on as many threads.
Both are judged by the same metric and the same objective.

Spark is not among the extras. Give a Python that has it (pip install pyspark numpy, and a Java runtime of version 17):

python benchmarks/spark.py [--data ml1m generated] [--spark-python /path/to/venv/bin/python] [--threads 2]
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from generate import generate
from machine import machine
from page import PAGE, filled

sys.path.insert(0, str(Path(__file__).parents[1] / "experiments"))
from datasets import split
from smoke import parse

from everypair import OneClassMF
from everypair.data import split_entries
from everypair.data.pairs import Pairs
from everypair.metrics import stream_metrics
from everypair.parallel import blocked_product
from everypair.problem.negatives import Negatives
from everypair.problem.objective import Objective
from everypair.problem.ridge import Ridge

ALPHAS, REGS = (0.5, 1.0, 2.0, 5.0, 10.0), (0.03, 0.1, 0.3)
GENERATED = {"n_users": 69_878, "n_items": 10_677, "n_pairs": 4_500_000}


def data(name: str, smoke: bool) -> tuple[Any, Any]:
    """(train, test), 9:1."""
    if name != "generated":
        return split(name)
    size = {"n_users": 60, "n_items": 40, "n_pairs": 600} if smoke else GENERATED
    return split_entries(generate(**size), 0.1, random_state=0)


def weighted(train: Any, alpha: float) -> Any:
    """Stored pairs of weight 1 + α."""
    stored = train.copy()
    stored.data = np.full(train.nnz, 1 + alpha, np.float32)
    return stored


def model(options: argparse.Namespace, reg: float, sweeps: int) -> OneClassMF:
    """Ours, with Spark's objective."""
    return OneClassMF(
        rank=options.rank, loss="squared", negative_weight=1.0, reg=reg, reg_exponent="count", max_iter=sweeps, tol=0,
        random_state=0, n_threads=options.threads,
    )  # fmt: skip


def ndcg(left: Any, right: Any, train: Any, test: Any, threads: int) -> float:
    """Mean nDCG@10 of held-out pairs."""
    found = stream_metrics(
        lambda rows: blocked_product(left[rows], right.T, 256, threads), train, test, (10,), n_threads=threads
    )
    return float(found["ndcg@10"])


def objective(train: Any, alpha: float, reg: float, left: Any, right: Any) -> float:
    """F, which is half of Spark's."""
    pairs = Pairs.from_matrix(weighted(train, alpha))
    F = Objective(pairs, "squared", Negatives.from_scheme(pairs, 1.0), Ridge.checked(reg, "count"))
    return F.value(left, right)


def choose(train: Any, options: argparse.Namespace) -> dict[str, Any]:
    """α and λ by a tenth of the training pairs."""
    fitted, held_out = split_entries(train, 0.1, random_state=1)
    tried = []
    for alpha in options.alphas:
        for reg in options.regs:
            learnt = model(options, reg, options.sweeps).fit(weighted(fitted, alpha))
            found = ndcg(learnt.user_factors_, learnt.item_factors_, fitted, held_out, options.threads)
            tried.append({"alpha": alpha, "reg": reg, "ndcg@10": found})
            print(f"  α {alpha:g}, λ {reg:g}: {100 * found:.2f} on validation pairs", flush=True)
    best = max(tried, key=lambda one: one["ndcg@10"])
    return {"alpha": best["alpha"], "reg": best["reg"], "tried": tried}


def ours(train: Any, test: Any, chosen: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    """One training."""
    learnt = model(options, chosen["reg"], options.sweeps).fit(weighted(train, chosen["alpha"]))
    seconds = [entry["seconds"] for entry in learnt.history_]
    return {
        "iteration": float(np.median(np.diff(seconds))), "training": seconds[-1],
        "ndcg@10": ndcg(learnt.user_factors_, learnt.item_factors_, train, test, options.threads),
        "objective": objective(train, chosen["alpha"], chosen["reg"], learnt.user_factors_, learnt.item_factors_),
    }  # fmt: skip


def theirs(train: Any, test: Any, chosen: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    """Spark, in a process of its own."""
    folder = Path(tempfile.mkdtemp(prefix="everypair-spark-"))
    try:
        coo = train.tocoo()
        np.savetxt(folder / "pairs.csv", np.column_stack([coo.row, coo.col]), fmt="%d,%d,1")
        asked = {
            "pairs": str(folder / "pairs.csv"), "factors": str(folder / "factors.npz"), "shape": train.shape,
            "rank": options.rank, "reg": chosen["reg"], "alpha": chosen["alpha"], "threads": options.threads,
            "sweeps": [options.sweeps, 1, options.sweeps], "memory": options.spark_memory,
        }  # fmt: skip
        (folder / "options.json").write_text(json.dumps(asked))
        call = [options.spark_python, "-c", "from spark_als import main; main()", str(folder / "options.json")]
        done = subprocess.run(call, check=True, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parent)
        told = json.loads(done.stdout.splitlines()[-1])
        found = np.load(folder / "factors.npz")
    finally:
        shutil.rmtree(folder)
    once, all_of_them = told["seconds"]["1"], told["seconds"][str(options.sweeps)]
    return {
        "version": told["version"], "iteration": (all_of_them - once) / (options.sweeps - 1), "training": all_of_them,
        "ndcg@10": ndcg(found["left"], found["right"], train, test, options.threads),
        "objective": objective(train, chosen["alpha"], chosen["reg"], found["left"], found["right"]),
    }  # fmt: skip


def has_spark(python: str) -> bool:
    """Whether that Python can import pyspark and there is a Java to run it."""
    if shutil.which(python) is None or shutil.which("java") is None:
        return False
    return subprocess.run([python, "-c", "import pyspark"], capture_output=True, check=False).returncode == 0


def lines(runs: list[dict[str, Any]]) -> list[str]:
    """The table of spark.json."""
    table = [
        "| data | | seconds an iteration | training | objective | nDCG@10 |",
        "|---|---|---|---|---|---|",
    ]
    for run in runs:
        for name in ("EveryPair", "Spark"):
            if name in run:
                found = run[name]
                label = " ".join([name, found.get("version", "")]).strip()
                table.append(
                    f"| {run['data']}, {run['pairs'] / 1e6:.3g} M pairs | {label} | {found['iteration']:.3g} | "
                    f"{found['training']:.3g} s | {found['objective']:,.0f} | {100 * found['ndcg@10']:.2f} |"
                )
    return table


def written(text: str, record: dict[str, Any]) -> str:
    """The page with its table made anew."""
    return filled(text, "spark.py", lines(record["runs"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=["ml1m", "generated"], choices=["ml1m", "generated"])
    parser.add_argument("--rank", type=int, default=64)
    parser.add_argument("--sweeps", type=int, default=10, help="Spark's default")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--alphas", type=float, nargs="+", default=list(ALPHAS))
    parser.add_argument("--regs", type=float, nargs="+", default=list(REGS))
    parser.add_argument("--spark-python", default=sys.executable, help="a Python that has pyspark; this one by default")
    parser.add_argument("--spark-memory", default="8g", help="of Spark's driver")
    parser.add_argument("--report", action="store_true", help="only write the page's table from spark.json")
    options = parse(
        parser, Path(__file__).parent / "results", rank=4, sweeps=2, threads=1, alphas=[5.0], regs=[0.1],
        spark_memory="1g",
    )  # fmt: skip
    path = options.results / "spark.json"
    record = json.loads(path.read_text()) if path.exists() else {"machine": machine(), "runs": []}
    spark = not options.report and has_spark(options.spark_python)
    if not options.report and not spark:
        print("pyspark or Java is missing: Spark is left out; pip install pyspark, and see --spark-python.")
    for name in [] if options.report else options.data:
        train, test = data(name, options.smoke)
        print(f"{name}: {train.shape[0]:,} × {train.shape[1]:,}, {train.nnz:,} training pairs", flush=True)
        known = [one["chosen"] for one in record["runs"] if one["data"] == name and one["rank"] == options.rank]
        chosen = known[0] if known else choose(train, options)
        run = {
            "data": name, "users": train.shape[0], "items": train.shape[1], "pairs": train.nnz, "rank": options.rank,
            "sweeps": options.sweeps, "threads": options.threads, "chosen": chosen,
            "EveryPair": ours(train, test, chosen, options),
        }  # fmt: skip
        if spark:
            run["Spark"] = theirs(train, test, chosen, options)
        record["runs"] = [*[one for one in record["runs"] if one["data"] != name], run]
        path.write_text(json.dumps(record, indent=1) + "\n")
        print("\n".join(lines([run])[2:]), flush=True)
    if options.report and not options.smoke:
        PAGE.write_text(written(PAGE.read_text(), record))


if __name__ == "__main__":
    main()
