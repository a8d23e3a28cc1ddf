"""A service as people start it: a process of its own, asked over its socket, with a few clients that never rest."""

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

SOURCE = str(Path(__file__).parents[2] / "src")


class Running:
    """A service that has said that it is ready."""

    def __init__(self, process, said):
        self.process, self.said = process, said
        self.port = int(re.search(r"http://127\.0\.0\.1:(\d+)", said())[1])

    def ask(self, path, question=None, headers=None, timeout=20):
        """Status, headers and body of a request on a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        with contextlib.closing(connection):
            body = None if question is None else json.dumps(question)
            kind = {} if question is None else {"content-type": "application/json"}
            connection.request("GET" if question is None else "POST", path, body, kind | (headers or {}))
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()

    def recommend(self, **question):
        status, _, body = self.ask("/v1/recommend", question)
        assert status == 200, body
        return json.loads(body)

    def metric(self, name):
        text = self.ask("/metrics")[2].decode()
        found = [line for line in text.splitlines() if line.startswith(name)]
        return sum(float(line.rpartition(" ")[2]) for line in found)

    def workers(self):
        """Numbers of the processes that answer."""
        text = self.ask("/metrics")[2].decode()
        return set(map(int, re.findall(r'everypair_worker_own_bytes\{pid="(\d+)"\}', text)))

    def raw(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=20)

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait(40)


@contextlib.contextmanager
def running(*arguments, cwd, before="", command="serve"):
    """Start ``everypair serve``; ``before`` is code that runs first in its process."""
    start = [sys.executable, "-m", "everypair", command, *map(str, arguments), "--port", "0"]
    if before:
        code = f"{before}\nimport sys; from everypair.cli import app; app(sys.argv[1:])"
        start = [sys.executable, "-c", code, *start[3:]]
    place = Path(cwd) / f"said-{time.monotonic_ns()}.txt"
    with place.open("wb") as file:
        environment = {**os.environ, "PYTHONPATH": SOURCE}
        process = subprocess.Popen(start, cwd=cwd, stderr=file, stdout=subprocess.DEVNULL, env=environment)
    try:
        wait(lambda: "Ctrl-C stops it" in place.read_text() or process.poll() is not None, 60)
        assert process.poll() is None, place.read_text()
        yield Running(process, place.read_text)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()


def wait(until, seconds=20.0):
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not until():
        assert time.monotonic() < end, "this took too long"
        time.sleep(0.02)


class Clients:
    """Clients on long connections that ask again and again; what became of every request is counted."""

    def __init__(self, port, users, count=4):
        self.port, self.users = port, users
        self.answers, self.lost, self.refused = [], [], 0
        self.over = threading.Event()
        self.threads = [threading.Thread(target=self._ask, args=(place,)) for place in range(count)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for thread in self.threads:
            thread.join()

    def _ask(self, place):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        number = place
        while not self.over.is_set():
            number += 1
            user = self.users[number % len(self.users)]
            try:
                connection.connect() if connection.sock is None else None
            except ConnectionRefusedError:
                self.refused += 1
                time.sleep(0.01)
                continue
            try:
                connection.request(
                    "POST", "/v1/recommend", json.dumps({"user": user}), {"content-type": "application/json"}
                )
                answer = connection.getresponse()
                self.answers.append((answer.status, user, answer.read()))
            except (OSError, http.client.HTTPException) as failure:
                self.lost.append(repr(failure))
                connection.close()
        connection.close()
