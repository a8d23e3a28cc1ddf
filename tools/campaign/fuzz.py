"""Inputs of every reader, changed by chance and by what they reach, in one process, some thousands a second.

    python tools/campaign/fuzz.py [TARGET …] --minutes 9 [--seed N] [--results tools/campaign/fuzz.json]

An input that reaches a line of the library that none reached before is changed further (``sys.monitoring`` where Python
has it, else a trace of every 16th input). Bytes are flipped, cut, doubled and spliced; files of models and checkpoints
are besides changed by what they mean, with all checksums made to fit. Each input must be read, or refused by one of the
errors that the reader promises, within a second or two and a gigabyte; whatever else comes, an end of the process
included, is a failure. Counts are added to those of the file of results.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import datetime
import io
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[1] / "tests")]

import corrupt_model_files as forging  # noqa: E402
import numpy as np  # noqa: E402

import everypair  # noqa: E402

RESULTS = HERE / "fuzz.json"
SOURCE = os.path.dirname(everypair.__file__) + os.sep
MEMORY = 2**30  # bytes of address space beyond what the process has
SECONDS = 20  # for one input, on a machine that others use too
TRACED = 16  # every so many inputs are traced where a trace costs time
WORDS = (
    b",", b";", b"\t", b"|", b"\n", b"\r\n", b'"', b'""', b"'", b"\x00", b"\xff", b"\xef\xbb\xbf", b"NaN", b"nan",
    b"inf", b"-inf", b"1e999", b"-0", b"9223372036854775808", b"-1", b"1e-320", b"0x10", b"2024-02-30",
    b"2024-01-01T00:00:00Z",
    b"user", b"item", b"weight", b"time", b"NULL", b"None", b"{", b"}", b"[", b"]", b":", b"true", b"null", b"#", b" ",
    b"\xc3\xa9", b"\xed\xa0\x80", b"0", b"1", b"00", b"_", b"=", b"'''", b"\\", b"\\u0000", b"\x1f\x8b", b"PAR1",
)  # fmt: skip


@dataclass
class Target:
    """Something that reads: its seeds, how it reads, what it may raise, and how its inputs are changed."""

    name: str
    seeds: Callable[[], list[bytes]]
    read: Callable[[bytes], Any]
    refuses: tuple[type[Exception], ...] = (ValueError,)
    change: Callable[[bytes, np.random.Generator, Sequence[bytes]], bytes] | None = None


@dataclass
class Tally:
    """What came of a target's inputs."""

    inputs: int = 0
    seconds: float = 0.0
    lines: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    failures: list[dict[str, str]] = field(default_factory=list)


class Coverage:
    """Lines of the library that were reached: an input is news if it reached one first."""

    def __init__(self) -> None:
        self.seen: set[tuple[str, int]] = set()
        self.news = False
        self.cheap = hasattr(sys, "monitoring")
        if self.cheap:
            tool, monitoring = sys.monitoring.COVERAGE_ID, sys.monitoring
            monitoring.use_tool_id(tool, "everypair campaign")
            monitoring.register_callback(tool, monitoring.events.LINE, self.reached)
            monitoring.set_events(tool, monitoring.events.LINE)

    def reached(self, code: Any, line: int) -> Any:
        """A line's first event; ``sys.monitoring`` need not tell of it again."""
        if code.co_filename.startswith(SOURCE):
            self.add(code.co_filename, line)
        return sys.monitoring.DISABLE

    def add(self, name: str, line: int) -> None:
        if (name, line) not in self.seen:
            self.seen.add((name, line))
            self.news = True

    def trace(self, frame: Any, event: str, argument: Any) -> Any:
        """For ``sys.settrace``: lines of the library alone."""
        if not frame.f_code.co_filename.startswith(SOURCE):
            return None
        if event == "line":
            self.add(frame.f_code.co_filename, frame.f_lineno)
        return self.trace

    @contextlib.contextmanager
    def watching(self, number: int) -> Iterator[None]:
        """Note what an input reaches."""
        self.news = False
        traced = not self.cheap and number % TRACED == 0
        if traced:
            sys.settrace(self.trace)
        try:
            yield
        finally:
            if traced:
                sys.settrace(None)


def changed_bytes(whole: bytes, chance: np.random.Generator, corpus: Sequence[bytes]) -> bytes:
    """One to four changes that know nothing of a format but its words."""
    data = bytearray(whole)
    for _ in range(int(chance.integers(1, 5))):
        kind, place = int(chance.integers(8)), int(chance.integers(len(data) + 1))
        if kind == 0 and data:
            data[place % len(data)] ^= 1 << int(chance.integers(8))
        elif kind == 1 and data:
            data[place % len(data)] = int(chance.integers(256))
        elif kind == 2:
            data[place:place] = WORDS[int(chance.integers(len(WORDS)))]
        elif kind == 3:
            del data[place : place + int(chance.integers(1, 40))]
        elif kind == 4:
            del data[place:]
        elif kind == 5:
            piece = data[place : place + int(chance.integers(1, 60))]
            data[place:place] = piece * int(chance.integers(1, 4))
        elif kind == 6 and corpus:
            other = corpus[int(chance.integers(len(corpus)))]
            cut = int(chance.integers(len(other) + 1))
            data[place:] = other[cut : cut + 4096]
        else:
            word = WORDS[int(chance.integers(len(WORDS)))]
            data[place : place + len(word)] = word
    return bytes(data[:16384])


def forged(whole: bytes, chance: np.random.Generator, corpus: Sequence[bytes]) -> bytes:
    """A model file or checkpoint changed blindly, or by its meaning with checksums made to fit."""
    if whole and chance.random() < 0.3:
        return forging.blind(whole, chance)
    try:
        return forging.knowing(whole, chance)
    except Exception:  # what was changed before is no file that can be changed by its meaning
        return changed_bytes(whole, chance, corpus)


def by_path(read: Callable[[Path], Any], suffix: str) -> Callable[[bytes], Any]:
    """A reader of paths as one of bytes."""
    path = Path(tempfile.mkdtemp(dir=forging.IN_MEMORY)) / f"input{suffix}"

    def of_bytes(data: bytes) -> Any:
        path.write_bytes(data)
        return read(path)

    return of_bytes


def model_seeds() -> list[bytes]:
    return forging.examples()


def load_and_ask(path: Path) -> Any:
    """Load a model; of some of those that load everything is asked, whatever that raises."""
    model = everypair.load(path, mmap=path.stat().st_size % 2 == 0)
    if path.stat().st_size % 8 == 0:
        forging.ask(model, np.random.default_rng(0), 2)
    return model


def training() -> tuple[Any, Any, Any]:
    """A model, its data and its rules, for checkpoints."""
    from everypair.solvers.loop import StopRules

    return everypair.OneClassMF(rank=2, max_iter=3, random_state=0, n_threads=1), np.eye(6), StopRules(9, 0.0)


def checkpoint_seeds() -> list[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for name, data in (("one", np.eye(6)), ("two", np.ones((5, 4)))):
            keep = everypair.Checkpoint(f"{folder}/{name}", every=1)
            model, *_ = training()
            model.fit(data, callbacks=[keep])
            files.append(Path(f"{folder}/{name}").read_bytes())
        return files


def resume(path: Path) -> Any:
    """Take a checkpoint's word for it that it is of this training, so that what it holds is read too."""
    model, data, rules = training()
    keep = everypair.Checkpoint(path)
    keep._compare = lambda values, identity: None  # type: ignore[method-assign]
    return keep.resume((model, data), Recalls(), rules)


class Recalls:
    """A solver that has nothing to remember."""

    def recall(self, memory: Any, state: Any) -> None: ...


def manifest_seeds() -> list[bytes]:
    shards = {"left": ["state-left-00000.npy"], "right": ["state-right-00000.npy"], "objective": 1.5, "momentum": False}
    training = {"class": "OneClassMF", "data": "ab", "shards": [[[0, 3]], [[0, 2]]], "parameter rank": "cd"}
    whole = {
        "format": 1, "training": training, "sweep": "sweep-000002", "state": shards, "kept": None,
        "history": [{"iteration": 1, "objective": 2.0, "seconds": 0.1}], "best": None, "stale": 0,
    }  # fmt: skip
    before = {**shards, "momentum": True, "before": shards, "beta": 0.5}
    return [json.dumps(whole).encode(), json.dumps({**whole, "kept": before, "best": 0.5, "state": before}).encode()]


def changed_json(whole: bytes, chance: np.random.Generator, corpus: Sequence[bytes]) -> bytes:
    """JSON by its meaning, and as bytes."""
    if chance.random() < 0.4:
        return changed_bytes(whole, chance, corpus)
    try:
        tree = json.loads(whole)
        for _ in range(int(chance.integers(1, 4))):
            forging.change_tree(tree, chance)
        return json.dumps(tree).encode()
    except Exception:
        return changed_bytes(whole, chance, corpus)


def read_manifest(data: bytes) -> Any:
    from everypair.distribute.solving.shard_checkpoint import parsed_manifest

    return parsed_manifest("folder", data)


def config_seeds() -> list[bytes]:
    from everypair.cli.config import write_config

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.toml"
        found = []
        for command, options in (
            ("tune", {"events": Path("e.csv"), "output": Path("m.ep"), "budget": 3.5, "space": ["reg=0.01:1"]}),
            ("serve", {"models": ["a.ep", "b.ep=10%"], "port": 8000, "watch": True, "items": "i.csv"}),
            ("fit", {"events": 'a"b', "rank": 64, "features": ["f.csv", "g.csv"]}),
        ):  # fmt: skip
            write_config(path, command, options)
            found.append(path.read_bytes())
        return found


def read_config(path: Path) -> Any:
    from everypair.cli.config import parse

    return parse(path)


def csv_seeds() -> list[bytes]:
    return [
        b"user,item,weight,time\nann,blue,1.5,2024-01-02\nbob,rain,2,2024-01-03T04:05:06Z\nann,rain,-1,2023-05-06\n",
        b"1\t10\t5\t100\n2\t20\t3\t200\n1\t20\t4\t300\n",
        b'user;item;rating\n"a;1";"b ""2""";3\n"c\nd";e;4\n',
        b"1 5\n2 6\n3 5\n", b"\xef\xbb\xbfuser|item\r\n\xc3\xa9|1\r\nb|2\r\n",
        b"a::b::3::4\nc::d::5::6\n",
    ]  # fmt: skip


def jsonl_seeds() -> list[bytes]:
    return [
        b'{"user": "ann", "item": "blue", "weight": 2}\n{"user": "bob", "item": "rain", "weight": 1.5}\n',
        b'{"user": 1, "item": 7, "time": "2024-01-01"}\n{"user": 2, "item": 8, "time": null}\n',
    ]


def quiet(read: Callable[..., Any], **options: Any) -> Callable[[Path], Any]:
    return lambda path: read(path, verbose=False, **options)


def items_seeds() -> list[bytes]:
    return [
        b"item,title,kind,price\nblue,Blue,colour,3\nrain,Rain|Snow,weather,4.5\n",
        b'id;name;when\nblue;"a;b";2024-01-01\niron;c;\n', b"item\tname\nblue\tBl\xc3\xa9u\n",
    ]  # fmt: skip


def read_items(path: Path) -> Any:
    from everypair.data.ids import Ids
    from everypair.data.item_table import ItemTable

    return ItemTable.read(path, Ids(["blue", "rain", "iron"]))


def xc_seeds() -> list[bytes]:
    return [b"3 4 2\n0,1 0:1.5 3:2\n1 1:0.5\n 2:1\n", b"2 3 2\n0 0:1\n1 2:1e3\n"]


def svm_seeds() -> list[bytes]:
    return [b"0,1 1:1.5 3:2 # note\n1 2:0.5\n", b"1 1:1\n0 4:-2\n"]


def read_labels(format: str) -> Callable[[Path], Any]:
    from everypair.data import read_multilabel

    return lambda path: read_multilabel(path, format=format)


def feature_seeds() -> list[bytes]:
    return [
        b"item,words,year\nblue,a calm sea,2001\nrain,drops on a roof,1999\niron,,2003\n",
        b"item,kind,score\nblue,a|b,0.5\nrain,b,\niron,,7\n",
    ]


def read_features(path: Path) -> Any:
    from everypair.data.ids import Ids
    from everypair.features import table_features

    return table_features(path, Ids(["blue", "rain", "iron"]), absent="zeros", verbose=False)


def edge_seeds() -> list[bytes]:
    return [b"source,target\nblue,rain\nrain,iron\n", b"from to\nblue rain\nrain blue\n"]


def read_edges(path: Path) -> Any:
    from everypair.data.ids import Ids
    from everypair.features import edge_graph

    return edge_graph(path, Ids(["blue", "rain", "iron"]), header=True, verbose=False)


def arrow_seeds(kind: str) -> list[bytes]:
    import pyarrow as pa
    from pyarrow import feather, parquet

    table = pa.table({"user": ["ann", "bob", "ann"], "item": [1, 2, 3], "weight": [1.0, 2.0, 0.5]})
    stream = io.BytesIO()
    if kind == "parquet":
        parquet.write_table(table, stream, compression="none")
    else:
        feather.write_feather(table, stream, compression="uncompressed")
    return [stream.getvalue()]


def npz_seeds() -> list[bytes]:
    stream = io.BytesIO()
    np.savez(stream, user=np.array([1, 2, 1]), item=np.array([3, 4, 4]), weight=np.array([1.0, 2.0, 0.5]))
    return [stream.getvalue()]


def targets() -> dict[str, Target]:
    """Everything that reads bytes which somebody else may have written."""
    from everypair.store import ModelFileError

    events = everypair.read_events
    return {one.name: one for one in (
        Target("model", model_seeds, by_path(load_and_ask, ".ep"), (ModelFileError,), forged),
        Target("checkpoint", checkpoint_seeds, by_path(resume, ".ckpt"), (ValueError,), forged),
        Target("shard manifest", manifest_seeds, read_manifest, (ValueError,), changed_json),
        Target("config", config_seeds, by_path(read_config, ".toml")),
        Target("events, text", csv_seeds, by_path(quiet(events), ".csv"), (ValueError, TypeError)),
        Target("events, JSON lines", jsonl_seeds, by_path(quiet(events), ".jsonl"), (ValueError, TypeError)),
        Target("events, npz", npz_seeds, by_path(quiet(events), ".npz"), (ValueError, TypeError)),
        Target("items", items_seeds, by_path(read_items, ".csv"), (ValueError, TypeError)),
        Target("labels, xc", xc_seeds, by_path(read_labels("xc"), ".txt"), (ValueError, TypeError)),
        Target("labels, libsvm", svm_seeds, by_path(read_labels("libsvm"), ".svm"), (ValueError, TypeError)),
        Target("features", feature_seeds, by_path(read_features, ".csv"), (ValueError, TypeError)),
        Target("edges", edge_seeds, by_path(read_edges, ".csv"), (ValueError, TypeError)),
    )}  # fmt: skip


def outcome_of(target: Target, data: bytes) -> tuple[str, str | None]:
    """What comes of an input, and what is wrong with that."""
    try:
        target.read(data)
    except target.refuses as refusal:
        return ("refused", None) if len(str(refusal)) > 10 else ("refused", f"no sentence: {refusal!r}")
    except MemoryError:
        return "not enough memory", "it needs more than a gigabyte"
    except Exception as failure:
        place = traceback.extract_tb(failure.__traceback__)[-1]
        return "failed", f"{type(failure).__name__} in {Path(place.filename).name}, line {place.lineno}: {failure}"[
            :300
        ]
    return "read", None


def fuzz(target: Target, seed: int, seconds: float, count: int | None = None, now: Any = None) -> Tally:
    """Change inputs and read them for so many seconds, or so many of them; ``now`` is where each is noted before."""
    tally, begin, coverage = Tally(), time.monotonic(), Coverage()
    chance = np.random.default_rng((seed, sum(target.name.encode())))
    pick = random.Random(f"{seed} {target.name}")
    corpus = target.seeds()
    change = target.change or changed_bytes
    for whole in corpus:
        with coverage.watching(0):
            told, wrong = outcome_of(target, whole)
    seen = set()
    while (time.monotonic() - begin < seconds) if count is None else tally.inputs < count:
        data = change(corpus[pick.randrange(len(corpus))], chance, corpus)
        if now is not None:
            now.seek(0)
            now.write(len(data).to_bytes(8, "little") + data)
            now.flush()
        signal.alarm(SECONDS)
        with coverage.watching(tally.inputs):
            told, wrong = outcome_of(target, data)
        tally.inputs += 1
        tally.counts[told] += 1
        if coverage.news:
            corpus.append(data)
        if wrong is not None and wrong.partition(":")[0] not in seen:
            seen.add(wrong.partition(":")[0])
            tally.failures.append({"why": wrong, "input": base64.b64encode(smaller(target, data, wrong)).decode()})
    signal.alarm(0)
    tally.seconds, tally.lines = round(time.monotonic() - begin, 1), len(coverage.seen)
    if coverage.cheap:
        sys.monitoring.free_tool_id(sys.monitoring.COVERAGE_ID)
    return tally


def smaller(target: Target, data: bytes, wrong: str) -> bytes:
    """Fewer bytes that fail in the same way: pieces are left out as long as it still does."""
    kind, until = wrong.partition(":")[0], time.monotonic() + 5
    size = max(1, len(data) // 2)
    while size:
        start = 0
        while start < len(data) and time.monotonic() < until:
            less = data[:start] + data[start + size :]
            _, other = outcome_of(target, less)
            if other is not None and other.partition(":")[0] == kind:
                data = less
            else:
                start += size
        size //= 2
    return data


def limited() -> None:
    """No more memory than a gigabyte beyond what is used, and an end where an input takes too long."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    warnings.simplefilter("ignore")


def work(name: str, seed: int, seconds: float, now: Path) -> None:
    """One target in this process; a line of JSON at the end."""
    target = targets()[name]
    for whole in target.seeds():  # nothing is imported or compiled for the first time in a case
        told = outcome_of(target, whole)
        assert told == ("read", None), f"a seed of {name} is not read: {told}"
    limited()
    with now.open("wb") as file:
        tally = fuzz(target, seed, seconds, now=file)
    print(json.dumps(vars(tally)))


def played(name: str, seed: int, seconds: float) -> dict[str, Any]:
    """One target in a process of its own; what ends the process is a failure of the input at hand."""
    with tempfile.TemporaryDirectory(dir=forging.IN_MEMORY) as folder:
        now = Path(folder) / "now"
        command = [sys.executable, __file__, name, "--worker", str(now), "--seed", str(seed), "--seconds", str(seconds)]
        ran = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
        if ran.returncode == 0:
            return dict(json.loads(ran.stdout.splitlines()[-1]))
        note = now.read_bytes() if now.exists() else b""
        data = note[8 : 8 + int.from_bytes(note[:8], "little")]
        why = f"the process ended ({ran.returncode}): {ran.stderr[-300:]}"
        failure = {"why": why, "input": base64.b64encode(data).decode()}
        return {**vars(Tally(inputs=1)), "failures": [failure], "counts": {"ended": 1}}


def added(before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """Counts of two runs of a target."""
    return {
        "inputs": before.get("inputs", 0) + now["inputs"],
        "seconds": round(before.get("seconds", 0) + now["seconds"], 1),
        "lines": max(before.get("lines", 0), now["lines"]),
        "counts": dict(sorted((Counter(before.get("counts", {})) + Counter(now["counts"])).items())),
        "failures": before.get("failures", []) + now["failures"],
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", help="all of them unless named")
    parser.add_argument("--minutes", type=float, default=2.0, help="of all targets together")
    parser.add_argument("--seed", type=int, default=int(datetime.date.today().strftime("%Y%m%d")))
    parser.add_argument("--results", type=Path, help="JSON file whose counts are added to")
    parser.add_argument("--input", help="one input again, in base64")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(options.targets[0], options.seed, options.seconds, options.worker)
        return
    known = targets()
    names = options.targets or list(known)
    if options.input:
        known[names[0]].read(base64.b64decode(options.input))
        return
    print(f"seed {options.seed}")
    record = json.loads(options.results.read_text()) if options.results and options.results.exists() else {}
    failed = False
    for name in names:
        found = played(name, options.seed, 60 * options.minutes / len(names))
        rate = found["inputs"] / max(found["seconds"], 1e-9)
        print(
            f"{name}: {found['inputs']:,} inputs, {rate:,.0f}/s, {found['lines']} lines, {found['counts']}", flush=True
        )
        for failure in found["failures"]:
            failed = True
            print(f"  FAILED: {failure['why']}\n    {name!r} --input {failure['input']}")
        record[name] = added(record.get(name, {}), found)
        if options.results:
            options.results.write_text(json.dumps(record, indent=1) + "\n")
    sys.exit(failed)


if __name__ == "__main__":
    main()
