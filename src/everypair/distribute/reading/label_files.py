"""Rows with features and labels from files that workers read: Parquet, XC or npz, one after the other by name.

Every file holds some of the rows and all of the columns. Columns of a Parquet file are matched by name, and its labels
are those of all files. The client sees counts, the labels' names and a sample of rows, never the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.data.files.label_file import OPTIONS, read_multilabel
from everypair.data.labels import Labels
from everypair.data.pairs import Compressed
from everypair.distribute.borders import shard_borders
from everypair.distribute.feature_rows import FeatureRows
from everypair.distribute.pieces import Piece, Sized
from everypair.distribute.reading.label_columns import BY_NAME, LabelFileSummary, SharedColumns
from everypair.distribute.reading.summaries import naming, summaries
from everypair.distribute.sharded_pairs import PairsOfSide, ShardedPairs, work_of
from everypair.distribute.tasks import Tasks
from everypair.features.named_columns import NamedColumns
from everypair.features.preparation import Preparation
from everypair.features.scaling import check_size
from everypair.parallel import Chunk
from everypair.types import Array


@dataclass(frozen=True)
class LabelFileRows(Sized):
    """Rows of features and their positives, both csr."""

    X: Any
    Y: Any

    def __sizeof__(self) -> int:
        return int(sum(part.nbytes for one in (self.X, self.Y) for part in (one.data, one.indices, one.indptr)))


@dataclass(frozen=True)
class LabelFile(LabelFileRows):
    """Rows as they are in a file, and the names of its columns where it has some."""

    path: str
    feature_names: tuple[str, ...] | None
    label_names: tuple[str, ...] | None


@dataclass(frozen=True)
class LabelFiles:
    """Labelled rows on a cluster: futures of parts, and what is known of all of them."""

    tasks: Tasks
    parts: list[Any]
    shared: SharedColumns
    row_counts: list[NDArray[np.int64]]
    label_counts: NDArray[np.int64]
    columns: int

    @classmethod
    def read(cls, tasks: Tasks, paths: list[str], options: Mapping[str, Any]) -> LabelFiles:
        """Have workers read the files, with options of ``read_multilabel``."""
        strange = sorted(set(options) - {"format", *OPTIONS})
        if strange:
            raise ValueError(f"read= has {strange[0]!r}, which is no option of read_multilabel: leave it out.")
        places = tasks.place([1] * len(paths))
        data = tasks.start(
            [tasks.task("read-labels", _read, path, dict(options), place=place) for path, place in zip(paths, places)]
        )
        files: list[LabelFileSummary] = summaries(tasks, data, _summary)
        shared = SharedColumns.of(files)
        maps = [shared.label_map(one) for one in files]
        counts = np.zeros(shared.n_labels, np.int64)
        for one, where in zip(files, maps):
            counts[slice(len(one.label_counts)) if where is None else where] += one.label_counts
        if not counts.any():
            raise ValueError("no row of the files has a label: there is nothing to learn.")
        parts = tasks.start(
            [tasks.task("labelled-rows", _in_columns, one, shared, where) for one, where in zip(data, maps)]
        )
        return cls(tasks, parts, shared, [one.row_counts for one in files], counts, shared.n_features)

    def prepared(self, preparation: Preparation, dtype: Any) -> LabelFiles:
        """The same rows with prepared features."""
        parts = [self.tasks.task("prepared-rows", _prepared, part, preparation, dtype) for part in self.parts]
        return replace(self, parts=self.tasks.start(parts), columns=self.columns + preparation.fit_intercept)

    @property
    def n_rows(self) -> int:
        """Rows of all files."""
        return sum(map(len, self.row_counts))

    def sampled_rows(self, count: int, random: np.random.Generator) -> NDArray[np.int64]:
        """So many rows at random, in their order."""
        return np.sort(random.choice(self.n_rows, min(count, self.n_rows), replace=False))

    def rows_here(self, chosen: NDArray[np.int64]) -> tuple[Any, Labels]:
        """Features and labels of these rows."""
        taken = []
        for part, (start, stop) in zip(self.parts, self._spans()):
            mine = chosen[(chosen >= start) & (chosen < stop)] - start
            taken.append(self.tasks.task("sample", _take, part, mine))
        rows: list[LabelFileRows] = self.tasks.get(taken)
        X, Y = (sp.vstack([getattr(one, name) for one in rows], format="csr") for name in ("X", "Y"))
        return sp.csr_array(X), Labels.from_y(sp.csr_array(Y))

    def sharded(
        self, shards: tuple[int | None, int | None], label_weights: NDArray[np.float64], reg: float, dtype: Any
    ) -> tuple[ShardedPairs, FeatureRows]:
        """Positives cut by rows and by labels, weighted by label, and the features of the rows."""
        counts = np.concatenate(self.row_counts), self.label_counts
        borders = [shard_borders(count, shard) for count, shard in zip(counts, shards)]
        places = [self.tasks.place([work_of(count, chunk) for chunk in both]) for count, both in zip(counts, borders)]
        cut = self.tasks.start(
            [
                self.tasks.task("cut-rows", _cut, *self._sources(chunk), place=place)
                for chunk, place in zip(borders[0], places[0])
            ]
        )
        weights = label_weights.astype(dtype)
        rows = [
            self.tasks.task("pairs", _by_rows, one, start, weights, place=place)
            for one, (start, _), place in zip(cut, borders[0], places[0])
        ]
        columns = [
            self.tasks.task(
                "pairs", _by_labels, [self.tasks.task("labels", _labels, one, chunk) for one in cut], chunk[0],
                weights[slice(*chunk)], place=place,
            )
            for chunk, place in zip(borders[1], places[1])
        ]  # fmt: skip
        sides = tuple(
            PairsOfSide(borders[side], places[side], self.tasks.start(one)) for side, one in enumerate((rows, columns))
        )
        pairs = ShardedPairs(
            self.tasks,
            (self.n_rows, len(counts[1])),
            (sides[0], sides[1]),
            *counts,
            counts,
            float(counts[1] @ label_weights),
        )

        def features(tasks: Tasks, mine: PairsOfSide) -> list[Any]:
            return [tasks.task("features", _features, one, place=place) for one, place in zip(cut, mine.places)]

        return pairs, FeatureRows(self.columns, reg, False, 1.0, features)

    def _spans(self) -> list[Chunk]:
        ends = np.cumsum([0, *map(len, self.row_counts)]).tolist()
        return list(pairwise(ends))

    def _sources(self, chunk: Chunk) -> tuple[list[Any], list[Chunk]]:
        """The parts that hold rows of a shard, and which of theirs."""
        parts, slices = [], []
        for part, (start, stop) in zip(self.parts, self._spans()):
            first, last = max(chunk[0], start), min(chunk[1], stop)
            if first < last:
                parts.append(part)
                slices.append((first - start, last - start))
        return parts, slices


def _read(path: str, options: dict[str, Any]) -> LabelFile:
    with naming(path):
        data = read_multilabel(path, **options)
    positives = sp.csr_array(data.Y, dtype=np.float32, copy=True)  # a file may have rows without labels only
    positives.eliminate_zeros()
    return LabelFile(data.X, positives, path, data.feature_names, data.label_names)


def _summary(data: LabelFile) -> LabelFileSummary:
    rows, labels = np.diff(data.Y.indptr).astype(np.int64), np.bincount(data.Y.indices, minlength=data.Y.shape[1])
    names = data.feature_names, data.label_names
    return LabelFileSummary(data.path, data.path.endswith(BY_NAME), data.X.shape[1], *names, rows, labels)


def _in_columns(data: LabelFile, shared: SharedColumns, places: NDArray[np.int64] | None) -> LabelFileRows:
    """A file's rows in the columns of all files."""
    X, Y = data.X, data.Y
    labels = Y.indices if places is None else places[Y.indices].astype(np.int32)
    Y = sp.csr_array((Y.data, labels, Y.indptr), (X.shape[0], shared.n_labels))
    Y.sort_indices()
    if data.feature_names is not None and data.feature_names != shared.feature_names:
        X = NamedColumns(X, data.feature_names).in_order(shared.feature_names or (), data.path)
    X = sp.csr_array((X.data, X.indices, X.indptr), (X.shape[0], shared.n_features))
    check_size(X, f"{data.path}: X", np.float64)
    return LabelFileRows(X, Y)


def _prepared(part: LabelFileRows, preparation: Preparation, dtype: Any) -> LabelFileRows:
    X = sp.csr_array(preparation(part.X))
    check_size(X, "X", dtype)
    return LabelFileRows(X, part.Y)


def _take(part: LabelFileRows, rows: Array) -> LabelFileRows:
    return LabelFileRows(part.X[rows], part.Y[rows])


def _cut(parts: list[LabelFileRows], slices: list[Chunk]) -> LabelFileRows:
    return LabelFileRows(
        *(
            sp.csr_array(sp.vstack([getattr(part, name)[a:b] for part, (a, b) in zip(parts, slices)], format="csr"))
            for name in ("X", "Y")
        )
    )


def _features(part: LabelFileRows) -> Any:
    return part.X


def _labels(part: LabelFileRows, chunk: Chunk) -> Any:
    return sp.csr_array(part.Y[:, slice(*chunk)])


def _by_rows(part: LabelFileRows, start: int, weights: Array) -> Piece:
    return Piece(start, _compressed(part.Y, weights[:1] if (weights == weights[0]).all() else weights[part.Y.indices]))


def _by_labels(parts: list[Any], start: int, weights: Array) -> Piece:
    by_label = sp.csr_array(sp.vstack(parts, format="csr").T)
    by_label.sort_indices()
    one = len(weights) > 0 and (weights == weights[0]).all()
    return Piece(start, _compressed(by_label, weights[:1] if one else np.repeat(weights, np.diff(by_label.indptr))))


def _compressed(matrix: Any, weights: Array) -> Compressed:
    return Compressed(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), weights)
