"""Tables of what is stored: ours beside the published methods of experiments/mlrm, means over the same draws."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

PUBLISHED = Path(__file__).parents[1] / "mlrm" / "results"
RATES = (0.1, 0.3, 0.5, 0.7, 0.9)
COMPARED = ("emotions", "birds", "yeast", "scene", "medical")
SUM = "KernelCompletion + NeighborMF"
RIVALS = ("FNNM", "FPCA", "SIMC", "IMC", "Maxide", "MLRM", "MLRM'", "MLRM global", "MLRM transductive")
Found = dict[str, float]
Groups = dict[str, list[dict[str, Found]]]


def stored(path: Path) -> dict[str, Any]:
    """Cells of a file of results, none where it does not exist."""
    return json.loads(path.read_text()) if path.exists() else {}


def grouped(cells: dict[str, dict[str, Found]]) -> Groups:
    """Cells of the same data and rate: draws or folds, in order."""
    groups: Groups = {}
    for key in sorted(cells, key=lambda key: key.rpartition(" ")[2]):
        groups.setdefault(key.rpartition(" ")[0], []).append(cells[key])
    names = list(dict.fromkeys(key.split()[0] for key in cells))
    return dict(sorted(groups.items(), key=lambda item: (names.index(item[0].split()[0]), item[0])))


def mean(runs: list[Found], *figures: str) -> str:
    """Means over runs."""
    return " / ".join(f"{np.mean([run[figure] for run in runs]):.3f}" for figure in figures)


def of(runs: list[dict[str, Found]], method: str) -> list[Found]:
    """The runs of one method."""
    return [run[method] for run in runs]


def best_published(table: str, group: str, draws: int, *figures: str) -> str:
    """The best mean of the published methods on the same data and, as far as they are stored, the same draws."""
    cells = [
        cell["runs"][:draws] for key, cell in stored(PUBLISHED / f"{table}.json").items() if key.startswith(f"{group} ")
    ]
    return " / ".join(
        f"{max(np.mean([run[figure] for run in cell]) for cell in cells):.3f}" for figure in figures if cells
    )


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    """Lines of a table."""
    return [f"| {' | '.join(row)} |" if row else "|---" * len(head) + "|" for row in (head, [], *rows)]


def lines(study: str, cells: dict[str, dict[str, Found]], results: Path) -> list[str]:
    """The table of a study: means over draws or folds."""
    groups = grouped(cells)
    if study == "labels":
        return of_labels(groups)
    if study == "ratings":
        return of_ratings(groups)
    return of_methods(groups, results) if study == "methods" else of_pairs(groups, study == "drugs")


def of_labels(groups: Groups) -> list[str]:
    """Average precision by data and rate, the best published in brackets."""
    rows = []
    for name in dict.fromkeys(group.split()[0] for group in groups):
        row, seconds = [name], []
        for group in (f"{name} {rate}" for rate in RATES):
            runs = of(groups.get(group, []), "KernelCompletion")
            best = best_published("multilabel", group, len(runs), "average_precision") if runs else ""
            row.append((mean(runs, "average_precision") if runs else "") + (f" ({best})" if best else ""))
            seconds += [run["cpu"] for run in runs]
        rows.append([*row, f"{np.mean(seconds):.1f}"])
    return table(["data", *(f"ω = {rate}" for rate in RATES), "CPU s"], rows)


def of_ratings(groups: Groups) -> list[str]:
    """MAE and RMSE by data."""
    others = ["biases", "Surprise KNNBaseline", "Surprise SVD++"]
    rows = []
    for group, runs in groups.items():
        ours = of(runs, "GaussianRatings")
        beside = [mean(of(runs, name), "mae", "rmse") if all(name in run for run in runs) else "" for name in others]
        seconds = [
            f"{np.mean([run[name]['cpu'] for run in runs]):.0f}"
            for name in ("GaussianRatings", *others[1:])
            if all(name in run for run in runs)
        ]
        rows.append(
            [group, str(len(runs)), *beside, mean(ours, "mae", "rmse"), mean(ours, "covered"), " / ".join(seconds)]
        )
    head = ["data", "runs", *others, "`GaussianRatings`", "inside", "CPU s of it, KNN, SVD++"]
    return table(head, rows)


def of_pairs(groups: Groups, beside: bool) -> list[str]:
    """AUC and AUPR by data."""
    methods = ["KernelCompletion", "NeighborMF", SUM]
    rows = []
    for group, runs in groups.items():
        row = [group, str(len(runs)), *[best_published("table1", group, len(runs), "auc", "aupr")] * beside]
        row += [mean(of(runs, method), "auc", "aupr") for method in methods]
        rows.append(
            [*row, " / ".join(f"{np.mean([run[method]['cpu'] for run in runs]):.2f}" for method in methods[:2])]
        )
    ours = ["`KernelCompletion`", "`NeighborMF`", "their sum", "CPU s of each"]
    return table(["data", "runs", *["best published"] * beside, *ours], rows)


def of_methods(groups: Groups, results: Path) -> list[str]:
    """Every method, ours and published: quality and CPU seconds of a fit, + those of the choice of its parameters."""
    pairs, labels = (grouped(stored(results / f"study_{study}.json")) for study in ("drugs", "labels"))
    rows = []
    for method in ("KernelCompletion", "NeighborMF", SUM):
        row = [f"`{method.replace(' + ', '` + `')}`"]
        for name in ("GPCRs", "Enzymes"):
            runs = of(pairs.get(f"{name} 0.5", []), method)
            row += cell(runs, "auc", "aupr")
        whole = method == "KernelCompletion" and all(f"{name} 0.5" in labels for name in COMPARED)
        sets = [of(labels[f"{name} 0.5"], method) for name in COMPARED] if whole else []
        rows.append([*row, *mean_of_sets(sets), "", ""])
    runs = [run for group in groups.values() for run in group]
    for method, name in (("GaussianRatings", "`GaussianRatings`"), ("biases", "biases")):
        ours = cell([run[method] for run in runs if method in run], "mae", "rmse")
        rows.append([name, *[""] * 6, *ours])
    table1, multilabel, beside = (stored(PUBLISHED / f"{name}.json") for name in ("table1", "multilabel", "beside"))
    for method in RIVALS:
        row = [method]
        for name in ("GPCRs", "Enzymes"):
            found = table1.get(f"{name} 0.5 {method}", {"runs": []})
            row += cell(found["runs"], "auc", "aupr", choosing=found.get("choosing_cpu"))
        row += of_sets(multilabel, method)
        rows.append([*row, *cell(beside.get(f"ml100k {method}", {"runs": []})["runs"], "mae")])
    for method in RIVALS:
        ours = cell(beside.get(f"ml100k {method}, offsets", {"runs": []})["runs"], "mae", "rmse")
        rows += [[f"{method}, offsets of both sides", *[""] * 6, *ours]] * any(ours)
    head = ["method"]
    for data in ("GPCRs: AUC / AUPR", "Enzymes: AUC / AUPR", "five sets of labels", "ml100k: MAE / RMSE"):
        head += [data, "CPU s"]
    return [*table(head, rows), "", *of_centred(multilabel)]


def of_centred(plain: dict[str, Any]) -> list[str]:
    """Average precision of published methods with features as they are and centred, wherever both are stored."""
    centred = stored(PUBLISHED / "multilabel_prepared.json")
    rows = []
    for key, found in centred.items():
        draws = min(len(found["runs"]), len(plain[key]["runs"]))
        name, rate, method = key.split(" ", 2)
        means = [mean(cells["runs"][:draws], "average_precision") for cells in (plain[key], found)]
        rows.append([f"{name} {rate}", method, str(draws), *means])
    return table(["labels", "method", "runs", "features as they are", "centred"], sorted(rows))


def cell(runs: list[Found], *figures: str, choosing: float | None = None) -> list[str]:
    """Quality and seconds."""
    if not runs:
        return ["", ""]
    seconds = f"{np.mean([run['cpu'] for run in runs]):.1f}"
    return [mean(runs, *figures), seconds if choosing is None else f"{seconds} + {choosing:.0f}"]


def of_sets(cells: dict[str, Any], method: str) -> list[str]:
    """Quality and seconds of a published method, where all five sets of labels are stored."""
    found = [cells.get(f"{name} 0.5 {method}") for name in COMPARED]
    if not all(found):
        return ["", ""]
    choosing = float(np.mean([one["choosing_cpu"] for one in found]))
    return mean_of_sets([one["runs"] for one in found], choosing)


def mean_of_sets(sets: list[list[Found]], choosing: float | None = None) -> list[str]:
    """Mean over data sets of means over draws."""
    if not sets:
        return ["", ""]
    means = [
        {figure: float(np.mean([run[figure] for run in runs])) for figure in ("average_precision", "cpu")}
        for runs in sets
    ]
    return cell(means, "average_precision", choosing=choosing)
