"""Spark's part of spark.py, run by a Python that has pyspark and need not have this library.

ALS is fitted on a file of pairs, its factors are written to another, and one line of JSON tells the seconds.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np


def factors(frame: Any, count: int, rank: int) -> Any:
    """Factors of all entities, 0 where Spark has none."""
    found = np.zeros((count, rank), np.float32)
    for row in frame.toLocalIterator():
        found[row["id"]] = row["features"]
    return found


def main() -> None:
    """Read the file of options that is the only argument."""
    import pyspark
    from pyspark.ml.recommendation import ALS
    from pyspark.sql import SparkSession

    options = json.loads(Path(sys.argv[1]).read_text())
    spark = (
        SparkSession.builder.master(f"local[{options['threads']}]")
        .config("spark.driver.memory", options["memory"])
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", str(2 * options["threads"]))
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    pairs = spark.read.csv(options["pairs"], schema="user INT, item INT, rating FLOAT").cache()
    pairs.count()
    seconds = {}
    for sweeps in options["sweeps"]:
        als = ALS(
            rank=options["rank"], maxIter=sweeps, regParam=options["reg"], alpha=options["alpha"], implicitPrefs=True,
            userCol="user", itemCol="item", ratingCol="rating", seed=0,
        )  # fmt: skip
        begin = time.perf_counter()
        model = als.fit(pairs)
        seconds[sweeps] = time.perf_counter() - begin
    users, items = options["shape"]
    rank = options["rank"]
    left, right = factors(model.userFactors, users, rank), factors(model.itemFactors, items, rank)
    np.savez(options["factors"], left=left, right=right)
    spark.stop()
    print(json.dumps({"version": pyspark.__version__, "seconds": seconds}))
