"""The app over HTTP: answers, filters by a table, a sentence for every mistake, headers, counters, the schema."""

import copy
import json
import re

import msgspec
import pytest

from everypair.serve import app
from everypair.serve.limits import BODY_BYTES
from everypair.serve.openapi import POSTS
from everypair.serve.questions import Recommend
from everypair.serve.routes import asgi
from everypair.serve.service import _METHODS, Service, checked_shares, share_of

from .conftest import client_of

SECRET = "a secret of enough letters"
MISTAKES = [
    ("/v1/recommend", {}, 422, "user"),
    ("/v1/recommend", {"user": "u1", "n": 0}, 422, "n"),
    ("/v1/recommend", {"user": "u1", "n": 1001}, 422, "n"),
    ("/v1/recommend", {"user": "u1", "n": "5"}, 422, "n"),
    ("/v1/recommend", {"user": "u1", "n": 5.5}, 422, "n"),
    ("/v1/recommend", {"user": "u1", "offset": -1}, 422, "offset"),
    ("/v1/recommend", {"user": "u1", "offset": 4500, "n": 1000}, 422, "offset"),
    ("/v1/recommend", {"user": "u1", "explain": True, "n": 100}, 422, "n"),
    ("/v1/recommend", {"user": ["u1"]}, 422, "user"),
    ("/v1/recommend", {"user": True}, 422, "user"),
    ("/v1/recommend", {"user": "x" * 513}, 422, "user"),
    ("/v1/recommend", {"user": 2**70}, 422, "user"),
    ("/v1/recommend", {"user": "nobody"}, 404, "user"),
    ("/v1/recommend", {"user": "u1", "users": "u1"}, 422, None),
    ("/v1/recommend", {"items": ["nothing", "known"]}, 422, "items"),
    ("/v1/recommend", {"items": {"film 1": "much"}}, 422, "items[...]"),
    ("/v1/recommend", {"items": {"film 1": 0}}, 422, "items"),
    ("/v1/recommend", {"items": {"film 1": 1e9}}, 422, "items[...]"),
    ("/v1/recommend", {"items": ["film 1"] * 2001}, 422, "items"),
    ("/v1/recommend", {"features": {"age": 3}}, 422, None),
    ("/v1/recommend", {"user": "u1", "where": {"colour": "red"}}, 422, "where"),
    ("/v1/recommend", {"user": "u1", "where": {"kind": "red"}}, 422, "where"),
    ("/v1/recommend", {"user": "u1", "fallback": "best"}, 422, "fallback"),
    ("/v1/recommend", [], 422, None),
    ("/v1/similar", {}, 422, None),
    ("/v1/similar", {"item": "no such film"}, 404, "item"),
    ("/v1/score", {"user": "u1"}, 422, None),
    ("/v1/score", {"user": "u1", "candidates": []}, 422, "candidates"),
    ("/v1/score", {"user": "nobody", "candidates": ["film 1"]}, 404, "user"),
    ("/v1/batch", {"questions": []}, 422, "questions"),
    ("/v1/batch", {"questions": [{"user": "u1"}] * 257}, 422, "questions"),
    ("/v1/batch", {"questions": [{"user": "u1", "n": 0}]}, 422, "questions[0].n"),
]


@pytest.mark.parametrize(("path", "question", "status", "field"), MISTAKES)
def test_a_mistake_has_a_sentence(client, path, question, status, field):
    answer = client.post(path, json=question)
    error = answer.json()["error"]
    assert (answer.status_code, error.get("field")) == (status, field)
    assert error["message"].endswith(".")
    assert "Traceback" not in answer.text


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"\xff\xfe{}", 400),
        (b'{"user": "\xed\xa0\x80"}', 400),
        (b'{"user": "\\ud800"}', 400),
        (b'{"user": NaN}', 400),
        (b'{"items": {"film 1": 1e999}}', 422),
        (b'{"user": ' + b"[" * 100_000, 400),
        (b'{"items": ' + b'{"a":' * 5000, 400),
        (b" " * (BODY_BYTES + 1), 413),
    ],
)
def test_what_is_no_json_is_refused(client, body, status):
    answer = client.post("/v1/recommend", content=body)
    assert answer.status_code in (status, 422), answer.text
    assert set(answer.json()) == {"error"}


def test_kinds_of_bodies(client):
    question = b'{"user": "u1"}'
    for kind, status in (
        ("application/json; charset=utf-8", 200),
        ("application/vnd.api+json", 200),
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
    ):
        assert client.post("/v1/recommend", content=question, headers={"content-type": kind}).status_code == status
    packed = {"content-type": "application/json", "content-encoding": "gzip"}
    assert client.post("/v1/recommend", content=question, headers=packed).status_code == 415


def test_pieces_of_a_body_are_put_together_and_counted(client):
    pieces = (piece for piece in (b'{"user"', b': "u1"', b"}"))
    assert client.post("/v1/recommend", content=pieces).status_code == 200
    endless = (b" " * 65536 for _ in range(100))
    assert client.post("/v1/recommend", content=endless).status_code == 413


@pytest.mark.parametrize(
    "path", ["/nope", "/v1", "/v1/recommend/", "//v1/recommend", "/docs.css/../../pyproject.toml", "/%2e%2e/etc/passwd"]
)
def test_other_paths_are_not_there(client, path):
    answer = client.get(path)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


def test_other_methods(client):
    answer = client.get("/v1/recommend")
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert client.post("/health").status_code == 405
    assert client.head("/health").status_code == 200
    assert client.request("BREW", "/v1/recommend").status_code == 405


def test_columns_of_the_table_choose(client, films):
    kinds = dict(zip(films["item"], zip(films["kind"], films["year"])))
    for where, fits in (
        ({"kind": "long"}, lambda kind, year: kind == "long"),
        ({"kind": ["long", "short"], "year": 1991}, lambda kind, year: year == 1991),
        ({"year": ["1990", 1992.0], "kind": "short"}, lambda kind, year: year != 1991 and kind == "short"),
        ({"year": [">", 1990]}, lambda kind, year: year > 1990),
        ({"year": [[">=", 1991], ["<", "1992"]]}, lambda kind, year: year == 1991),
        ({"kind": ["!=", "long"]}, lambda kind, year: kind != "long"),
    ):
        answer = client.post("/v1/recommend", json={"user": "u1", "n": 100, "exclude_seen": False, "where": where})
        found = {one["item"] for one in answer.json()["items"]}
        assert found == {name for name, row in kinds.items() if fits(*row)} - {"film of nobody"}
    near = client.post("/v1/similar", json={"item": "film 1", "where": {"kind": "long"}, "n": 50}).json()["items"]
    assert {kinds[one["item"]][0] for one in near} == {"long"}


def test_a_model_that_knows_its_items_needs_no_table(model, films, tmp_path):
    described = copy.copy(model).describe_items(films)
    assert model.state_.item_table is None
    described.record({"ndcg@10": 0.25}, held_out="since May", commit="4f2a").save(tmp_path / "model.ep")
    with client_of(app(tmp_path / "model.ep")) as asked:
        (card,) = asked.get("/v1/model").json()["models"]
        assert card["titles"]
        assert card["record"]["metrics"] == {"ndcg@10": 0.25}
        assert (card["record"]["held_out"], card["record"]["commit"]) == ("since May", "4f2a")
        assert card["columns"]["kind"] == ["long", "short"]
        near = asked.post("/v1/similar", json={"item": "film 1", "where": {"kind": "long"}, "n": 3}).json()
        assert all(one["title"] for one in near["items"])


def test_titles(client):
    answer = client.post("/v1/recommend", json={"user": "u1", "n": 1, "explain": True}).json()["items"][0]
    assert answer["title"] == f"The <b>{answer['item']}</b> & other stories"
    assert all(reason["title"].endswith("& other stories") for reason in answer["reasons"])


def test_search(client, model):
    def found(**query):
        return [hit["item"] for hit in client.get("/v1/items", params=query).json()["items"]]

    assert found(q="film 12")[0] == "film 12"  # the id itself
    assert set(found(q="<B>FILM 1", limit=50)) == {name for name in model.item_ids_ if name.startswith("film 1")}
    assert found(q="no such words") == []
    counts = [hit["users"] for hit in client.get("/v1/items?limit=100").json()["items"]]
    assert counts == sorted(counts, reverse=True)
    assert len(counts) == len(model.item_ids_)
    assert len(found(limit=3)) == 3
    for query in ("limit=0", "limit=101", "limit=", "limit=²", "limit=1e1", "limit=-1", "what=1", "q=" + "x" * 201):
        assert client.get(f"/v1/items?{query}").status_code == 422, query
    assert client.get("/v1/items?q=%ff").status_code == 400
    assert client.get("/v1/items?" + "&".join(f"q={place}" for place in range(99))).status_code == 400


def test_batch(client):
    questions = [{"user": "u1"}, {"user": "nobody"}, {"items": ["film 3"]}, {"user": "nobody", "fallback": "popular"}]
    answers = client.post("/v1/batch", json={"questions": questions}).json()["answers"]
    for question, answer in zip(questions, answers):
        assert set(answer) - {"error"} == set(client.post("/v1/recommend", json=question).json()) - {"error"}
    assert answers[1]["error"]["code"] == "unknown_user"
    assert [answer.get("how") for answer in answers] == ["known", None, "folded_in", "popular"]


def test_model(client, model):
    (card,) = client.get("/v1/model").json()["models"]
    assert (card["users"], card["items"]) == model.interactions_.shape
    assert card["class"] == "OneClassMF"
    assert card["parameters"]["rank"] == 4
    assert [sweep["objective"] for sweep in card["training"]][-1] == pytest.approx(model.objective_)
    assert card["columns"] == {"kind": ["long", "short"], "year": ["1990", "1991", "1992"]}


def test_headers(client):
    answer = client.post("/v1/recommend", json={"user": "u1"}, headers={"x-request-id": "mine-1"})
    assert answer.headers["x-request-id"] == "mine-1"
    assert answer.headers["cache-control"] == "no-store"
    for odd in ("a" * 65, 'a"b', "a b"):
        given = client.get("/health", headers={"x-request-id": odd}).headers["x-request-id"]
        assert re.fullmatch("[0-9a-f]{16}", given)
    assert "access-control-allow-origin" not in client.get("/health", headers={"origin": "http://a"}).headers
    assert "set-cookie" not in answer.headers


def test_token(model):
    with client_of(app(model, token=SECRET)) as client:
        for headers in (
            {},
            {"authorization": "Bearer wrong"},
            {"authorization": f"Basic {SECRET}"},
            {"authorization": SECRET},
            {"authorization": f"Bearer {SECRET}x"},
        ):
            answer = client.post("/v1/recommend", json={"user": "u1"}, headers=headers)
            assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
            assert client.get("/v1/model", headers=headers).status_code == 401
            assert client.get("/metrics", headers=headers).status_code == 401
        right = {"authorization": f"bearer {SECRET}"}
        assert client.post("/v1/recommend", json={"user": "u1"}, headers=right).status_code == 200
        assert client.get("/health").status_code == client.get("/ready").status_code == 200
        assert client.get("/openapi.json").json()["security"] == [{"token": []}]


def test_metrics_are_what_happened(model):
    with client_of(app(model)) as client:
        for question in ({"user": "u1"}, {"user": "nobody"}, {"items": ["film 1", "nothing"]}):
            client.post("/v1/recommend", json=question)
        client.post("/v1/recommend", json={"user": "nobody", "fallback": "popular"})
        text = client.get("/metrics").text
    lines = dict(line.rpartition(" ")[::2] for line in text.splitlines() if not line.startswith("#"))
    own = 'route="recommend",status="{}",variant="OneClassMF"'
    assert lines[f"everypair_requests_total{{{own.format(200)}}}"] == "3"
    assert lines[f"everypair_requests_total{{{own.format(404)}}}"] == "1"
    assert lines['everypair_request_seconds_count{route="recommend"}'] == "4"
    assert lines["everypair_batch_size_sum"] == lines["everypair_batch_size_count"] == "4"
    counted = {name: lines[f"everypair_{name}_total"] for name in ("folded_in", "popular", "unknown_users")}
    assert counted == {"folded_in": "1", "popular": "1", "unknown_users": "2"}
    assert lines["everypair_ignored_items_total"] == "1"
    heads = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    assert len(heads) == len(set(heads))
    assert all(re.fullmatch(r'[a-z_]+(\{([a-z]+="[^"]*",?)+\})?', name) for name in lines)


def test_openapi_is_what_is_checked(client):
    document = client.get("/openapi.json").json()
    assert {path for path in document["paths"] if path.startswith("/v1/")} == {*POSTS, "/v1/items", "/v1/model"}
    text = json.dumps(document)
    for name in re.findall(r"#/components/schemas/(\w+)", text):
        assert name in document["components"]["schemas"]
    for asked, _, example in POSTS.values():
        msgspec.json.decode(example, type=asked)
    page = client.get("/docs")
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert all(f"<code>POST {path}</code>" in page.text for path in POSTS)
    assert not re.search(r"(src|href)=.https?:", page.text)


def test_more_than_may_wait_is_refused(model, monkeypatch):
    monkeypatch.setattr("everypair.serve.batches.WAITING", 3)
    with client_of(app(model)) as client:
        questions = [{"user": "u1"}, {"user": "u2"}, {"user": "u3"}, {"user": "u4"}]
        answers = client.post("/v1/batch", json={"questions": questions}).json()["answers"]
        assert [answer.get("error", {}).get("code") for answer in answers] == [None, None, None, "busy"]
        monkeypatch.setattr("everypair.serve.batches.WAITING", 0)
        answer = client.post("/v1/recommend", json={"user": "u1"})
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")


def test_a_fault_is_no_trace(model, monkeypatch):
    def broken(self, questions):
        raise KeyError("secret inside")

    monkeypatch.setitem(_METHODS, Recommend, broken)
    with client_of(app(model)) as client:
        answer = client.post("/v1/recommend", json={"user": "u1"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "fault")
    assert "secret" not in answer.text


def test_two_models_share_users(models):
    from everypair.serve.loading import load_variant

    variants = [
        load_variant(models["OneClassMF"], name="a", share=0.7),
        load_variant(models["Popularity"], name="b", share=0.3),
    ]
    service = Service(variants)
    chosen = {user: service.variant_of(user) for user in (f"user {place}" for place in range(4000))}
    assert abs(sum(chosen.values()) / 4000 - 0.3) < 0.03
    assert chosen == {user: service.variant_of(user) for user in chosen}
    with client_of(asgi(service)) as client:
        for user in models["OneClassMF"].user_ids_:
            answer = client.post("/v1/recommend", json={"user": user}).json()
            assert answer["variant"] == ("b" if share_of(user) < 0.3 else "a")
        unit = next(user for user, variant in chosen.items() if variant == 1)
        answer = client.post("/v1/recommend", json={"items": ["film 1"]}, headers={"x-unit": unit}).json()
        assert answer["variant"] == "b"
        assert client.post("/v1/recommend", json={"items": ["film 1"]}).json()["variant"] == "a"
        assert 'variant="b"' in client.get("/metrics").text
        assert [one["share"] for one in client.get("/v1/model").json()["models"]] == [0.7, 0.3]


def test_shares():
    assert checked_shares([None]) == [1.0]
    for shares, words in (([None, None], "give the second"), ([0.5, 0.5], "the first"), ([None, 2.0], "from 0 to 100")):
        with pytest.raises(ValueError, match=words):
            checked_shares(shares)
    with pytest.raises(ValueError, match="one model, or two"):
        checked_shares([None, 0.1, 0.1])


def test_tables_that_do_not_fit(model):
    import pandas as pd

    with pytest.raises(ValueError, match="names no item of the model, such as 'film"):
        app(model, items=pd.DataFrame({"item": ["a", "b"], "title": ["A", "B"]}))
    with pytest.raises(ValueError, match="call the column of the items' ids 'item' or 'id'"):
        app(model, items=pd.DataFrame({"what": ["film 1"], "title": ["A"]}))
