"""The app: a request is let in, read within limits, decoded and checked, answered, counted and logged.

path                        asks
POST /v1/recommend          a list for a user, for what somebody has, for features, or for all of these
POST /v1/batch              several of those
POST /v1/similar            the neighbours of an item
POST /v1/score              scores of given items for somebody
POST /v1/predict            of a model that is no recommender: the labels of rows, or the entries of a matrix
GET  /v1/items?q=&limit=    items whose title or id is searched for
GET  /v1/model              what is served
GET  /health, /ready        whether this process lives, and whether it answers
GET  /metrics               counters, as Prometheus reads them
GET  /openapi.json, /docs   this interface, for programs and for people
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

import msgspec
from msgspec import Struct
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.routing import Route

from everypair.serve import page
from everypair.serve.answers import POPULAR, UPDATED
from everypair.serve.errors import Refusal, refusal_of
from everypair.serve.gate import Gate, headers_of
from everypair.serve.limits import BODY_BYTES, FOUND, SEARCH_LETTERS
from everypair.serve.loading import load_variant, warm_up
from everypair.serve.openapi import description, posts_of, readable
from everypair.serve.questions import (
    Answered,
    Batch,
    Hit,
    Hits,
    RankedItems,
    Recommend,
    Score,
    Scored,
    Similar,
    Somebody,
)
from everypair.serve.service import Service

JSON = b"application/json"
TEXT = b"text/plain; charset=utf-8"
METRICS = b"text/plain; version=0.0.4; charset=utf-8"
HTML = b"text/html; charset=utf-8"
REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}\Z")
GONE = 499  # whoever asked did not wait for the answer

encode = msgspec.json.Encoder().encode


@dataclass
class Reply:
    """An answer: a body of some kind, and what the log says of it."""

    body: Any
    kind: bytes = JSON
    variant: int = 0
    notes: dict[str, Any] | None = None
    headers: tuple[tuple[bytes, bytes], ...] = ()


@dataclass
class Asked:
    """A request: its headers, its query and its body."""

    headers: dict[bytes, bytes]
    query: bytes
    body: bytes


class Gone(Exception):
    """Whoever asked has closed the connection."""


class Endpoint:
    """One path. ``answer`` is given the request and returns a :class:`Reply`, or raises a :class:`Refusal`."""

    def __init__(
        self, service: Service, route: str, answer: Callable[[Asked], Awaitable[Reply]], open_to_all: bool = False
    ) -> None:
        self.service, self.route, self.answer, self.open_to_all = service, route, answer, open_to_all

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request, whatever it is."""
        start = time.perf_counter()
        headers = headers_of(scope)
        status, fault = 200, None
        try:
            if not self.open_to_all:
                self.service.gate.check(headers)
            body = await _body(headers, receive) if scope["method"] == "POST" else b""
            reply = await self.answer(Asked(headers, scope["query_string"], body))
        except Gone:
            self._note(scope, headers, GONE, start, Reply(None), None)
            return
        except Exception as failure:
            refusal = refusal_of(failure)
            status, fault = refusal.status, refusal.__cause__ if refusal.status == 500 else None
            reply = Reply(refusal.body, headers=_of_refusal(status))
        request_id = self._note(scope, headers, status, start, reply, fault)
        content = reply.body if isinstance(reply.body, bytes) else _encoded(reply.body)
        lines = [
            (b"content-type", reply.kind),
            (b"content-length", b"%d" % len(content)),
            (b"x-request-id", request_id),
            (b"cache-control", b"no-store"),
            (b"x-content-type-options", b"nosniff"),
            *reply.headers,
        ]
        if self.service.draining:
            lines.append((b"connection", b"close"))
        await send({"type": "http.response.start", "status": status, "headers": lines})
        await send({"type": "http.response.body", "body": content})

    def _note(
        self, scope: Any, headers: dict[bytes, bytes], status: int, start: float, reply: Reply, fault: Any
    ) -> bytes:
        """Count and log a request; its id, the caller's own where that is one."""
        given = headers.get(b"x-request-id", b"")
        request_id = given if REQUEST_ID.match(given) else b"%016x" % random.getrandbits(64)
        seconds = time.perf_counter() - start
        self.service.meters.request(self.route, status, reply.variant, seconds)
        if self.service.log is not None:
            name = self.service.variants[reply.variant].name
            self.service.log.request(
                request_id.decode(), scope["method"], self.route, status, seconds, name, reply.notes, fault
            )
        return request_id


def _of_refusal(status: int) -> tuple[tuple[bytes, bytes], ...]:
    if status == 401:
        return ((b"www-authenticate", b"Bearer"),)
    if status == 503:
        return ((b"retry-after", b"1"),)
    return ((b"connection", b"close"),) if status in (408, 413) else ()


def _encoded(value: Any) -> bytes:
    try:
        return encode(value)
    except UnicodeEncodeError:  # ids that hold half a character, which only escapes can write
        return json.dumps(msgspec.to_builtins(value), allow_nan=False).encode("ascii")


async def _body(headers: dict[bytes, bytes], receive: Any) -> bytes:
    """The body of a request, which must be JSON and within limits."""
    kind = headers.get(b"content-type", JSON).partition(b";")[0].strip().lower()
    if kind != JSON and not kind.endswith(b"+json"):
        raise Refusal(415, "send JSON, with the header content-type: application/json.")
    if headers.get(b"content-encoding", b"identity").lower() != b"identity":
        raise Refusal(415, "send the body as it is, without a content-encoding.")
    said = headers.get(b"content-length", b"0")
    if said.isdigit() and (len(said) > 12 or int(said) > BODY_BYTES):
        raise _too_large()
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Gone
        piece = message.get("body", b"")
        size += len(piece)
        if size > BODY_BYTES:
            raise _too_large()
        parts.append(piece)
        if not message.get("more_body"):
            return b"".join(parts)


def _too_large() -> Refusal:
    return Refusal(413, f"a request may have {BODY_BYTES} bytes.")


class Decoder:
    """JSON of a kind of question, or a refusal that names the field."""

    def __init__(self, kind: type[Struct]) -> None:
        self.decoder = msgspec.json.Decoder(kind)

    def __call__(self, body: bytes) -> Any:
        """The question of a body."""
        try:
            return self.decoder.decode(body)
        except msgspec.ValidationError as failure:
            sentence, _, path = str(failure).partition(" - at `$")
            field = path.strip("`").removeprefix(".") or None
            raise Refusal(422, f"{sentence}{f' in {field}' if field else ''}.", field) from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as failure:
            sentence = "it is nested too deeply" if isinstance(failure, RecursionError) else str(failure)
            raise Refusal(400, f"the body is not JSON in UTF-8: {sentence}.") from None


class Interface:
    """The answers to each path."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.recommend_of, self.similar_of = Decoder(Recommend), Decoder(Similar)
        self.score_of, self.batch_of = Decoder(Score), Decoder(Batch)
        self.predict_of = Decoder(posts_of(service).get("/v1/predict", (Recommend,))[0])

    async def recommend(self, asked: Asked) -> Reply:
        """A list."""
        question = self.recommend_of(asked.body)
        variant, answer = await self._ask(asked, question)
        return self._ranked(variant, question, answer)

    async def similar(self, asked: Asked) -> Reply:
        """Neighbours."""
        question = self.similar_of(asked.body)
        variant, answer = await self._ask(asked, question)
        return Reply(answer, variant=variant, notes={"n": question.n})

    async def score(self, asked: Asked) -> Reply:
        """Scores."""
        question = self.score_of(asked.body)
        variant, answer = await self._ask(asked, question)
        self._count(question, answer)
        return Reply(answer, variant=variant, notes={"n": len(question.candidates), "how": answer.how})

    async def batch(self, asked: Asked) -> Reply:
        """Lists."""
        questions = self.batch_of(asked.body).questions
        self.service.meters.event("questions", len(questions))
        every = await asyncio.gather(*(self._ask(asked, one, False) for one in questions), return_exceptions=True)
        answers = []
        for question, one in zip(questions, every):
            if isinstance(one, BaseException):
                if not isinstance(one, Exception):
                    raise one
                answers.append(refusal_of(one).body)
            else:
                self._count(question, one[1])
                answers.append(one[1])
        return Reply(Answered(answers), notes={"n": len(questions)})

    async def predict(self, asked: Asked) -> Reply:
        """Labels, or entries."""
        question = self.predict_of(asked.body)
        variant, answer = await self._ask(asked, question)
        return Reply(answer, variant=variant, notes={"n": len(question.rows)})

    async def items(self, asked: Asked) -> Reply:
        """A search."""
        query = _query(asked, ("q", "limit"))
        words, limit = query.get("q", ""), query.get("limit", "10")
        if len(words) > SEARCH_LETTERS:
            raise Refusal(422, f"q may have {SEARCH_LETTERS} letters.", "q")
        if not (limit.isascii() and limit.isdecimal() and len(limit) < 6 and 1 <= int(limit) <= FOUND):
            raise Refusal(422, f"limit must be a number from 1 to {FOUND}.", "limit")
        catalogue = self.service.variants[0].answers.catalogue
        places = catalogue.search(words, int(limit))
        names = catalogue.items.names(places)
        counts = catalogue.counts[places].tolist()
        hits = [Hit(name, count, catalogue.title(place)) for name, count, place in zip(names, counts, places)]
        return Reply(Hits(hits), notes={"n": len(hits)})

    async def model(self, asked: Asked) -> Reply:
        """The cards of what is served."""
        return Reply({"models": [{**one.card, "share": one.share} for one in self.service.variants]})

    async def metrics(self, asked: Asked) -> Reply:
        """Counters."""
        cards = [one.card for one in self.service.variants]
        return Reply(self.service.meters.text(cards).encode("utf-8", "backslashreplace"), METRICS)

    async def health(self, asked: Asked) -> Reply:
        """Alive."""
        return Reply(b"ok\n", TEXT)

    async def ready(self, asked: Asked) -> Reply:
        """Warm, and not about to leave: a process that cannot answer yet does not listen."""
        if self.service.draining:
            raise Refusal(503, "this process is about to leave.", code="leaving")
        return Reply(b"ready\n", TEXT)

    async def _ask(self, asked: Asked, question: Any, lone: bool = True) -> tuple[int, Any]:
        unit = asked.headers.get(b"x-unit")
        user = question.user if isinstance(question, Somebody) else None
        whose = unit.decode("latin-1") if unit is not None else None if user is None else str(user)
        variant = self.service.variant_of(whose)
        try:
            return variant, await self.service.batches.ask((variant, question), lone)
        except Refusal as refusal:
            if refusal.body.error.code == "unknown_user":
                self.service.meters.event("unknown_users")
            raise

    def _ranked(self, variant: int, question: Recommend, answer: RankedItems) -> Reply:
        self._count(question, answer)
        notes = {"n": len(answer.items), "how": answer.how, "user": question.user}
        return Reply(answer, variant=variant, notes=notes)

    def _count(self, question: Any, answer: RankedItems | Scored) -> None:
        meters = self.service.meters
        if answer.how == POPULAR:
            meters.event("popular")
        elif answer.how != "known":
            meters.event("folded_in")
        if question.user is not None and answer.how not in ("known", UPDATED):
            meters.event("unknown_users")
        if answer.ignored:
            meters.event("ignored_items", len(answer.ignored))


def _query(asked: Asked, known: tuple[str, ...]) -> dict[str, str]:
    """The values of a query, each once."""
    try:
        values = parse_qs(asked.query.decode("ascii"), keep_blank_values=True, max_num_fields=10, errors="strict")
    except (UnicodeDecodeError, ValueError) as failure:
        raise Refusal(400, "the query is not UTF-8 in percent signs.", code="not_text") from failure
    odd = next((name for name in values if name not in known), None)
    if odd is not None:
        raise Refusal(422, f"there is no {odd[:40]!r} in this query, only {' and '.join(known)}.")
    return {name: every[-1] for name, every in values.items()}


def asgi(service: Service) -> Starlette:
    """The app of a service."""
    interface = Interface(service)
    schema = encode(description(service))
    readable_page = readable(description(service)).encode()

    async def openapi(asked: Asked) -> Reply:
        return Reply(schema)

    async def docs(asked: Asked) -> Reply:
        return Reply(readable_page, HTML, headers=page.HEADERS)

    def post(name: str, answer: Any) -> Route:
        return Route(f"/v1/{name}", Endpoint(service, name, answer), methods=["POST"])

    def get(path: str, name: str, answer: Any, open_to_all: bool = False) -> Route:
        return Route(path, Endpoint(service, name, answer, open_to_all), methods=["GET"])

    def part(kind: bytes, content: bytes) -> Any:
        async def give(asked: Asked) -> Reply:
            return Reply(content, kind, headers=page.HEADERS)

        return give

    async def refuse(request: Any, failure: Exception) -> Any:
        """Paths and methods that there are not; what answers is an app."""
        status = failure.status_code if isinstance(failure, HTTPException) else 500
        sentence = "there is nothing at this path: see /docs." if status == 404 else "this path takes another method."
        headers = () if status == 404 else tuple((b"allow", value.encode()) for value in _allowed(failure))

        async def answer(asked: Asked) -> Reply:
            raise Refusal(status, sentence)

        return _WithHeaders(Endpoint(service, "other", answer, open_to_all=True), headers)

    if "/v1/predict" in posts_of(service):
        questions = [post("predict", interface.predict)]
    else:
        asked = ("recommend", interface.recommend), ("batch", interface.batch), ("similar", interface.similar)
        questions = [post(*one) for one in (*asked, ("score", interface.score))]
        questions.append(get("/v1/items", "items", interface.items))
    routes = [
        *questions,
        get("/v1/model", "model", interface.model),
        get("/metrics", "metrics", interface.metrics),
        get("/health", "health", interface.health, open_to_all=True),
        get("/ready", "health", interface.ready, open_to_all=True),
        get("/openapi.json", "page", openapi, open_to_all=True),
        get("/docs", "page", docs, open_to_all=True),
        *(get(path, "page", part(*content), open_to_all=True) for path, content in page.FILES.items()),
    ]
    app = App(routes=routes, exception_handlers={HTTPException: refuse})
    app.router.redirect_slashes = False
    app.state.service = service
    return app


class App(Starlette):
    """Requests to a path and method of ours go there at once, all others through Starlette, which knows what to say."""

    def __init__(self, routes: list[Route], **options: Any) -> None:
        super().__init__(routes=routes, **options)
        self.endpoints = {(method, one.path): one.endpoint for one in routes for method in one.methods or ()}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request."""
        if scope["type"] == "http" and not scope.get("root_path"):
            endpoint: Any = self.endpoints.get((scope["method"], scope["path"]))
            if endpoint is not None:
                await endpoint(scope, receive, send)
                return
        await super().__call__(scope, receive, send)


class _WithHeaders:
    """An app whose answers have further headers."""

    def __init__(self, app: Any, headers: tuple[tuple[bytes, bytes], ...]) -> None:
        self.app, self.headers = app, headers

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def longer(message: Any) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *self.headers]}
            await send(message)

        await self.app(scope, receive, longer)


def _allowed(failure: Exception) -> list[str]:
    headers = failure.headers if isinstance(failure, HTTPException) else None
    return [value for name, value in (headers or {}).items() if name.lower() == "allow"]


def app(model: Any, *, items: Any = None, token: str | None = None) -> Starlette:
    """The ASGI app of a model, a file or a fitted one, for people who have a server.

    It is loaded and warmed here. ``items`` is a table of items, a file or a data frame with their ids, titles and
    further columns. ``token`` is what requests must have.

    >>> from everypair import Popularity
    >>> from starlette.testclient import TestClient
    >>> model = Popularity().fit([("ann", "blue"), ("bob", "blue"), ("bob", "rain")])
    >>> with TestClient(app(model), base_url="http://localhost") as client:
    ...     answer = client.post("/v1/recommend", json={"user": "ann"})
    >>> answer.status_code, answer.json()["items"]
    (200, [{'item': 'rain', 'score': 1.0}])
    """
    variant = load_variant(model, items)
    warm_up(variant.answers)
    return asgi(Service([variant], Gate(token)))
