"""Corrupt model files at random and load them: a sentence each time, no crash, no hang, no code run, little memory.

    python tools/corrupt_model_files.py --count 100000

Half of the corruptions are blind (bits flipped, bytes replaced, inserted or cut off): every one must be refused. The
other half are made by somebody who knows the format: a value of the header or bytes of an array are changed and all
checksums made to fit. Such a file may load, and is then asked for answers: these may be wrong or an exception, but must
not crash or hang. Everything runs in a subprocess with limits of memory and time; a crash is reported with the case's
number, which ``--first`` repeats.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import hashlib
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import tracemalloc
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from everypair import BPR, MLRM, Blend, EnsembleMF, ItemItem, MultiLabelMF, OneClassMF, SubsampledMF, load
from everypair.models.multilabel import Kernel
from everypair.store import ModelFileError
from everypair.store.layout import PREFIX, START, aligned, prefix

MEMORY = 2**30  # bytes of address space beyond what the worker has at its start
SECONDS = 20  # for one case
ODD = (None, True, -1, 0, 1, 3, 2**31, 2**63, 10**30, -0.5, 1e308, "", "x", "nan", [], [[]], {}, {"array": "state"},
       {"float": "inf"}, {"tuple": []}, {"dtype": "<f8"}, "|O", "<f8", "F")  # fmt: skip
RUNS = ("exec", "compile", "os.", "subprocess.", "pickle.", "marshal.", "ctypes.dlopen", "socket.", "shutil.", "import")
CASES_PER_PROCESS = 10_000
IN_MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None  # files that are written this often


def examples() -> list[bytes]:
    """Files of models with all kinds of parts."""
    random = np.random.default_rng(0)
    events = (random.random((14, 11)) < 0.4) * random.uniform(0.5, 2, (14, 11))
    likes, left, right = (events > 0).astype(float), random.random((14, 3)), random.random((11, 2))
    X, Y = random.random((30, 4)), (random.random((30, 5)) < 0.4).astype(int)
    few: dict[str, Any] = {"rank": 2, "max_iter": 2, "random_state": 0, "n_threads": 1}
    arrays = {"negative_scheme": (np.ones(14), np.ones(11)), "negative_value": (np.ones((14, 1)), np.ones((11, 1)))}
    models = [
        OneClassMF(**few, biases=True).fit(events, user_features=left, item_features=right),
        OneClassMF(**few, **arrays).fit(events, targets=events),
        SubsampledMF(**few).fit(events),
        EnsembleMF(n_models=2, **few).fit(events),
        BPR(**few).fit(events),
        ItemItem(neighbors=3, n_threads=1).fit(events, item_features=right),
        Blend(models=[OneClassMF(**few), ItemItem(neighbors=2, n_threads=1)], random_state=0, n_threads=1).fit(likes),
        MultiLabelMF(**few, reg=0.1, kernel=Kernel(landmarks=5)).fit(X, Y),
        MLRM(nuclear_reg=0.5, l1_reg=0.1, max_iter=2, n_threads=1).fit(
            events, likes > 0, left_features=left, right_features=right
        ),
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.ep"
        files = []
        for number, model in enumerate(models):
            model.save(path, serve_only=bool(number % 2))
            files.append(path.read_bytes())
    return files


def blind(whole: bytes, random: np.random.Generator) -> bytes:
    """Some bytes are other ones, missing or too many."""
    data = bytearray(whole)
    near_start = random.random() < 0.5
    place = int(random.integers(min(len(data), 200) if near_start else len(data)))
    kind = random.integers(6)
    if kind == 0:
        data[place] ^= 1 << int(random.integers(8))
    elif kind == 1:
        data[place] = (data[place] + int(random.integers(1, 256))) % 256
    elif kind == 2:
        length = int(random.integers(1, 100))
        data[place : place + length] = random.bytes(length)
    elif kind == 3:
        del data[place:]
    elif kind == 4:
        data[place:place] = random.bytes(int(random.integers(1, 70)))
    else:
        del data[place : place + int(random.integers(1, 70))]
    return bytes(data)


def knowing(whole: bytes, random: np.random.Generator) -> bytes:
    """The header or an array says something else, and all checksums fit."""
    length = PREFIX.unpack(whole[: PREFIX.size])[3]
    content = json.loads(whole[START : START + length])
    data = bytearray(whole[START + length :])
    if random.random() < 0.3 and content["arrays"]:
        change_bytes(content["arrays"][random.integers(len(content["arrays"]))], data, random)
    for _ in range(int(random.integers(0 if random.random() < 0.3 else 1, 4))):
        change_tree(content["arrays" if random.random() < 0.3 else "values"], random)
    text = json.dumps(content).encode()
    text = text.ljust(aligned(len(text)))
    return prefix(1, text, START + len(text) + len(data)) + text + bytes(data)


def change_bytes(entry: dict[str, Any], data: bytearray, random: np.random.Generator) -> None:
    size = int(np.prod(entry["shape"])) * np.dtype(entry["dtype"]).itemsize
    if not size:
        return
    for _ in range(int(random.integers(1, 5))):
        data[entry["offset"] + int(random.integers(size))] = int(random.choice([0, 1, 127, 255, random.integers(256)]))
    entry["sha256"] = hashlib.sha256(data[entry["offset"] : entry["offset"] + size]).hexdigest()


def places(tree: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) of a tree."""
    found = []
    for key in list(tree) if isinstance(tree, dict) else range(len(tree)):
        found.append((tree, key))
        if isinstance(tree[key], dict | list):
            found += places(tree[key])
    return found


def change_tree(tree: Any, random: np.random.Generator) -> None:
    """One value is replaced by an odd one, by another of the tree, moved a little, dropped or doubled."""
    if not (known := places(tree)):
        return
    (inside, key), (other, other_key) = known[random.integers(len(known))], known[random.integers(len(known))]
    kind, value = random.integers(6), inside[key]
    if kind == 0:
        inside[key] = copy.deepcopy(ODD[random.integers(len(ODD))])
    elif kind == 1:
        inside[key] = copy.deepcopy(other[other_key])
    elif kind == 2 and isinstance(value, int | float):
        inside[key] = value + int(random.choice([-1, 1, 64, -64])) if random.random() < 0.7 else -value
    elif kind == 3:
        del inside[key]
    elif kind == 4 and isinstance(inside, list):
        inside.append(copy.deepcopy(value))
    elif kind == 5 and isinstance(inside, dict):
        inside[str(other_key)] = copy.deepcopy(value)
    else:
        shape = [1, 2, 3, 11, 14]
        inside[key] = int(random.choice(shape)) if isinstance(value, int) else copy.deepcopy(other[other_key])


def ask(model: Any, random: np.random.Generator, count: int = 4) -> None:
    """Some of everything that reaches kernels."""
    questions = (
        lambda: model.recommend([0, 5], n=3),
        lambda: model.recommend(n=3),
        lambda: model.recommend(interactions=np.eye(2, 11), n=3),
        lambda: model.recommend(features=np.ones((1, 3)), n=2),
        lambda: model.score_pairs([0, 1], [2, 3]),
        lambda: model.similar_items([0], n=2),
        lambda: model.explain(0, 1),
        lambda: model.fold_in_items(np.eye(14, 2)),
        lambda: model.add_users(interactions=np.eye(1, 11)),
        lambda: model.complete(),
        lambda: model.predict(random.random((3, 4))),
        lambda: model.predict_topk(random.random((3, 4)), 2),
    )
    for number in random.permutation(len(questions))[:count]:
        with contextlib.suppress(Exception):
            questions[number]()


class Watch:
    """Notes whatever runs code or touches the system while it is on."""

    def __init__(self) -> None:
        self.on, self.seen = False, list[str]()
        sys.addaudithook(self.hear)

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.on and event.startswith(RUNS):
            self.seen.append(f"{event}{arguments!r}"[:200])


def work(first: int, count: int, seed: int, report: Path) -> None:
    """Run cases and note each before it starts; a line of JSON at the end."""
    warnings.simplefilter("ignore")
    files = examples()
    for whole in files:  # nothing is imported or compiled for the first time in a case
        (report.parent / "case.ep").write_bytes(whole)
        model = load(report.parent / "case.ep")
        ask(model, np.random.default_rng(0), 100)
        repr(model)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    watch, results, bad = Watch(), Counter[str](), list[str]()
    path = report.parent / "case.ep"
    note = os.open(report, os.O_WRONLY | os.O_CREAT)
    for number in range(first, first + count):
        random = np.random.default_rng((seed, number))
        os.pwrite(note, f"{number:<12}".encode(), 0)
        whole = files[random.integers(len(files))]
        careful = bool(number % 2)
        damaged = (knowing if careful else blind)(whole, random)
        if not careful and damaged == whole:
            results["unchanged"] += 1
            continue
        path.write_bytes(damaged)
        signal.alarm(SECONDS)
        model, outcome = None, "loaded"
        tracemalloc.start()
        watch.on = True
        try:
            model = load(path, mmap=bool(random.integers(2)))
        except ModelFileError:
            outcome = "refused"
        except BaseException as failure:
            outcome = f"raised {type(failure).__name__}"
            bad.append(f"case {number}: {failure!r}"[:300])
        watch.on = False
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        if peak > 40 * len(damaged) + 2**20:
            bad.append(f"case {number}: {peak:,} bytes allocated for a file of {len(damaged):,}")
        if watch.seen:
            bad.append(f"case {number}: {watch.seen}")
            watch.seen.clear()
        if model is not None and not careful:
            bad.append(f"case {number}: a corrupted file was loaded")
        if model is not None:
            ask(model, random)
        results[f"{'knowing' if careful else 'blind'}: {outcome}"] += 1
    signal.alarm(0)
    print(json.dumps({"results": results, "bad": bad}))


def run(count: int, seed: int, first: int = 0) -> tuple[Counter[str], list[str]]:
    """Run all cases in subprocesses; after a crash or a hang the next one goes on with the case after it."""
    results, bad = Counter[str](), list[str]()
    last = first + count
    while first < last:
        with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
            report = Path(folder) / "report"
            command = [sys.executable, __file__, "--worker", str(report), "--first", str(first), "--count",
                       str(min(last - first, CASES_PER_PROCESS)), "--seed", str(seed)]  # fmt: skip
            ran = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
            if ran.returncode == 0:
                said = json.loads(ran.stdout.splitlines()[-1])
                results.update(said["results"])
                bad += said["bad"]
                first += CASES_PER_PROCESS
                print(f"{min(first, last)} cases: {dict(results)}", file=sys.stderr, flush=True)
                continue
            if not report.exists():
                raise RuntimeError(ran.stderr)
            crashed = int(report.read_text())
            why = "hung" if ran.returncode == -signal.SIGALRM else f"ended the process ({ran.returncode})"
            bad.append(f"case {crashed} {why}: {ran.stderr[-300:]}")
            more = run(crashed - first, seed, first)  # what the ended process did not come to report
            results.update(more[0])
            bad += more[1]
            first = crashed + 1
    return results, bad


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker is not None:
        work(options.first, options.count, options.seed, options.worker)
        return
    results, bad = run(options.count, options.seed, options.first)
    for what, how_often in sorted(results.items()):
        print(f"{how_often:>8,}  {what}")
    print(f"{len(bad):>8,}  bad")
    print("\n".join(bad[:50]))
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
