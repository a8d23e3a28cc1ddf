"""One function per chart: each takes numbers and draws on axes, of a report or of a notebook."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from everypair.plots.canvas import COLOURS, legend, plain_logarithms
from everypair.plots.measure import Group, MeasuredModel
from everypair.types import Array

FEW = 6  # values that each get a tick
SHADES = (COLOURS["model"], COLOURS["other"], COLOURS["third"])


def draw_history(axes: Any, history: Sequence[dict[str, Any]], metric: str | None = None) -> None:
    """The objective after each sweep, and a validation metric on a second axis where there is one."""
    sweeps = [entry["iteration"] for entry in history]
    if "model" in history[0]:  # members of an ensemble, one after the other
        sweeps = list(range(1, len(history) + 1))
    axes.plot(
        sweeps, [entry["objective"] for entry in history], color=SHADES[0], marker="o", markersize=3, label="objective"
    )
    axes.set_xlabel("sweep")
    axes.set_ylabel("objective")
    _whole_numbers(axes)
    if metric is not None and metric in history[0]:
        twin = axes.twinx()
        twin.set_facecolor("none")
        twin.plot(sweeps, [entry[metric] for entry in history], color=SHADES[1], marker="o", markersize=3, label=metric)
        twin.set_ylabel(metric, color=COLOURS["ink"])
        twin.tick_params(colors=COLOURS["muted"], length=3, labelsize=8.5)
        for side in twin.spines.values():
            side.set_visible(False)
        lines = [*axes.get_lines(), *twin.get_lines()]
        legend(axes, lines)


def draw_curves(axes: Any, curves: dict[str, list[float]], metric: str) -> None:
    """A held-out metric after each sweep, one line per name."""
    for (name, values), colour in zip(curves.items(), SHADES):
        axes.plot(np.arange(1, len(values) + 1), values, color=colour, marker="o", markersize=3, label=name)
    axes.set_xlabel("sweep")
    axes.set_ylabel(f"held-out {metric}")
    _whole_numbers(axes)
    legend(axes)


def draw_degrees(axes: Any, users: Array, items: Array) -> None:
    """Share of users and items with at least so many events, both axes logarithmic."""
    for counts, name, colour in ((users, "users", SHADES[0]), (items, "items", SHADES[1])):
        counts = np.sort(counts[counts > 0])
        values, first = np.unique(counts, return_index=True)
        axes.plot(values, 1 - first / len(counts), color=colour, label=name, drawstyle="steps-pre")
    axes.set_xscale("log")
    axes.set_yscale("log")
    plain_logarithms(axes.xaxis)
    plain_logarithms(axes.yaxis)
    axes.set_xlabel("events")
    axes.set_ylabel("share with at least so many")
    legend(axes)


def draw_times(axes: Any, times: Array, dates: bool) -> None:
    """Events over time."""
    if dates:
        times = (times.astype(np.float64) * 1e9).astype("datetime64[ns]")
        ticks = times.astype(np.int64)
    else:
        ticks = times.astype(np.float64)
    counts, edges = np.histogram(ticks, bins=40)
    middles = (edges[:-1] + edges[1:]) / 2
    across = middles.astype("datetime64[ns]") if dates else middles
    axes.fill_between(across, counts, color=SHADES[0], alpha=0.25, linewidth=0)
    axes.plot(across, counts, color=SHADES[0])
    axes.set_ylim(bottom=0)
    axes.set_ylabel("events")
    axes.set_xlabel("time")
    if dates:
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

        locator = AutoDateLocator(minticks=3)  # type: ignore[no-untyped-call]
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]


def draw_metrics(axes: Any, models: Sequence[MeasuredModel], names: Sequence[str]) -> None:
    """Means with 95 % intervals, models beside each other."""
    places = np.arange(len(names))[::-1]
    for number, (measured, colour) in enumerate(zip(models, SHADES)):
        shift = 0.16 * (len(models) - 1) / 2 - 0.16 * number
        means = [measured.metrics[name] for name in names]
        errors = [1.96 * measured.metrics.standard_errors[name] for name in names]
        axes.errorbar(
            means,
            places + shift,
            xerr=_drawn(errors),
            fmt="o",
            markersize=4.5,
            color=colour,
            elinewidth=1.4,
            label=measured.name,
        )
    axes.set_yticks(places, names)
    axes.set_ylim(-0.6, len(names) - 0.4)
    axes.set_xlim(left=0)
    axes.grid(axis="y", visible=False)
    axes.grid(axis="x", color=COLOURS["line"], linewidth=0.6)
    legend(axes)


def draw_groups(axes: Any, groups: dict[str, list[Group]], across: str, up: str) -> None:
    """Means with 95 % intervals of groups from few events to many."""
    for number, ((name, parts), colour) in enumerate(zip(groups.items(), SHADES)):
        places = np.arange(len(parts)) + 0.12 * (number - (len(groups) - 1) / 2)
        axes.errorbar(
            places, [part.mean for part in parts], yerr=_drawn([1.96 * part.error for part in parts]), color=colour,
            marker="o", markersize=4.5, elinewidth=1.4, linewidth=1, label=name,
        )  # fmt: skip
    parts = next(iter(groups.values()))
    labels = [f"{part.low:,}" if part.low == part.high else f"{part.low:,}–{part.high:,}" for part in parts]
    axes.set_xticks(range(len(parts)), labels)
    axes.set_ylim(bottom=-0.03 * axes.get_ylim()[1])  # marks at 0 are seen whole
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    legend(axes)


def draw_exposure(axes: Any, models: Sequence[MeasuredModel], consumed: Array) -> None:
    """Cumulative share of recommendations over items by popularity, beside that of the events themselves."""
    across = np.arange(1, len(consumed) + 1) / len(consumed)
    for measured, colour in zip(models, SHADES):
        axes.plot(across, measured.exposure, color=colour, label=measured.name)
    axes.plot(across, consumed, color=COLOURS["muted"], linestyle="--", label="training events")
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("share of items, the most popular first")
    axes.set_ylabel("share of recommendations")
    legend(axes)


def draw_sensitivity(axes: Any, tuning: Any, name: str) -> None:
    """The metric of every candidate over one parameter, with one standard error; the defaults and the found marked."""
    rows = [row for row in tuning.table if not math.isnan(row[tuning.metric])]
    values = [row[name] for row in rows]
    numeric = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    if numeric:
        across = np.array(values, float)
        if across.min() > 0 and across.max() / across.min() > 5:
            axes.set_xscale("log")
    else:
        kinds = sorted({_category(value) for value in values}, key=lambda kind: (kind != "none", kind))
        across = np.array([kinds.index(_category(value)) for value in values], float)
        axes.set_xticks(range(len(kinds)), kinds)
    for state, colour, label in (("complete", SHADES[0], "tried"), ("pruned", COLOURS["muted"], "stopped early")):
        own = np.array([row["state"] == state and row["trial"] > 0 for row in rows])
        if own.any():
            up = np.array([row[tuning.metric] for row in rows])[own]
            errors = [row["standard_error"] for row, chosen in zip(rows, own) if chosen]
            axes.errorbar(
                across[own],
                up,
                yerr=_drawn(errors),
                fmt="o",
                markersize=3.5,
                elinewidth=0.8,
                color=colour,
                alpha=0.75,
                label=label,
            )
    axes.plot(across[0], rows[0][tuning.metric], "s", color=SHADES[1], markersize=7, label="defaults", zorder=5)
    best = best_row(tuning, rows)
    if best:
        axes.plot(across[best], rows[best][tuning.metric], "D", color=SHADES[2], markersize=6, label="best", zorder=5)
    axes.set_xlabel(name)
    axes.set_ylabel(tuning.metric)
    if axes.get_xscale() == "log":
        plain_logarithms(axes.xaxis)
    if numeric and len(set(values)) <= FEW:
        axes.set_xticks(sorted(set(values)), [f"{value:,g}" for value in sorted(set(values))])
        axes.minorticks_off()
    legend(axes)


def best_row(tuning: Any, rows: Sequence[dict[str, Any]]) -> int | None:
    """Which of the rows has the best parameters."""
    for number, row in enumerate(rows):
        if all(row[name] == value for name, value in tuning.best.items()):
            return number
    return None


def _category(value: Any) -> str:
    if value is None:
        return "none"
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _drawn(errors: Sequence[float]) -> list[float]:
    return [0.0 if math.isnan(error) else error for error in errors]


def _whole_numbers(axes: Any) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))
