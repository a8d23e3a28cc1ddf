"""Table 2: the cost of one data pass (every pair once) of gradient-based methods, by timing single steps.

    python experiments/esl/table2.py [--data ml1m_9to1] [--steps 5] [--report]
    python experiments/esl/table2.py --data growth     exponents: one of m, n, |Ω| and k is multiplied by four

naive               mn/s steps of s = ρ|Ω| random pairs
gradient            one exact gradient, Algorithm 1
sampling            mn/(m̂n̂) steps of a block of ρm users and ρn items
sg46                |Ω|²/(|Ô₁||Ô₂|) steps of two samples of ρ|Ω| stored pairs
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np
import scipy.sparse as sp
from common import RESULTS, cpu, load, one_core, parse, start_of, tower_objective, write
from exponents import BASE, FACTOR, SAID, exponents

from everypair.neural.optimizers.estimates import RATIO
from everypair.neural.optimizers.naive import RandomPairs
from everypair.neural.optimizers.sampling import SampledBlock
from everypair.neural.optimizers.sg46 import StoredPairsEstimate


def timed(step: Any, count: int) -> float:
    """CPU seconds of one step; the first, which compiles, does not count."""
    step(0)
    begin = cpu()
    for number in range(1, count + 1):
        step(number)
    return (cpu() - begin) / count


def a_pass(train: Any, data: str, widths: tuple[int, ...], rank: int, steps: int) -> dict[str, tuple[float, float]]:
    """Each method's CPU seconds of a step, and how many steps a pass has."""
    objective = tower_objective(train, data, widths, rank)
    theta = start_of(objective)
    naive, sampling, sg46 = (make(objective) for make in (RandomPairs, SampledBlock, StoredPairsEstimate))
    every = float(np.prod(train.shape, dtype=np.float64))
    passes = {
        "naive": (naive, every / naive.size),
        "sampling": (sampling, every / float(np.prod(sampling.sizes))),
        "sg46": (sg46, (train.nnz / sg46.sampler.size) ** 2),
    }
    found = {"gradient": (timed(lambda number: objective.gradient(objective.at(theta)), steps), 1.0)}
    for method, (estimate, count) in passes.items():

        def step(number: int, estimate: Any = estimate) -> None:
            estimate(theta, None, np.random.default_rng(number))

        found[method] = (timed(step, steps), count)
    return found


def generated(m: int, n: int, pairs: int) -> Any:
    """Uniform pairs."""
    places = np.random.default_rng(0).choice(m * n, pairs, replace=False)
    return sp.csr_array((np.ones(pairs, np.float32), np.divmod(places, n)), shape=(m, n))


def grown(options: Any) -> dict[str, Any]:
    """Seconds of a pass at the base and with one size multiplied."""
    small = {"m": 60, "n": 50, "pairs": 400, "k": 3} if options.smoke else BASE
    cases = {"base": small} | {name: {**small, name: FACTOR * small[name]} for name in small}
    seconds = {}
    for name, sizes in cases.items():
        train = generated(sizes["m"], sizes["n"], sizes["pairs"])
        found = a_pass(train, "growth", (sizes["k"],), sizes["k"], options.steps)
        seconds[name] = {method: step * count for method, (step, count) in found.items()}
        print(name, seconds[name], flush=True)
    return {"data": "growth", "steps": options.steps, "sizes": small, "seconds": seconds}


def growth_report(record: dict[str, Any]) -> str:
    sizes = ", ".join(f"{name} {value:,}" for name, value in record["sizes"].items())
    lines = [
        "# Table 2: exponents of a pass",
        "",
        f"From {sizes} (one hidden layer as wide), one size times {FACTOR}; ",
    ]
    lines[-1] += "in brackets the largest power of it in the paper's table, with ρ fixed."
    methods = list(record["seconds"]["base"])
    lines += ["", f"| grows | {' | '.join(methods)} |", "|---" * (len(methods) + 1) + "|"]
    for name, row in exponents(record["seconds"]).items():
        cells = " | ".join(f"{row[method]:.2f} ({SAID[name][method]})" for method in methods)
        lines.append(f"| {name} | {cells} |")
    return "\n".join(lines) + "\n"


def report(record: dict[str, Any]) -> str:
    if "seconds" in record:
        return growth_report(record)
    lines = [
        f"# Table 2 on {record['data']}: one data pass by timing single steps",
        "",
        f"ρ = {RATIO:g}, towers {'-'.join(map(str, (*record['widths'], record['rank'])))}, one core, "
        f"{record['steps']} steps timed each.",
        "",
        "| method | CPU s a step | steps a pass | CPU s a pass |",
        "|---|---|---|---|",
    ]
    for name, (seconds, steps) in record["methods"].items():
        lines.append(f"| {name} | {seconds:.4f} | {steps:,.0f} | {seconds * steps:,.1f} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="ml1m_9to1")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--widths", type=int, nargs="*", default=(256, 256))
    parser.add_argument("--rank", type=int, default=128)
    parser.add_argument("--report", action="store_true", help="only write the table again, from the JSON")
    options = parse(parser, RESULTS, steps=1, widths=(4,), rank=3)
    name = f"table2_{options.data}"
    path = options.results / f"{name}.json"
    if options.report:
        if not path.exists():
            raise SystemExit(f"{path} does not exist: run the script without --report first.")
        record = json.loads(path.read_text())
    else:
        one_core(options.smoke)
        if options.data == "growth":
            record = grown(options)
        else:
            train, _ = load(options.data)
            record = {"data": options.data, "widths": list(options.widths), "rank": options.rank}
            record |= {"steps": options.steps}
            record["methods"] = a_pass(train, options.data, tuple(options.widths), options.rank, options.steps)
    write(options.results, name, record, report(record))
    print(report(record))


if __name__ == "__main__":
    main()
