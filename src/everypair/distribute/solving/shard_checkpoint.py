"""Checkpoints of a training on a cluster: workers write their own shards, the client a manifest when all are written.

    folder/checkpoint.json         what the training is, its history, and the sweep whose shards are whole
    folder/sweep-000006/*.npy      factors of that sweep, and of the one before it, which momentum needs

The folder is any fsspec path that client and workers see. A training of the same data, parameters and shards goes on
from it with the same bits.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from everypair.check import integer
from everypair.distribute.output import absolute, write_atomically
from everypair.distribute.solving import work
from everypair.distribute.solving.sides import SIDES
from everypair.distribute.solving.solver import ShardedAlternating
from everypair.solvers.loop import Standing, StopRules, Sweep
from everypair.solvers.momentum import Momentum, MomentumState
from everypair.solvers.state import Factors
from everypair.training.fingerprint import fingerprint

MANIFEST = "checkpoint.json"
FREE = ("max_iter", "time_limit", "n_threads", "verbose", "callbacks")
FORMAT = 1
PARAMETERS = tuple(f"{side}_parameters" for side in SIDES)


class ShardCheckpoint:
    """Keep a training on a cluster in a folder after every so many sweeps; give it among the callbacks of ``fit``.

    Where the folder holds a checkpoint, ``fit`` goes on from it; a checkpoint of other data or parameters is refused
    (files of events or labels are told apart by their counts alone).
    ``random_state`` must be a number.

    >>> ShardCheckpoint("/shared/run-7", every=2)
    ShardCheckpoint('/shared/run-7', every=2)
    """

    sharded = True

    def __init__(self, folder: Any, every: int = 5) -> None:
        self.folder = absolute(folder)
        self.every = integer("every", every)

    def __repr__(self) -> str:
        return f"ShardCheckpoint({self.folder!r}, every={self.every})"

    def __call__(self, sweep: Sweep) -> None:
        """Nothing: training calls :meth:`resume` and :meth:`keep`."""

    def resume(self, identity: Any, solver: Any, rules: StopRules) -> Standing[Any] | None:
        """Return where the training stood when the manifest was written, ``None`` without one."""
        import fsspec

        files, folder = fsspec.core.url_to_fs(self.folder)
        if not files.exists(f"{folder}/{MANIFEST}"):
            files.makedirs(folder, exist_ok=True)
            return None
        with files.open(f"{folder}/{MANIFEST}", "rb") as stream:
            manifest = parsed_manifest(self.folder, stream.read())
        plain = _plain(solver)
        now = _described(identity, plain)
        differ = sorted(name for name in now if manifest["training"].get(name) != now[name])
        if differ:
            raise ValueError(
                f"{self.folder} is a checkpoint of another training ({', '.join(differ)}): delete it to start anew, or "
                "choose another folder."
            )
        if len(manifest["history"]) > rules.max_iter:
            raise ValueError(f"{self.folder} is at sweep {len(manifest['history'])}, beyond max_iter={rules.max_iter}.")
        there = _Folder(f"{self.folder}/{manifest['sweep']}", plain)
        state = there.read(manifest["state"])
        kept = state if manifest["kept"] is None else there.read(manifest["kept"])
        best = -np.inf if manifest["best"] is None else manifest["best"]
        return Standing(state, kept, manifest["history"], best, manifest["stale"])

    def keep(self, identity: Any, solver: Any, standing: Standing[Any]) -> None:
        """Have the workers write their shards, then write the manifest, if it is time to."""
        import fsspec

        if len(standing.history) % self.every:
            return
        files, folder = fsspec.core.url_to_fs(self.folder)
        sweep = f"sweep-{len(standing.history):06d}"
        files.makedirs(f"{folder}/{sweep}", exist_ok=True)
        plain = _plain(solver)
        there = _Folder(f"{self.folder}/{sweep}", plain)
        manifest = {
            "format": FORMAT,
            "training": _described(identity, plain),
            "sweep": sweep,
            "state": there.write(standing.state, "state"),
            "kept": None if standing.kept is standing.state else there.write(standing.kept, "kept"),
            "history": standing.history,
            "best": standing.best if np.isfinite(standing.best) else None,
            "stale": standing.stale,
        }
        there.wait()
        write_atomically(f"{self.folder}/{MANIFEST}", lambda stream: stream.write(json.dumps(manifest).encode()))
        for old in files.ls(folder, detail=False):
            name = str(old).rstrip("/").rpartition("/")[2]
            if name.startswith("sweep-") and name != sweep:
                files.rm(old, recursive=True)


def parsed_manifest(folder: str, content: bytes) -> dict[str, Any]:
    """What a manifest says, once it is known to say all that is needed; nothing of it is a path outside the folder.

    >>> parsed_manifest("run-7", b'{"format": 2}')
    Traceback (most recent call last):
    ...
    ValueError: run-7 holds a checkpoint of version 2 of the format, and this EveryPair reads version 1: delete it ...
    """
    try:
        manifest = json.loads(content)
    except (ValueError, RecursionError) as failure:
        raise ValueError(f"{folder} holds a damaged checkpoint ({failure}): delete it to start anew.") from None
    if isinstance(manifest, dict) and manifest.get("format") != FORMAT:
        raise ValueError(
            f"{folder} holds a checkpoint of version {manifest.get('format')!r} of the format, and this EveryPair "
            f"reads version {FORMAT}: delete it to start anew."
        )
    match manifest:
        case {
            "training": dict(), "sweep": str(sweep), "state": dict(state), "kept": kept, "history": list(history),
            "best": best, "stale": int(),
        } if (
            _is_name(sweep)
            and _is_state(state)
            and (kept is None or _is_state(kept))
            and all(isinstance(entry, dict) for entry in history)
            and (best is None or isinstance(best, int | float))
        ):  # fmt: skip
            return dict(manifest)
    raise ValueError(f"{folder} holds a checkpoint that is not what was written: delete it to start anew.")


def _is_name(name: Any) -> bool:
    """Whether something is the name of a file, and no path."""
    return isinstance(name, str) and bool(name) and not {"/", "\\", ":"} & set(name) and name.strip(".") != ""


def _is_state(entry: Any, inside: bool = False) -> bool:
    """Whether an entry of a manifest describes a state: its files by side, its numbers, and one state before it."""
    if not isinstance(entry, dict) or not isinstance(entry.get("momentum"), bool):
        return False
    known = {one.name for one in fields(MomentumState if entry["momentum"] else Factors)} | {"momentum"}
    needed = {*SIDES, "momentum"}
    if not needed <= set(entry) <= known:
        return False
    for name, value in entry.items():
        if name in SIDES:
            good = isinstance(value, list) and all(map(_is_name, value))
        elif name in PARAMETERS:
            good = value is None or _is_name(value)
        elif isinstance(value, dict):
            good = not inside and _is_state(value, inside=True)
        else:
            good = value is None or isinstance(value, bool | int | float | str)
        if not good:
            return False
    return True


@dataclass
class _Folder:
    """Shards of factors as files."""

    path: str
    solver: ShardedAlternating

    def __post_init__(self) -> None:
        self.writing: list[Any] = []

    def write(self, state: Factors, name: str) -> dict[str, Any]:
        """Start writing a state; return its entry in the manifest."""
        entry: dict[str, Any] = {"momentum": isinstance(state, MomentumState)}
        for one in fields(MomentumState if entry["momentum"] else Factors):
            value = getattr(state, one.name)
            if one.name in SIDES:
                entry[one.name] = [f"{name}-{one.name}-{number:05d}.npy" for number in range(len(value))]
                self.writing += [
                    self.solver.tasks.task("write-shard", _write, f"{self.path}/{file}", rows)
                    for file, rows in zip(entry[one.name], value)
                ]
            elif one.name in PARAMETERS and value is not None:
                entry[one.name] = f"{name}-{one.name}.npy"
                self.writing.append(
                    self.solver.tasks.task("write-weights", _write_array, f"{self.path}/{entry[one.name]}", value)
                )
            elif isinstance(value, Factors):
                entry[one.name] = self.write(value, f"{name}-{one.name}")
            elif value is None or isinstance(value, int | float | str):
                entry[one.name] = value
        return entry

    def wait(self) -> None:
        """Until all shards are written."""
        self.solver.tasks.get(self.writing)

    def read(self, entry: dict[str, Any]) -> Factors:
        """A state whose shards are read by the workers."""
        values: dict[str, Any] = {name: value for name, value in entry.items() if name != "momentum"}
        for name in SIDES:
            side = self.solver.sides[SIDES.index(name)]
            if len(entry[name]) != len(side.shards):
                raise ValueError(f"{self.path} has not one file for each of the {len(side.shards)} shards: delete it.")
            read = [
                self.solver.tasks.task("read-shard", _read, f"{self.path}/{file}", shard, place=place)
                for file, shard, place in zip(entry[name], side.shards, side.places)
            ]
            values[name] = self.solver.tasks.start(read)
        for name, side in zip(PARAMETERS, self.solver.sides):
            if entry.get(name) is not None:
                assert side.features is not None
                read = [
                    self.solver.tasks.task(
                        "read-weights", _read_array, f"{self.path}/{entry[name]}", place=side.features.home
                    )
                ]
                values[name] = self.solver.tasks.start(read)[0]
        if isinstance(values.get("before"), dict):
            values["before"] = self.read(values["before"])
        return (MomentumState if entry["momentum"] else Factors)(**values)


def _plain(solver: Any) -> ShardedAlternating:
    plain = solver.solver if isinstance(solver, Momentum) else solver
    assert isinstance(plain, ShardedAlternating)
    return plain


def _described(identity: Any, solver: ShardedAlternating) -> dict[str, Any]:
    model, *data = identity
    parameters = model.get_params(deep=False)
    if not isinstance(parameters["random_state"], int | np.integer):
        raise ValueError(
            f"a checkpoint needs a number as random_state, got {parameters['random_state']!r}: otherwise the training "
            "that goes on is another one."
        )
    prints = {f"parameter {name}": fingerprint(value) for name, value in parameters.items() if name not in FREE}
    borders = [[list(chunk) for chunk in side.borders] for side in solver.sides]
    return {"class": type(model).__name__, "data": fingerprint(data), "shards": borders, **prints}


def _write(path: str, rows: work.Rows) -> None:
    _write_array(path, rows.factors)


def _write_array(path: str, array: Any) -> None:
    write_atomically(path, lambda stream: np.save(stream, array, allow_pickle=False))


def _read(path: str, shard: work.Shard) -> work.Rows:
    return work.begin(shard, _read_array(path))


def _read_array(path: str) -> Any:
    import fsspec

    with fsspec.open(path, "rb") as stream:
        return np.load(stream, allow_pickle=False)
