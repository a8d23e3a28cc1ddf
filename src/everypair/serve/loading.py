"""From a file, or a fitted model in memory, to what answers: loaded, checked, warmed, with its card.

The version of a file is the beginning of the checksum in its header, which covers the checksums of all its arrays.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from everypair import __version__
from everypair.data.item_table import ItemTable
from everypair.models.files import load
from everypair.models.recommend.answering_model import AnsweringModel, load_answering
from everypair.models.recommend.fitted import ComparesItems, Explains, Prepares, ReadsFeatures
from everypair.models.registry import ESTIMATORS, RECOMMENDERS
from everypair.problem.layout import LEFT
from everypair.serve.answers import Recommendations
from everypair.serve.catalogue import Catalogue, ids_of_items
from everypair.serve.entities import Entities
from everypair.serve.errors import Refusal
from everypair.serve.limits import AT_ONCE
from everypair.serve.predictions import FAMILIES, LabelPredictions, Predictions
from everypair.serve.questions import Recommend, Score, Similar
from everypair.serve.service import Variant
from everypair.store import read_file
from everypair.store.layout import PREFIX, START

UNSAVED = "unsaved"
SHOWN_SWEEPS = 200


def load_variant(source: Any, items: Any = None, name: str | None = None, share: float = 1.0) -> Variant:
    """A variant from a file or a fitted model; ``items`` is a table of items, by default the model's own."""
    from_file = isinstance(source, str | Path)
    kind = kind_of(source) if from_file else type(source).__name__
    version = version_of(Path(source)) if from_file else UNSAVED
    name = name or (Path(source).stem if from_file else kind)
    if kind not in ESTIMATORS:
        raise ValueError(f"a {kind} cannot be served: it is no model of EveryPair.")
    if kind not in RECOMMENDERS:
        if items is not None:
            raise ValueError(f"a {kind} has no items: leave the table of items out.")
        return load_predictions(
            load(source) if from_file else source, source if from_file else None, version, name, share
        )
    if from_file:
        model = load_answering(source)
        parameters, value = parameters_of(source), model.state_
    else:
        parameters, value = source.get_params(deep=False), source.state_
    entities = Entities(value.item_ids, value.shape[1])
    seen = value.interactions
    counts = np.bincount(seen.indices[seen.data > 0], minlength=value.shape[1])
    table = value.item_table if items is None else ItemTable.read(items, ids_of_items(entities))
    catalogue = Catalogue(entities, counts, table)
    answers = Recommendations(value, catalogue, Entities(value.user_ids, value.shape[0]), version, name)
    card = {
        "name": name,
        "version": version,
        "class": kind,
        "size": f"{value.shape[0]:,} users × {value.shape[1]:,} items",
        "users": value.shape[0],
        "items": value.shape[1],
        "interactions": int(seen.nnz),
        "ids": {"users": answers.users.kind, "items": entities.kind},
        "offers": offers_of(value),
        "columns": catalogue.choices(),
        "titles": catalogue.titles is not None,
        "parameters": plain(parameters),
        "training": plain(training_of(value)),
        "status": str(status) if (status := vars(value).get("status")) else None,
        "record": None if value.record is None else plain(asdict(value.record)),
        "file": Path(source).name if from_file else None,
        "bytes": Path(source).stat().st_size if from_file else None,
        "library": __version__,
        "loaded": time.time(),
    }
    return Variant(name, share, answers, card)


def load_predictions(model: Any, path: Any, version: str, name: str, share: float) -> Variant:
    """A variant of a model that is no recommender."""
    kind, state = type(model).__name__, model.state_
    answers = FAMILIES[ESTIMATORS[kind].family](model, version, name)
    if isinstance(answers, LabelPredictions):
        size = f"{answers.width:,} features, {state.n_labels:,} labels"
    else:
        size = "{:,} × {:,} entries".format(*state.shape)
    card = {
        "name": name,
        "version": version,
        "class": kind,
        "size": size,
        "offers": ["predict"],
        "columns": {},
        "titles": False,
        "parameters": plain(model.get_params(deep=False)),
        "training": plain(training_of(state)),
        "status": None,
        "record": None,
        "file": None if path is None else Path(path).name,
        "bytes": None if path is None else Path(path).stat().st_size,
        "library": __version__,
        "loaded": time.time(),
    }
    return Variant(name, share, answers, card)


def kind_of(path: Any) -> str:
    """The class of the model in a file."""
    _, values, _ = read_file(path, mmap=True, verify=False)
    return str(values.get("class"))


def parameters_of(path: Any) -> Any:
    """The parameters in a model file, as they are written there."""
    _, values, _ = read_file(path, mmap=True, verify=False)
    return values.get("parameters")


def version_of(path: Path) -> str:
    """The beginning of the checksum of a file's header."""
    with open(path, "rb") as file:
        return file.read(START)[PREFIX.size :].hex()[:12]


def offers_of(value: Any) -> list[str]:
    """What a recommender can be asked for."""
    offers = ["recommend", "score"]
    if isinstance(value, ComparesItems):
        offers.append("similar")
    if isinstance(value, Explains):
        offers.append("explain")
    if isinstance(value, ReadsFeatures) and value.feature_map(LEFT) is not None:
        offers.append("features")
    return offers


def warm_up(answers: Recommendations | Predictions) -> None:
    """Make what belongs to the model, and ask everything once at every size of batch, so that kernels are compiled.

    A model that cannot answer is refused here, before anybody asks it.
    """
    if isinstance(answers, Predictions):
        (answer,) = answers.predict([answers.example()])
        if isinstance(answer, Refusal):
            raise ValueError(f"{answers.variant} does not answer: {answer}")
        return
    AnsweringModel(answers.variant, answers.named, n_threads=1).prepare(compile=True)
    if isinstance(answers.value, Prepares):
        answers.value.prepare(1)
    for answer in _asked(answers):
        if isinstance(answer, Refusal) and answer.status == 500:
            raise ValueError(f"{answers.variant} does not answer: {answer.__cause__!r}.") from answer.__cause__


def _asked(answers: Recommendations) -> Iterator[Any]:
    users = answers.users.names(np.arange(min(AT_ONCE, answers.users.count)))
    favourites = answers.items.names(answers.catalogue.order[:3])
    known = [Recommend(user=user, exclude=favourites[:1]) for user in users]
    new = [Recommend(items=favourites[: 1 + place % 3]) for place in range(AT_ONCE)]
    for size in (1, 2, AT_ONCE):
        yield from answers.recommend(known[:size])
        yield from answers.recommend(new[:size])
    yield from answers.recommend(
        [Recommend(user=users[0], allow=favourites), Recommend(items=favourites, explain=True)]
    )
    yield from answers.recommend([Recommend(user=users[0], explain=True), Recommend(user=users[0], items=favourites)])
    yield from answers.recommend([Recommend(user="", fallback="popular")])
    yield from answers.similar([Similar(item=favourites[0])])
    yield from answers.score(
        [Score(user=users[0], candidates=favourites), Score(items=favourites, candidates=favourites)]
    )


def training_of(value: Any) -> list[dict[str, Any]]:
    """What a model noted of its training, thinned where that was long."""
    history = vars(value).get("history")
    if not isinstance(history, list):
        return []
    return history[:: max(1, math.ceil(len(history) / SHOWN_SWEEPS))]


def plain(value: Any) -> Any:
    """A value as JSON has it: what is neither a number, a text nor a list of such is written as Python would."""
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        return f"{' × '.join(map(str, value.shape))} numbers"
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return str(value)
