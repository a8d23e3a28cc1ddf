"""TwoTower beside OneClassMF, and beside the same towers with sampled softmax and BPR, at equal CPU time.

    python experiments/esl/beside.py [--data ml1m citeulike_t generated] [--seconds 60] [--refit] [--report]

ml1m         ids alone, a twentieth of the training pairs is the validation; ml1m_9to1 with another split
ml1m_cold    cold items: known by their genres, directors and actors alone
citeulike_t  cold items: not in training, known by their words (tf-idf) alone; a seventh of the items is for the test,
             one for validation; only they are ranked
generated    cold items whose taste is the exclusive or of two of their features: no linear model can know it

A method's figures are those at its best validation MAP@5 within the budget. Sampled methods first try rates and sizes
of batches for a quarter of the budget each: a third and three times the rate, a quarter and four times the batch of the
best by validation, until it has no neighbour left to try (``--tries`` at most). ``--refit``: then every method is
trained on training and validation pairs together, for as many steps as were best. One core; CPU seconds of training
alone.
Methods run so far are kept in beside_<data>.json, and a run replaces those it names. Writes .md.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np
import scipy.sparse as sp
from common import RESULTS, cpu, datasets, figures, load, merged, one_core, parse, write
from sampled import Peer
from sklearn.feature_extraction.text import TfidfTransformer

from everypair import OneClassMF, Side
from everypair.data import Pairs, split_entries
from everypair.features.matrix import Features
from everypair.models.recommend.defaults import auto_negative_weight
from everypair.models.recommend.two_tower import REG_SHARE, mean_positives
from everypair.neural.functions import padded
from everypair.neural.inputs import Inputs
from everypair.neural.layers import Layers
from everypair.neural.linear_path import LinearPath, straight
from everypair.neural.objective import TowerObjective
from everypair.neural.optimizers.choose import make_optimizer
from everypair.neural.penalties import Penalties
from everypair.neural.towers import Perceptron
from everypair.problem.losses import get_loss
from everypair.problem.negatives import Negatives

METRICS = ("map@5", "ndcg@10", "recall@20")
KS = (5, 10, 20)
RATES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0)  # of sampled methods
BATCHES = (32, 128, 512, 2048, 8192, 32768)
FIRST = (4, 3)  # where the search begins in them
METHODS = {
    "tower": "TwoTower (adam, every pair)",
    "mf": "OneClassMF",
    "softmax": "same towers, sampled softmax",
    "bpr": "same towers, BPR",
}


class Task:
    """Training pairs, what is known of the items, and where the validation and the test are measured."""

    def __init__(self, train: Any, validation: Any, test: Any, words: Any = None, parts: Any = None) -> None:
        self.train, self.validation, self.test, self.words, self.parts = train, validation, test, words, parts

    @property
    def known(self) -> Any:
        """Features of the items to learn from."""
        return None if self.words is None else self.words[self.parts["train"]]

    def whole(self) -> Task:
        """Learn from the validation pairs too."""
        return Task(self.train + self.validation, sp.csr_matrix(self.train.shape, dtype=np.float32), self.test)

    def measured(self, left: Any, right: Any, names: tuple[str, ...] = ("validation", "test")) -> dict[str, Any]:
        """Metrics on both, or on one; ``right`` has factors of all items."""
        parts = {}
        for name in names:
            truth = self.validation if name == "validation" else self.test
            if self.parts is None:
                seen = self.train if name == "validation" else self.train + self.validation
                found = figures(left, right, seen, truth, KS)
            else:
                nothing = sp.csr_matrix(truth.shape, dtype=np.float32)
                found = figures(left, right[self.parts[name]], nothing, truth, KS)
            parts[name] = {metric: found[metric] for metric in METRICS}
        return parts


def warm_task(data: str) -> Task:
    train, test = load(data)
    train, validation = split_entries(train, 0.05, random_state=1)
    return Task(train, validation, test)


def cold_task(events: Any, words: Any, fold: int = 0) -> Task:
    """Items in seven parts: one for the test, one of the others for validation, five to learn from."""
    part = np.random.default_rng(0).permutation(events.shape[1]) % 7
    of = {"test": part == 0, "validation": part == 1 + fold, "train": (part != 0) & (part != 1 + fold)}
    of = {name: np.flatnonzero(columns) for name, columns in of.items()}
    matrices = [sp.csr_matrix(events[:, of[name]]) for name in ("train", "validation", "test")]
    return Task(*matrices, sp.csr_array(words), of)


def task_of(data: str, small: bool, fold: int = 0) -> Task:
    """The task of that name; with cold items, ``fold`` (0 to 5) says which seventh of the items is the validation."""
    if data == "ml1m_cold":
        archive = datasets.read("ml1m")
        known = [datasets.sparse(archive, f"item_{name}") for name in ("directors", "actors")]
        genres = archive["item_features"] if "item_features" in archive else datasets.sparse(archive, "item_features")
        return cold_task(
            datasets.positives("ml1m"), sp.hstack([sp.csr_array(genres), *known], format="csr", dtype="f4"), fold
        )
    if data in ("citeulike_t", "citeulike_t_cold"):
        archive = datasets.read("citeulike_t")
        words = TfidfTransformer(sublinear_tf=True).fit_transform(datasets.sparse(archive, "item_words"))
        return cold_task(datasets.at_least(datasets.sparse(archive, "all"), 1), words.astype(np.float32), fold)
    if data == "generated":
        return generated(*((80, 70) if small else (1500, 1400)), fold)
    return warm_task(data)


def generated(users: int, items: int, fold: int = 0) -> Task:
    """Users like items with x₁ xor x₂ = their own bit; eight more features say nothing."""
    random = np.random.default_rng(0)
    features = random.integers(0, 2, (items, 10)).astype(np.float32)
    kind, taste = features[:, 0] != features[:, 1], random.random(users) < 0.5
    likes = (random.random((users, items)) < 0.06) & (taste[:, None] == kind)
    likes |= random.random(likes.shape) < 0.01
    coded = np.hstack([features, 1 - features])  # one column for each value
    return cold_task(sp.csr_matrix(likes.astype(np.float32)), sp.csr_array(coded), fold)


def towers_of(task: Task, widths: tuple[int, ...], rank: int) -> tuple[Any, Any, Any]:
    """Users, items of training, all items."""
    m, n = task.train.shape
    inputs = [Inputs(m), Inputs(n), Inputs(n)]
    if task.words is not None:
        inputs[1:] = (Inputs(X.shape[0], False, Features(X, np.float32)) for X in (task.known, task.words))
    return tuple(Perceptron(one, Layers(widths, rank), np.dtype(np.float32)) for one in inputs)


def items_of(task: Task, theta: Any, widths: tuple[int, ...], rank: int) -> Any:
    """Factors of all items by their words, from the parameters of a TwoTower with a linear path and no ids of items."""
    words = sp.hstack([task.words, np.ones((task.words.shape[0], 1), np.float32)], format="csr")
    inputs = Inputs(task.words.shape[0], False, Features(words, np.float32))
    network = Perceptron(inputs, Layers(widths, rank), np.dtype(np.float32))
    return LinearPath(straight(inputs, rank, np.dtype(np.float32)), network).at(theta).factors


def along(step: Any, state: Any, factors: Any, task: Task, seconds: float, points: int) -> list[dict[str, Any]]:
    """Train for so many CPU seconds; measure now and then."""
    spent, found, steps = 0.0, [], 0
    while spent < seconds:
        begin = cpu()
        state = step(state)
        spent, steps = spent + cpu() - begin, steps + 1
        if spent >= seconds * (len(found) + 1) / points or spent >= seconds:
            found.append({"seconds": spent, "steps": steps, **task.measured(*factors(state))})
    return found


def best_of(points: list[dict[str, Any]]) -> dict[str, Any]:
    return max(points, key=lambda one: one["validation"]["map@5"])


def repeated(steps: int, step: Any, state: Any, factors: Any, task: Task) -> dict[str, Any]:
    """Train for so many steps; the test's figures."""
    begin = cpu()
    for _ in range(steps):
        state = step(state)
    return {"seconds": cpu() - begin, "steps": steps, **task.measured(*factors(state), ("test",))}


def mean_ridge(pairs: Any) -> float:
    """λ of all parameters where the embeddings have no ridge: in units of the mean positives of an entity."""
    return REG_SHARE * mean_positives(pairs)


def two_tower(task: Task, widths: tuple[int, ...], rank: int, rate: float | None = None, ridge: float = 1.0) -> Any:
    """Adam from a random start with one λ for all weights: step, first state, factors of a state.

    λ is ``ridge`` times 0.2 times the mean positives of an entity.
    """
    pairs, loss = Pairs.from_matrix(task.train), get_loss("logistic")
    negatives = Negatives.from_scheme(pairs, auto_negative_weight("auto", pairs, loss), "uniform", -1.0)
    *towers, everyone = towers_of(task, widths, rank)
    reg = ridge * mean_ridge(pairs)
    objective = TowerObjective(pairs, loss, negatives, towers, (Penalties.same(reg), Penalties.same(reg)))
    theta = tuple(tower.start(np.random.default_rng(side)) for side, tower in enumerate(towers))
    adam = make_optimizer("adam", objective, rate)
    adam.step(adam.fresh(theta))  # compiles
    state = adam.fresh(theta)
    return adam.step, state, lambda state: (towers[0].at(state.theta[0]).factors, everyone.at(state.theta[1]).factors)


def peer(kind: str, task: Task, widths: tuple[int, ...], rank: int, rate: float, batch: int) -> Any:
    """The same of a sampled method."""
    *towers, everyone = towers_of(task, widths, rank)
    words = None if task.words is None else padded(task.known)
    theta = tuple(tower.start(np.random.default_rng(side)) for side, tower in enumerate(towers))
    found = Peer(kind, (towers[0], everyone), task.train, rate, batch, words)
    found.step(found.start(theta))  # compiles
    return found.step, found.start(theta), found.factors


def trained(make: Any, task: Task, seconds: float, points: int, refit: bool) -> dict[str, Any]:
    found = {"points": along(*make(task), task, seconds, points)}
    if refit:
        whole = task.whole()
        found["refit"] = repeated(best_of(found["points"])["steps"], *make(whole), whole)
    return found


def tried_peer(
    kind: str, task: Task, widths: Any, rank: int, most: int, seconds: float, points: int, refit: bool
) -> dict[str, Any]:
    """At most so many rates and batches on a quarter of the budget each, then the best of them."""
    tried: dict[tuple[int, int], float] = {}
    while around := beside_the_best(tried):
        if len(tried) >= most:
            break
        for place in around[: most - len(tried)]:
            rate, batch = RATES[place[0]], BATCHES[place[1]]
            run = along(*peer(kind, task, widths, rank, rate, batch), task, seconds / 4, max(1, points // 4))
            tried[place] = best_of(run)["validation"]["map@5"]
            print(kind, rate, batch, tried[place], flush=True)
    rate, batch = (values[at] for values, at in zip((RATES, BATCHES), max(tried, key=tried.__getitem__)))
    found = trained(lambda task: peer(kind, task, widths, rank, rate, batch), task, seconds, points, refit)
    told = [{"rate": RATES[r], "batch": BATCHES[b], "validation": value} for (r, b), value in tried.items()]
    return {**found, "tried": told, "at_the_end": bool(around)}


def beside_the_best(tried: dict[tuple[int, int], float]) -> list[tuple[int, int]]:
    """Places in the grid of rates and batches to try next: the first, then rates beside the best, then batches."""
    if not tried:
        return [FIRST]
    rate, batch = max(tried, key=tried.__getitem__)
    rates = [(r, batch) for r in (rate - 1, rate + 1) if 0 <= r < len(RATES) and (r, batch) not in tried]
    return rates or [(rate, b) for b in (batch - 1, batch + 1) if 0 <= b < len(BATCHES) and (rate, b) not in tried]


def factorization(task: Task, rank: int, seconds: float, refit: bool) -> dict[str, Any]:
    """OneClassMF with its defaults: to its own end, which comes before the budget's."""
    model = OneClassMF(rank=rank, items=Side(own_vectors=task.words is None), random_state=0, n_threads=1)
    given = {} if task.words is None else {"item_features": task.known}
    model.set_params(max_iter=1).fit(task.train, **given)
    begin = cpu()
    model.set_params(max_iter=50, time_limit=seconds).fit(task.train, **given)
    spent = cpu() - begin
    right = model.item_factors_ if task.words is None else model.fold_in_items(features=task.words)
    found: dict[str, Any] = {"points": [{"seconds": spent, **task.measured(model.user_factors_, right)}]}
    if refit:
        whole = task.whole()
        model.fit(whole.train)
        found["refit"] = whole.measured(model.user_factors_, model.item_factors_, ("test",))
    return found


def report(record: dict[str, Any]) -> str:
    refit = any("refit" in found for found in record["methods"].values())
    lines = [
        f"# TwoTower beside others on {record['data']}",
        "",
        f"Towers {'-'.join(map(str, (*record['widths'], record['rank'])))}; {record['seconds']:g} CPU seconds on one "
        "core at most; figures at the best validation MAP@5.",
        "",
        "| method | MAP@5 | nDCG@10 | recall@20 | at CPU s | chosen |"
        + " refit: MAP@5 | nDCG@10 | recall@20 |" * refit,
        "|---|---|---|---|---|---|" + "---|---|---|" * refit,
    ]
    for short, method in METHODS.items():
        if short not in record["methods"]:
            continue
        found = record["methods"][short]
        best = best_of(found["points"])
        cells = [f"{best['test'][metric]:.4f}" for metric in METRICS] + [f"{best['seconds']:.0f}"]
        chosen = max(found.get("tried", []), key=lambda one: one["validation"], default=None)
        ended = ", not all neighbours tried" if found.get("at_the_end") else ""
        cells.append("defaults" if chosen is None else f"rate {chosen['rate']:g}, batch {chosen['batch']}{ended}")
        if refit:
            cells += [f"{found['refit']['test'][metric]:.4f}" if "refit" in found else "–" for metric in METRICS]
        lines.append(f"| {method} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=["ml1m", "citeulike_t", "generated"])
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--points", type=int, default=12)
    parser.add_argument("--tries", type=int, default=14, help="rates and batches that a sampled method tries at most")
    parser.add_argument("--widths", type=int, nargs="*", default=(256, 256))
    parser.add_argument("--rank", type=int, default=128)
    parser.add_argument("--refit", action="store_true", help="then train on validation pairs too (warm items only)")
    parser.add_argument("--report", action="store_true", help="only write the tables again, from the JSON")
    options = parse(parser, RESULTS, seconds=0.05, points=1, tries=3, widths=(4,), rank=3)
    for data in options.data:
        name = f"beside_{data}"
        path = options.results / f"{name}.json"
        if not options.report:
            one_core(options.smoke)
            task, widths, rank = task_of(data, options.smoke), tuple(options.widths), options.rank
            refit = options.refit and task.words is None
            budget = (options.seconds, options.points, refit)
            towers = (widths, rank, options.tries)
            about = {"data": data, "widths": widths, "rank": rank, "seconds": options.seconds}
            runs = {
                "tower": lambda: trained(lambda task: two_tower(task, widths, rank), task, *budget),  # noqa: B023
                "mf": lambda: factorization(task, rank, options.seconds, refit),  # noqa: B023
                "softmax": lambda: tried_peer("softmax", task, *towers, *budget),  # noqa: B023
                "bpr": lambda: tried_peer("BPR", task, *towers, *budget),  # noqa: B023
            }
            for short in options.methods:
                merged(options.results, name, about, "methods", {short: runs[short]()})
                print(data, short, "done", flush=True)
        elif not path.exists():
            raise SystemExit(f"{path} does not exist: run the script without --report first.")
        record = json.loads(path.read_text())
        write(options.results, name, record, report(record))
        print(report(record))


if __name__ == "__main__":
    main()
