"""Who may ask: a token, compared in constant time, or whoever reaches this machine's own address.

Without a token a service on a loopback address answers only to the names of such addresses: otherwise any web page
could reach it through a name of its own that points here.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
from pathlib import Path
from typing import Any

from everypair.serve.errors import Refusal

LEAST_LETTERS = 16


class Gate:
    """Lets requests in that have the token, or the right name of the host; ``token`` and ``local`` may be off.

    >>> gate = Gate(token="a long enough secret")
    >>> gate.check({b"authorization": b"Bearer a long enough secret"})
    >>> gate.check({})
    Traceback (most recent call last):
    everypair.serve.errors.Refusal: send the token of this service: Authorization: Bearer ….
    """

    def __init__(self, token: str | None = None, local: bool = False) -> None:
        self.digest = None if token is None else hashlib.sha256(token.encode()).digest()
        self.local = local and token is None

    def check(self, headers: dict[bytes, bytes]) -> None:
        """Refuse who may not ask."""
        if self.digest is not None:
            scheme, _, sent = headers.get(b"authorization", b"").partition(b" ")
            fits = hmac.compare_digest(hashlib.sha256(sent.strip()).digest(), self.digest)
            if not fits or scheme.lower() != b"bearer":
                raise Refusal(401, "send the token of this service: Authorization: Bearer ….")
        if self.local and not is_local(headers.get(b"host", b"localhost").decode("latin-1")):
            raise Refusal(
                403,
                "this service answers to localhost alone: start it with --token-file or --no-token for others.",
            )


def is_local(host: str) -> bool:
    """Whether a host, with or without a port, is a name of this machine's own address.

    >>> [is_local(host) for host in ("localhost:80", "127.0.0.1", "[::1]:8000", "example.org", "127.0.0.1.example.org")]
    [True, True, True, False, False]
    """
    name = host[1:].partition("]")[0] if host.startswith("[") else host.rpartition(":")[0] or host
    if host.count(":") > 1 and not host.startswith("["):
        name = host
    if name.lower().rstrip(".") == "localhost" or name.lower().endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def read_token(path: Path) -> str:
    """The token in a file: its first line."""
    lines = path.read_text(encoding="utf-8").splitlines()
    token = lines[0].strip() if lines else ""
    if len(token) < LEAST_LETTERS:
        raise ValueError(f"{path} must hold a token of at least {LEAST_LETTERS} letters in its first line.")
    if not (token.isascii() and token.isprintable()):
        raise ValueError(f"the token in {path} must be printable ASCII: it travels in a header.")
    return token


def headers_of(scope: Any) -> dict[bytes, bytes]:
    """The headers of a request; of one that is there twice, the last."""
    return dict(scope["headers"])
