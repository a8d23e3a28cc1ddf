"""Model files as commands use them: loaded, told from tables, and asked by ids that were typed."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def is_model_file(path: Path) -> bool:
    """Whether a file begins as files of EveryPair do; a file that is cut short within that still counts."""
    from everypair.store.layout import MAGIC

    try:
        with path.open("rb") as file:
            start = file.read(len(MAGIC))
    except OSError:
        return False
    return bool(start) and MAGIC.startswith(start)


def load_recommender(path: Path) -> Any:
    """Return the recommender of a file; other models have no users to recommend to."""
    from everypair import load
    from everypair.models.registry import RECOMMENDERS

    model = load(path)
    if type(model).__name__ not in RECOMMENDERS:
        raise ValueError(f"{path} holds a {type(model).__name__}, which is no recommender: load it in Python.")
    return model


def load_to_ask(path: Path) -> Any:
    """Return the recommender of a file to be asked alone: without scikit-learn, whose import would take longest."""
    from everypair.models.recommend.answering_model import load_answering

    return load_answering(path)


def offered(model: Any, method: str) -> Any:
    """A method that only some recommenders have, or the sentence that says which."""
    try:
        return getattr(model, method)
    except AttributeError as failure:
        raise ValueError(f"{failure}") from None


def ids_of(model: Any) -> tuple[Any, Any]:
    """Return the ids of a recommender's users and items, or their positions where it was fitted on a matrix."""
    from everypair.data import Ids

    rows, columns = model.state_.shape
    return (
        Ids(range(rows)) if model.user_ids_ is None else model.user_ids_,
        Ids(range(columns)) if model.item_ids_ is None else model.item_ids_,
    )


def typed(texts: list[str], ids: Any, kind: str) -> list[Any]:
    """Return ids that were typed as text: as they are, or as numbers where ids are numbers."""
    if ids.are_strings:
        return texts
    odd = next((text for text in texts if not text.strip().lstrip("-").isdecimal()), None)
    if odd is not None:
        raise ValueError(f"unknown {kind} {odd!r}: the {kind}s of this model are numbers, such as {ids[0]}.")
    return list(map(int, texts))
