"""Connections of a worker: HTTP/1.1 by uvicorn, within limits of size and time.

uvicorn waits for as long as somebody cares to send or to read, and forgets who sent half a request and closed his side.
Here a request arrives whole within ``ARRIVAL_SECONDS``, its head is at most ``HEADER_BYTES`` long, an answer is taken
within ``ANSWER_SECONDS``, and whoever has closed only his side of the connection is answered.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import httptools
import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from everypair.serve.errors import Refusal
from everypair.serve.limits import ANSWER_SECONDS, ARRIVAL_SECONDS, HEADER_BYTES

PHRASES = {400: b"Bad Request", 408: b"Request Timeout", 431: b"Request Header Fields Too Large"}


HEAD = b"HTTP/1.1 %d %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"


class Connection(HttpToolsProtocol):
    """One connection; :meth:`look_after` is called about every second."""

    note: Callable[[int], None] = staticmethod(lambda status: None)  # what counts requests that no endpoint sees

    def connection_made(self, transport: Any) -> None:
        """Somebody has connected: a request has to arrive."""
        super().connection_made(transport)
        self.arrives = self.touched = self.loop.time()
        self.stuck = 0.0  # since when nobody reads what was sent, if so
        self.in_head, self.head = True, 0
        self.refused: Refusal | None = None

    def data_received(self, data: bytes) -> None:
        """Bytes of a request."""
        if self.refused is not None:
            return
        self.touched = self.loop.time()
        if not self.arrives:
            self.arrives = self.touched
        self._unset_keepalive_if_required()
        self._feed(data)
        if self.in_head and self.refused is None:
            self.head += len(data)
            if self.head > HEADER_BYTES:
                self.refuse(_too_long())

    def _feed(self, data: bytes) -> None:
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            if self.refused is None:
                self._feed_again(data[upgrade.args[0] :])
        except httptools.HttpParserError:
            self.send_400_response("")

    def _feed_again(self, rest: bytes) -> None:
        """Who would rather speak something else is answered in HTTP/1.1: the same request without that wish."""
        method = self.parser.get_method()
        self.parser = httptools.HttpRequestParser(self)
        if method == b"CONNECT":
            self.send_400_response("")
            return
        lines = [b"%s: %s\r\n" % header for header in self.headers if header[0] != b"upgrade"]
        self._feed(b"%s %s HTTP/1.1\r\n%s\r\n" % (method, self.url, b"".join(lines)) + rest)

    def eof_received(self) -> Any:
        """Whoever sent a whole request and closed his side still wants the answer."""
        if self.is_idle or self.arrives:
            return False
        self.cycle.keep_alive = False
        return True

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        super().on_message_begin()
        self.in_head, self.head = True, 0

    def on_headers_complete(self) -> None:
        """The head of a request is there."""
        if self.refused is not None or self.parser.should_upgrade():
            return
        self.in_head, self.head = False, 0
        if len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > HEADER_BYTES:
            self.refuse(_too_long())
            return
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A part of a body."""
        if self.refused is None and not self.parser.should_upgrade():
            super().on_body(body)

    def on_message_complete(self) -> None:
        """A request has arrived whole."""
        if self.refused is None and not self.parser.should_upgrade():
            super().on_message_complete()
            self.arrives = 0.0
            self.in_head, self.head = False, 0

    def on_response_complete(self) -> None:
        """An answer has been handed over."""
        self.touched = self.loop.time()
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP."""
        self.refuse(Refusal(400, "this is not HTTP/1.1 as it should be.", code="not_http"))

    def refuse(self, refusal: Refusal) -> None:
        """Say why, unless another answer is under way, and close."""
        if self.refused is not None:
            return
        self.refused = refusal
        self.note(refusal.status)
        if not self.is_idle and not self.cycle.response_started and not self.pipeline:
            self.cycle.disconnected = True  # whoever waits for the rest of the request is told that it does not come
            self.cycle.message_event.set()
            self.cycle.response_complete = True
        if self.is_idle and not self.transport.is_closing():
            body = msgspec.json.encode(refusal.body)
            self.transport.write(HEAD % (refusal.status, PHRASES[refusal.status], len(body)) + body)
        self.transport.close()

    @property
    def is_idle(self) -> bool:
        """Whether no answer is under way."""
        return self.cycle is None or self.cycle.response_complete

    def look_after(self, now: float) -> None:
        """End what takes too long."""
        if self.arrives and now - self.arrives > ARRIVAL_SECONDS and self.refused is None:
            asked: Any = self.cycle
            if asked is None and not self.head:
                self.transport.close()  # nothing was asked
            else:
                self.refuse(Refusal(408, f"a request has {ARRIVAL_SECONDS:g} s to arrive whole."))
        if self.transport.get_write_buffer_size():
            self.stuck = self.stuck or now
            if now - self.stuck > ANSWER_SECONDS:
                self.transport.abort()
        else:
            self.stuck = 0.0


def _too_long() -> Refusal:
    return Refusal(431, f"the head of a request may have {HEADER_BYTES} bytes.")


def protocol_of(note: Callable[[int], None]) -> type[asyncio.Protocol]:
    """The class of a worker's connections, which counts by ``note``."""
    return type("Connection", (Connection,), {"note": staticmethod(note)})
