"""Files for browsers, read once, and what a browser may do with them: nothing but talk to this service."""

from __future__ import annotations

from importlib.resources import files

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
)
KINDS = {"html": b"text/html", "css": b"text/css", "js": b"text/javascript"}
PLACES = {"/": "index.html", "/page.css": "page.css", "/page.js": "page.js", "/docs.css": "docs.css"}


def _read(name: str) -> tuple[bytes, bytes]:
    content = (files("everypair.serve") / "assets" / name).read_bytes()
    return KINDS[name.rpartition(".")[2]] + b"; charset=utf-8", content


FILES = {path: _read(name) for path, name in PLACES.items()}
