"""KernelCompletion, NeighborMF and GaussianRatings as they are, nothing tuned, on the masks of experiments/mlrm.

    drugs       GPCRs and Enzymes: pooled AUC and AUPR at unobserved pairs, ten and five draws of five rates
    newcomers   five folds of whole rows (new drugs) or columns (new targets), everything else observed
    labels      average precision of hidden labels, three draws of five rates; genbase was in no trial
    ratings     MAE and RMSE: u1 to u5 of ml100k, three draws of 80 % of filmtrust; douban, flixster, yahoo_music and
                likes of ml1m (its copy here has no stars, only whether a rating was 4 or more) were in no trial

Each cell is kept as soon as it is measured, in ``results/study_<data>.json``; what is there is not run again, unless
``--again`` says so. CPU seconds are those of one thread.
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
from tables import lines

from everypair.data.observed import Observed
from everypair.metrics import completion_metrics
from everypair.models.completion import GaussianRatings, KernelCompletion, NeighborMF
from everypair.models.completion.offsets import Offsets

RESULTS = Path(__file__).parent / "results"
STUDIES = ("drugs", "newcomers", "labels", "ratings", "methods")
DOCS = Path(__file__).parents[2] / "docs"
PAGES = {DOCS / "completion.md": STUDIES, DOCS / "tutorials" / "drugs-and-targets.md": ("newcomers",)}
RATES = (0.1, 0.3, 0.5, 0.7, 0.9)
KEYS = {"GPCRs": ("gpcr", 10), "Enzymes": ("e", 5)}
LABELS = ("emotions", "birds", "yeast", "scene", "medical", "genbase")
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


def on_similarities(Y: Any, S: Any, T: Any, mask: Any, unseen: bool = False) -> dict[str, Found]:
    """Every method on one mask; whole rows or columns that are ``unseen`` are answered by the first stage."""
    sides = {"left_features": S, "right_features": T}
    first = "KernelCompletion, first stage"
    makes = {
        "KernelCompletion": lambda: KernelCompletion(
            kernel="similarity", refine=False if unseen else "auto", n_threads=1
        ),
        first: lambda: KernelCompletion(kernel="similarity", refine=False, n_threads=1),
        "NeighborMF": lambda: NeighborMF(kernel="similarity", random_state=0, n_threads=1),
    }
    if unseen:
        del makes[first]
    values, found = {}, {}
    for name, make in makes.items():
        model, seconds = timed(lambda make=make: make().fit(Y, mask, **sides))
        values[name] = model.complete()
        found[name] = {"cpu": seconds}
    for name in [name for name in makes if name != "NeighborMF"]:
        both = f"{name} + NeighborMF"
        values[both] = values[name] + values["NeighborMF"]
        found[both] = {"cpu": found[name]["cpu"] + found["NeighborMF"]["cpu"]}
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
                yield (
                    f"{name} {side} {number}",
                    lambda Y=Y, S=S, T=T, mask=~hidden: on_similarities(Y, S, T, mask, True),
                )


def labels(small: bool) -> Iterator[Cell]:
    for name in LABELS[:1] if small else LABELS:
        archive = read(f"ml_{name}")
        X, Y = (sp.vstack([sparse(archive, f"{part}_{half}") for half in ("train", "test")]) for part in "XY")
        X, Y = X.astype(float), Y.toarray().astype(float)
        for rate in RATES[2:3] if small else RATES:
            for draw in range(1 if small else 3):
                mask = np.random.default_rng(draw).random(Y.shape) < rate

                def measure(X: Any = X, Y: Any = Y, mask: Any = mask) -> dict[str, Found]:
                    model, seconds = timed(lambda: KernelCompletion(n_threads=1).fit(Y, mask, left_features=X))
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
    for name in ("douban", "flixster", "yahoo_music"):
        train, test = (sparse(read(f"{name}_monti"), part).toarray().astype(float) for part in ("train", "test"))
        yield f"{name} 0", train + test, train > 0, None
    parts = {
        part: sparse(read("ml1m"), part).toarray() > 0 for part in ("all_train", "all_test", "pos_train", "pos_test")
    }
    known, liked = parts["all_train"] | parts["all_test"], parts["pos_train"] | parts["pos_test"]
    yield "ml1m_likes 0", known + (known & liked).astype(float), parts["all_train"], None


def ratings(small: bool) -> Iterator[Cell]:
    for name, Y, mask, features in rated(small):

        def measure(Y: Any = Y, mask: Any = mask, features: Any = features) -> dict[str, Found]:
            offsets, seconds = timed(lambda: Offsets.of_both(Observed.from_matrix(Y, mask)))
            low, high = Y[mask].min(), Y[mask].max()
            hidden = np.nonzero((Y > 0) & ~mask)
            biases = np.clip(offsets.rows[hidden[0]] + offsets.columns[hidden[1]], low, high)
            model, fit = timed(lambda: GaussianRatings(n_threads=1).fit(Y, mask, right_features=features))
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
    """Surprise's models with their defaults on the same ratings."""
    import pandas
    import surprise

    items = {"name": "pearson_baseline", "user_based": False}
    makes = {
        "Surprise KNNBaseline": lambda: surprise.KNNBaseline(sim_options=items, verbose=False),
        "Surprise SVD++": lambda: surprise.SVDpp(random_state=0),
    }
    for name, Y, mask, _ in rated(small):
        for method, make in makes.items():
            if name not in cells or method in cells[name]:
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


def methods(small: bool) -> Iterator[Cell]:
    """What a table of all methods lacks: ours on the four fifths of ml100k that experiments/mlrm/beside.py observes."""
    ((_, Y, _, _),) = rated(True)
    mask = (Y > 0) & (np.random.default_rng(0).random(Y.shape) < 0.8)
    sides = {} if small else {"right_features": read("ml100k")["item_features"].astype(float)}
    makes = {
        "biases": lambda: Offsets.of_both(Observed.from_matrix(Y, mask)),
        "GaussianRatings": lambda: GaussianRatings(n_threads=1).fit(Y, mask, **sides),
    }
    for method, make in makes.items():

        def measure(method: str = method, make: Any = make) -> dict[str, Found]:
            model, seconds = timed(make)
            hidden = np.nonzero((Y > 0) & ~mask)
            if method == "biases":
                values = model.rows[hidden[0]] + model.columns[hidden[1]]
            else:
                values = model.predict(*hidden)
            errors = np.clip(values, Y[mask].min(), Y[mask].max()) - Y[hidden]
            return {
                method: {
                    "mae": float(np.abs(errors).mean()),
                    "rmse": float(np.sqrt(np.mean(errors**2))),
                    "cpu": seconds,
                }
            }

        yield f"ml100k {method}", measure


MAKERS = {"drugs": drugs, "newcomers": newcomers, "labels": labels, "ratings": ratings, "methods": methods}


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
    parser.add_argument("--again", action="store_true", help="measure what is stored again")
    parser.add_argument("--report", action="store_true", help="the table of what is stored, without a run")
    parser.add_argument(
        "--peers", action="store_true", help="ratings: Surprise, where it is installed, on what is stored"
    )
    parser.add_argument("--page", action="store_true", help="put the table into the pages of docs too")
    options = smoke.parse(parser, RESULTS)
    path = options.results / f"study_{options.data}.json"
    cells = json.loads(path.read_text()) if path.exists() else {}
    if options.peers:
        for key, method, measure in peers(options.smoke, cells):
            if key.startswith(options.only):
                cells = kept(path, key, {method: measure()})
    elif not options.report:
        for key, make in MAKERS[options.data](options.smoke):
            if (options.again or key not in cells) and key.startswith(options.only):
                cells = kept(path, key, make())
    if not cells:
        sys.exit(f"{path} does not exist: run the script without --report first.")
    text = "\n".join(lines(options.data, cells, options.results)) + "\n"
    path.with_suffix(".md").write_text(text)
    print(text)
    if options.page:
        for page, studies in PAGES.items():
            if options.data in studies:
                page.write_text(on_page(page.read_text(), options.data, text))


if __name__ == "__main__":
    main()
