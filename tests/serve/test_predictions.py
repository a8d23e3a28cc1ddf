"""Models that recommend to nobody: labels of rows and entries of a matrix, the same over HTTP as in Python."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from everypair import MultiLabelMF
from everypair.models.completion.rivals import FPCA
from everypair.serve import app
from everypair.serve.generation import summary_of
from everypair.serve.loading import load_variant
from everypair.serve.openapi import ENTRIES, LABELS
from everypair.serve.routes import asgi
from everypair.serve.service import Service
from everypair.serve.supervisor import words_of

from .conftest import client_of


@pytest.fixture(scope="module")
def labelled():
    rng = np.random.default_rng(0)
    X = rng.random((60, 8)) * (rng.random((60, 8)) < 0.5)
    Y = sp.csr_array((X[:, :5] + 0.1 * rng.random((60, 5)) > 0.4).astype(float))
    return MultiLabelMF(rank=3, max_iter=5, random_state=0).fit(X, Y), X


@pytest.fixture(scope="module")
def completed():
    rng = np.random.default_rng(1)
    Y = rng.random((12, 2)) @ rng.random((2, 9))
    frame = pd.DataFrame(Y, [f"row {i}" for i in range(12)], [f"column {j}" for j in range(9)])
    return FPCA(nuclear_reg=0.01).fit(frame.mask(rng.random(Y.shape) < 0.3))


def test_labels_of_rows(labelled, tmp_path):
    model, X = labelled
    model.save(tmp_path / "labels.ep")
    labels, scores = model.predict_topk(sp.csr_array(X[:6]), 3)
    with client_of(app(tmp_path / "labels.ep")) as client:
        sparse = [{str(j): x for j, x in enumerate(row) if x} for row in X[:6].tolist()]
        for rows in (X[:6].tolist(), sparse):
            answer = client.post("/v1/predict", json={"rows": rows, "n": 3}).json()
            assert [[one["label"] for one in row["labels"]] for row in answer["rows"]] == labels.tolist()
            found = [[one["score"] for one in row["labels"]] for row in answer["rows"]]
            np.testing.assert_allclose(found, scores, rtol=1e-6)
        assert len(client.post("/v1/predict", json={"rows": [{}], "n": 1000}).json()["rows"][0]["labels"]) == 5
        for wrong, field in (
            ({"rows": []}, "rows"),
            ({"rows": [[1.0]]}, "rows[0]"),
            ({"rows": [{}, {"8": 1}]}, "rows[1]"),
            ({"rows": [{}], "n": 0}, "n"),
        ):
            answer = client.post("/v1/predict", json=wrong)
            assert (answer.status_code, answer.json()["error"]["field"]) == (422, field)
        for path in ("/v1/recommend", "/v1/similar", "/v1/batch"):
            assert client.post(path, json={}).status_code == 404
        assert client.get("/v1/items").status_code == 404
        document = client.get("/openapi.json").json()
        assert [path for path in document["paths"] if path.startswith("/v1/")] == [*LABELS, "/v1/model"]
        (card,) = client.get("/v1/model").json()["models"]
        assert (card["class"], card["size"], card["offers"]) == ("MultiLabelMF", "8 features, 5 labels", ["predict"])
        assert 'route="predict",status="422"' in client.get("/metrics").text


def test_features_by_name(labelled):
    _, X = labelled
    names = [f"feature {place}" for place in range(8)]
    frame = pd.DataFrame(X, columns=names)
    model = MultiLabelMF(rank=3, max_iter=5, random_state=0).fit(frame, (X[:, :3] > 0.3).astype(float))
    labels, _ = model.predict_topk(frame[:4], 2)
    with client_of(app(model)) as client, warnings.catch_warnings():
        rows = [dict(zip(reversed(names), reversed(row))) for row in X[:4].tolist()]
        answer = client.post("/v1/predict", json={"rows": rows, "n": 2}).json()
        assert [[one["label"] for one in row["labels"]] for row in answer["rows"]] == labels.tolist()
        answer = client.post("/v1/predict", json={"rows": [{"feature 9": 1}]})
        assert answer.json()["error"]["message"] == "there is no feature 'feature 9'."


def test_entries_of_a_matrix(completed, tmp_path):
    completed.save(tmp_path / "matrix.ep")
    rows, columns = ["row 3", "row 0", "row 11"], ["column 1", "column 8", "column 2"]
    with client_of(app(tmp_path / "matrix.ep")) as client:
        answer = client.post("/v1/predict", json={"rows": [*rows, "row 99"], "columns": [*columns, "column 0"]}).json()
        np.testing.assert_allclose(answer["values"][:3], completed.predict(rows, columns))
        assert answer["values"][3] is None
        answer = client.post("/v1/predict", json={"rows": rows, "columns": columns[:2]})
        assert (answer.status_code, answer.json()["error"]["field"]) == (422, "columns")
        assert list(ENTRIES) == ["/v1/predict"]
        assert "12 × 9 entries" in client.get("/v1/model").text


def test_what_does_not_go_together(labelled, completed, models):
    variants = [load_variant(labelled[0], name="a", share=0.5), load_variant(completed, name="b", share=0.5)]
    assert words_of([summary_of(variants[0])]) == "a (MultiLabelMF unsaved, 8 features, 5 labels)"
    with pytest.raises(ValueError, match="must answer the same questions"):
        asgi(Service(variants))
    with pytest.raises(ValueError, match="has no items"):
        load_variant(completed, pd.DataFrame({"item": ["a"]}))
    with pytest.raises(ValueError, match="a list cannot be served"):
        load_variant([])
