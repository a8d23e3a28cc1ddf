"""KernelCompletion, NeighborMF and GaussianRatings as they are, nothing tuned, on the masks of experiments/mlrm.

    drugs       GPCRs and Enzymes: pooled AUC and AUPR at unobserved pairs, ten and five draws of five rates
    newcomers   five folds of whole rows (new drugs) or columns (new targets), everything else observed
    labels      average precision of hidden labels, three draws of five rates; genbase was in no trial
    ratings     MAE and RMSE: u1 to u5 of ml100k, three draws of 80 % of filmtrust, ml1m; douban was in no trial

Each cell is kept as soon as it is measured, in ``results/study_<data>.json``; what is there is not run again.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).parents[1]))
import smoke
from datasets import read, sparse
from pages import on_page

from everypair.data.observed import Observed
from everypair.metrics import completion_metrics
from everypair.models.completion import GaussianRatings, KernelCompletion, NeighborMF
from everypair.models.completion.offsets import Offsets

RESULTS = Path(__file__).parent / "results"
PUBLISHED = Path(__file__).parents[1] / "mlrm" / "results"
PAGE = Path(__file__).parents[2] / "docs" / "completion.md"
RATES = (0.1, 0.3, 0.5, 0.7, 0.9)
KEYS = {"GPCRs": ("gpcr", 10), "Enzymes": ("e", 5)}
LABELS = ("emotions", "birds", "yeast", "scene", "medical", "genbase")
STUDIES = ("drugs", "newcomers", "labels", "ratings")
Found = dict[str, float]
Cell = tuple[str, Callable[[], dict[str, Found]]]  # its key, and what measures all methods


def generated(n: int = 40, m: int = 30) -> tuple[Any, Any, Any]:
    """A small matrix of two values and both sides' similarities."""
    random = np.random.default_rng(0)
    left, right = random.standard_normal((n, 4)), random.standard_normal((m, 3))
    score = left @ random.standard_normal((4, 3)) @ right.T + random.standard_normal((n, m))
    alike = [np.exp(-np.square(X[:, None] - X[None]).sum(axis=2) / 8) for X in (left, right)]
    return (score > 1.5).astype(float), alike[0], alike[1]


def interactions(name: str, small: bool) -> tuple[Any, Any, Any]:
    """Drugs × targets and both similarities."""
    if small:
        return generated()
    archive, key = read("dti_yamanishi"), KEYS[name][0]
    return archive[f"{key}_Y"].astype(float), archive[f"{key}_drug_sim"], archive[f"{key}_target_sim"]


def timed(fit: Callable[[], Any]) -> tuple[Any, float]:
    """A result and its CPU seconds."""
    start = time.process_time()
    result = fit()
    return result, time.process_time() - start


def on_similarities(Y: Any, S: Any, T: Any, mask: Any) -> dict[str, Found]:
    """Every method on one mask."""
    sides = {"left_features": S, "right_features": T}
    makes = {
        "KernelCompletion": lambda: KernelCompletion(kernel="similarity"),
        "KernelCompletion, first stage": lambda: KernelCompletion(kernel="similarity", refine=False),
        "NeighborMF": lambda: NeighborMF(kernel="similarity", random_state=0),
    }
    values, found = {}, {}
    for name, make in makes.items():
        model, seconds = timed(lambda make=make: make().fit(Y, mask, **sides))
        values[name] = model.complete()
        found[name] = {"cpu": seconds}
    for first in ("KernelCompletion", "KernelCompletion, first stage"):
        both = f"{first} + NeighborMF"
        values[both] = values[first] + values["NeighborMF"]
        found[both] = {"cpu": found[first]["cpu"] + found["NeighborMF"]["cpu"]}
    for name, completed in values.items():
        metrics = completion_metrics(completed, Y, ~mask)
        found[name] |= {key: metrics[key] for key in ("auc", "aupr")}
    return found


def drugs(small: bool) -> Iterator[Cell]:
    for name, (_, draws) in KEYS.items():
        Y, S, T = interactions(name, small)
        for rate in RATES[2:3] if small else RATES:
            for draw in range(1 if small else draws):
                mask = np.random.default_rng(draw).random(Y.shape) < rate
                yield f"{name} {rate} {draw}", lambda Y=Y, S=S, T=T, mask=mask: on_similarities(Y, S, T, mask)


def newcomers(small: bool) -> Iterator[Cell]:
    for name in KEYS:
        Y, S, T = interactions(name, small)
        for axis, side in enumerate(("drug", "target")):
            fold = np.random.default_rng(0).permutation(Y.shape[axis]) % 5
            for number in range(1 if small else 5):
                hidden = np.broadcast_to((fold == number)[:, None] if axis == 0 else fold == number, Y.shape)
                yield f"{name} {side} {number}", lambda Y=Y, S=S, T=T, mask=~hidden: on_similarities(Y, S, T, mask)


def labels(small: bool) -> Iterator[Cell]:
    for name in LABELS[:1] if small else LABELS:
        archive = read(f"ml_{name}")
        X, Y = (sp.vstack([sparse(archive, f"{part}_{half}") for half in ("train", "test")]) for part in "XY")
        X, Y = X.astype(float), Y.toarray().astype(float)
        for rate in RATES[2:3] if small else RATES:
            for draw in range(1 if small else 3):
                mask = np.random.default_rng(draw).random(Y.shape) < rate

                def measure(X: Any = X, Y: Any = Y, mask: Any = mask) -> dict[str, Found]:
                    model, seconds = timed(lambda: KernelCompletion().fit(Y, mask, left_features=X))
                    metrics = completion_metrics(model.complete(), Y, ~mask)
                    return {"KernelCompletion": {"average_precision": metrics["average_precision"], "cpu": seconds}}

                yield f"{name} {rate} {draw}", measure


def rated(small: bool) -> Iterator[tuple[str, Any, Any, Any]]:
    """Name, matrix of ratings (0 where there is none), what is observed, features of items."""
    archive = read("ml100k")
    Y = sp.csr_array((archive["rating"].astype(float), (archive["user"], archive["item"])), shape=archive["shape"])
    Y = Y.toarray()
    if small:
        yield "ml100k 0", Y, np.random.default_rng(0).random(Y.shape) < 0.8, None
        return
    for fold in range(1, 6):
        mask = Y > 0
        test = archive[f"test_u{fold}"].astype(bool)
        mask[archive["user"][test], archive["item"][test]] = False
        yield f"ml100k u{fold}", Y, mask, archive["item_features"].astype(float)
    Y = sparse(read("filmtrust"), "ratings").toarray().astype(float)
    for draw in range(3):
        yield f"filmtrust {draw}", Y, (Y > 0) & (np.random.default_rng(draw).random(Y.shape) < 0.8), None
    train, test = (sparse(read("douban_monti"), part).toarray().astype(float) for part in ("train", "test"))
    yield "douban 0", train + test, train > 0, None
    train, test = (sparse(read("ml1m"), f"all_{part}").toarray().astype(float) for part in ("train", "test"))
    yield "ml1m 0", train + test, train > 0, None


def ratings(small: bool) -> Iterator[Cell]:
    for name, Y, mask, features in rated(small):

        def measure(Y: Any = Y, mask: Any = mask, features: Any = features) -> dict[str, Found]:
            offsets, seconds = timed(lambda: Offsets.of_both(Observed.from_matrix(Y, mask)))
            low, high = Y[mask].min(), Y[mask].max()
            hidden = np.nonzero((Y > 0) & ~mask)
            biases = np.clip(offsets.rows[hidden[0]] + offsets.columns[hidden[1]], low, high)
            model, fit = timed(lambda: GaussianRatings().fit(Y, mask, right_features=features))
            found = {}
            for method, values, cpu in (("biases", biases, seconds), ("GaussianRatings", model.predict(*hidden), fit)):
                errors = values - Y[hidden]
                found[method] = {
                    "mae": float(np.abs(errors).mean()), "rmse": float(np.sqrt(np.mean(errors**2))), "cpu": cpu,
                }  # fmt: skip
            some = np.random.default_rng(0).choice(len(hidden[0]), min(2000, len(hidden[0])), replace=False)
            at = (hidden[0][some], hidden[1][some])
            least, most = model.interval(*at)
            found["GaussianRatings"]["covered"] = float(np.mean((Y[at] >= least) & (Y[at] <= most)))
            return found

        yield name, measure


def peers(small: bool, cells: dict[str, dict[str, Found]]) -> Iterator[tuple[str, str, Callable[[], Found]]]:
    """Surprise's models with their defaults on the same ratings; SVD++ where it takes minutes, not hours."""
    import pandas
    import surprise

    items = {"name": "pearson_baseline", "user_based": False}
    makes = {
        "Surprise KNNBaseline": lambda: surprise.KNNBaseline(sim_options=items, verbose=False),
        "Surprise SVD++": lambda: surprise.SVDpp(random_state=0),
    }
    for name, Y, mask, _ in rated(small):
        for method, make in makes.items():
            if name not in cells or method in cells[name] or (method.endswith("++") and mask.sum() > 200_000):
                continue

            def measure(Y: Any = Y, mask: Any = mask, make: Any = make) -> Found:
                hidden, shown = np.nonzero((Y > 0) & ~mask), np.nonzero(mask)
                reader = surprise.Reader(rating_scale=(Y[mask].min(), Y[mask].max()))
                frame = pandas.DataFrame({"user": shown[0], "item": shown[1], "rating": Y[shown]})
                data = surprise.Dataset.load_from_df(frame, reader)
                table = data.build_full_trainset()
                model, seconds = timed(lambda: make().fit(table))
                errors = np.array([model.predict(i, j).est for i, j in zip(*hidden)]) - Y[hidden]
                return {"mae": float(np.abs(errors).mean()), "rmse": float(np.sqrt(np.mean(errors**2))), "cpu": seconds}

            yield name, method, measure


MAKERS = {"drugs": drugs, "newcomers": newcomers, "labels": labels, "ratings": ratings}


Groups = dict[str, list[dict[str, Found]]]


def grouped(cells: dict[str, dict[str, Found]]) -> Groups:
    """Cells of the same data and rate: draws or folds."""
    groups: Groups = {}
    for key, found in cells.items():
        groups.setdefault(key.rpartition(" ")[0], []).append(found)
    names = list(dict.fromkeys(group.split()[0] for group in groups))
    return dict(sorted(groups.items(), key=lambda item: (names.index(item[0].split()[0]), item[0])))


def mean(runs: list[dict[str, Found]], method: str, *figures: str) -> str:
    """Figures of a method, their means over runs."""
    return " / ".join(f"{np.mean([run[method][figure] for run in runs]):.3f}" for figure in figures)


def published(table: str, group: str, *figures: str) -> str:
    """The best mean of the methods of experiments/mlrm on the same data."""
    path = PUBLISHED / f"{table}.json"
    stored = json.loads(path.read_text()) if path.exists() else {}
    cells = [cell["runs"] for key, cell in stored.items() if key.startswith(f"{group} ")]
    return " / ".join(
        f"{max(np.mean([run[figure] for run in cell]) for cell in cells):.3f}" for figure in figures if cells
    )


def lines(study: str, cells: dict[str, dict[str, Found]]) -> list[str]:
    """The table of a study: means over draws or folds."""
    groups = grouped(cells)
    if study == "labels":
        names = list(dict.fromkeys(group.split()[0] for group in groups))
        out = [f"| data | {' | '.join(f'ω = {rate}' for rate in RATES)} | CPU s |", "|---" * (len(RATES) + 2) + "|"]
        for name in names:
            row, seconds = [], []
            for group in (f"{name} {rate}" for rate in RATES):
                best, runs = published("multilabel", group, "average_precision"), groups.get(group)
                if runs is None:
                    row.append("")
                    continue
                row.append(mean(runs, "KernelCompletion", "average_precision") + (f" ({best})" if best else ""))
                seconds += [run["KernelCompletion"]["cpu"] for run in runs]
            out.append(f"| {name} | {' | '.join(row)} | {np.mean(seconds):.1f} |")
        return out
    if study == "ratings":
        others = ["biases", "Surprise KNNBaseline", "Surprise SVD++"]
        out = [f"| data | runs | {' | '.join(others)} | `GaussianRatings` | inside | CPU s |", "|---" * 8 + "|"]
        for group, runs in groups.items():
            ours = mean(runs, "GaussianRatings", "mae", "rmse"), mean(runs, "GaussianRatings", "covered")
            seconds = np.mean([run["GaussianRatings"]["cpu"] for run in runs])
            beside = [mean(runs, name, "mae", "rmse") if all(name in run for run in runs) else "" for name in others]
            row = [group, str(len(runs)), *beside, *ours, f"{seconds:.0f}"]
            out.append(f"| {' | '.join(row)} |")
        return out
    methods = ["KernelCompletion", "NeighborMF", "KernelCompletion + NeighborMF"]
    beside = study == "drugs"
    head = [
        "data",
        "runs",
        *["best published"] * beside,
        "`KernelCompletion`",
        "`NeighborMF`",
        "their sum",
        "CPU s of each",
    ]
    out = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for group, runs in groups.items():
        row = [group, str(len(runs)), *[published("table1", group, "auc", "aupr")] * beside]
        row += [mean(runs, method, "auc", "aupr") for method in methods]
        row.append(" / ".join(f"{np.mean([run[method]['cpu'] for run in runs]):.2f}" for method in methods[:2]))
        out.append(f"| {' | '.join(row)} |")
    return out


def kept(path: Path, key: str, found: dict[str, Found]) -> dict[str, dict[str, Found]]:
    """All cells, this one among them, on disk; several runs may be at work."""
    cells = json.loads(path.read_text()) if path.exists() else {}
    cells[key] = {**cells.get(key, {}), **found}
    unfinished = path.with_suffix(".part")
    unfinished.write_text(json.dumps(cells, indent=1) + "\n")
    unfinished.replace(path)
    print(key, json.dumps(found), flush=True)
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", choices=STUDIES, default="drugs", help="which study")
    parser.add_argument("--only", default="", help="cells whose key begins so")
    parser.add_argument("--report", action="store_true", help="the table of what is stored, without a run")
    parser.add_argument(
        "--peers", action="store_true", help="ratings: Surprise, where it is installed, on what is stored"
    )
    parser.add_argument("--page", action="store_true", help="put the table into docs/completion.md too")
    options = smoke.parse(parser, RESULTS)
    path = options.results / f"study_{options.data}.json"
    cells = json.loads(path.read_text()) if path.exists() else {}
    if options.peers:
        for key, method, measure in peers(options.smoke, cells):
            if key.startswith(options.only):
                cells = kept(path, key, {method: measure()})
    elif not options.report:
        for key, make in MAKERS[options.data](options.smoke):
            if key not in cells and key.startswith(options.only):
                cells = kept(path, key, make())
    if not cells:
        sys.exit(f"{path} does not exist: run the script without --report first.")
    text = "\n".join(lines(options.data, cells)) + "\n"
    path.with_suffix(".md").write_text(text)
    print(text)
    if options.page:
        PAGE.write_text(on_page(PAGE.read_text(), options.data, text))


if __name__ == "__main__":
    main()
