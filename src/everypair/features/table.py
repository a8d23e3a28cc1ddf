"""A table of what is known about users or items → one sparse matrix with named columns, a row per id.

    numbers   scaled to mean 0 and deviation 1          dates   years as a number, month, weekday
    category  a column of 0 and 1 per value             list    the same for each value of a|b|c
    text      tf-idf of its words                       hashed  the same, in a fixed number of columns

Rows are matched by id and columns by name, never by position: a shuffled table gives the same matrix, and what does
not match is refused by name. What was learnt is kept in a frozen object of plain values and arrays.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.check import integer
from everypair.data.ids import Ids
from everypair.data.tables import Column, Problems, TextOptions, open_table
from everypair.features.categories import CategoryFeature
from everypair.features.matching import aligned_columns, find_row_ids
from everypair.features.numbers import DateFeature, NumberFeature
from everypair.features.table_kinds import check_kinds, check_names, guess_kinds
from everypair.features.words import HashedTextFeature, TextFeature
from everypair.words import listed

FEATURES: dict[str, Any] = {
    "number": NumberFeature,
    "date": DateFeature,
    "category": CategoryFeature,
    "text": TextFeature,
    "hashed": HashedTextFeature,
}

Feature = NumberFeature | DateFeature | CategoryFeature | TextFeature | HashedTextFeature


@dataclass(frozen=True)
class TableFeatures:
    """What was learnt from a table: how each column becomes features. Make one with :func:`table_features`.

    >>> films = {"film": ["a", "b"], "genre": ["love", "war"]}
    >>> encoder = table_features(films, Ids(["a", "b"]), kinds={"genre": "category"}).encoder
    >>> encoder.transform({"film": ["c"], "genre": ["war"]}).toarray().tolist()
    [[0.0, 1.0]]
    """

    features: tuple[Feature, ...]

    def __post_init__(self) -> None:
        for feature in self.features:
            is_whole = isinstance(feature, Feature)
            if isinstance(feature, TextFeature):
                is_whole = feature.idf.shape == (len(feature.words),)
            if not is_whole:
                raise ValueError(f"the stored features are damaged: {feature!r:.80} is none.")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns of `transform`."""
        return tuple(name for feature in self.features for name in feature.names)

    def ids_of(self, source: Any, known: Ids, id: Hashable | None = "auto") -> Ids:
        """Return the ids of a table's rows, as text where the ``known`` ones are."""
        columns = [feature.column for feature in self.features]
        row_ids = find_row_ids(open_table(source, TextOptions(), columns), source, id, known, columns)
        problems = Problems()
        cells = row_ids.table.read({row_ids.column: "id"}, problems, "string" if known.are_strings else "auto")
        problems.report()
        return cells[row_ids.column].ids or Ids(cells[row_ids.column].values)

    def transform(
        self,
        source: Any,
        ids: Ids | None = None,
        *,
        id: Hashable | None = "auto",
        absent: Literal["error", "zeros"] = "error",
        extra: Literal["error", "drop"] = "error",
        **text_options: Any,
    ) -> Any:
        """Return the features of other rows (csr, float32): in the order of ``ids``, or of the table without them.

        Columns are found by name; those that were not there in training are not looked at.

        >>> films = {"item": ["b", "a"], "genre": ["war", "war|love"]}
        >>> learnt = table_features(films, Ids(["a", "b"]), kinds={"genre": "list"}).encoder
        >>> learnt.transform({"genre": ["love|new"]}).toarray().tolist(), learnt.names
        ([[1.0, 0.0]], ('genre=love', 'genre=war'))
        """
        kinds = {feature.column: _kind_of(feature) for feature in self.features}
        table = open_table(source, TextOptions(**text_options), list(kinds))
        absent_columns = [name for name in kinds if name not in table.names]
        if absent_columns:
            raise ValueError(
                f"{table.source_name}There is no column {listed(absent_columns)}, which training had: the columns are "
                f"{listed(table.names, 20)}."
            )
        check_names(table, list(kinds))
        row_ids = None if ids is None else find_row_ids(table, source, id, ids, list(kinds))
        columns, rows, _ = aligned_columns(table, _read_as(kinds), ids, row_ids, absent, extra)
        return _side_by_side([feature.transform(columns[feature.column]) for feature in self.features], rows)


@dataclass(frozen=True)
class FeatureTable:
    """``matrix`` (csr, float32) has a row per id and a column per name; ``encoder`` does the same to later rows.

    A model takes it as features: it matches rows by id, and later tables need no encoding.

    >>> films = {"film": ["b", "a"], "genre": ["war", "love"]}
    >>> table = table_features(films, Ids(["a", "b"]), kinds={"genre": "category"})
    >>> table.names, table.matrix.toarray().tolist()
    (('genre=love', 'genre=war'), [[1.0, 0.0], [0.0, 1.0]])
    """

    matrix: Any
    encoder: TableFeatures
    ids: Ids | None = None

    def __repr__(self) -> str:
        rows, columns = self.matrix.shape
        return f"FeatureTable({rows:,} rows × {columns:,} features: {listed(self.names, 4)})"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.encoder.names


def table_features(
    source: Any,
    ids: Ids,
    *,
    id: Hashable | None = "auto",
    kinds: Mapping[Any, str] | None = None,
    separator: str = "|",
    min_count: int = 1,
    n_hashed: int = 4096,
    absent: Literal["error", "zeros"] = "error",
    extra: Literal["error", "drop"] = "drop",
    delimiter: str | None = None,
    header: bool | Sequence[str] | None = None,
    quote: str | None = '"',
    encoding: str = "utf-8",
    verbose: bool = True,
) -> FeatureTable:
    """Turn a table about users or items into features, one row per id.

    Parameters
    ----------
    source
        A file, data frame, mapping of columns or rows, as for :func:`everypair.data.read_events`.
    ids
        Whose features: the ids of rows or columns of the interactions, in whose order the matrix is.
    id
        The column with the ids; ``"auto"`` finds it by its name, ``"index"`` takes a pandas frame's index, ``None``
        says that the rows are in the order of ``ids``.
    kinds
        Which columns to take and as what: ``"number"``, ``"date"``, ``"category"``, ``"list"``, ``"text"`` or
        ``"hashed"``. ``None`` takes all, guesses, and says so in one line.
    separator
        Between the values of a list; lists of a data frame need none.
    min_count
        Rarer values and words have no column.
    n_hashed
        Number of columns of hashed text.
    absent
        Ids of which the table says nothing: an ``"error"``, or a row of ``"zeros"``.
    extra
        Rows of the table that are not among the ids, as a catalogue has items without events: ``"drop"`` leaves them
        out, or an ``"error"``. :meth:`update` of a model adds them later.
    delimiter, header, quote, encoding, verbose
        As for :func:`everypair.data.read_events`.

    Examples
    --------
    >>> films = {"film": ["b", "a"], "year": [1990, 2000], "genre": ["war", "war|love"]}
    >>> table = table_features(films, Ids(["a", "b"]), kinds={"year": "number", "genre": "list"})
    >>> table.names, table.matrix.toarray().tolist()
    (('year', 'genre=love', 'genre=war'), [[1.0, 1.0, 1.0], [-1.0, 0.0, 1.0]])
    """
    min_count, n_hashed = integer("min_count", min_count), integer("n_hashed", n_hashed, 2)
    if not isinstance(separator, str) or not separator:
        raise ValueError(f"separator must be one or more characters such as '|', got {separator!r}.")
    table = open_table(source, TextOptions(delimiter, header, quote, encoding), [id, *(kinds or ())])
    if kinds is not None:
        check_kinds(table, kinds)
    row_ids = find_row_ids(table, source, id, ids, list(kinds or ()))
    if kinds is None:
        kinds = guess_kinds(table, [name for name in table.names if name != row_ids.column], separator)
        if verbose:
            guesses = ", ".join(f"{name!r} {kind}" for name, kind in kinds.items())
            line = f"{table.source_name}ids {row_ids.column!r}, features {guesses or 'none'}; kinds= chooses."
            print(line, file=sys.stderr)
    if not kinds:
        raise ValueError(f"{table.source_name}There is no column to make features of besides the ids.")
    columns, rows, beyond = aligned_columns(table, _read_as(kinds), ids, row_ids, absent, extra)
    if verbose and beyond:
        print(f"{table.source_name}{beyond:,} rows are of none of the {len(ids):,} ids and left out.", file=sys.stderr)
    options = (separator, min_count, n_hashed)
    encoder = TableFeatures(tuple(_learnt(name, kind, columns[name], *options) for name, kind in kinds.items()))
    matrix = _side_by_side([one.transform(columns[one.column]) for one in encoder.features], rows)
    return FeatureTable(matrix, encoder, ids)


def _learnt(name: str, kind: str, column: Column, separator: str, min_count: int, n_hashed: int) -> Feature:
    if kind == "number":
        return NumberFeature.fit(name, column)
    if kind == "date":
        return DateFeature.fit(name, column)
    if kind in ("category", "list"):
        return CategoryFeature.fit(name, column, separator if kind == "list" else None, min_count)
    return TextFeature.fit(name, column, min_count) if kind == "text" else HashedTextFeature(name, n_hashed)


def _read_as(kinds: Mapping[Any, str]) -> dict[Any, str]:
    """Return how a table has to read each column."""
    return {name: {"number": "number", "date": "moment"}.get(kind, "text") for name, kind in kinds.items()}


def _kind_of(feature: Feature) -> str:
    return next(kind for kind, made in FEATURES.items() if isinstance(feature, made))


def _side_by_side(parts: list[Any], rows: NDArray[np.int64]) -> Any:
    """Return the features of every id, 0 where it has no row."""
    rows_there = sp.csr_array(sp.hstack(parts, format="csr"))
    if rows_there.shape[1] == 0:
        raise ValueError("No feature is left: no value or word appears min_count times; lower it.")
    padded = sp.csr_array(sp.vstack([rows_there, sp.csr_array((1, rows_there.shape[1]))], format="csr"))
    matrix = padded[np.where(rows < 0, rows_there.shape[0], rows)].astype(np.float32)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix
