"""A model's card: what it is, what it learnt from and when, how good it was, as values and as Markdown."""

from __future__ import annotations

from typing import Any

from everypair.models.serve_only import Dropped
from everypair.words import listed, moment

TIMES = ("first", "last", "up to")


def card(model: Any) -> dict[str, Any]:
    """What a fitted recommender says of itself.

    >>> from everypair import Popularity
    >>> found = card(Popularity().fit({"user": ["ann", "bob"], "item": ["blue", "rain"]}))
    >>> found["model"], found["data"]
    ('Popularity', {'users': 2, 'items': 2, 'pairs': 2, 'read': [{'pairs': 2}]})
    """
    state = model.state_
    users, items = state.shape
    interactions = state.interactions
    data: dict[str, Any] = {"users": users, "items": items}
    if not isinstance(interactions, Dropped):
        data["pairs"] = int(interactions.nnz)
    log, record = state.log, state.record
    if log is not None:
        data["read"] = [dict(one) for one in log.sources]
        if log.reading:
            data["as"] = dict(log.reading)
        if log.latest is not None:
            data["up to"] = log.latest
    found: dict[str, Any] = {"model": type(model).__name__}
    if record is not None:
        found |= {"created": record.created, "version": record.version}
        found |= {} if record.commit is None else {"commit": record.commit}
    found["data"] = data
    if record is not None and record.metrics:
        found["held out"] = record.held_out
        found["metrics"] = dict(record.metrics)
    history = getattr(state, "history", None)
    if history and not isinstance(history, Dropped):
        found["training"] = {"sweeps": len(history), "seconds": history[-1]["seconds"], "ended": str(state.status)}
    if state.item_table is not None:
        found["columns of items"] = list(state.item_table.columns)
    found["parameters"] = {name: value for name, value in model.get_params(deep=False).items() if value is not None}
    return found


def as_markdown(found: dict[str, Any]) -> str:
    """A card as Markdown.

    >>> read = {"file": "a.csv", "pairs": 3, "last": 1704067200.0}
    >>> print(as_markdown({"model": "Popularity", "data": {"users": 2, "read": [read]}}))
    # Popularity
    <BLANKLINE>
    ## data
    <BLANKLINE>
    - users: 2
    - read: file a.csv, pairs 3, last 1704067200 (2024-01-01)
    """
    lines = [f"# {found['model']}"]
    plain = {name: value for name, value in found.items() if name != "model" and not isinstance(value, dict)}
    if plain:
        lines += ["", *(f"- {name}: {_said(value)}" for name, value in plain.items() if value is not None)]
    for name, value in found.items():
        if isinstance(value, dict) and value:
            lines += ["", f"## {name}", "", *(f"- {key}: {_said(one, key)}" for key, one in value.items())]
    return "\n".join(lines)


def _said(value: Any, name: str = "") -> str:
    if isinstance(value, list):
        inner = list(map(_said, value))
        return "; ".join(inner) if any(isinstance(one, dict) for one in value) else listed(value, 20)
    if isinstance(value, dict):
        return ", ".join(f"{key} {_said(one, key)}" for key, one in value.items())
    if name in TIMES:
        return moment(value)
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
