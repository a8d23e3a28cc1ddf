"""Who gets to which objective in how many CPU seconds: every method from the same start, side by side in one process.

    python experiments/esl/race.py [--data ml1m_9to1 …] [--methods adam=120 gauss-newton=60 …] [--starts …] [--seeds …]
    python experiments/esl/race.py --report

One cell for every (data, start, seed, method) in results/race/*.json: CPU seconds of the steps, L and MAP@5 along the
way. A cell that is there with as many seconds as asked for is not run again; one that has fewer, because fewer were
asked for or because ``--minutes`` of the clock were over, goes on where it was: results/race/*.pickle, which can be
deleted when all is done. The methods of a cell's (data, start, seed) take turns, always the one that has used least of
the processor, so that whatever else the machine does slows all of them alike.
Compilation and the measuring of MAP@5 are not counted; L is where a method needs it, Adam's of every 20th step alone.
Setting as in figure2.py: the paper's objective and towers, a twentieth of the training pairs left out of training for
validation; ml1m_9to1 is the paper's own split, other data 9:1.

    random   rows of ids of deviation 0.1, Glorot's matrices      glorot   rows of ids by Glorot's rule too
    linear   a OneClassMF of the same pairs and weights, lifted into the towers; its CPU seconds are counted

With every method at S seconds a run takes S · methods · starts · seeds of each data set, besides what measures MAP@5.
``--report`` writes race.md and, for each data set, a picture as Figure 2.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import platform
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from common import GLOROT, LAMBDA, RESULTS, cpu, figures, load, on_page, one_core, parse, start_of, tower_objective

from everypair import OneClassMF
from everypair.data import split_entries
from everypair.models.recommend.two_tower import mean_positives
from everypair.neural.lift import lifted
from everypair.neural.optimizers.adam import Adam
from everypair.neural.optimizers.choose import OPTIMIZERS, make_optimizer
from everypair.neural.optimizers.state import evaluated

README = Path(__file__).parent / "README.md"
STARTS = ("random", "glorot", "linear")
LINEAR_RIDGE = 0.02  # of the linear start's factors, in units of the mean positives of an entity
MOST = 400  # points of a curve that are kept
SELDOM = 20  # steps of Adam, which needs no L, from one L to the next
MARKS = (10, 15, 20, 30, 60, 120, 240, 600)  # seconds of a peer


def cell_path(folder: Path, data: str, start: str, seed: int, method: str) -> Path:
    return folder / "race" / f"{data}-{start}-{seed}-{method}.json"


def is_done(path: Path, seconds: float) -> bool:
    return path.exists() and json.loads(path.read_text()).get("finished", 0) >= seconds


class Runner:
    """One method under way: its state, what it has used of the processor, and its curve."""

    def __init__(
        self, method: str, objective: Any, theta: Any, cost: float, parts: Any, seconds: float, points: int, store: Path
    ) -> None:
        self.method, self.parts, self.seconds, self.points = method, parts, seconds, points
        self.optimizer = make_optimizer(method, objective)
        if isinstance(self.optimizer, Adam):
            self.optimizer.sweep = SELDOM
        state = self.optimizer.fresh(theta)
        self.state = replace(state, **evaluated(objective.at(theta), 0))
        self.spent, self.curve, self.measured = cost, [], 0
        self.store = store
        if store.exists():
            self.state, self.spent, self.curve, self.measured = pickle.loads(store.read_bytes())
        else:
            self.look()
        self.over = False  # one sweep at least, however long the start took

    def step(self) -> bool:
        """One sweep; whether there is something to be written."""
        begin = cpu()
        self.state = self.optimizer.step(self.state)
        self.spent += cpu() - begin
        return self.look()

    def keep(self) -> None:
        """Write down what another run needs to go on."""
        self.store.write_bytes(pickle.dumps((self.state, self.spent, self.curve, self.measured)))

    def look(self) -> bool:
        """Keep a point of the curve, and MAP@5 now and then; whether it was measured."""
        value = float(self.state.objective)
        self.over = self.spent >= self.seconds or not np.isfinite(value)
        point = {"seconds": round(self.spent, 3), "steps": self.state.steps, "objective": value}
        due = self.over or self.spent >= self.seconds * self.measured / self.points
        if due or not self.curve or self.spent >= self.curve[-1]["seconds"] + self.seconds / MOST:
            self.curve.append(point)
        if due and np.isfinite(value):
            train, validation, test = self.parts
            self.measured += 1
            factors = self.state.left, self.state.right
            point["validation"] = figures(*factors, train, validation)["map@5"]
            point["map@5"] = figures(*factors, train + validation, test)["map@5"]
        return due


def started(objective: Any, start: str, seed: int) -> tuple[Any, float]:
    """The parameters that every method begins with, and the CPU seconds that they took."""
    if start != "linear":
        return start_of(objective, seed), 0.0
    pairs = objective.stored
    model = OneClassMF(
        rank=min(objective.towers[0].layers.outs), reg=LINEAR_RIDGE * mean_positives(pairs), reg_exponent=0,
        negative_weight=float(objective.negatives.right.mean() * objective.negatives.left.mean()), negative_value=-1.0,
        random_state=seed, n_threads=1,
    )  # fmt: skip
    matrix = pairs.to_csr()
    model.set_params(max_iter=1).fit(matrix)  # kernels are loaded
    begin = cpu()
    model.set_params(max_iter=8).fit(matrix)
    theta = lifted(objective.towers, model.user_factors_, model.item_factors_, np.random.default_rng(seed))
    return theta, cpu() - begin


def race(options: Any, data: str, start: str, seed: int, budgets: dict[str, float], until: float) -> None:
    """All methods of one (data, start, seed) that are not done yet; until then on the clock, and the rest is kept."""
    wanted = {
        method: cell_path(options.results, data, start, seed, method) for method in budgets
    }  # fmt: skip
    wanted = {method: path for method, path in wanted.items() if not is_done(path, budgets[method])}
    if not wanted:
        return
    (options.results / "race").mkdir(parents=True, exist_ok=True)
    train, test = load(data)
    train, validation = split_entries(train, 0.05, random_state=1)
    ending = GLOROT if start == "glorot" else ""
    objective = tower_objective(train, data + ending, tuple(options.widths), options.rank)
    theta, cost = started(objective, start, seed)
    parts = train, validation, test
    about = {
        "data": data, "start": start, "seed": seed, "widths": list(options.widths), "rank": options.rank,
        "omega": float(objective.negatives.right.mean() * objective.negatives.left.mean()), "lambda": LAMBDA,
        "processor": platform.processor() or platform.machine(),
    }  # fmt: skip
    runners = []
    for method in wanted:
        warm = make_optimizer(method, objective)
        warm.step(warm.fresh(theta))  # kernels are loaded
        store = wanted[method].with_suffix(".pickle")
        runners.append(Runner(method, objective, theta, cost, parts, budgets[method], options.points, store))

    def write(runner: Runner, finished: float | None = None) -> None:
        cell = {**about, "method": runner.method, "beside": sorted(wanted), "curve": runner.curve}
        if finished is not None:
            runner.keep()
            cell |= {"finished": finished, "load": round(os.getloadavg()[1], 1)}
            print(data, start, seed, runner.method, runner.curve[-1], flush=True)
        fresh = wanted[runner.method].with_suffix(".fresh")
        fresh.write_text(json.dumps(cell))
        fresh.replace(wanted[runner.method])

    while running := [runner for runner in runners if not runner.over]:
        if time.monotonic() > until:
            for runner in running:
                write(runner, round(runner.spent, 3))
            raise SystemExit(f"{data} {start} {seed}: time is over, the same command goes on.")
        runner = min(running, key=lambda runner: runner.spent)
        if runner.step():
            write(runner, runner.seconds if runner.over else None)


def read_cells(folder: Path) -> list[dict[str, Any]]:
    """Those whose run is over."""
    cells = [json.loads(path.read_text()) for path in sorted((folder / "race").glob("*.json"))]
    return [cell for cell in cells if "finished" in cell]


def lowest(cell: dict[str, Any], seconds: float) -> float | None:
    """The lowest L until then; nothing where the run ended before."""
    curve = [one for one in cell["curve"] if np.isfinite(one["objective"])]
    if not curve or curve[-1]["seconds"] < 0.98 * seconds:
        return None
    return min((one["objective"] for one in curve if one["seconds"] <= 1.02 * seconds), default=None)


def reached(cell: dict[str, Any], objective: float) -> float | None:
    """When L was no higher."""
    return next((one["seconds"] for one in cell["curve"] if one["objective"] <= objective), None)


def best(cell: dict[str, Any]) -> dict[str, Any] | None:
    """The point of the best validation."""
    return max((one for one in cell["curve"] if "map@5" in one), key=lambda one: one["validation"], default=None)


def number(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


def timed(value: float, reached: bool, form: str) -> str:
    """A time, or that it would have been more."""
    return format(value, form) if reached else f"> {value:{form}}"


def grouped(cells: list[dict[str, Any]]) -> dict[tuple[str, str, int], dict[str, Any]]:
    """(data, start, seed) → the cell of every method."""
    groups: dict[tuple[str, str, int], dict[str, Any]] = {}
    for cell in cells:
        groups.setdefault((cell["data"], cell["start"], cell["seed"]), {})[cell["method"]] = cell
    return groups


def beaten(cells: list[dict[str, Any]]) -> dict[tuple[str, str, str, int], list[tuple[int, float, float, bool]]]:
    """(data, start, peer, its seconds) → (seed, its lowest L until then, when gauss-newton had that or less, whether it
    had: if not, how long it was given).
    """
    found: dict[tuple[str, str, str, int], list[tuple[int, float, float, bool]]] = {}
    for (data, start, seed), methods in sorted(grouped(cells).items()):
        ours = methods.pop("gauss-newton", None)
        for method, cell in methods.items() if ours else ():
            for mark in MARKS:
                bar = lowest(cell, mark)
                if bar is not None:
                    when = reached(ours, bar)
                    one = seed, bar, when or ours["curve"][-1]["seconds"], when is not None
                    found.setdefault((data, start, method, mark), []).append(one)
    return found


def page(cells: list[dict[str, Any]]) -> str:
    """The table of README.md: in the middle of the seeds, and from the least to the greatest."""
    lines = ["| data | start | peer | after s | seeds | its L, k | gauss-newton there after s | share of the time |"]
    lines += ["|---" * 8 + "|"]
    for (data, start, peer, mark), found in sorted(beaten(cells).items()):
        shares = sorted((when / mark, was) for _, _, when, was in found)
        text = timed(*shares[len(shares) // 2], ".2f")
        if len(shares) > 1:
            text += f" ({timed(*shares[0], '.2f')} to {timed(*shares[-1], '.2f')})"
        bars = " / ".join(f"{bar / 1000:.1f}" for _, bar, _, _ in found)
        times = " / ".join(timed(when, was, ".1f") for _, _, when, was in found)
        lines.append(f"| {data} | {start} | {peer} | {mark} | {len(found)} | {bars} | {times} | {text} |")
    return "\n".join(lines) + "\n"


def report(cells: list[dict[str, Any]]) -> str:
    lines = ["# A race over every pair: objective and MAP@5 against CPU seconds", ""]
    lines += ["L in thousands after so many CPU seconds of one core; MAP@5 on the test where validation was best.", ""]
    seconds = (1, 2, 5, *MARKS)
    head = ["data", "start", "seed", "method", "CPU s", "steps", *(f"{one} s" for one in seconds), "MAP@5", "at s"]
    lines += [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for (data, start, seed), methods in sorted(grouped(cells).items()):
        for method, cell in sorted(methods.items()):
            last, top = cell["curve"][-1], best(cell)
            values = (lowest(cell, one) for one in seconds)
            row = [data, start, str(seed), method, f"{last['seconds']:.0f}", str(last["steps"])]
            row += [number(None if value is None else value / 1000, ".1f") for value in values]
            row += ["–", "–"] if top is None else [f"{top['map@5']:.4f}", f"{top['seconds']:.1f}"]
            lines.append(f"| {' | '.join(row)} |")
    lines += ["", "Seconds of gauss-newton to a peer's lowest L so far, and their share of the peer's:", ""]
    lines += ["| data | start | seed | peer | after s | its L | gauss-newton, s | share |", "|---" * 8 + "|"]
    for (data, start, method, mark), found in sorted(beaten(cells).items()):
        for seed, bar, when, was in found:
            row = [data, start, str(seed), method, str(mark), f"{bar / 1000:.1f} k", timed(when, was, ".1f")]
            lines.append(f"| {' | '.join(row)} | {timed(when / mark, was, '.2f')} |")
    return "\n".join(lines) + "\n"


def plot(folder: Path, data: str, cells: list[dict[str, Any]]) -> None:
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        print("matplotlib is not installed: no plot (pip install everypair[plot]).")
        return
    least = min(one["objective"] for cell in cells for one in cell["curve"])
    figure, axes = plt.subplots(1, 2, figsize=(12, 4.5))
    for cell in cells:
        label = f"{cell['method']}, {cell['start']} {cell['seed']}"
        curve = [one for one in cell["curve"] if np.isfinite(one["objective"])]
        seconds = [one["seconds"] for one in curve]
        axes[0].loglog(seconds, [max(one["objective"] / least - 1, 1e-4) for one in curve], label=label)
        measured = [one for one in curve if "map@5" in one]
        axes[1].semilogx([one["seconds"] for one in measured], [one["map@5"] for one in measured], marker=".")
    axes[0].set(xlabel="CPU seconds", ylabel="relative difference to the lowest objective")
    axes[0].legend(fontsize=7)
    axes[1].set(xlabel="CPU seconds", ylabel="MAP@5")
    figure.tight_layout()
    figure.savefig(folder / f"race_{data}.png", dpi=100)
    plt.close(figure)


def least_seed(cells: list[dict[str, Any]]) -> int:
    """The seed whose curves are drawn."""
    return int(min(cell["seed"] for cell in cells))


def budget(text: str) -> tuple[str, float]:
    method, _, seconds = text.partition("=")
    if method not in OPTIMIZERS or not seconds:
        raise argparse.ArgumentTypeError(f"{text!r}: give METHOD=SECONDS with a method of {', '.join(OPTIMIZERS)}.")
    return method, float(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=["ml1m_9to1"])
    full = [(method, 600.0) for method in ("gauss-newton", "adam", "gd-diag", "newton")]
    parser.add_argument("--methods", nargs="+", type=budget, default=full, metavar="METHOD=SECONDS")
    parser.add_argument("--starts", nargs="+", default=["random"], choices=STARTS)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--points", type=int, default=20, help="how often MAP@5 is measured")
    parser.add_argument("--minutes", type=float, default=np.inf, help="of the clock, after which a run is left off")
    parser.add_argument("--widths", type=int, nargs="*", default=(256, 256))
    parser.add_argument("--rank", type=int, default=128)
    parser.add_argument("--page", action="store_true", help="put the table of shares into README.md too")
    parser.add_argument("--report", action="store_true", help="only write the table and the pictures, from the cells")
    small = [("gauss-newton", 0.01), ("adam", 0.01)]
    options = parse(parser, RESULTS, methods=small, starts=list(STARTS), seeds=[0], points=2, widths=(4,), rank=3)
    if not options.report:
        one_core(options.smoke)
        until = time.monotonic() + 60 * options.minutes
        for data in options.data:
            for start in options.starts:
                for seed in options.seeds:
                    race(options, data, start, seed, dict(options.methods), until)
    cells = read_cells(options.results)
    if not cells:
        raise SystemExit("there are no cells yet: run the script without --report first.")
    (options.results / "race.md").write_text(report(cells))
    if options.page:
        README.write_text(on_page(README.read_text(), "race", page(cells)))
    print(report(cells))
    for data in sorted({cell["data"] for cell in cells}):
        plot(
            options.results,
            data,
            [cell for cell in cells if cell["data"] == data and cell["seed"] == least_seed(cells)],
        )


if __name__ == "__main__":
    main()
