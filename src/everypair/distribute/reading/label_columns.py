"""The columns that all files of labelled rows share: features and labels by number, or by name where files are Parquet.

A file that has other columns than the first one is refused. Parquet files may have some of the labels each; those of
all of them count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

BY_NAME = ".parquet"


@dataclass(frozen=True)
class LabelFileSummary:
    """What the client knows of a file: its columns by number or name, and how many labels rows have, and labels rows.

    ``by_name``: a Parquet file, which need not have every label.
    """

    path: str
    by_name: bool
    n_features: int
    feature_names: tuple[str, ...] | None
    label_names: tuple[str, ...] | None
    row_counts: NDArray[np.int64]
    label_counts: NDArray[np.int64]


@dataclass(frozen=True)
class SharedColumns:
    """Number and names of the features and of the labels of all files; ``by_name``: these are Parquet."""

    n_features: int
    n_labels: int
    feature_names: tuple[str, ...] | None
    label_names: tuple[str, ...] | None
    by_name: bool

    @classmethod
    def of(cls, summaries: list[LabelFileSummary]) -> SharedColumns:
        """What the files have in common, or a sentence that names the one that differs."""
        first = summaries[0]
        if not all(one.by_name for one in summaries):
            for one in summaries:
                _refuse_others(one, first)
            return cls(first.n_features, len(first.label_counts), first.feature_names, first.label_names, False)
        for one in summaries:
            _refuse_other_names(one, first)
        n_features = max(one.n_features for one in summaries)
        labelled = [one for one in summaries if one.label_counts.any()]
        for one in labelled:
            if (one.label_names is None) != (labelled[0].label_names is None):
                mine, others = ("strings", "whole numbers")[:: -1 if one.label_names is None else 1]
                raise ValueError(
                    f"{one.path}: labels are {mine}, but {others} in {labelled[0].path}: write the files alike."
                )
        names: list[tuple[str, ...]] = [one.label_names for one in summaries if one.label_names]
        if not names:
            return cls(n_features, max(len(one.label_counts) for one in summaries), first.feature_names, None, True)
        same = all(one == names[0] for one in names)
        labels = names[0] if same else tuple(sorted({label for one in names for label in one}))
        return cls(n_features, len(labels), first.feature_names, labels, True)

    def label_map(self, one: LabelFileSummary) -> NDArray[np.int64] | None:
        """The number of each of a file's labels; ``None``: as they are."""
        if not one.label_names or one.label_names == self.label_names:
            return None
        assert self.label_names is not None
        place = {label: number for number, label in enumerate(self.label_names)}
        return np.array([place[label] for label in one.label_names], np.int64)


def _refuse_others(one: LabelFileSummary, first: LabelFileSummary) -> None:
    for what, mine, others in (
        ("features", one.n_features, first.n_features),
        ("labels", len(one.label_counts), len(first.label_counts)),
        ("names of labels", one.label_names, first.label_names),
        ("names of features", one.feature_names, first.feature_names),
    ):
        if mine != others:
            raise ValueError(
                f"{one.path} has other {what} than {first.path} ({_short(mine)} and {_short(others)}): every file must "
                "have the same columns."
            )


def _refuse_other_names(one: LabelFileSummary, first: LabelFileSummary) -> None:
    if (one.feature_names is None) != (first.feature_names is None):
        lists, columns = (one.path, first.path) if one.feature_names is None else (first.path, one.path)
        raise ValueError(
            f"{lists} has lists of indices and values, but {columns} a column for each feature: write the files alike."
        )
    mine, others = set(one.feature_names or ()), set(first.feature_names or ())
    for name in sorted(mine ^ others):
        has, lacks = (first.path, one.path) if name in others else (one.path, first.path)
        raise ValueError(
            f"{lacks} has no column {name!r}, which {has} has: every file must have the same columns, or name those "
            "that count with read={'features': […]}."
        )


def _short(value: Any) -> str:
    words = str(value)
    return words if len(words) <= 40 else f"{words[:37]}…"
