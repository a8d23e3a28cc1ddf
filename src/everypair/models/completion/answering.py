"""What every completion model offers once it is fitted, by name or position; and how it reads what it learns from."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from everypair.check import as_frame
from everypair.data.ids import Ids, named_filter
from everypair.data.named_matrix import NamedMatrix, named_matrix, row_index
from everypair.data.observed import Observed
from everypair.features.named_columns import aligned_rows
from everypair.metrics.completion import entry_metrics
from everypair.models.completion.data import check_like
from everypair.models.completion.fitted import EVERY, FittedMatrix
from everypair.models.estimator import Estimator, FittedAttribute
from everypair.models.output import DEFAULT, Output, matrix_table, ranked_table
from everypair.models.parameters import Threads, estimator
from everypair.parallel import resolve_threads
from everypair.types import Array64

State = TypeVar("State", bound=FittedMatrix)
LARGEST = 1e60  # IMC takes fourth powers on its way


class Source(NamedTuple):
    """What ``fit`` was given, in one order: observed entries, features and validation entries as they came."""

    observed: Observed
    left_features: Any
    right_features: Any
    validation: Any
    names: NamedMatrix | None

    def ids(self, side: int) -> Ids | None:
        """Names of rows (side 0) or columns, if any."""
        return None if self.names is None else (self.names.rows, self.names.columns)[side]

    def named(self, state: State) -> State:
        """The state with the names of rows and columns, where Y had some."""
        if self.names is None:
            return state
        return replace(state, row_ids=self.names.rows, column_ids=self.names.columns)


def read_source(Y: Any, mask: Any, left_features: Any, right_features: Any, validation: Any = None) -> Source:
    """Read Y in any of its forms; frames beside a frame are brought into its order of rows and columns."""
    names = named_matrix(Y, "Y")
    if names is not None:
        Y, mask, validation = names.values, names.like(mask, "mask"), names.like(validation, "validation")
        left_features, right_features = (
            None if features is None else aligned_rows(features, ids, side, name)
            for side, (features, ids, name) in enumerate(
                ((left_features, names.rows, "left_features"), (right_features, names.columns, "right_features"))
            )
        )
    observed = Observed.from_matrix(Y, mask)
    if np.abs(observed.values).max() > LARGEST:
        raise ValueError(f"Y holds values beyond {LARGEST:g}, whose powers cannot be added up: rescale it.")
    return Source(observed, left_features, right_features, validation, names)


@estimator
class Completion(Threads, Output, Estimator):
    """Base of everything that completes a matrix: questions by name or position, over a fitted state."""

    regularisers: ClassVar[tuple[str, ...]] = ()

    row_ids_ = FittedAttribute()
    column_ids_ = FittedAttribute()

    def complete(self, left_features: Any = None, right_features: Any = None, *, output: str | None = None) -> Array64:
        """Return the completed matrix, dense: rows × columns numbers.

        With ``left_features`` its rows are new ones, with ``right_features`` its columns: entities that ``fit`` did not
        see, known by what the training features' weights N say about them. ``output`` is the form of this answer, as
        :meth:`set_output` chooses it for all: a table has the names of the columns, and in pandas those of the rows as
        its index (others have them in a first column ``row``).

        >>> import pandas as pd
        >>> from everypair.models.completion.rivals import FPCA
        >>> stars = pd.DataFrame({"dune": [1.0, 2.0], "heat": [2.0, 4.0]}, index=["ann", "bob"])
        >>> FPCA(nuclear_reg=0.01).fit(stars).complete(output="pandas").round()
             dune  heat
        ann   1.0   2.0
        bob   2.0   4.0
        """
        state, form = self._fitted(), self._form(output)
        left, right = self._new("left", left_features), self._new("right", right_features)
        completed = state.block(EVERY, EVERY, left, right, resolve_threads(self.n_threads))
        if form == DEFAULT:
            return completed
        rows, columns = names_of(state.row_ids, left_features), names_of(state.column_ids, right_features)
        columns = range(completed.shape[1]) if columns is None else columns
        table: Any = matrix_table(form, completed, columns, rows)
        return table

    def predict(self, rows: ArrayLike, columns: ArrayLike) -> Array64:
        """Return the values of the entries (rows[t], columns[t]), by name or position, without forming the matrix."""
        i, j = self._entries(rows, columns)
        return self._fitted().pairs(i, j, resolve_threads(self.n_threads))

    def score(self, Y: Any, mask: Any = None) -> float:
        """Return how good the completed matrix is at the known entries of Y: AUC or r².

        It is AUC where the training entries had two values, else r², which ``patience`` watches too. Y and its mask are
        those of :meth:`fit`: a matrix of the same shape with other entries, or a frame whose rows and columns are
        matched by name. A search of scikit-learn splits rows, and a row of which nothing was seen is not completed:
        give it all rows, ``cv=[(rows, rows)]``, and ``scoring=lambda model, *_: model.score(held_out)``.

        >>> from everypair.models.completion.rivals import FPCA
        >>> Y = np.outer(np.arange(1.0, 7), np.arange(1.0, 6))
        >>> shown = np.random.default_rng(0).random(Y.shape) < 0.7
        >>> round(FPCA(nuclear_reg=0.01).fit(Y, shown).score(Y, ~shown), 2)
        0.94
        """
        state = self._fitted()
        if state.row_ids is not None and state.column_ids is not None:
            named = NamedMatrix(np.empty(0), state.row_ids, state.column_ids)
            Y, mask = named.like(Y, "Y"), named.like(mask, "mask")
        held_out, levels = Observed.from_matrix(Y, mask), state.levels
        check_like(held_out, state.shape, levels, "Y", "the training matrix")
        values = state.entries(held_out, resolve_threads(self.n_threads))
        return entry_metrics(values, held_out.values, levels)["r2" if levels is None else "auc"]

    def recommend(
        self,
        rows: ArrayLike | None = None,
        n: int = 10,
        exclude_seen: bool = True,
        allow: Any = None,
        block: Any = None,
        *,
        features: Any = None,
        output: str | None = None,
    ) -> tuple[NDArray[Any], Array64]:
        """Return the ``n`` columns with the greatest values in each row, and the values, both (rows, n).

        ``rows``: names or positions (all by default), or describe new rows by their ``features``. ``exclude_seen``
        hides observed entries; ``allow`` and ``block`` are those of :func:`everypair.retrieve.top_k`. Equal values rank
        by ascending column; where fewer than ``n`` columns remain the rest is −1 (None among names) with −inf.
        ``output`` is the form of this answer: a table has a line for each row and column.
        """
        form, state, seen, threads = self._form(output), self._fitted(), None, resolve_threads(self.n_threads)
        if features is not None:
            if rows is not None:
                raise ValueError("give either rows (known ones) or the features of new ones, not both.")
            scores = state.scores(EVERY, self._new("left", features), threads)
        else:
            chosen = np.arange(state.shape[0])
            if rows is not None:
                chosen = positions(rows, state.shape[0], "rows", state.row_ids)
            scores = state.scores(chosen, n_threads=threads)
            seen = state.observed[chosen] if exclude_seen else None
        ids = state.column_ids
        if ids is not None:
            allow, block = named_filter(allow, ids, "column"), named_filter(block, ids, "column")
        columns, values = scores.top_k(n, exclude=seen, allow=allow, block=block, n_threads=self.n_threads)
        values = np.where(columns < 0, values, state.shown(values))
        columns = columns if ids is None else ids.names(columns)
        if form == DEFAULT:
            return columns, values
        names = names_of(state.row_ids, features) if rows is None else np.atleast_1d(np.asarray(rows))
        names = np.arange(len(columns)) if names is None else names
        table: Any = ranked_table(form, ("row", names), ("column", columns), values)
        return table

    def _entries(self, rows: ArrayLike, columns: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Positions of the entries (rows[t], columns[t])."""
        state = self._fitted()
        n, m = state.shape
        i, j = positions(rows, n, "rows", state.row_ids), positions(columns, m, "columns", state.column_ids)
        if i.shape != j.shape:
            raise ValueError(f"rows and columns must have one length, got {i.size} and {j.size}.")
        return i, j

    def _fitted(self) -> FittedMatrix:
        state: FittedMatrix = super()._fitted()
        return state

    def _new(self, side: str, features: Any) -> Any:
        return None if features is None else self._fitted().read(side, features)


def names_of(known: Ids | None, features: Any) -> Any:
    """Names of rows or columns: those of training, or those of new ones in the index of their features; None without.

    Rows that are only numbered have no names.
    """
    if features is not None:
        frame = as_frame(features, "features")
        return None if frame is None else row_index(frame)
    if known is None or np.array_equal(known.values, np.arange(len(known))):
        return None
    return known.values


def positions(values: ArrayLike, size: int, kind: str, ids: Ids | None = None) -> NDArray[np.int64]:
    """Positions of rows or columns, which are given so or by name."""
    if ids is not None:
        return ids.index(values, kind.removesuffix("s"))
    array = np.atleast_1d(np.asarray(values))
    if array.size == 0:
        return np.empty(0, np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise TypeError(f"{kind} must be integer positions (one or a 1-D array), got dtype {array.dtype}.")
    if array.min() < 0 or array.max() >= size:
        bad = array[(array < 0) | (array >= size)][0]
        raise ValueError(f"{kind} {bad} is unknown: the model was fitted on {size} {kind} (0 to {size - 1}).")
    return array.astype(np.int64)
