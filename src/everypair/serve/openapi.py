"""The interface for programs (OpenAPI 3.1) and for people, both from the structures that check requests."""

from __future__ import annotations

from html import escape
from typing import Any

import msgspec

from everypair import __version__
from everypair.serve.errors import CODES, Failure
from everypair.serve.limits import FOUND, SEARCH_LETTERS
from everypair.serve.predictions import LabelPredictions, Predictions
from everypair.serve.questions import (
    Answered,
    Batch,
    EntryValues,
    Hits,
    Labelled,
    Neighbors,
    PredictEntries,
    PredictLabels,
    RankedItems,
    Recommend,
    Score,
    Scored,
    Similar,
)

POSTS: dict[str, tuple[type, type, str]] = {
    "/v1/recommend": (Recommend, RankedItems, '{"user": "ann", "n": 3}'),
    "/v1/similar": (Similar, Neighbors, '{"item": "blue"}'),
    "/v1/score": (Score, Scored, '{"items": ["blue"], "candidates": ["rain", "iron"]}'),
    "/v1/batch": (Batch, Answered, '{"questions": [{"user": "ann"}, {"items": ["blue"]}]}'),
}
LABELS: dict[str, tuple[type, type, str]] = {
    "/v1/predict": (PredictLabels, Labelled, '{"rows": [{"0": 1.0}], "n": 3}'),
}
ENTRIES: dict[str, tuple[type, type, str]] = {
    "/v1/predict": (PredictEntries, EntryValues, '{"rows": [0, 0], "columns": [1, 2]}'),
}
REFUSED = (400, 401, 403, 404, 413, 415, 422, 503)
Model = dict[str, Any]


def posts_of(service: Any) -> dict[str, tuple[type, type, str]]:
    """The questions that a service answers: path → question, answer, example."""
    answers = service.variants[0].answers
    return LABELS if isinstance(answers, LabelPredictions) else ENTRIES if isinstance(answers, Predictions) else POSTS


def description(service: Any) -> dict[str, Any]:
    """The OpenAPI document of a service."""
    posts = posts_of(service)
    kinds = [kind for asked, given, _ in posts.values() for kind in (asked, given)] + [Hits, Failure]
    references, components = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    of = dict(zip(kinds, references))
    if posts is POSTS:
        components["Answered"]["properties"]["answers"]["items"] = {"anyOf": [of[RankedItems], of[Failure]]}
    paths: dict[str, Any] = {}
    for path, (asked, given, example) in posts.items():
        body = {"schema": of[asked], "example": msgspec.json.decode(example)}
        paths[path] = {
            "post": {
                "summary": (asked.__doc__ or "").partition("\n")[0],
                "operationId": path.rpartition("/")[2],
                "requestBody": {"required": True, "content": {"application/json": body}},
                "responses": _responses(of[given], of[Failure], REFUSED),
            }
        }
    search: list[Model] = [
        {"name": "q", "in": "query", "schema": {"type": "string", "maxLength": SEARCH_LETTERS}},
        {"name": "limit", "in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": FOUND, "default": 10}},
    ]
    if posts is POSTS:
        found = _get("items", "Items by title or id.", of[Hits], of[Failure])
        paths["/v1/items"] = {"get": {**found, "parameters": search}}
    paths["/v1/model"] = {"get": _get("model", "What is served.", {"type": "object"}, of[Failure])}
    for path, words in (
        ("/health", "Whether the process lives."),
        ("/ready", "Whether it answers."),
        ("/metrics", "Counters for Prometheus."),
    ):
        paths[path] = {"get": _get(path[1:], words, {"type": "string"}, of[Failure], "text/plain")}
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "EveryPair", "version": __version__, "description": "Recommendations of one model file."},
        "paths": paths,
        "components": {"schemas": components},
    }
    if service.gate.digest is not None:
        components_of = document["components"]
        components_of["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"token": []}]
    return document


def _responses(answer: Any, failure: Any, refused: tuple[int, ...], kind: str = "application/json") -> dict[str, Any]:
    good = {"description": "the answer", "content": {kind: {"schema": answer}}}
    bad = {"application/json": {"schema": failure}}
    return {"200": good, **{str(one): {"description": CODES[one].replace("_", " "), "content": bad} for one in refused}}


def _get(name: str, words: str, answer: Any, failure: Any, kind: str = "application/json") -> dict[str, Any]:
    refused = (400, 401, 403, 422, 503)
    return {"summary": words, "operationId": name, "responses": _responses(answer, failure, refused, kind)}


def readable(document: dict[str, Any]) -> str:
    """The same as a page: every path with its fields, their kinds and limits, and a call to copy."""
    parts = []
    schemas = document["components"]["schemas"]
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            words = f"<h2><code>{method.upper()} {escape(path)}</code></h2><p>{escape(operation['summary'])}</p>"
            body = operation.get("requestBody", {}).get("content", {}).get("application/json")
            if body is not None:
                name = body["schema"]["$ref"].rpartition("/")[2]
                words += f"<pre>curl localhost:8000{escape(path)} -H 'content-type: application/json' \\\n  -d '"
                words += f"{escape(msgspec.json.encode(body['example']).decode(), quote=False)}'</pre>"
                words += _fields(schemas[name])
            elif "parameters" in operation:
                rows = {one["name"]: one["schema"] for one in operation["parameters"]}
                words += _fields({"properties": rows})
            given = operation["responses"]["200"]["content"].get("application/json", {}).get("schema", {})
            if "$ref" in given:
                words += "<h3>Answer</h3>" + _fields(schemas[given["$ref"].rpartition("/")[2]])
            parts.append(f"<section>{words}</section>")
    inner = [name for name in ("Found", "Reason", "Hit", "Failure", "Fault") if name in schemas]
    parts += [f"<section><h2>{name}</h2>{_fields(schemas[name])}</section>" for name in inner]
    title = f"{document['info']['title']} {document['info']['version']}"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
        f'content="width=device-width, initial-scale=1"><title>{escape(title)}: the interface</title>'
        '<link rel="stylesheet" href="/docs.css"></head><body><main>'
        f'<header><h1>{escape(title)}</h1><p>The interface of this service, for programs: <a href="/openapi.json">'
        'openapi.json</a>. Errors are <code>{"error": {"code", "message", "field"}}'
        f"</code>.</p></header>{''.join(parts)}</main></body></html>\n"
    )


def _fields(schema: dict[str, Any]) -> str:
    required = schema.get("required", ())
    rows = ""
    for name, field in schema.get("properties", {}).items():
        words = field.get("description", "")
        default = "required" if name in required else escape(msgspec.json.encode(field.get("default")).decode())
        rows += (
            f'<tr><th scope="row"><code>{escape(name)}</code></th><td>{escape(_kind(field))}</td>'
            f"<td>{default}</td><td>{escape(words)}</td></tr>"
        )
    head = "".join(f'<th scope="col">{name}</th>' for name in ("field", "kind", "default", "meaning"))
    return f'<div class="scroll" tabindex="0"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _kind(field: dict[str, Any]) -> str:
    """What a field takes, in words.

    >>> _kind({"type": "integer", "minimum": 1, "maximum": 9})
    'integer, 1 to 9'
    """
    if "$ref" in field:
        return str(field["$ref"]).rpartition("/")[2]
    if "anyOf" in field:
        return " or ".join(dict.fromkeys(_kind(one) for one in field["anyOf"]))
    words = str(field.get("type", "anything"))
    if words == "array":
        words = f"list of {_kind(field.get('items', {}))}"
    if words == "object" and isinstance(field.get("additionalProperties"), dict):
        words = f"object of {_kind(field['additionalProperties'])}"
    if "minimum" in field and "maximum" in field:
        words += "" if abs(field["minimum"]) > 2**60 else f", {field['minimum']:g} to {field['maximum']:g}"
    if "maxLength" in field:
        words += f" (to {field['maxLength']} letters)"
    if "maxItems" in field:
        words += f" (to {field['maxItems']})"
    return words
