"""Figure 2: (a) relative difference to the lowest objective and (b) MAP@5 against CPU time, for every optimiser.

    python experiments/esl/figure2.py [--data ml1m_9to1] [--seconds 50] [--methods adam newton …] [--report]

``--data ml1m_glorot`` (and so on) starts the ids' rows with the smaller deviation of Glorot's rule for one-hot inputs.
On the paper's split (``_9to1``) rows and columns without training pairs are left out. Plain SOGram and Sampling take
the most used length of gd's steps, as in the paper, where gd was run on the data set before, else the paper's for ml1m.
The paper's seven methods, both line searches of its Newton method, ours (gauss-newton, adam). One core, CPU seconds of
the steps alone, the same start; the evaluation of L is in the time where a method needs it, of MAP@5 never. A twentieth
of the training pairs is left out of training: a method's MAP@5 is that where MAP@5 on them was best. Results are
written as they come; methods run so far are kept in figure2_<data>.json, and a run replaces those it names, also beside
another run. Writes .md and (matplotlib) .png.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from common import (
    GLOROT,
    PAPERS,
    RESULTS,
    cpu,
    figures,
    load,
    merged,
    one_core,
    parse,
    start_of,
    tower_objective,
    write,
)

from everypair.data import split_entries
from everypair.neural.optimizers.choose import make_optimizer
from everypair.neural.optimizers.estimates import Stochastic

METHODS = (
    "adam", "gauss-newton", "gd-diag", "newton", "newton-unit", "sampling-diag", "sogram-diag", "gd", "sogram",
    "sampling",
)  # fmt: skip
SHORT = 50  # steps of a sweep of stochastic gradient here: points enough, and little time goes into L after each
MOST = 400  # points of a curve that are kept
HALVED = 3  # columns of the second table before the common budget


def trace(
    name: str, objective: Any, parts: Any, seconds: float, points: int, tell: Any, rate: float | None = None
) -> Counter[float]:
    """CPU seconds, L and MAP@5 along the way, told whenever MAP@5 is measured; what compiles is compiled before.

    Returns how often each length of steps was the last of a sweep, of methods that search for it.
    """
    train, validation, test = parts
    theta = start_of(objective)
    optimizer = make_optimizer(name, objective, rate)
    if isinstance(optimizer, Stochastic):
        optimizer.sweep = SHORT
    optimizer.step(optimizer.fresh(theta))
    state, spent, found, measured = optimizer.fresh(theta), 0.0, [], 0
    lengths: Counter[float] = Counter()
    while spent < seconds:
        begin = cpu()
        state = optimizer.step(state)
        spent += cpu() - begin
        lengths.update([state.length] if hasattr(state, "length") else [])
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
    return lengths


def non_empty(train: Any, *others: Any) -> list[Any]:
    """The matrices without rows and columns that are empty in the first."""
    rows, columns = (np.flatnonzero(np.diff(part.indptr)) for part in (train.tocsr(), train.tocsc()))
    return [matrix[rows][:, columns] for matrix in (train, *others)]


def most_used(path: Path, name: str) -> float | None:
    """The most used length of gd's steps on a data set, for the plain stochastic methods; None for the others."""
    stored = json.loads(path.read_text()) if path.exists() else {}
    lengths = stored.get("lengths", {}).get("gd")
    if name not in ("sogram", "sampling") or not lengths:
        return None
    return float(max(lengths, key=lengths.__getitem__))


def finite(traces: dict[str, Any]) -> dict[str, Any]:
    """Points whose L is a number: a run ends where it is none."""
    every = {name: [one for one in points if np.isfinite(one["objective"])] for name, points in traces.items()}
    return {name: points for name, points in every.items() if points}


def within(points: Any, seconds: float) -> Any:
    """The points of a run up to a time."""
    return [one for one in points if one["seconds"] <= 1.02 * seconds]


def at(points: Any, seconds: float) -> float | None:
    """The lowest L until then, as random steps may raise it; nothing where the run ended well before."""
    before = [one["objective"] for one in within(points, seconds)]
    return min(before) if before and points[-1]["seconds"] >= 0.95 * seconds else None


def reached(points: Any, objective: float | None) -> str:
    """When L was no higher."""
    return next(
        (f"{one['seconds']:.0f}" for one in points if objective is not None and one["objective"] <= objective), "–"
    )


def times(common: float, longest: float) -> list[float]:
    """The common budget, halved and halved again, and doubled up to the longest run."""
    shorter = [common / 2**halved for halved in range(HALVED, 0, -1)]
    longer = [common * 2**doubled for doubled in range(1, 20) if common * 2**doubled < 0.95 * longest]
    return [*shorter, common, *longer, *([longest] if longest > 1.05 * common else [])]


def steps_of(record: dict[str, Any]) -> str:
    """The length of the plain stochastic methods' steps, where it is gd's."""
    lengths = record.get("lengths", {}).get("gd")
    if not lengths:
        return ""
    return f"; steps of sogram and sampling 2^{np.log2(float(max(lengths, key=lengths.__getitem__))):.0f}, gd's"


def report(record: dict[str, Any]) -> str:
    options, traces = record["options"], finite(record["traces"])
    common = min(points[-1]["seconds"] for points in record["traces"].values() if np.isfinite(points[-1]["objective"]))
    inside = {name: found for name, points in traces.items() if (found := within(points, common))}
    lowest = {name: min(one["objective"] for one in points) for name, points in inside.items()}
    best = min(lowest.values())
    lines = [
        f"# Figure 2 on {options['data']}: who gets where in how many CPU seconds",
        "",
        f"Towers {'-'.join(map(str, (*options['widths'], options['rank'])))}, ids, ELU, ω = {record['omega']:.4g}, "
        f"λ = 4; one core; seed 0{steps_of(record)}. Every method within {common:.0f} s, the length of the shortest "
        "run:",
        "",
        "| method | steps | lowest L | above the best | MAP@5 at best validation | at s | s to gd-diag's L |",
        "|---|---|---|---|---|---|---|",
    ]
    bar = lowest.get("gd-diag")
    order = sorted(lowest, key=lowest.__getitem__)
    for name in order:
        last = inside[name][-1]
        top = max((one for one in inside[name] if "map@5" in one), key=lambda one: one["validation"])
        ended = (
            "" if len(traces[name]) == len(record["traces"][name]) else f" (no number after {last['seconds']:.0f} s)"
        )
        lines.append(
            f"| {name} | {last['steps']} | {lowest[name]:,.0f}{ended} | {lowest[name] / best - 1:.1%} | "
            f"{top['map@5']:.4f} | {top['seconds']:.0f} | {reached(traces[name], bar)} |"
        )
    longest = max(points[-1]["seconds"] for points in traces.values() if points)
    columns = times(common, longest)
    gone = ", ".join(name for name in record["traces"] if name not in traces)
    lines += ["", f"No number from the first steps on: {gone}."] if gone else []
    lines += ["", "Lowest L so far, in thousands, after so many seconds (– where a run was shorter):", ""]
    lines += ["| method | " + " | ".join(f"{seconds:.0f} s" for seconds in columns) + " | whole run |"]
    lines += ["|---" * (len(columns) + 2) + "|"]
    for name in order:
        values = [at(traces[name], seconds) for seconds in columns]
        cells = ["–" if value is None else f"{value / 1000:.1f}" for value in values]
        lines.append(f"| {name} | {' | '.join(cells)} | {traces[name][-1]['seconds']:.0f} s |")
    if "gd-diag" in traces and traces["gd-diag"][-1]["seconds"] > 1.5 * common:
        bar, spent = (traces["gd-diag"][-1][key] for key in ("objective", "seconds"))
        when = (f"{name} {reached(traces[name], bar)}" for name in order if reached(traces[name], bar) != "–")
        lines += ["", f"Seconds to gd-diag's objective after {spent:.0f} s ({bar:,.0f}): {', '.join(when)}."]
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
    parser.add_argument("--data", default="ml1m_9to1")
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
        if options.data.removesuffix(GLOROT).endswith(PAPERS):
            train, validation, test = non_empty(train, validation, test)
        objective = tower_objective(train, options.data, tuple(options.widths), options.rank)
        about = {
            "options": {"data": options.data, "widths": list(options.widths), "rank": options.rank},
            "omega": float(objective.negatives.right.mean()),
        }
        for method in options.methods:

            def tell(points: Any, method: str = method) -> None:
                merged(options.results, name, about, "traces", {method: points})

            parts, rate = (train, validation, test), most_used(path, method)
            lengths = trace(method, objective, parts, options.seconds, options.points, tell, rate)
            merged(options.results, name, {}, "lengths", {method: dict(lengths)} if lengths else {})
            print(method, "done", flush=True)
    elif not path.exists():
        raise SystemExit(f"{path} does not exist: run the script without --report first.")
    record = json.loads(path.read_text())
    write(options.results, name, record, report(record))
    print(report(record))
    plot(path.with_suffix(".png"), finite(record["traces"]))


if __name__ == "__main__":
    main()
