"""Mistakes when a service is started: one sentence, exit code 2, before anything is loaded."""

import os
import socket
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from everypair.cli import app
from everypair.serve.gate import Gate
from everypair.serve.setup import Setup, gate_of, served_models
from everypair.serve.sockets import address_of, bound, take_no_more

from .running import SOURCE


@pytest.fixture(scope="module")
def home(tmp_path_factory, models):
    folder = tmp_path_factory.mktemp("start")
    models["OneClassMF"].save(folder / "model.ep")
    (folder / "other").mkdir()
    models["OneClassMF"].save(folder / "other" / "model.ep")
    (folder / "text.ep").write_text("user,item\n")
    (folder / "token").write_text("a secret of enough letters\n")
    (folder / "short").write_text("secret\n")
    return folder


MISTAKES = {
    "nothing": ((), "Missing argument"),
    "no such file": (("none.ep",), "there is no file none.ep"),
    "a folder": ((".",), ". is a folder"),
    "another kind of file": (("text.ep",), "text.ep is no model file"),
    "two without a share": (("model.ep", "other/model.ep"), "give the second model a share"),
    "a share that is none": (("model.ep", "other/model.ep=lots"), "'lots' in other/model.ep=lots is no share"),
    "three models": (("model.ep", "other/model.ep=1%", "other/model.ep=1%"), "one model, or two"),
    "twice the same": (("model.ep", "model.ep=10%"), "two models need two names"),
    "no such table": (("model.ep", "--items", "none.csv"), "none.csv"),
    "no such token": (("model.ep", "--token-file", "none"), "none"),
    "a short token": (("model.ep", "--token-file", "short"), "at least 16 letters"),
    "a token and none": (("model.ep", "--token-file", "token", "--no-token"), "exclude each other"),
    "exposed": (("model.ep", "--host", "0.0.0.0"), "--token-file"),
    "no such host": (("model.ep", "--host", "no such host"), "there is no address 'no such host'"),
    "another machine's address": (("model.ep", "--host", "192.0.2.1", "--no-token"), "does not have that address"),
    "no port": (("model.ep", "--port", "99999"), "--port"),
    "no workers": (("model.ep", "--workers", "0"), "--workers"),
    "a log of users without a log": (("model.ep", "--log-users"), "--log"),
    "a log nowhere": (("model.ep", "--log", "none/log"), "none/log"),
}


@pytest.mark.parametrize(("typed", "words"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes(home, monkeypatch, typed, words):
    monkeypatch.chdir(home)
    monkeypatch.setattr("everypair.serve.start.serve", lambda *_: pytest.fail("this began to work"))
    port = () if "--port" in typed else ("--port", "0")
    result = CliRunner().invoke(app, ["serve", *typed, *port])
    assert result.exit_code == 2, result.output
    assert words in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_port_that_is_taken(home, monkeypatch):
    monkeypatch.chdir(home)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        result = CliRunner().invoke(app, ["serve", "model.ep", "--port", str(taken.getsockname()[1])])
    assert result.exit_code == 2
    assert "another process listens there" in result.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system knows no fork")
@pytest.mark.parametrize(("content", "words"), [(b"", "is cut short"), (b"item,title\nnone,None\n", "names no item")])
def test_files_that_cannot_be_served_end_it(home, content, words):
    model, items = home / "model.ep", ()
    if content:
        (home / "items.csv").write_bytes(content)
        items = ("--items", home / "items.csv")
    else:
        model = home / "cut.ep"
        model.write_bytes((home / "model.ep").read_bytes()[:-64])
    code = [sys.executable, "-m", "everypair", "serve", str(model), *map(str, items), "--port", "0"]
    done = subprocess.run(code, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": SOURCE}, timeout=60)
    assert done.returncode == 2, done.stderr
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def test_files_are_checked_alone(home, monkeypatch):
    monkeypatch.chdir(home)
    result = CliRunner().invoke(app, ["serve", "model.ep", "--check", "--port", "0"])
    assert result.exit_code == 0
    assert "model (OneClassMF" in result.stderr
    assert result.stderr.endswith("can be served.\n")
    (home / "half.ep").write_bytes((home / "model.ep").read_bytes()[:3000])
    assert CliRunner().invoke(app, ["serve", "half.ep", "--check", "--port", "0"]).exit_code == 2


def test_without_the_extra():
    code = "import sys; sys.modules['starlette'] = None; from everypair.cli import app; app(sys.argv[1:])"
    call = [sys.executable, "-c", code, "serve", "model.ep"]
    done = subprocess.run(call, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": SOURCE})
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert 'pip install "everypair[serve]"' in done.stderr


def test_setup(home, monkeypatch):
    monkeypatch.chdir(home)
    models = served_models(["other/model.ep", "model.ep=10%"])
    assert [(one.name, one.share) for one in models] == [("other/model", 0.9), (f"{home.name}/model", 0.1)]
    assert Setup(models, None, Gate(), 2, False, None, False).files == (models[0].path, models[1].path)
    assert gate_of(None, False, True).local
    assert not gate_of(None, True, True).local
    assert gate_of(home / "token", False, False).digest is not None
    with bound("localhost", 0) as sock:
        assert address_of(sock).startswith("http://")
    with bound("0.0.0.0", 0) as sock:
        assert address_of(sock).startswith("http://127.0.0.1:")


def test_a_system_without_forks(home, models):
    """There the service is one process, which uvicorn runs."""
    from everypair.serve.generation import loaded
    from everypair.serve.meters import Meters

    service = loaded(Setup(served_models([str(home / "model.ep")]), None, Gate(), 1, False, None, False), Meters(1))
    assert service.variants[0].card["class"] == "OneClassMF"
    assert service.variants[0].card["parameters"]["rank"] == 4


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has the filter")
def test_a_socket_that_takes_no_more():
    with bound("127.0.0.1", 0) as sock:
        sock.listen(5)
        take_no_more(sock)
        with socket.socket() as late:
            late.settimeout(0.2)
            with pytest.raises(TimeoutError):
                late.connect(sock.getsockname())


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has the filter")
def test_who_has_connected_before_is_taken():
    with bound("127.0.0.1", 0) as sock:
        sock.listen(5)
        with socket.create_connection(sock.getsockname()) as early:
            take_no_more(sock)
            early.sendall(b"hello")
            accepted, _ = sock.accept()
            with accepted:
                accepted.settimeout(2)
                assert accepted.recv(5) == b"hello"
