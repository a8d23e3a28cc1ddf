"""What an answer over HTTP costs: `everypair serve` beside implicit in the same app, and beside FastAPI + implicit.

    python benchmarks/serve.py            # measure, write benchmarks/results/serve.json
    python benchmarks/serve.py --report   # write the tables of docs/serve.md from it

They run at once, a process each, with the same factors, ids and JSON, and so does the floor: uvicorn with an app that
always gives the same answer. One after the other, in an order drawn anew in every round, is asked for a few seconds by
1, 16 and 64 connections. CPU is that of the process that answers. Then a service is started with a warm and with an
empty cache of kernels.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import serve_peers
from generate import generate
from machine import machine
from serve_load import load, request

sys.path.insert(0, str(Path(__file__).parents[1] / "experiments"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))
from serve_page import write_page
from service import serving
from smoke import parse

import everypair

RESULTS = Path(__file__).parent / "results"
CONNECTIONS = (1, 16, 64)
FOLDED, ASKED = 20, 500  # items of somebody new; different requests of a kind
NEEDED: dict[str, tuple[str, ...]] = {"same": ("implicit",), "fastapi": ("implicit", "fastapi"), "floor": ()}
NAMES = {"same": "the same app around implicit", "fastapi": "FastAPI + implicit"}


def questions(users: int, items: int) -> dict[str, list[bytes]]:
    """The requests of every kind."""
    rng = np.random.default_rng(0)
    known = [request("/v1/recommend", {"user": f"u{user}", "n": 10}) for user in rng.integers(0, users, ASKED)]
    rows = [rng.choice(items, min(FOLDED, items // 2), replace=False) for _ in range(ASKED)]
    new = [request("/v1/recommend", {"items": [f"i{item}" for item in row], "n": 10}) for row in rows]
    near = [request("/v1/similar", {"item": f"i{item}", "n": 10}) for item in rng.integers(0, items, ASKED)]
    return {"known users": known, "fold-in": new, "similar": near}


def cpu_seconds(pid: int) -> float:
    """CPU time of a process so far."""
    ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def peer(kind: str, path: Path) -> Iterator[tuple[int, int]]:
    """A peer's port and process, once it answers."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    call = [sys.executable, "-c", "import serve_peers; serve_peers.main()", kind, str(path), str(port)]
    process = subprocess.Popen(call, cwd=Path(__file__).parent, env=surroundings())
    try:
        while True:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/ready", timeout=5):
                    break
            except OSError:
                if process.poll() is not None:
                    raise RuntimeError(f"{kind} did not start") from None
                time.sleep(0.1)
        yield port, process.pid
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()


def surroundings(**more: str) -> dict[str, str]:
    """The environment of a process that answers: one thread of BLAS for everybody."""
    source = str(Path(everypair.__file__).parents[1])
    return {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": source, **more}


def measured(servers: dict[str, tuple[int, int]], asked: dict[str, list[bytes]], args: Any) -> list[dict[str, Any]]:
    """Rounds in which everybody is asked everything."""
    rng = np.random.default_rng(1)
    rows = []
    for port, _ in servers.values():  # nobody pays for his first time
        for requests in asked.values():
            load(port, requests, 4, args.seconds / 4)
    for round_ in range(args.rounds):
        for kind, requests in asked.items():
            for connections in CONNECTIONS:
                for name in rng.permutation(list(servers)):
                    port, pid = servers[name]
                    before = cpu_seconds(pid)
                    found = load(port, requests, connections, args.seconds)
                    found["cpu_ms"] = 1000 * (cpu_seconds(pid) - before) / found["requests"]
                    rows.append(
                        {"round": round_, "server": str(name), "kind": kind, "connections": connections, **found}
                    )
    return rows


def cold_start(path: Path, runs: int) -> dict[str, Any]:
    """Wall and CPU seconds from the start of a service to its first answer, by what the cache of kernels holds."""
    found: dict[str, Any] = {"warm": [], "empty": []}
    with tempfile.TemporaryDirectory() as kernels:
        for run in range(runs + 1):
            before, start = os.times(), time.perf_counter()
            call = [sys.executable, "-m", "everypair", "serve", str(path), "--workers", "1", "--port", "0"]
            process = subprocess.Popen(
                call, stderr=subprocess.PIPE, text=True, env=surroundings(NUMBA_CACHE_DIR=kernels)
            )
            assert process.stderr is not None
            line = process.stderr.readline()
            wall = time.perf_counter() - start
            process.send_signal(signal.SIGINT)
            process.wait()
            after = os.times()
            if "Ctrl-C stops it" not in line:
                raise RuntimeError(line)
            cpu = after.children_user + after.children_system - before.children_user - before.children_system
            found["warm" if run else "empty"].append({"wall": wall, "cpu": cpu})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, default=31_668)
    parser.add_argument("--items", type=int, default=38_048)
    parser.add_argument("--pairs", type=int, default=1_240_000)
    parser.add_argument("--ranks", type=int, nargs="+", default=[256, 64])
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--starts", type=int, default=3)
    parser.add_argument("--report", action="store_true", help="write the tables of the page from the stored results")
    args = parse(parser, RESULTS, users=60, items=50, pairs=600, ranks=[4], seconds=0.1, rounds=1, starts=0)
    place = args.results / "serve.json"
    if args.report:
        write_page(json.loads(place.read_text()))
        return
    peers = [kind for kind, names in NEEDED.items() if all(importlib.util.find_spec(name) for name in names)]
    for kind in NEEDED:
        if kind not in peers:
            print(f"{NAMES[kind]} is left out: it needs {' and '.join(NEEDED[kind])}.")
    matrix = generate(args.users, args.items, args.pairs)
    rows, columns = matrix.nonzero()
    events = {"user": [f"u{row}" for row in rows], "item": [f"i{column}" for column in columns]}
    asked = questions(*matrix.shape)
    record: dict[str, Any] = {"machine": machine(), "shape": [*matrix.shape, int(matrix.nnz)], "ranks": {}}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for rank in args.ranks:
            model = everypair.OneClassMF(rank=rank, max_iter=2, tol=0, random_state=0).fit(events)
            model.save(folder / "model.ep")
            order = model.user_ids_.find([f"u{row}" for row in range(matrix.shape[0])])
            items = model.item_ids_.find([f"i{row}" for row in range(matrix.shape[1])])
            there, known = order >= 0, items >= 0
            left, right = np.zeros((len(order), rank), np.float32), np.zeros((len(items), rank), np.float32)
            left[there], right[known] = model.user_factors_[order[there]], model.item_factors_[items[known]]
            serve_peers.write(folder / "factors.npz", left, right, matrix)
            del model
            with contextlib.ExitStack() as stack:
                own = stack.enter_context(serving(folder, "model.ep", "--workers", 1))
                servers = {"everypair": (own.port, *own.own_bytes())}
                for kind in peers:
                    servers[kind] = stack.enter_context(peer(kind, folder / "factors.npz"))
                record["ranks"][str(rank)] = measured(servers, asked, args)
            if rank == args.ranks[0] and args.starts:
                record["cold_start"] = cold_start(folder / "model.ep", args.starts)
    place.write_text(json.dumps(record, indent=1) + "\n")
    show(record, print)


def show(record: dict[str, Any], say: Callable[[str], None]) -> None:
    """A line for every point."""
    from serve_page import lines

    for line in lines(record):
        say(line)


if __name__ == "__main__":
    main()
