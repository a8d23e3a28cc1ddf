"""Models that recommend to nobody: the labels of rows, and the entries of a matrix. No HTTP here.

multi-label   rows of features → the best labels of each and their scores
completion    names or positions of rows and columns → the values at these entries
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from everypair.data.ids import Ids
from everypair.serve.entities import Entities
from everypair.serve.errors import Refusal, refusal_of
from everypair.serve.questions import EntryValues, Label, Labelled, PredictEntries, PredictLabels, RowLabels

Predict = PredictLabels | PredictEntries


class Predictions:
    """What a service asks of a model that is no recommender; ``variant`` and ``version`` are named in every answer."""

    def __init__(self, model: Any, version: str, variant: str) -> None:
        self.model, self.version, self.variant = model, version, variant

    def predict(self, questions: Sequence[Any]) -> list[Any]:
        """An answer for every question, or why there is none."""
        return [_one(self.answer, question) for question in questions]

    def answer(self, question: Any) -> Any:
        """The answer to one question."""
        raise NotImplementedError

    def example(self) -> Any:
        """A question that can be answered."""
        raise NotImplementedError


class LabelPredictions(Predictions):
    """RowLabels of rows of features."""

    def __init__(self, model: Any, version: str, variant: str) -> None:
        super().__init__(model, version, variant)
        names = vars(model).get("feature_names_in_")
        self.width = int(model.n_features_in_)
        self.features = Entities(None if names is None else Ids(list(map(str, names))), self.width)

    def answer(self, question: PredictLabels) -> Labelled:
        """The best labels of each row."""
        rows = [self._row(row, place) for place, row in enumerate(question.rows)]
        ends = np.cumsum([0, *(len(columns) for columns, _ in rows)])
        columns, values = (np.concatenate(parts) for parts in zip(*rows))
        matrix = sp.csr_array((values, columns, ends), shape=(len(rows), self.width))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # scikit-learn misses the names, which have been read here
            labels, scores = self.model.predict_topk(matrix, min(question.n, self.model.state_.n_labels))
        found = [
            RowLabels([Label(label, score) for label, score in zip(*pair)])
            for pair in zip(labels.tolist(), scores.tolist())
        ]
        return Labelled(found, self.version, self.variant)

    def example(self) -> PredictLabels:
        """A row of one feature."""
        return PredictLabels(rows=[{str(self.features.names([0])[0]): 1.0}])

    def _row(self, row: Any, place: int) -> tuple[Any, Any]:
        """Columns and values of a row, given as numbers in order or by the names of features."""
        if isinstance(row, list):
            if len(row) != self.width:
                sentence = (
                    f"a row has {self.width} numbers, or names of features and their values; this has {len(row)}."
                )
                raise Refusal(422, sentence, f"rows[{place}]")
            values = np.array(row, np.float64)
            return np.flatnonzero(values), values[values != 0]
        columns = self.features.find(list(row))
        if len(columns) and columns.min() < 0:
            name = list(row)[int(np.argmin(columns))]
            raise Refusal(422, f"there is no feature {name[:80]!r}.", f"rows[{place}]", "unknown_features")
        order = np.argsort(columns)
        return columns[order], np.array(list(row.values()), np.float64)[order]


class EntryPredictions(Predictions):
    """EntryValues of a matrix that was completed."""

    def __init__(self, model: Any, version: str, variant: str) -> None:
        super().__init__(model, version, variant)
        rows, columns = model.state_.shape
        self.sides = Entities(model.row_ids_, rows), Entities(model.column_ids_, columns)

    def answer(self, question: PredictEntries) -> EntryValues:
        """A value per pair of a row and a column, null where one of them is not known."""
        if len(question.rows) != len(question.columns):
            raise Refusal(422, "rows and columns name an entry together: give as many of each.", "columns")
        rows, columns = (side.find(names) for side, names in zip(self.sides, (question.rows, question.columns)))
        there = np.flatnonzero((rows >= 0) & (columns >= 0))
        values: list[float | None] = [None] * len(rows)
        for place, value in zip(there.tolist(), self.model.state_.pairs(rows[there], columns[there]).tolist()):
            values[place] = value
        return EntryValues(values, self.version, self.variant)

    def example(self) -> PredictEntries:
        """The first entry."""
        rows, columns = (side.names([0]) for side in self.sides)
        return PredictEntries(rows=rows, columns=columns)


FAMILIES: dict[str, type[Predictions]] = {"classifier": LabelPredictions, "completion": EntryPredictions}


def _one(answer: Callable[[Any], Any], question: Any) -> Any:
    try:
        return answer(question)
    except Exception as failure:
        return refusal_of(failure)
