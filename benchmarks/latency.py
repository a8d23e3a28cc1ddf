"""What one answer costs: CPU milliseconds of single questions, beside implicit and irspack, in one interleaved run.

    python benchmarks/latency.py            # measure, write benchmarks/results/latency.json
    python benchmarks/latency.py --report   # write the tables of docs/performance.md from it

Each round asks one model after the other, in an order drawn anew, all questions once, on one thread. Before them it
answers one that is not timed, so that none waits for what the model before it left in the cache. Ours are asked by id,
the others by position; these are fitted for one iteration, since only their time counts, and irspack's scores are
ranked by argpartition.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from generate import generate
from machine import machine
from numba import njit
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).parents[1] / "experiments"))
import datasets
import latency_page
from smoke import parse

import everypair
from everypair.data import Events, Ids

RESULTS = Path(__file__).parent / "results"
GENERATED = (31_668, 38_048, 1_240_000)  # users, items and pairs of yelp2018
N = 10
FOLDED, HIDDEN, ALLOWED = 20, 1000, 0.01  # items of somebody new, items to leave out, share of items to choose from
LIBRARIES = ("implicit.cpu.als", "irspack")
BATCHES = (1, 2, 4, 8, 16, 32, 64)
COMMANDS = 5  # runs of the command
BATCH_EVERY = 10  # rounds from one of batches to the next
Calls = dict[str, Callable[[int], Any]]  # question → what answers that of a round


class Asked(NamedTuple):
    """Positions that the questions of every round are about."""

    train: Any
    users: np.ndarray[Any, Any]
    items: np.ndarray[Any, Any]
    new: list[np.ndarray[Any, Any]]
    hidden: list[np.ndarray[Any, Any]]
    allowed: list[np.ndarray[Any, Any]]
    groups: np.ndarray[Any, Any]

    @classmethod
    def drawn(cls, train: Any, rounds: int, seed: int = 0) -> Asked:
        """Users and items alike; what somebody new has by popularity."""
        random = np.random.default_rng(seed)
        n_users, n_items = train.shape
        popular = [np.unique(random.choice(train.indices, 40 * FOLDED)) for _ in range(rounds)]
        return cls(
            train,
            random.integers(0, n_users, rounds),
            random.integers(0, n_items, rounds),
            [random.permutation(one)[:FOLDED] for one in popular],
            [random.choice(n_items, min(HIDDEN, n_items // 2), replace=False) for _ in range(rounds)],
            [random.choice(n_items, max(1, int(ALLOWED * n_items)), replace=False) for _ in range(rounds)],
            random.integers(0, n_users, (rounds, max(BATCHES))),
        )

    def row(self, items: Any) -> Any:
        """Somebody new as a matrix of one row."""
        items = np.sort(items)
        return sp.csr_matrix((np.ones(len(items), np.float32), items, [0, len(items)]), shape=(1, self.train.shape[1]))

    def history(self, t: int) -> Any:
        """What the user of a round has."""
        return self.train.indices[slice(*self.train.indptr[self.users[t] : self.users[t] + 2])]


def ours(model: Any, asked: Asked) -> Calls:
    """The questions to a model of this library, by id."""
    users, items = (np.array(ids.values) for ids in (model.user_ids_, model.item_ids_))

    def listed(positions: Any) -> list[str]:
        names: list[str] = items[positions].tolist()
        return names

    user, item = users[asked.users].tolist(), items[asked.items].tolist()
    new, hidden, allowed = (list(map(listed, part)) for part in (asked.new, asked.hidden, asked.allowed))
    history = [listed(asked.history(t)) for t in range(len(user))]
    groups = [users[group].tolist() for group in asked.groups]
    return {
        "recommend": lambda t: model.recommend([user[t]], n=N),
        "fold-in of 20": lambda t: model.recommend(interactions=[new[t]], n=N),
        "fold-in of the own history": lambda t: model.recommend(interactions=[history[t]], n=N),
        "similar": lambda t: model.similar_items([item[t]], n=N),
        "explain": lambda t: model.explain(user[t], item[t]),
        "score of a pair": lambda t: model.score_pairs([user[t]], [item[t]]),
        "recommend, 1,000 hidden": lambda t: model.recommend([user[t]], n=N, block=hidden[t]),
        "recommend, of 1 %": lambda t: model.recommend([user[t]], n=N, allow=allowed[t]),
        **{f"batch of {size}": lambda t, size=size: model.recommend(groups[t][:size], n=N) for size in BATCHES},
    }


def implicit_als(rank: int, asked: Asked) -> Calls:
    """The questions that implicit's alternating least squares answers, by position."""
    from implicit.cpu.als import AlternatingLeastSquares

    model = AlternatingLeastSquares(factors=rank, iterations=1, num_threads=1, random_state=0)
    train = sp.csr_matrix(asked.train)
    model.fit(train, show_progress=False)
    rows = [train[user] for user in asked.users]
    new = list(map(asked.row, asked.new))
    groups = [[(group[:size], train[group[:size]]) for size in BATCHES] for group in asked.groups]
    known = {"N": N, "filter_already_liked_items": True}
    return {
        "recommend": lambda t: model.recommend(asked.users[t], rows[t], **known),
        "fold-in of 20": lambda t: model.recommend(0, new[t], recalculate_user=True, **known),
        "fold-in of the own history": lambda t: model.recommend(0, rows[t], recalculate_user=True, **known),
        "similar": lambda t: model.similar_items(asked.items[t], N=N + 1),
        "explain": lambda t: model.explain(asked.users[t], train, asked.items[t]),
        "recommend, 1,000 hidden": lambda t: model.recommend(
            asked.users[t], rows[t], filter_items=asked.hidden[t], **known
        ),
        "recommend, of 1 %": lambda t: model.recommend(
            asked.users[t], rows[t], N=N, items=asked.allowed[t], filter_already_liked_items=False
        ),
        **{
            f"batch of {size}": lambda t, p=place: model.recommend(*groups[t][p], **known)
            for place, size in enumerate(BATCHES)
        },
    }


def irspack_ials(rank: int, asked: Asked) -> Calls:
    """The questions that irspack's iALS answers, by position; it returns the scores of all items."""
    from irspack import IALSRecommender

    model = IALSRecommender(asked.train.astype(float), n_components=rank, train_epochs=1, n_threads=1).learn()
    rows = [asked.train[user].astype(float) for user in asked.users]
    new = [asked.row(items).astype(float) for items in asked.new]

    def best(scores: Any, seen: Any) -> Any:
        for line, row in zip(scores, seen):
            line[row] = -np.inf
        top = np.argpartition(scores, -N, axis=1)[:, -N:]
        order = np.argsort(-np.take_along_axis(scores, top, axis=1), axis=1)
        return np.take_along_axis(top, order, axis=1)

    def known(users: Any) -> Any:
        return best(model.get_score(users), [asked.train.indices[slice(*asked.train.indptr[u : u + 2])] for u in users])

    def cold(row: Any) -> Any:
        return best(model.get_score_cold_user(row), [row.indices])

    return {
        "recommend": lambda t: known(asked.users[t : t + 1]),
        "fold-in of 20": lambda t: cold(new[t]),
        "fold-in of the own history": lambda t: cold(rows[t]),
        **{f"batch of {size}": lambda t, size=size: known(asked.groups[t][:size]) for size in BATCHES},
    }


@njit(nogil=True, fastmath=True)
def read(numbers: Any) -> Any:
    """The sum of an array: the time that reading it takes."""
    total = numbers.dtype.type(0)
    for place in range(numbers.size):
        total += numbers[place]
    return total


def fitted(name: str, make: Callable[[], Any], events: Any, folder: Path | None) -> Any:
    """A model with ids, from the folder of an earlier run where it is there."""
    path = None if folder is None else folder / f"{name}.ep"
    if path is not None and path.exists():
        return everypair.load(path, verify=False)
    model = make().fit(events)
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        model.save(path)
    return model


def commanded(path: Path, user: str, runs: int) -> float:
    """CPU seconds of ``everypair recommend model.ep --user U``, the median of runs that find modules and kernels."""
    call = [sys.executable, "-m", "everypair", "recommend", str(path), "--user", user]
    spent = []
    with tempfile.TemporaryDirectory() as modules:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": modules}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for _ in range(1 + runs):
            before = os.times()
            subprocess.run(call, env=environment, check=True, stdout=subprocess.DEVNULL)
            after = os.times()
            spent.append(sum(after[2:4]) - sum(before[2:4]))
    return float(np.median(spent[1:]))


def measured(options: argparse.Namespace) -> dict[str, Any]:
    """Percentiles of CPU milliseconds for every question and model."""
    if options.data == "generated":
        train = generate(*GENERATED)
    else:
        train = datasets.sparse(datasets.read(options.data), "train")
    train = sp.csr_matrix(train, dtype=np.float32)
    events = Events(train, *(Ids([f"{kind}{p:05d}" for p in range(s)]) for kind, s in zip("ui", train.shape)), None, 0)
    asked = Asked.drawn(train, options.rounds)
    common = {"random_state": 0, "n_threads": 1}
    makes: dict[str, Callable[[], Any]] = {
        f"OneClassMF({rank})": lambda rank=rank: everypair.OneClassMF(rank=rank, **common) for rank in options.ranks
    }
    makes |= {"ItemItem": lambda: everypair.ItemItem(n_threads=1), "Blend": lambda: everypair.Blend(**common)}
    calls: dict[tuple[str, str], Callable[[int], Any]] = {}
    ready, commands = {}, {}
    for name, make in makes.items():
        model = fitted(name, make, events, options.models)
        model.n_threads = 1
        with tempfile.TemporaryDirectory() as folder:
            model.save(Path(folder) / "model.ep")
            runs = 1 if options.smoke else COMMANDS
            commands[name] = round(commanded(Path(folder) / "model.ep", model.user_ids_[0], runs), 3)
        start = time.process_time()
        model.prepare()
        ready[name] = time.process_time() - start
        calls |= {(question, name): call for question, call in ours(model, asked).items()}
        if name.startswith("OneClassMF"):
            numbers = np.array(model.item_factors_).ravel()
            calls["read of V", name] = lambda t, numbers=numbers: read(numbers)
    if not options.alone:
        for library, make_peer in (("implicit", implicit_als), ("irspack", irspack_ials)):
            for rank in options.ranks:
                named = make_peer(rank, asked)
                calls |= {(question, f"{library}({rank})"): call for question, call in named.items()}
    if options.only:
        calls = {key: call for key, call in calls.items() if any(part in " ".join(key) for part in options.only)}
    spent: dict[tuple[str, str], list[float]] = {key: [] for key in calls}
    for call in calls.values():
        call(0), call(1 % options.rounds)
    load = machine()["load"]
    random, models = np.random.default_rng(0), list(dict.fromkeys(model for _, model in calls))
    for t in range(options.rounds):
        for model in random.permutation(models).tolist():
            own = {question: call for (question, one), call in calls.items() if one == model}
            next(iter(own.values()))(t - 1)
            for question, call in own.items():
                if question.startswith("batch") and t % BATCH_EVERY:
                    continue
                start = time.process_time()
                call(t)
                spent[question, model].append(1e3 * (time.process_time() - start))
    rows: dict[str, dict[str, Any]] = {}
    for (question, name), times in spent.items():
        each = int(question.rpartition(" ")[2]) if question.startswith("batch") else 1
        p50, p99 = np.quantile(times, [0.5, 0.99]) / each
        rows.setdefault(question, {})[name] = {"p50": round(float(p50), 4), "p99": round(float(p99), 4)}
    shape = {"data": options.data, "users": train.shape[0], "items": train.shape[1], "pairs": int(train.nnz)}
    return {
        "machine": machine() | {"load": load}, **shape, "rounds": options.rounds, "ranks": options.ranks,
        "ready": ready, "commands": commands, "rows": rows,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--report", action="store_true", help="only write the page's tables from latency.json")
    parser.add_argument("--data", default="yelp2018", help='a data set with a published split, or "generated"')
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--ranks", type=int, nargs="+", default=[64, 256])
    parser.add_argument("--models", type=Path, help="folder that keeps fitted models from run to run")
    parser.add_argument("--only", nargs="+", help="questions or models whose names hold one of these")
    parser.add_argument("--alone", action="store_true", help="without other libraries")
    options = parse(parser, RESULTS, rounds=2, ranks=[4])
    path = options.results / "latency.json"
    if not options.report:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # other libraries warn about their own dependencies
            for library in () if options.alone else LIBRARIES:
                importlib.import_module(library)  # with the BLAS whose threads are limited below
            with threadpool_limits(1, "blas"):
                record = measured(options)
        text = json.dumps(record, indent=1) + "\n"
        if not options.only:
            path.write_text(text)
    else:
        record = json.loads(path.read_text())
    print("\n".join(latency_page.lines(record)))
    if options.report and not options.smoke:
        latency_page.write_page(record)


if __name__ == "__main__":
    main()
