"""Table 2: the cost of one data pass (every pair once) of gradient-based methods, by timing single steps.

    python experiments/esl/table2.py [--data ml1m] [--steps 5] [--report]

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
from common import RESULTS, cpu, load, one_core, parse, start_of, tower_objective, write

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


def report(record: dict[str, Any]) -> str:
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
    parser.add_argument("--data", default="ml1m")
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
        train, _ = load(options.data)
        objective = tower_objective(train, options.data, tuple(options.widths), options.rank)
        theta = start_of(objective)
        naive, sampling, sg46 = (make(objective) for make in (RandomPairs, SampledBlock, StoredPairsEstimate))
        every = float(np.prod(train.shape, dtype=np.float64))
        passes = {
            "naive": (naive, every / naive.size),
            "sampling": (sampling, every / float(np.prod(sampling.sizes))),
            "sg46": (sg46, (train.nnz / sg46.sampler.size) ** 2),
        }
        record = {"data": options.data, "widths": list(options.widths), "rank": options.rank, "steps": options.steps}
        exact = timed(lambda number: objective.gradient(objective.at(theta)), options.steps)
        record["methods"] = {"gradient": (exact, 1.0)}
        for method, (estimate, steps) in passes.items():

            def step(number: int, estimate: Any = estimate) -> None:
                estimate(theta, None, np.random.default_rng(number))

            record["methods"][method] = (timed(step, options.steps), steps)
    write(options.results, name, record, report(record))
    print(report(record))


if __name__ == "__main__":
    main()
