"""How the default was chosen: MAP@5 on validation pairs for rates of Adam and ridges, last iterate and average.

    python experiments/esl/default.py [--data ml1m_9to1] [--rates 0.003 0.006] [--ridges 1 2] [--seconds 40] [--report]

Tasks and validation are those of beside.py; the test is never looked at. The average of the iterates and the last one
are two models of the same run, whose steps differ from TwoTower's defaults in rate and λ alone. One core, CPU seconds
of the steps. Runs so far are kept in default_<data>.json, and a run replaces those of its rates and ridges. Writes .md.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from typing import Any

import numpy as np
from beside import Task, task_of, two_tower
from common import RESULTS, cpu, merged, one_core, parse, write


def ranked(state: Any, factors: Any, task: Task) -> dict[str, float]:
    """Validation MAP@5 of the average of the iterates, which the state's parameters are, and of the last iterate."""
    models = {"average": state, "last": replace(state, theta=state.iterate)}
    return {
        name: task.measured(*factors(model), ("validation",))["validation"]["map@5"] for name, model in models.items()
    }


def run(step: Any, state: Any, factors: Any, task: Task, seconds: float, points: int) -> list[dict[str, float]]:
    """Figures along the way; an L that is no number ends it."""
    spent, found = 0.0, []
    while spent < seconds:
        begin = cpu()
        state = step(state)
        spent += cpu() - begin
        if not np.isfinite(state.objective):
            break
        if spent >= seconds * (len(found) + 1) / points or spent >= seconds:
            found.append({"seconds": spent, "objective": float(state.objective), **ranked(state, factors, task)})
    return found


def report(record: dict[str, Any]) -> str:
    lines = [
        f"# Rates and ridges on {record['data']}, by validation",
        "",
        f"Towers {'-'.join(map(str, (*record['widths'], record['rank'])))}; {record['seconds']:g} CPU seconds on one "
        "core each; best validation MAP@5 of all points, and when.",
        "",
        "| rate | λ, times the default | last iterate | at s | average of iterates | at s |",
        "|---|---|---|---|---|---|",
    ]
    for one in sorted(record["runs"].values(), key=lambda one: (one["rate"], one["ridge"])):
        cells = [f"{one['rate']:g}", f"{one['ridge']:g}"]
        for model in ("last", "average"):
            best = max(one["points"], key=lambda point: point[model], default=None)
            cells += ["–", "–"] if best is None else [f"{best[model]:.4f}", f"{best['seconds']:.0f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="ml1m_9to1")
    parser.add_argument("--rates", type=float, nargs="+", default=(3e-3, 6e-3))
    parser.add_argument("--ridges", type=float, nargs="+", default=(0.5, 1, 2), help="λ, times its default")
    parser.add_argument("--seconds", type=float, default=40)
    parser.add_argument("--points", type=int, default=20)
    parser.add_argument("--widths", type=int, nargs="*", default=(256, 256))
    parser.add_argument("--rank", type=int, default=128)
    parser.add_argument("--report", action="store_true", help="only write the table again, from the JSON")
    options = parse(parser, RESULTS, seconds=0.05, points=1, widths=(4,), rank=3)
    name = f"default_{options.data}"
    path = options.results / f"{name}.json"
    if not options.report:
        one_core(options.smoke)
        task, shape = task_of(options.data, options.smoke), (tuple(options.widths), options.rank)
        about = {"data": options.data, "widths": shape[0], "rank": shape[1], "seconds": options.seconds}
        for rate in options.rates:
            for ridge in options.ridges:
                points = run(*two_tower(task, *shape, rate, ridge), task, options.seconds, options.points)
                one = {"rate": rate, "ridge": ridge, "points": points}
                merged(options.results, name, about, "runs", {f"{rate:g}, {ridge:g}": one})
                print(rate, ridge, "done", flush=True)
    elif not path.exists():
        raise SystemExit(f"{path} does not exist: run the script without --report first.")
    record = json.loads(path.read_text())
    write(options.results, name, record, report(record))
    print(report(record))


if __name__ == "__main__":
    main()
