"""The built-in network in numpy beside the same code compiled by jax: forward, tangent and adjoint, by CPU time.

    python experiments/esl/towers.py [--rows 6038] [--repeats 15] [--report]

Rows Z of one side at ml1m's size, activations kept from the forward pass by both, blocks of 1,024 rows in numpy (as the
library has them) and all at once in jax; beside them numpy's bare matrix products of the same shapes. The four take
turns; medians. Writes towers_ml1m.json and .md.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from common import RESULTS, cpu, one_core, parse, write

from everypair.neural.activations import ACTIVATIONS, Activation
from everypair.neural.layers import Layers
from everypair.neural.towers import Above
from everypair.neural.trees import leafwise

KINDS = ("forward", "tangent", "adjoint")


def compiled_elu(z: Any) -> tuple[Any, Any]:
    slope = jnp.exp(jnp.minimum(z, 0))
    return jnp.maximum(z, 0) + slope - 1, slope


def measured(rows: int, widths: tuple[int, ...], rank: int, repeats: int) -> dict[str, dict[str, float]]:
    """Milliseconds of numpy, jax and bare products for every kind, and how far apart the results are."""
    random = np.random.default_rng(0)
    layers = Layers(widths, rank)
    upper = layers.start(random, np.float32)
    direction = leafwise(lambda leaf: random.standard_normal(leaf.shape).astype(np.float32), upper)
    Z, change = (random.standard_normal((rows, layers.first)).astype(np.float32) for _ in range(2))
    gradient = random.standard_normal((rows, rank)).astype(np.float32)
    above = Above(layers, upper, Z, np.float32)

    ACTIVATIONS["compiled"] = Activation(compiled_elu)
    twin = layers._replace(activation="compiled")
    functions = [jax.jit(one) for one in (twin.forward, twin.pushed, twin.pulled)]
    theirs = [leafwise(jnp.asarray, one) for one in (upper, direction, Z, change, gradient)]
    there, there_direction, there_Z, there_change, there_gradient = theirs
    trace = functions[0](there, there_Z)[1]
    H = [random.standard_normal((rows, width)).astype(np.float32) for width in layers.outs]
    pairs = [(one, other, matrix) for (one, other), matrix in zip(pairwise(H), upper["matrices"])]

    ways: dict[str, dict[str, Callable[[], Any]]] = {
        "numpy": {
            "forward": lambda: Above(layers, upper, Z, np.float32).factors,
            "tangent": lambda: above.tangent(direction, change),
            "adjoint": lambda: above.adjoint(gradient)[1],
        },
        "jax": {
            "forward": lambda: functions[0](there, there_Z)[0].block_until_ready(),
            "tangent": lambda: functions[1](there, trace, there_direction, there_change).block_until_ready(),
            "adjoint": lambda: functions[2](there, trace, there_gradient)[1].block_until_ready(),
        },
        "bare products": {
            "forward": lambda: [one @ matrix for one, _, matrix in pairs],
            "tangent": lambda: [(one @ matrix, one @ matrix) for one, _, matrix in pairs],
            "adjoint": lambda: [(other @ matrix.T, one.T @ other) for one, other, matrix in pairs],
        },
    }
    apart = {kind: np.abs(np.asarray(ways["jax"][kind]()) - ways["numpy"][kind]()).max() for kind in KINDS}
    times: dict[str, dict[str, list[float]]] = {way: {kind: [] for kind in KINDS} for way in ways}
    for _ in range(repeats):
        for way, calls in ways.items():
            for kind, call in calls.items():
                begin = cpu()
                call()
                times[way][kind].append(1000 * (cpu() - begin))
    medians = {way: {kind: float(np.median(found)) for kind, found in kinds.items()} for way, kinds in times.items()}
    return medians | {"apart": {kind: float(value) for kind, value in apart.items()}}


def report(record: dict[str, Any]) -> str:
    found = record["milliseconds"]
    towers = "-".join(map(str, (*record["widths"], record["rank"])))
    lines = ["# The built-in network in numpy and compiled by jax", ""]
    lines += [
        f"{record['rows']:,} rows, towers {towers}, float32, one core; CPU ms, medians of {record['repeats']}.",
        "",
    ]
    lines += [f"| | {' | '.join(KINDS)} | all |", "|---" * 5 + "|"]
    for way in ("numpy", "jax", "bare products"):
        times = [found[way][kind] for kind in KINDS]
        lines.append(f"| {way} | {' | '.join(f'{one:.1f}' for one in (*times, sum(times)))} |")
    apart = " | ".join(f"{found['apart'][kind]:.0e}" for kind in KINDS)
    lines.append(f"| largest difference | {apart} | |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=6038)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--widths", type=int, nargs="*", default=(256, 256))
    parser.add_argument("--rank", type=int, default=128)
    parser.add_argument("--data", default="ml1m", choices=["ml1m"], help="whose number of users is the default")
    parser.add_argument("--report", action="store_true", help="only write the table again, from the JSON")
    options = parse(parser, RESULTS, rows=9, repeats=1, widths=(4, 4), rank=3)
    path = options.results / "towers_ml1m.json"
    if options.report:
        record = json.loads(path.read_text())
    else:
        one_core(options.smoke)
        widths = tuple(options.widths)
        found = measured(options.rows, widths, options.rank, options.repeats)
        about = {"rows": options.rows, "widths": widths, "rank": options.rank, "repeats": options.repeats}
        record = {**about, "milliseconds": found}
    write(options.results, "towers_ml1m", record, report(record))
    print(report(record))


if __name__ == "__main__":
    main()
