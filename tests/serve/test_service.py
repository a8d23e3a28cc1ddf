"""The service as a process: it starts, answers, survives its workers, takes new files, leaves and loses nothing."""

import json
import os
import signal

import pytest

from .running import Clients, running, wait

if not hasattr(os, "fork"):
    pytest.skip("this system knows no fork: the service is one process here", allow_module_level=True)


@pytest.fixture(scope="module")
def home(tmp_path_factory, models):
    folder = tmp_path_factory.mktemp("service")
    models["OneClassMF"].save(folder / "a.ep")
    models["logistic"].save(folder / "b.ep")
    return folder


def replace(home, source, target="model.ep"):
    (home / "new").write_bytes((home / source).read_bytes() if isinstance(source, str) else source)
    os.replace(home / "new", home / target)


@pytest.fixture(scope="module")
def service(home):
    replace(home, "a.ep")
    with running("model.ep", "--workers", 2, "--watch", "--log", "log.jsonl", cwd=home) as one:
        yield one


def names(answer):
    return [found["item"] for found in answer["items"]]


def expected(model, user):
    return list(model.recommend([user])[0][0])


def test_it_answers_as_the_model_does(service, models, home):
    model = models["OneClassMF"]
    for user in list(model.user_ids_)[:5]:
        assert names(service.recommend(user=user)) == expected(model, user)[:10]
    status, headers, _ = service.ask("/ready", headers={"x-request-id": "mine"})
    assert (status, headers["x-request-id"]) == (200, "mine")
    assert service.said().startswith("everypair: serving model (OneClassMF ")
    lines = [json.loads(line) for line in (home / "log.jsonl").read_text().splitlines()]
    asked = [line for line in lines if line["route"] == "recommend"]
    assert {(line["status"], line["n"], line["how"], line["variant"]) for line in asked} == {
        (200, 10, "known", "model")
    }
    assert "user" not in asked[0]
    assert any(line["id"] == "mine" for line in lines)


def test_long_connections_are_spread(service):
    connections = [service.raw() for _ in range(16)]
    for one in connections:
        one.sendall(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert one.recv(1000).startswith(b"HTTP/1.1 200")
    held = {pid: len(os.listdir(f"/proc/{pid}/fd")) for pid in service.workers()} if os.path.isdir("/proc/self") else {}
    for one in connections:
        one.close()
    if held:
        assert max(held.values()) - min(held.values()) <= 3


def test_a_worker_that_dies_is_replaced(service, models):
    before = service.workers()
    victim = min(before)
    restarts = service.metric("everypair_restarts_total")
    os.kill(victim, signal.SIGKILL)
    wait(lambda: len(service.workers() - {victim}) == 2, 3.0)
    assert len(service.workers() & before) == 1
    assert service.metric("everypair_restarts_total") == restarts + 1
    assert service.recommend(user="u1")["how"] == "known"


def test_new_files_are_taken_and_bad_ones_are_not(service, models, home):
    users = list(models["OneClassMF"].user_ids_)
    right = {user: {tuple(expected(models[name], user)[:10]) for name in ("OneClassMF", "logistic")} for user in users}
    whole = (home / "b.ep").read_bytes()
    reloads, failures = service.metric("everypair_reloads_total"), service.metric("everypair_failed_reloads_total")
    with Clients(service.port, users) as clients:
        for step, content in enumerate(["b.ep", whole[:-100], b"nothing of the kind", "a.ep"]):
            replace(home, content)
            bad = step in (1, 2)
            name = "everypair_failed_reloads_total" if bad else "everypair_reloads_total"
            count = failures + step if bad else reloads + 1 + step // 3
            wait(lambda name=name, count=count: service.metric(name) == count)
    assert clients.lost == []
    assert clients.refused == 0
    assert len(clients.answers) > 50
    for status, user, body in clients.answers:
        assert status == 200
        assert tuple(names(json.loads(body))) in right[user]
    assert len({json.loads(body)["model"] for _, _, body in clients.answers}) == 2
    assert "the old ones stay: model.ep cannot be read" in service.said()


def test_the_process_that_holds_the_models_is_replaced(service):
    worker = min(service.workers())
    with open(f"/proc/{worker}/stat") as file:
        generation = int(file.read().rpartition(")")[2].split()[1])
    old = service.workers()
    os.kill(generation, signal.SIGKILL)
    wait(lambda: "another is started" in service.said())
    wait(lambda: len(service.workers() - old) == 2)
    assert service.recommend(user="u1")["how"] == "known"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_leaves_when_all_is_answered(home, models, number):
    with running("a.ep", "--workers", 2, cwd=home) as service:
        with Clients(service.port, list(models["OneClassMF"].user_ids_)) as clients:
            wait(lambda: len(clients.answers) > 50)
            assert service.stop(number) == 0
        assert clients.lost == [] or number == signal.SIGINT  # which waits for nobody who is quiet
        assert clients.refused > 0
        assert {status for status, _, _ in clients.answers} == {200}
        assert service.said().endswith("everypair: stopped.\n")


def test_nobody_stays_behind_when_it_is_killed(home):
    with running("a.ep", "--workers", 2, cwd=home) as service:
        workers = service.workers()
        service.process.kill()
        service.process.wait(10)
        wait(lambda: not any(is_there(pid) for pid in workers), 15)


def is_there(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_the_demo(home):
    with running("--serve", "--rank", 2, cwd=home, command="demo") as service:
        assert "serving shop (Blend" in service.said()
        question = {"items": ["coffee-01"], "where": {"category": "baking"}, "n": 3}
        assert all(one["item"].startswith("baking") for one in service.recommend(**question)["items"])
        assert service.stop() == 0


def test_two_models(home):
    with running("a.ep", "b.ep=25%", "--workers", 1, cwd=home) as service:
        assert "a (OneClassMF" in service.said()
        assert "25 % of the users" in service.said()
        found = {service.recommend(user=f"u{place}")["variant"] for place in range(30)}
        assert found == {"a", "b"}
        assert service.metric('everypair_requests_total{route="recommend",status="200",variant="b"}') > 0


def test_where_there_is_no_fork(home):
    """One process answers, which uvicorn runs."""
    with running("a.ep", cwd=home, before="import everypair.serve.start as start; start.FORKS = False") as service:
        assert service.recommend(user="u1")["how"] == "known"
        assert service.stop(signal.SIGINT) == 0
        assert service.said().endswith("everypair: stopped.\n")
