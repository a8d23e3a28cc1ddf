"""Attack a service: random requests of every kind, none of which may be answered by 5xx, end a worker or take memory.

python tools/attack_service.py --requests 100000 --schemathesis 100 --output attack.json

Half of them go to a recommender, half to a model of labels. They are drawn from a seed: questions of the interface with
values that are right, almost right and wrong; the same with bytes changed, cut or added; other paths, methods and
headers; and bytes that are no HTTP.
``--schemathesis N`` lets schemathesis, where it is installed, try N examples of every operation of the service's own
OpenAPI as well.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from service import Service, answer_of, events, serving

CONNECTIONS = 16
NUMBERS = (0, 1, -1, 10, 1000, 1001, 5000, 2**31, 2**63 - 1, 2**63, -(2**63), 1e308, -1e-308, 0.5, 3.0)
TEXTS = (
    "",
    " ",
    "u1",
    "item 1",
    "item 2",
    "1",
    "\x00",
    "\u202e",
    "é" * 300,
    "x" * 600,
    "<b>",
    "../..",
    "💥",
    "\\",
    '"',
)
FIELDS = (
    "user",
    "items",
    "features",
    "n",
    "offset",
    "exclude",
    "allow",
    "where",
    "exclude_seen",
    "fallback",
    "explain",
)
PATHS = {
    "recommender": {"/v1/recommend": 6, "/v1/similar": 2, "/v1/score": 2, "/v1/batch": 1},
    "labels": {"/v1/predict": 9, "/v1/recommend": 1},
}  # how often each is asked
OTHERS = (
    "/",
    "/docs",
    "/openapi.json",
    "/metrics",
    "/health",
    "/ready",
    "/v1/model",
    "/v1/items",
    "/nope",
    "/%00",
    "//",
)
METHODS = ("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "BREW")
HEADERS = (
    "content-type: text/plain", "content-encoding: gzip", "x-request-id: a b", "x-unit: \xff", "host: evil.example",
    "authorization: Bearer x", "connection: upgrade\r\nupgrade: h2c", "expect: 100-continue", "accept: */*",
)  # fmt: skip
GROWTH_MIB = 8
IDLE = 20.0  # seconds until a connection without an answer counts as stuck


def value(draw: random.Random, depth: int = 0) -> Any:
    """Anything that JSON can say."""
    kind = draw.randrange(7 if depth < 3 else 4)
    if kind == 0:
        return draw.choice(NUMBERS)
    if kind == 1:
        return draw.choice(TEXTS)
    if kind == 2:
        return draw.choice((True, False, None))
    if kind == 3:
        return f"item {draw.randrange(300)}"
    if kind == 4:
        return [value(draw, depth + 1) for _ in range(draw.randrange(4))]
    if kind == 5:
        return {draw.choice(TEXTS): value(draw, depth + 1) for _ in range(draw.randrange(4))}
    return [f"item {draw.randrange(400)}" for _ in range(draw.choice((1, 3, 30, 1500)))]


def right(draw: random.Random, field: str) -> Any:
    """A value as it should be."""
    items = [f"item {draw.randrange(320)}" for _ in range(draw.randrange(1, 8))]
    return {
        "user": f"u{draw.randrange(220)}",
        "items": draw.choice((items, dict.fromkeys(items, draw.choice((1, 2.5, -1))))),
        "features": {"age": 3},
        "n": draw.choice((1, 10, 50, 1000)),
        "offset": draw.choice((0, 10, 4000)),
        "exclude": items,
        "allow": items,
        "where": {"kind": draw.choice(("a", "b", ["a", "b"]))},
        "exclude_seen": draw.random() < 0.5,
        "fallback": draw.choice(("none", "popular")),
        "explain": draw.random() < 0.5,
    }[field]


def question(draw: random.Random, path: str) -> Any:
    """A question for a path, of which some fields may be wrong."""

    def one() -> dict[str, Any]:
        names = {draw.choice(("user", "items"))} | {draw.choice(FIELDS) for _ in range(draw.randrange(5))}
        return {name: value(draw) if draw.random() < 0.15 else right(draw, name) for name in names}

    if path == "/v1/batch":
        return {"questions": [one() for _ in range(draw.choice((0, 1, 5, 64, 300)))]}
    if path == "/v1/similar":
        return {
            "item": f"item {draw.randrange(320)}" if draw.random() < 0.8 else value(draw),
            "n": draw.choice(NUMBERS),
        }
    if path == "/v1/predict":
        size = draw.choice((8, 8, 8, 8, 7, 0))
        dense = [draw.choice(NUMBERS) if draw.random() < 0.02 else draw.random() for _ in range(size)]
        named = {f"f{draw.randrange(9)}": draw.random() for _ in range(3)}
        rows = [draw.choice((dense, dense, dense, named)) for _ in range(draw.choice((1, 1, 1, 5, 0, 300)))]
        n = draw.choice((1, 3, 5)) if draw.random() < 0.8 else draw.choice(NUMBERS)
        return {"rows": value(draw) if draw.random() < 0.15 else rows, "n": n}
    if path == "/v1/score":
        return {**{name: right(draw, name) for name in ("user",)}, "candidates": right(draw, "exclude")}
    return one()


def request(draw: random.Random, paths: dict[str, int]) -> tuple[str, bytes]:
    """A kind of request, and its bytes."""
    kind = draw.choices(("question", "changed", "other", "noise"), (60, 25, 12, 3))[0]
    if kind == "noise":
        return kind, draw.randbytes(draw.choice((1, 20, 500))) + b"\r\n\r\n"
    if kind == "other":
        query = draw.choice(("", "?q=item", "?q=%ff", "?limit=0", "?limit=99999999999", "?" + "a=b&" * 50))
        lines = [f"{draw.choice(METHODS)} {draw.choice((*OTHERS, *paths))}{query} HTTP/1.1", "host: localhost"]
        lines += draw.sample(HEADERS, draw.randrange(3))
        return kind, ("\r\n".join(lines) + "\r\ncontent-length: 0\r\n\r\n").encode("latin-1")
    path = draw.choices(list(paths), list(paths.values()))[0]
    body = bytearray(json.dumps(question(draw, path)).encode())
    if kind == "changed":
        for _ in range(draw.randrange(1, 6)):
            place = draw.randrange(len(body) + 1)
            what = draw.randrange(4)
            if what == 0:
                body[place:place] = draw.randbytes(draw.randrange(1, 5))
            elif what == 1:
                del body[place : place + draw.randrange(1, 20)]
            elif what == 2:
                body[place:place] = draw.choice((b"[", b"{", b'"', b"\\ud800", b"NaN", b"1e999", b"\xff", b"\x00"))
            else:
                body[place : place + 1] = draw.randbytes(1)
    extra = "".join(f"{line}\r\n" for line in draw.sample(HEADERS, draw.choice((0, 0, 0, 1))))
    kind_of = "" if "content-type" in extra else "content-type: application/json\r\n"
    host = "" if "host" in extra else "host: localhost\r\n"
    head = f"POST {path} HTTP/1.1\r\n{host}{kind_of}{extra}content-length: {len(body)}\r\n\r\n"
    return kind, head.encode("latin-1") + bytes(body)


async def attack(service: Service, paths: dict[str, int], requests: int, seed: int) -> dict[str, Any]:
    """Send requests over a few connections; how each kind was answered."""
    left, statuses, found = iter(range(requests)), Counter[str](), Counter[str]()
    wrong: list[str] = []

    async def client(number: int) -> None:
        draw = random.Random(1000 * seed + number)
        writer = None
        for _ in left:
            kind, sent = request(draw, paths)
            if writer is None:
                reader, writer = await asyncio.open_connection("127.0.0.1", service.port)
            stays = False
            try:
                writer.write(sent)
                if kind == "noise":
                    writer.write_eof()
                status, body, stays = await asyncio.wait_for(answer_of(reader, sent.startswith(b"HEAD")), IDLE)
                while status == 100:
                    status, body, stays = await asyncio.wait_for(answer_of(reader, sent.startswith(b"HEAD")), IDLE)
                found[f"{kind} {status}"] += 1
                statuses[str(status)] += 1
                if status >= 500 or (status != 200 and b'"error"' not in body and not sent.startswith(b"HEAD")):
                    wrong.append(f"{status} to {sent[:300]!r}: {body[:200]!r}")
            except (asyncio.IncompleteReadError, ConnectionError):
                found[f"{kind} closed"] += 1
                if kind != "noise" and b"100-continue" not in sent:
                    wrong.append(f"closed on {sent[:300]!r}")
            except TimeoutError:
                wrong.append(f"no answer to {sent[:300]!r}")
            if kind in ("noise", "other") or not stays:
                writer.close()
                writer = None

    await asyncio.gather(*(client(number) for number in range(CONNECTIONS)))
    return {"statuses": dict(sorted(statuses.items())), "kinds": dict(sorted(found.items())), "wrong": wrong}


def schemathesis(service: Service, examples: int) -> dict[str, Any]:
    """What schemathesis makes of the service's own OpenAPI: ids are none of it, and what is too large is 413."""
    call = [
        sys.executable, "-m", "schemathesis.cli", "run", f"http://127.0.0.1:{service.port}/openapi.json",
        "--max-examples", str(examples), "--exclude-checks", "positive_data_acceptance,negative_data_rejection",
    ]  # fmt: skip
    done = subprocess.run(call, capture_output=True, text=True)
    cases = re.search(r"([\d,]+) generated", done.stdout)
    said = "" if done.returncode == 0 else done.stdout[-3000:] + done.stderr[-1000:]
    return {"cases": int(cases[1].replace(",", "")) if cases else 0, "exit_code": done.returncode, "said": said}


def attacked(folder: Path, kind: str, given: argparse.Namespace, *options: Any) -> dict[str, Any]:
    """What happened to a service of ``model.ep``; its memory before and after."""
    paths, requests = PATHS[kind], given.requests // len(PATHS)
    with serving(folder, "model.ep", *options, "--workers", 2) as service:
        warm = asyncio.run(attack(service, paths, max(200, requests // 10), given.seed + 1))
        before = service.own_bytes()
        record: dict[str, Any] = {"requests": requests, **asyncio.run(attack(service, paths, requests, given.seed))}
        after = service.own_bytes()
        record["wrong"] = warm["wrong"] + record["wrong"]
        if given.schemathesis:
            record["schemathesis"] = schemathesis(service, given.schemathesis)
        record["restarts"] = int(service.metrics()["everypair_restarts_total"])
        record["faults"] = service.said.count('"fault"')
        record["own_mib"] = [[round(memory / 2**20, 1) for memory in one.values()] for one in (before, after)]
    return record


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--schemathesis", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()

    from everypair import MultiLabelMF, OneClassMF

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        OneClassMF(rank=8, random_state=0).fit(events(200, 300, 20)).save(folder / "model.ep")
        lines = [f"item {place},The {place}th,{'ab'[place % 2]}\n" for place in range(300)]
        (folder / "items.csv").write_text("".join(["item,title,kind\n", *lines]))
        record = {"seed": given.seed, "recommender": attacked(folder, "recommender", given, "--items", "items.csv")}
        X = np.random.default_rng(0).standard_normal((60, 8))
        MultiLabelMF(rank=3, max_iter=5, random_state=0).fit(X, (X[:, :5] > 0.3).astype(float)).save(
            folder / "model.ep"
        )
        record["labels"] = attacked(folder, "labels", given)
    text = json.dumps(record, indent=1)
    print(text)
    if given.output is not None:
        given.output.write_text(text + "\n")
    for kind in PATHS:
        found = record[kind]
        before, after = found["own_mib"]
        if found["wrong"] or found["restarts"] or found["faults"] or max(after) - max(before) > GROWTH_MIB:
            raise SystemExit(f"the service of a model of {kind} did not stand it")
        if given.schemathesis and found["schemathesis"]["exit_code"]:
            raise SystemExit(f"schemathesis found something: {found['schemathesis']['said']}")


if __name__ == "__main__":
    main()
