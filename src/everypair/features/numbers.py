"""A column of numbers or of times → (x − mean) / deviation; missing ones are 0, the mean, and marked.

Times are numbers in years, and their month and weekday besides, each one of 12 and of 7 columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.data.tables import Column

SECONDS_PER_YEAR = 365.2425 * 86400
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


@dataclass(frozen=True)
class NumberFeature:
    """(x − mean) / scale and, where some were missing in training, 1 for those that are."""

    column: str
    mean: float
    scale: float
    marks_missing: bool

    @classmethod
    def fit(cls, name: str, column: Column) -> Self:
        """Learn mean and deviation; a constant column keeps the scale 1."""
        present = _present(column)
        mean = float(present.mean()) if len(present) else 0.0
        deviation = float(np.sqrt(np.mean(np.square(present - mean)))) if len(present) else 0.0
        constant = deviation <= 1e-12 * max(1.0, abs(mean))
        return cls(name, mean, 1.0 if constant else deviation, column.missing is not None)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of `transform`."""
        return (self.column, f"{self.column} is missing") if self.marks_missing else (self.column,)

    def transform(self, column: Column) -> Any:
        """Return one or two columns."""
        missing = np.zeros(len(column.values), np.bool_) if column.missing is None else column.missing
        with np.errstate(invalid="ignore"):
            scaled = np.where(missing, 0.0, (column.values.astype(np.float64) - self.mean) / self.scale)
        parts = [scaled, missing.astype(np.float64)] if self.marks_missing else [scaled]
        return sp.csr_array(np.column_stack(parts))


@dataclass(frozen=True)
class DateFeature:
    """Years, scaled like a number, and one of twelve months and of seven weekdays."""

    column: str
    years: NumberFeature

    @classmethod
    def fit(cls, name: str, column: Column) -> Self:
        """Learn mean and deviation of the years."""
        return cls(name, NumberFeature.fit(name, _in_years(column)))

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of `transform`."""
        return (*self.years.names, *(f"{self.column}={part}" for part in (*MONTHS, *WEEKDAYS)))

    def transform(self, column: Column) -> Any:
        """Return years, months and weekdays side by side."""
        missing = np.zeros(len(column.values), np.bool_) if column.missing is None else column.missing
        seconds = np.where(missing, 0, column.values)
        days = np.floor(seconds / 86400).astype(np.int64)
        months = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) % 12
        weekdays = (days + 3) % 7  # 1 January 1970 was a Thursday
        dated = np.flatnonzero(~missing)
        shape = (len(days), len(MONTHS) + len(WEEKDAYS))
        calendar = sp.coo_array(
            (
                np.ones(2 * len(dated)),
                (np.tile(dated, 2), np.concatenate([months[dated], len(MONTHS) + weekdays[dated]])),
            ),
            shape=shape,
        )
        return sp.csr_array(sp.hstack([self.years.transform(_in_years(column)), calendar]))


def _present(column: Column) -> NDArray[np.float64]:
    values = column.values.astype(np.float64)
    return values if column.missing is None else values[~column.missing]


def _in_years(column: Column) -> Column:
    return Column(column.values / SECONDS_PER_YEAR, column.missing)
