"""Requests and answers as they are written in JSON: one definition is the check, the documentation and the schema."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from everypair.serve import limits

Id = Annotated[str, Meta(max_length=limits.ID_LETTERS)] | Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Weight = Annotated[float, Meta(ge=-limits.WEIGHT, le=limits.WEIGHT)]
Events = (
    Annotated[list[Id], Meta(max_length=limits.EVENTS)]
    | Annotated[dict[Annotated[str, Meta(max_length=limits.ID_LETTERS)], Weight], Meta(max_length=limits.EVENTS)]
)
Features = (
    dict[Annotated[str, Meta(max_length=limits.ID_LETTERS)], str | float | bool | None]
    | Annotated[list[float], Meta(max_length=limits.FEATURES)]
)
Length = Annotated[int, Meta(ge=1, le=limits.LIST_LENGTH)]
Offset = Annotated[int, Meta(ge=0, le=limits.RANKED - 1)]
Filter = Annotated[list[Id], Meta(max_length=limits.FILTERED)]
Where = dict[str, str | float | list[str | float | list[str | float]]]


class Somebody(Struct, kw_only=True, forbid_unknown_fields=True, frozen=True):
    """Whom a question is about: a user of the model, what somebody has (a session), features, or all of these."""

    user: Annotated[Id | None, Meta(description="An id of the model.")] = None
    items: Annotated[
        Events | None,
        Meta(description="What somebody has: ids, or {id: weight}; a negative weight is a dislike. Added to the user."),
    ] = None
    features: Annotated[
        Features | None, Meta(description="Of a model with user features: {name: value}, or numbers in order.")
    ] = None


class Recommend(Somebody, kw_only=True, forbid_unknown_fields=True, frozen=True):
    """The best items of somebody, from place ``offset`` of one ranking on."""

    n: Annotated[Length, Meta(description="How many items.")] = 10
    offset: Annotated[Offset, Meta(description="Places to skip: pages of one ranking do not overlap.")] = 0
    exclude: Annotated[Filter, Meta(description="Items to leave out; unknown ones change nothing.")] = []
    allow: Annotated[Filter | None, Meta(description="Items to choose from.")] = None
    where: Annotated[
        Where | None, Meta(description='Conditions on columns of items: {"kind": ["film"], "price": ["<", 20]}.')
    ] = None
    exclude_seen: Annotated[bool, Meta(description="Leave out what somebody has.")] = True
    fallback: Annotated[
        Literal["none", "popular"], Meta(description="For a user who is not known: nothing (404), or what is popular.")
    ] = "none"
    explain: Annotated[bool, Meta(description="Give the greatest reasons for every item.")] = False


class Similar(Struct, kw_only=True, forbid_unknown_fields=True, frozen=True):
    """The items nearest to an item."""

    item: Annotated[Id, Meta(description="An id of the model.")]
    n: Annotated[Length, Meta(description="How many items.")] = 10
    offset: Annotated[Offset, Meta(description="Places to skip.")] = 0
    exclude: Annotated[Filter, Meta(description="Items to leave out.")] = []
    allow: Annotated[Filter | None, Meta(description="Items to choose from.")] = None
    where: Annotated[Where | None, Meta(description="Conditions on columns of items.")] = None


class Score(Somebody, kw_only=True, forbid_unknown_fields=True, frozen=True):
    """Scores of given items for somebody, in their order: to rank what another system has found."""

    candidates: Annotated[list[Id], Meta(min_length=1, max_length=limits.CANDIDATES, description="Items to score.")]


class Batch(Struct, kw_only=True, forbid_unknown_fields=True, frozen=True):
    """Several questions in one request; one that fails fails alone."""

    questions: Annotated[list[Recommend], Meta(min_length=1, max_length=limits.BATCH)]


Row = (
    Annotated[list[float], Meta(max_length=limits.FEATURES)]
    | Annotated[dict[Annotated[str, Meta(max_length=limits.ID_LETTERS)], float], Meta(max_length=limits.FEATURES)]
)


class PredictLabels(Struct, kw_only=True, forbid_unknown_fields=True, frozen=True):
    """The best labels of rows of features."""

    rows: Annotated[
        list[Row],
        Meta(min_length=1, max_length=limits.ROWS, description="Numbers in order, or {feature: value}, the rest 0."),
    ]
    n: Annotated[Length, Meta(description="How many labels of each row.")] = 5


class PredictEntries(Struct, kw_only=True, forbid_unknown_fields=True, frozen=True):
    """The entries of a completed matrix at rows and columns, pair by pair."""

    rows: Annotated[list[Id], Meta(min_length=1, max_length=limits.CELLS, description="Names or positions of rows.")]
    columns: Annotated[list[Id], Meta(min_length=1, max_length=limits.CELLS, description="As many columns.")]


class Label(Struct):
    """A label of a row."""

    label: str | int
    score: float


class RowLabels(Struct):
    """The labels of one row, the best first."""

    labels: list[Label]


class Labelled(Struct):
    """The labels of every row."""

    rows: list[RowLabels]
    model: str
    variant: str


class EntryValues(Struct):
    """A value per pair, null where the model does not know its row or its column."""

    values: list[float | None]
    model: str
    variant: str


class Reason(Struct, omit_defaults=True):
    """How much an item that somebody has adds to a score."""

    item: str | int
    contribution: float
    title: str | None = None


class Found(Struct, omit_defaults=True):
    """An item of a list; ``reasons`` only where they were asked for, ``title`` where the service has titles."""

    item: str | int
    score: float
    title: str | None = None
    reasons: list[Reason] | UnsetType = UNSET


class RankedItems(Struct, omit_defaults=True):
    """A list, the best first.

    ``how``: known, known+items (a user of the model with what the request adds), folded_in (from items or features
    alone), or popular. ``model`` is the version of the model, ``ignored`` are items that it does not know.
    """

    items: list[Found]
    how: str
    model: str
    variant: str
    ignored: list[str | int] = []


class Neighbors(Struct, omit_defaults=True):
    """The nearest items and their cosines."""

    items: list[Found]
    model: str
    variant: str


class Scored(Struct, omit_defaults=True):
    """A score per candidate, null where the model does not know it."""

    scores: list[float | None]
    how: str
    model: str
    variant: str
    ignored: list[str | int] = []


class Answered(Struct):
    """An answer per question, or its error, in their order."""

    answers: list[Any]


class Hit(Struct, omit_defaults=True):
    """An item that a search found, and how many users have it."""

    item: str | int
    users: int
    title: str | None = None


class Hits(Struct):
    """What a search found: the item of that id first, then those that most users have."""

    items: list[Hit]
