"""What arrives over a socket as no client should send it: slow, half, huge, strange; the service stays."""

import json
import os
import socket
import time

import pytest

from everypair.serve.limits import HEADER_BYTES

from .running import running, wait

if not hasattr(os, "fork"):
    pytest.skip("this system knows no fork: uvicorn alone keeps connections here", allow_module_level=True)

QUICK = "import everypair.serve.connections as c; c.ARRIVAL_SECONDS = 1.0; c.ANSWER_SECONDS = 1.0"
ASKED = b'{"user": "u1", "n": 1}'
HEAD = b"POST /v1/recommend HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"


@pytest.fixture(scope="module")
def service(tmp_path_factory, models):
    folder = tmp_path_factory.mktemp("sockets")
    models["OneClassMF"].save(folder / "model.ep")
    with running("model.ep", "--workers", 1, cwd=folder, before=QUICK) as one:
        yield one
        assert one.recommend(user="u1")["how"] == "known"
        assert one.metric("everypair_restarts_total") == 0
        assert "fault" not in one.said()


def everything(sock):
    """What comes until the other side closes."""
    parts = []
    while piece := sock.recv(65536):
        parts.append(piece)
    return b"".join(parts)


def told(service, *pieces, pause=0.0, half=False):
    with service.raw() as sock:
        for piece in pieces:
            sock.sendall(piece)
            time.sleep(pause)
        if half:
            sock.shutdown(socket.SHUT_WR)
        return everything(sock)


def request(body=ASKED, *headers):
    return HEAD + b"".join(line + b"\r\n" for line in headers) + b"content-length: %d\r\n\r\n" % len(body) + body


def test_slow_heads_and_bodies_end(service):
    for beginning in (b"GET /health HTTP/1.1\r\nx-a: ", HEAD + b"content-length: 100\r\n\r\n{"):
        with service.raw() as sock:
            sock.sendall(beginning)
            start = time.monotonic()
            answer = everything(sock)
        assert answer.startswith(b"HTTP/1.1 408 Request Timeout\r\n"), answer
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["code"] == "too_slow"
        assert 0.9 < time.monotonic() - start < 4


def test_dripping_does_not_help(service):
    with service.raw() as sock:
        sock.sendall(b"GET /health HTTP/1.1\r\n")
        start = time.monotonic()
        with pytest.raises((ConnectionError, AssertionError)):  # noqa: PT012
            for place in range(100):
                sock.sendall(b"x-%d: 1\r\n" % place)
                time.sleep(0.1)
                assert not sock.recv(1, socket.MSG_DONTWAIT | socket.MSG_PEEK) if readable(sock) else True
        assert time.monotonic() - start < 4


def readable(sock):
    import select

    return bool(select.select([sock], [], [], 0)[0])


def test_who_says_nothing_is_let_go(service):
    with service.raw() as sock:
        assert everything(sock) == b""


def test_a_long_head_is_refused(service):
    for long in (
        b"GET /health HTTP/1.1\r\nx-a: " + b"a" * (HEADER_BYTES + 10) + b"\r\n\r\n",
        b"GET /" + b"a" * (HEADER_BYTES + 10) + b" HTTP/1.1\r\n\r\n",
        b"GET /health HTTP/1.1\r\n" + b"a: b\r\n" * (HEADER_BYTES // 2) + b"\r\n",
        b"GET /health HTTP/1.1\r\nx-a: " + b"a" * (HEADER_BYTES + 10),
    ):
        assert told(service, long).startswith(b"HTTP/1.1 431 Request Header Fields Too Large\r\n")


def test_half_closed_connections_are_answered(service):
    answer = told(service, request(), half=True)
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b'"how":"known"' in answer
    assert told(service, request()[:-5], half=True) == b""
    assert told(service, b"", half=True) == b""


def test_several_requests_at_once_are_answered_in_order(service):
    many = b"".join(request(b'{"user": "u%d", "n": 1, "exclude_seen": false}' % place) for place in range(20))
    answer = told(service, many + request(ASKED, b"connection: close"))
    assert answer.count(b"HTTP/1.1 200 OK\r\n") == 21


def test_pieces_of_one_byte(service):
    with service.raw() as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in request(ASKED, b"connection: close"):
            sock.sendall(bytes([byte]))
        assert everything(sock).startswith(b"HTTP/1.1 200 OK\r\n")


@pytest.mark.parametrize(
    "sent",
    [
        b"\x00\x01\x02\x03\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"a" * 50,  # TLS
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nno colon here\r\n\r\n",
        b"GET / HTTP/1.1\r\nx: a\x00b\r\n\r\n",
        HEAD + b"content-length: -1\r\n\r\n",
        HEAD + b"content-length: 1e3\r\n\r\n",
        HEAD + b"content-length: 5\r\ncontent-length: 6\r\n\r\nabcdef",
        HEAD + b"content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        HEAD + b"transfer-encoding: chunked\r\n\r\nzz\r\n\r\n",
    ],
)
def test_what_is_no_http(service, sent):
    answer = told(service, sent, half=True)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 400 Bad Request\r\n"), answer
    assert answer.count(b"HTTP/1.1 4") < 2


def test_upgrades_are_not_taken(service):
    """Clients that would rather speak HTTP/2 are answered in what they spoke."""
    upgrade = (b"connection: Upgrade, HTTP2-Settings", b"upgrade: h2c", b"http2-settings: AAMAAABkAAQ")
    answer = told(service, request(ASKED, *upgrade), half=True)
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n"), answer


def test_large_bodies(service):
    announced = told(service, HEAD + b"content-length: 99999999999\r\n\r\n")
    assert announced.startswith(b"HTTP/1.1 413 ")
    with service.raw() as sock:
        sock.sendall(HEAD + b"transfer-encoding: chunked\r\n\r\n")
        with pytest.raises(ConnectionError):  # noqa: PT012
            for _ in range(1000):
                sock.sendall(b"10000\r\n" + b" " * 65536 + b"\r\n")
                time.sleep(0.005)


def test_tunnels_are_not_dug(service):
    assert told(service, b"CONNECT example.org:443 HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 400 ")


def test_expectations_are_met(service):
    with service.raw() as sock:
        sock.sendall(HEAD + b"expect: 100-continue\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % len(ASKED))
        assert sock.recv(100).startswith(b"HTTP/1.1 100 Continue\r\n")
        sock.sendall(ASKED)
        assert everything(sock).startswith(b"HTTP/1.1 200 OK\r\n")


@pytest.mark.parametrize(
    "path",
    ["/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/docs.css%00.js", "/docs.css/.", "http://a/x"],
)
def test_paths_lead_nowhere(service, path):
    answer = told(service, b"GET %s HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n" % path.encode())
    assert answer.startswith((b"HTTP/1.1 404 ", b"HTTP/1.1 400 ")), answer


def test_other_names_of_the_host_are_refused(service):
    sent = b"GET /v1/model HTTP/1.1\r\nhost: %s\r\nconnection: close\r\n\r\n"
    assert told(service, sent % b"rebound.example.org").startswith(b"HTTP/1.1 403 ")
    assert told(service, sent % b"localhost:8000").startswith(b"HTTP/1.1 200 ")


def test_who_does_not_read_is_let_go(service):
    with service.raw() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one = b"GET /docs HTTP/1.1\r\nhost: localhost\r\n\r\n"
        with pytest.raises(OSError):  # noqa: PT011, PT012
            for _ in range(100):
                sock.sendall(one * 20)
                time.sleep(0.1)


def test_who_leaves_at_once_harms_nobody(service):
    for _ in range(50):
        with service.raw() as sock:
            sock.sendall(request())
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a reset instead of a farewell
    wait(lambda: service.recommend(user="u1")["how"] == "known")
