"""The address of a service: bound before anything is loaded, so that a mistake is told at once."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import ipaddress
import socket
import struct
import sys

BACKLOG = 1024
ATTACH_FILTER = 26  # Linux' SO_ATTACH_FILTER, which Python does not name


def bound(host: str, port: int) -> socket.socket:
    """A socket at an address, not listening yet: who connects before the service is ready is refused.

    >>> with bound("127.0.0.1", 0) as sock:
    ...     address_of(sock).startswith("http://127.0.0.1:")
    True
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (socket.gaierror, UnicodeError):
        raise ValueError(
            f"there is no address {host!r}: give 127.0.0.1, 0.0.0.0, :: or a name of this machine."
        ) from None
    family, kind, protocol, _, address = found[0]
    sock = socket.socket(family, kind, protocol)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
        sock.setblocking(False)
    except OSError as failure:
        sock.close()
        raise ValueError(f"cannot serve at {host} port {port}: {_reason(failure)}") from None
    return sock


def take_no_more(sock: socket.socket) -> None:
    """Let nobody else connect to a listening socket, while those who have connected can still be accepted.

    Where Linux has a filter for it. Closing alone would break the connections that come between the last look at those
    who wait and the close. Elsewhere that moment stays, which is short.
    """
    if sys.platform != "linux":
        return
    drop_all = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0))  # one instruction: return 0 bytes
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, ATTACH_FILTER, struct.pack("HL", 1, ctypes.addressof(drop_all)))


def address_of(sock: socket.socket) -> str:
    """Where a browser finds a service on this machine."""
    host, port = sock.getsockname()[:2]
    if ipaddress.ip_address(host.partition("%")[0]).is_unspecified:
        host = "127.0.0.1" if sock.family == socket.AF_INET else "::1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def is_loopback(sock: socket.socket) -> bool:
    """Whether only this machine reaches a socket."""
    return ipaddress.ip_address(sock.getsockname()[0].partition("%")[0]).is_loopback


def _reason(failure: OSError) -> str:
    if failure.errno == errno.EADDRINUSE:
        return "another process listens there; stop it or choose another port."
    if failure.errno in (errno.EACCES, errno.EPERM):
        return "this needs rights that you lack; choose a port above 1023."
    if failure.errno == errno.EADDRNOTAVAIL:
        return "this machine does not have that address."
    return f"{failure.strerror}."
