"""Strain a service: hours of load in minutes, files replaced under load, workers killed under load; figures as JSON.

python tools/strain_service.py soak --minutes 10      80 % of what it can do: memory stays flat, no error
python tools/strain_service.py reloads --count 50     good and corrupt files by turns: no request is lost
python tools/strain_service.py kills --count 20       SIGKILL: lost is at most what was under way, replaced in a second

Every answer is compared with those of the models that the files hold.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from service import Service, answer_of, asked, events, serving

CONNECTIONS = 16
USERS, ITEMS = 20_000, 5_000
PROBE = 5.0  # seconds of full load that say what a service can do
SHARE = 0.8
LONGEST = 3.0  # seconds until somebody sees that a worker is replaced, on a machine that is busy


class Load:
    """Clients on long connections; what became of each request. ``pace`` requests a second, or as fast as they can."""

    def __init__(self, service: Service, models: list[Any], pace: float | None = None) -> None:
        self.service, self.pace = service, pace
        users = [f"u{place}" for place in random.Random(0).sample(range(USERS), 200)]
        self.right = {user: {tuple(model.recommend([user])[0][0].tolist()) for model in models} for user in users}
        self.users = users
        self.done = self.lost = self.wrong = 0
        self.statuses: dict[int, int] = {}
        self.seconds: list[float] = []
        self.over = False

    async def client(self, number: int) -> None:
        """One connection, made again where it was closed."""
        draw, writer = random.Random(number), None
        due = time.monotonic() + number / (self.pace or 1e9)
        while not self.over:
            if self.pace:
                await asyncio.sleep(max(0.0, due - time.monotonic()))
                due = max(due + CONNECTIONS / self.pace, time.monotonic() - 1.0)
            user = draw.choice(self.users)
            new = draw.random() < 0.3
            question = {"items": [f"item {draw.randrange(ITEMS // 20)}" for _ in range(10)]} if new else {"user": user}
            try:
                if writer is None:
                    reader, writer = await asyncio.open_connection("127.0.0.1", self.service.port)
                start = time.perf_counter()
                writer.write(asked("/v1/recommend", question))
                status, body, stays = await asyncio.wait_for(answer_of(reader), 30)
                self.seconds.append(time.perf_counter() - start)
            except (OSError, asyncio.IncompleteReadError):
                self.lost += 1
                writer = None
                continue
            self.done += 1
            self.statuses[status] = self.statuses.get(status, 0) + 1
            if not new:
                found = tuple(one["item"] for one in json.loads(body).get("items", ()))
                self.wrong += found not in self.right[user]
            if not stays:
                writer.close()
                writer = None
        if writer is not None:
            writer.close()

    async def run(self, meanwhile: Callable[[], Any]) -> float:
        """Load the service while something is done; how many seconds that took."""
        start = time.monotonic()
        clients = [asyncio.ensure_future(self.client(number)) for number in range(CONNECTIONS)]
        await meanwhile()
        self.over = True
        await asyncio.gather(*clients)
        return time.monotonic() - start

    def record(self, seconds: float) -> dict[str, Any]:
        """Counts, and milliseconds of an answer."""
        p50, p99 = (round(1000 * float(np.quantile(self.seconds, share)), 2) for share in (0.5, 0.99))
        return {
            "seconds": round(seconds, 1),
            "requests": self.done,
            "per_second": round(self.done / seconds, 1),
            "lost": self.lost,
            "wrong_lists": self.wrong,
            "statuses": self.statuses,
            "p50_ms": p50,
            "p99_ms": p99,
        }


def replace(folder: Path, content: bytes) -> None:
    """Put a file in the place of the model, as ``save`` does."""
    (folder / "new").write_bytes(content)
    os.replace(folder / "new", folder / "model.ep")


async def until(holds: Callable[[], bool], seconds: float = 60.0) -> float:
    """Wait until something holds; how long that took."""
    start = time.monotonic()
    while not await asyncio.to_thread(holds):
        if time.monotonic() - start > seconds:
            raise RuntimeError("this took too long")
        await asyncio.sleep(0.02)
    return time.monotonic() - start


def soak(service: Service, models: list[Any], minutes: float) -> dict[str, Any]:
    """A long time at SHARE of what it can do."""
    probe = Load(service, models)
    full = asyncio.run(probe.run(lambda: asyncio.sleep(PROBE)))
    load, memory = Load(service, models, SHARE * probe.done / full), []

    async def watch() -> None:
        end = time.monotonic() + 60 * minutes
        while time.monotonic() < end:
            memory.append(max((await asyncio.to_thread(service.own_bytes)).values()) / 2**20)
            await asyncio.sleep(min(10.0, 6 * minutes))

    cpu = service.cpu_seconds()
    record = load.record(asyncio.run(load.run(watch)))
    record["cpu_ms_per_request"] = round(1000 * (service.cpu_seconds() - cpu) / max(1, load.done), 3)
    record["full_load_per_second"] = round(probe.done / full, 1)
    record["own_mib"] = {"first": round(memory[0], 1), "most": round(max(memory), 1), "last": round(memory[-1], 1)}
    record["flat"] = max(memory[len(memory) // 2 :]) < 1.1 * max(memory[: len(memory) // 2]) + 5
    record["ok"] = not (load.lost or load.wrong) and set(load.statuses) == {200} and record["flat"]
    return record


def reloads(service: Service, models: list[Any], folder: Path, count: int) -> dict[str, Any]:
    """Replace the file again and again: one model, rubbish, the other model, half of a file."""
    contents = [(folder / name).read_bytes() for name in ("a.ep", "b.ep")]
    load, took = Load(service, models), []

    async def swap() -> None:
        good = bad = 0
        for step in range(count):
            if step % 2:
                bad += 1
                content, name = contents[step // 2 % 2][: 1000 * step if step % 4 == 1 else -64], "failed_reloads"
            else:
                good += 1
                content, name = contents[(step // 2 + 1) % 2], "reloads"
            replace(folder, content)
            wanted = bad if step % 2 else good
            key = f"everypair_{name}_total"
            took.append(await until(lambda key=key, wanted=wanted: service.metrics()[key] >= wanted))

    record = load.record(asyncio.run(load.run(swap)))
    record |= {"reloads": count, "seconds_each": round(float(np.mean(took)), 2)}
    record["ok"] = not (load.lost or load.wrong) and set(load.statuses) == {200}
    return record


def kills(service: Service, models: list[Any], count: int) -> dict[str, Any]:
    """Kill workers by turns."""
    load, took = Load(service, models), []

    async def kill() -> None:
        for _ in range(count):
            await asyncio.sleep(1.0)
            before = await asyncio.to_thread(service.own_bytes)
            gone, many = min(before), len(before)
            os.kill(gone, signal.SIGKILL)
            took.append(await until(lambda gone=gone, many=many: len(set(service.own_bytes()) - {gone}) == many))

    record = load.record(asyncio.run(load.run(kill)))
    record |= {"kills": count, "slowest_replacement_seconds": round(max(took), 2)}
    record["ok"] = not load.wrong and load.lost <= CONNECTIONS * count and max(took) < LONGEST
    return record


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("soak", "reloads", "kills"), nargs="+")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--count", type=int)
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()

    from everypair import OneClassMF

    record: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder, log = Path(name), events(USERS, ITEMS, 20)
        models = [OneClassMF(rank=32, max_iter=5, tol=0, random_state=seed).fit(log) for seed in (0, 1)]
        for model, file in zip(models, ("a.ep", "b.ep")):
            model.save(folder / file)
        for what in given.what:
            replace(folder, (folder / "a.ep").read_bytes())
            with serving(folder, "model.ep", "--workers", 2, "--watch") as service:
                if what == "soak":
                    record[what] = soak(service, models[:1], given.minutes)
                elif what == "reloads":
                    record[what] = reloads(service, models, folder, given.count or 50)
                else:
                    record[what] = kills(service, models[:1], given.count or 20)
    text = json.dumps(record, indent=1)
    print(text)
    if given.output is not None:
        given.output.write_text(text + "\n")
    if not all(one["ok"] for one in record.values()):
        raise SystemExit("the service did not stand it")


if __name__ == "__main__":
    main()
