"""Pictures of measurements: every number comes from a stored result of an experiment."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean, median
from typing import Any

from drawing import Chart, Drawing, Scale

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
BENCHMARKS = Path(__file__).parents[2] / "benchmarks" / "results"


def stored(name: str) -> Any:
    return json.loads((EXPERIMENTS / name).read_text())


def convergence() -> str:
    """Relative distance to the smallest objective against CPU time, for every solver."""
    traces = stored("negsel/results/figure1_ml1m.json")["traces"]["Full"]
    best = min(value for trace in traces.values() for _, value in trace)
    drawing = Drawing(760, 380)
    chart = Chart(drawing, Scale(0.1, 13, 70, 590, True), Scale(1e-5, 1, 310, 40, True))
    chart.axes(
        {0.1: "0.1 s", 0.3: "0.3 s", 1: "1 s", 3: "3 s", 10: "10 s"},
        {1: "1", 1e-1: "0.1", 1e-2: "0.01", 1e-3: "0.001", 1e-4: "10⁻⁴", 1e-5: "10⁻⁵"},
        "CPU seconds, one thread",
        "distance to the smallest objective, relative",
    )
    shown = {
        "newton": ("one", "newton, the default's step", False),
        "block": ("three", "block", False),
        "als": ("two", "als", False),
        "cd": ("three", "cd", True),
        "sg-reform": ("soft", "stochastic gradient", True),
    }
    for name, (stroke, label, dashed) in shown.items():
        points = [(seconds, value / best - 1) for seconds, value in traces[name] if value / best - 1 > 1e-5]
        chart.curve(points, stroke, 3 if name == "newton" else 1.8, dashed)
        end = points[-1]
        if name == "newton":
            drawing.text(chart.x(end[0]) - 14, chart.y(end[1]) - 4, label, 12.5, stroke, "end", True)
        else:
            drawing.text(
                chart.x(end[0]) + 8, chart.y(end[1]) + {"block": 0, "cd": 10}.get(name, 4), label, 12.5, stroke
            )
    return drawing.svg()


def quality_and_cost() -> str:
    """Held-out quality against the CPU time of training, one split of ml1m."""
    methods = stored("blend/results/peers_ml1m.json")["methods"]
    points = {name: (method["cpu"], method["test"]["ndcg@10"]) for name, method in methods.items()}
    if "Blend()" not in points:
        seeds = stored("blend/results/quality_one_split_ml1m.json")["seeds"]
        for name, part in (("Blend's factors", "factors"), ("Blend()", "blend")):
            points[name] = fmean(s[f"cpu_{part}"] for s in seeds), fmean(s[part]["ndcg@10"] for s in seeds)
    drawing = Drawing(760, 380)
    chart = Chart(drawing, Scale(0.15, 30, 60, 700, True), Scale(0.20, 0.28, 310, 40))
    chart.axes(
        {0.2: "0.2 s", 0.5: "0.5 s", 1: "1 s", 2: "2 s", 5: "5 s", 10: "10 s", 20: "20 s"},
        {0.20: "0.20", 0.22: "0.22", 0.24: "0.24", 0.26: "0.26"},
        "CPU seconds of training",
        "nDCG@10 on held-out entries of ml1m",
    )
    above = {"Blend()", "Blend's factors", "Blend, weights found", "SLIM (irspack)", "BM25 (implicit)"}
    ours = {"Blend()", "Blend's factors", "ItemItem", "Blend, weights found", "OneClassMF"}
    for name, (seconds, value) in points.items():
        if name == "popularity":
            drawing.text(60, 362, f"Popularity has {value:.3f} and takes {seconds:.2f} s.", 12.5, "soft")
            continue
        x, y = chart.x(seconds), chart.y(value)
        fill = "one" if name in ours else "two"
        drawing.dot(x, y, 5.5, fill)
        drawing.text(x, y - 11 if name in above else y + 20, name, 12.5, fill, "middle", name == "Blend()")
    return drawing.svg()


def labels() -> str:
    """Precision of the first label against the CPU time of training, the published split of bibtex."""
    methods = stored("labels/results/quality/bibtex.json")["published"]
    drawing = Drawing(760, 340)
    chart = Chart(drawing, Scale(1, 13, 60, 700, True), Scale(61, 69.5, 280, 40))
    chart.axes(
        {1: "1 s", 2: "2 s", 5: "5 s", 10: "10 s"},
        {62: "62", 64: "64", 66: "66", 68: "68"},
        "CPU seconds of training, one thread",
        "precision@1 × 100 on the test rows of bibtex",
    )
    names = {"LinearSVC": "one SVM a label", "LogisticRegression": "one logistic regression a label"}
    for name, method in methods.items():
        x, y = chart.x(method["cpu"]), chart.y(method["precision@1"])
        ours = name in ("KernelLabels", "MultiLabelMF")
        drawing.dot(x, y, 5.5, "one" if ours else "two")
        label = f"{names[name]}, C known" if name in names else f"{name}()"
        below = y + 20 if name == "SLEEC" else y - 11
        drawing.text(x, below, label, 12.5, "one" if ours else "two", "middle", name == "KernelLabels")
    return drawing.svg()


def blend_gain() -> str:
    """nDCG@20 of the parts and of the blend, all defaults, six data sets."""
    names = ["yelp2018", "citeulike_t", "lastfm_hetrec", "ml1m", "ml100k", "debian"]
    kinds = {"factors": "three", "items": "two", "blend": "one"}
    drawing = Drawing(760, 270)
    drawing.text(130, 20, "nDCG@20 relative to the blend's factors alone, all defaults, means over seeds", 12.5)
    across = Scale(0.92, 1.10, 130, 690)
    for value in (0.95, 1.0, 1.05, 1.1):
        drawing.line([(across(value), 34), (across(value), 224)])
        drawing.text(across(value), 242, f"{value:.2f}", 12, "soft", "middle")
    for place, name in enumerate(names):
        seeds = stored(f"blend/results/quality_{name}.json")["seeds"]
        y = 52 + 31 * place
        drawing.text(120, y + 4, name, 13, "ink", "end")
        whole = fmean(s["factors"]["ndcg@20"] for s in seeds)
        values = {kind: fmean(s[kind]["ndcg@20"] for s in seeds) / whole for kind in kinds}
        drawing.line([(across(min(values.values())), y), (across(max(values.values())), y)], "line", 3)
        for kind, fill in kinds.items():
            drawing.dot(across(values[kind]), y, 6.5 if kind == "blend" else 5, fill)
    for place, (kind, fill) in enumerate(kinds.items()):
        drawing.dot(230 + 150 * place, 260, 5, fill)
        label = {"factors": "factors", "items": "item–item", "blend": "Blend()"}[kind]
        drawing.text(241 + 150 * place, 264, label, 12.5, fill, bold=kind == "blend")
    return drawing.svg()


def latency() -> str:
    """CPU milliseconds of one answer, beside other libraries, on a logarithmic axis."""
    rows = json.loads((BENCHMARKS / "latency.json").read_text())["rows"]
    questions = {
        "recommend": "a known user",
        "fold-in of 20": "somebody new",
        "similar": "similar items",
        "explain": "reasons",
    }
    ranks = ["64", "256"]
    drawing = Drawing(760, 376)
    across = Scale(0.1, 200, 240, 720, True)
    for value, label in {0.1: "0.1 ms", 1: "1 ms", 10: "10 ms", 100: "100 ms"}.items():
        drawing.line([(across(value), 14), (across(value), 316)])
        drawing.text(across(value), 334, label, 12, "soft", "middle")
    y = 28.0
    for question, label in questions.items():
        drawing.text(20, y + 4, label, 13, "ink", bold=True)
        for kind in (*ranks, "Blend"):
            names = (
                ["Blend"] if kind == "Blend" else [f"{one}({kind})" for one in ("irspack", "implicit", "OneClassMF")]
            )
            drawing.text(230, y + 4, kind if kind == "Blend" else f"rank {kind}", 12, "soft", "end")
            points = [(name, rows[question][name]["p50"]) for name in names if name in rows[question]]
            drawing.line([(across(min(points, key=second)[1]), y), (across(max(points, key=second)[1]), y)], "line", 2)
            for name, value in points:
                drawing.dot(across(value), y, 5, {"irspack": "three", "implicit": "two"}.get(name.split("(")[0], "one"))
            y += 23
        y += 6
    for place, (name, fill) in enumerate({"EveryPair": "one", "implicit": "two", "irspack": "three"}.items()):
        drawing.dot(250 + 130 * place, 358, 5, fill)
        drawing.text(261 + 130 * place, 362, name, 12.5, fill, bold=place == 0)
    return drawing.svg()


def second(pair: tuple[str, float]) -> float:
    return pair[1]


def serve_cost() -> str:
    """Requests of a CPU second at the most connections: the service, implicit in the same app, and by FastAPI."""
    ranks = json.loads((EXPERIMENTS.parent / "benchmarks" / "results" / "serve.json").read_text())["ranks"]
    shown = {
        "everypair": ("one", "everypair serve"),
        "same": ("three", "the same app around implicit"),
        "fastapi": ("soft", "FastAPI + implicit"),
    }
    groups: dict[tuple[str, str], dict[str, float]] = {}
    for rank, rows in ranks.items():
        most = max(row["connections"] for row in rows)
        for kind in dict.fromkeys(row["kind"] for row in rows):
            cells = {
                server: [
                    row["cpu_ms"]
                    for row in rows
                    if (row["kind"], row["server"], row["connections"]) == (kind, server, most)
                ]
                for server in shown
            }
            groups[rank, kind] = {server: 1000 / median(found) for server, found in cells.items() if found}
    drawing = Drawing(760, 50 + 78 * len(groups))
    for place, (fill, label) in enumerate(shown.values()):
        drawing.dot(150 + 200 * place, 20, 5, fill)
        drawing.text(161 + 200 * place, 24, label, 12.5, fill, bold=not place)
    longest = max(value for found in groups.values() for value in found.values())
    for group, ((rank, kind), found) in enumerate(groups.items()):
        top = 44 + 78 * group
        drawing.text(140, top + 26, kind, 13, "ink", "end", True)
        drawing.text(140, top + 43, f"rank {rank}", 12.5, "soft", "end")
        for place, (server, value) in enumerate(found.items()):
            y, length = top + 21 * place, 520 * value / longest
            drawing.box(150, y, length, 16, shown[server][0], "none", 3)
            drawing.text(157 + length, y + 13, f"{value:,.0f}", 12.5, "ink")
    return drawing.svg()
