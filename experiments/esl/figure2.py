"""Figure 2: (a) relative difference to the lowest objective and (b) MAP@5 against CPU time, for every optimiser.

    python experiments/esl/figure2.py [--data ml1m] [--seconds 50] [--methods adam newton …] [--report]

The paper's seven methods, both line searches of its Newton method, ours (gauss-newton, adam). One core, CPU seconds of
the steps alone, the same start; the evaluation of L is in the time where a method needs it, of MAP@5 never. A twentieth
of the training pairs is left out of training: a method's MAP@5 is that where MAP@5 on them was best. Results are
written as they come; methods run so far are kept in figure2_<data>.json, and a run replaces those it names, also beside
another run. Writes .md and (matplotlib) .png.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from common import RESULTS, cpu, figures, load, merged, one_core, parse, start_of, tower_objective, write

from everypair.data import split_entries
from everypair.neural.optimizers.choose import make_optimizer
from everypair.neural.optimizers.estimates import Stochastic
from everypair.neural.optimizers.state import TowerState

METHODS = (
    "adam", "gauss-newton", "gd-diag", "newton", "newton-unit", "sampling-diag", "sogram-diag", "gd", "sogram",
    "sampling",
)  # fmt: skip
SHORT = 10  # steps of a sweep of stochastic gradient here, so that there are points
MOST = 400  # points of a curve that are kept
COLUMNS = 5  # objectives in the table, the budget halved from one to the one before


def trace(name: str, objective: Any, parts: Any, seconds: float, points: int, tell: Any) -> None:
    """CPU seconds, L and MAP@5 along the way, told whenever MAP@5 is measured; what compiles is compiled before."""
    train, validation, test = parts
    theta = start_of(objective)
    optimizer = make_optimizer(name, objective)
    if isinstance(optimizer, Stochastic):
        optimizer.sweep = SHORT
    optimizer.step(TowerState(theta, optimizer.fresh(theta)))
    state, spent, found, measured = TowerState(theta, optimizer.fresh(theta)), 0.0, [], 0
    while spent < seconds:
        begin = cpu()
        state = optimizer.step(state)
        spent += cpu() - begin
        entry = {"seconds": round(spent, 3), "steps": state.steps, "objective": float(state.objective)}
        due = not found or spent >= seconds or spent >= seconds * measured / points
        if due or spent >= found[-1]["seconds"] + seconds / MOST:
            found.append(entry)
        if due and np.isfinite(entry["objective"]):
            measured += 1
            entry["validation"] = figures(state.left, state.right, train, validation)["map@5"]
            entry["map@5"] = figures(state.left, state.right, train + validation, test)["map@5"]
            tell(found)
        if not np.isfinite(entry["objective"]):
            break
    tell(found)


def budgets(traces: dict[str, Any]) -> list[float]:
    """The times of the table's columns: the longest run's, halved and halved again."""
    longest = max(points[-1]["seconds"] for points in traces.values())
    return [longest / 2**halved for halved in reversed(range(COLUMNS))]


def at(points: Any, seconds: float) -> float | None:
    """L after so many seconds, of the last point before; nothing where the run ended well before."""
    before = [one for one in points if one["seconds"] <= 1.02 * seconds]
    return before[-1]["objective"] if before and points[-1]["seconds"] >= 0.95 * seconds else None


def report(record: dict[str, Any]) -> str:
    options, traces = record["options"], record["traces"]
    best = min(one["objective"] for points in traces.values() for one in points)
    lines = [
        f"# Figure 2 on {options['data']}: who gets where in how many CPU seconds",
        "",
        f"Towers {'-'.join(map(str, (*options['widths'], options['rank'])))}, ids, ELU, ω = {record['omega']:.4g}, "
        f"λ = 4; one core; seed 0. The lowest objective of all is {best:,.0f}.",
        "",
        "| method | s | steps | final objective | above the lowest | MAP@5 at best validation | at s | "
        "s to gd-diag's objective |",
        "|---|---|---|---|---|---|---|---|",
    ]
    bar = traces["gd-diag"][-1]["objective"] if "gd-diag" in traces else None
    order = sorted(traces, key=lambda name: traces[name][-1]["objective"])
    for name in order:
        points = traces[name]
        last, top = points[-1], max((one for one in points if "map@5" in one), key=lambda one: one["validation"])
        reached = next((f"{one['seconds']:.0f}" for one in points if bar is not None and one["objective"] <= bar), "–")
        lines.append(
            f"| {name} | {last['seconds']:.0f} | {last['steps']} | {last['objective']:,.0f} | "
            f"{last['objective'] / best - 1:.1%} | {top['map@5']:.4f} | {top['seconds']:.0f} | {reached} |"
        )
    columns = budgets(traces)
    lines += ["", "Objective in thousands after so many seconds (– where a run was shorter):", ""]
    lines += ["| method | " + " | ".join(f"{seconds:.0f} s" for seconds in columns) + " |"]
    lines += ["|---" * (COLUMNS + 1) + "|"]
    for name in order:
        values = (at(traces[name], seconds) for seconds in columns)
        lines.append(f"| {name} | " + " | ".join("–" if v is None else f"{v / 1000:.1f}" for v in values) + " |")
    return "\n".join(lines) + "\n"


def plot(path: Path, traces: dict[str, Any]) -> None:
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        print("matplotlib is not installed: no plot (pip install everypair[plot]).")
        return
    best = min(one["objective"] for points in traces.values() for one in points)
    figure, axes = plt.subplots(1, 2, figsize=(12, 4.5))
    for name, points in traces.items():
        seconds = [one["seconds"] for one in points]
        axes[0].semilogy(seconds, [max(one["objective"] / best - 1, 1e-4) for one in points], label=name)
        measured = [one for one in points if "map@5" in one]
        axes[1].plot([one["seconds"] for one in measured], [one["map@5"] for one in measured], marker=".", label=name)
    axes[0].set(xlabel="CPU seconds", ylabel="relative difference to the lowest objective")
    axes[1].set(xlabel="CPU seconds", ylabel="MAP@5")
    axes[1].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=100)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="ml1m")
    parser.add_argument("--seconds", type=float, default=50)
    parser.add_argument("--points", type=int, default=8, help="how often MAP@5 is measured")
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS)
    parser.add_argument("--widths", type=int, nargs="*", default=(256, 256))
    parser.add_argument("--rank", type=int, default=128)
    parser.add_argument("--report", action="store_true", help="only write table and plot again, from the JSON")
    options = parse(parser, RESULTS, seconds=0.01, points=2, widths=(4,), rank=3)
    name = f"figure2_{options.data}"
    path = options.results / f"{name}.json"
    if not options.report:
        one_core(options.smoke)
        train, test = load(options.data)
        train, validation = split_entries(train, 0.05, random_state=1)
        objective = tower_objective(train, options.data, tuple(options.widths), options.rank)
        about = {
            "options": {"data": options.data, "widths": list(options.widths), "rank": options.rank},
            "omega": float(objective.negatives.right.mean()),
        }
        for method in options.methods:

            def tell(points: Any, method: str = method) -> None:
                merged(options.results, name, about, "traces", {method: points})

            trace(method, objective, (train, validation, test), options.seconds, options.points, tell)
            print(method, "done", flush=True)
    elif not path.exists():
        raise SystemExit(f"{path} does not exist: run the script without --report first.")
    record = json.loads(path.read_text())
    write(options.results, name, record, report(record))
    print(report(record))
    plot(path.with_suffix(".png"), record["traces"])


if __name__ == "__main__":
    main()
