"""Means over rows with their standard errors, s/√rows."""

from __future__ import annotations

from collections.abc import Mapping

from everypair.words import in_columns

TWO_SIDED = 1.96  # standard errors on either side that hold 95 % of a normal distribution
ON_A_LINE = 6  # metrics, more are a table


class Metrics(dict[str, float]):
    """A dict of means, whose ``standard_errors`` holds the standard error of each that is a mean over rows.

    ``repeats`` counts test positives that were not ranked, because they are in train too.

    >>> found = Metrics({"ndcg@10": 0.3, "coverage@10": 0.5}, {"ndcg@10": 0.01})
    >>> found["ndcg@10"], found.standard_errors, [round(end, 4) for end in found.interval("ndcg@10")]
    (0.3, {'ndcg@10': 0.01}, [0.2804, 0.3196])
    >>> found
    Metrics(ndcg@10 0.3000 ± 0.0100, coverage@10 0.5000)
    >>> Metrics({f"{name}@{k}": k / 10 for k in (1, 5) for name in ("ndcg", "recall", "map")} | {"auc": 0.9}, {})
            @1      @5      all items
    ndcg    0.1000  0.5000
    recall  0.1000  0.5000
    map     0.1000  0.5000
    auc                     0.9000
    """

    def __init__(self, means: Mapping[str, float], standard_errors: Mapping[str, float], repeats: int = 0) -> None:
        super().__init__(means)
        self.standard_errors, self.repeats = dict(standard_errors), repeats

    def __repr__(self) -> str:
        cells = self._cells()
        if len(cells) <= ON_A_LINE:
            return f"Metrics({', '.join(f'{name} {said}' for name, said in cells.items())})"
        rows = self._table()
        return in_columns(rows, right=[False] * len(rows[0]))

    def _repr_html_(self) -> str:
        """A table in notebooks."""
        head, *rows = self._table()
        lines = [f"<tr>{''.join(f'<th>{cell}</th>' for cell in head)}</tr>"]
        lines += [f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows]
        return f"<table>{''.join(lines)}</table>"

    def _cells(self) -> dict[str, str]:
        errors = {name: f" ± {error:.4f}" for name, error in self.standard_errors.items()}
        return {name: f"{mean:.4f}{errors.get(name, '')}" for name, mean in self.items()}

    def _table(self) -> list[list[str]]:
        """A row for each metric, a column for each length of lists, and one for metrics of the whole list."""
        cells = self._cells()
        split = {name: name.partition("@") for name in cells}
        columns = list(dict.fromkeys(at + k for _, at, k in split.values()))
        rows = {metric: dict.fromkeys(columns, "") for metric, _, _ in split.values()}
        for name, (metric, at, k) in split.items():
            rows[metric][at + k] = cells[name]
        return [["", *(column or "all items" for column in columns)], *([row, *rows[row].values()] for row in rows)]

    def interval(self, name: str) -> tuple[float, float]:
        """95 % of such samples of rows have a mean in here: 1.96 standard errors on either side."""
        if name not in self.standard_errors:
            names = ", ".join(self.standard_errors)
            raise ValueError(f"{name!r} is no mean over rows and has no interval; these have: {names}.")
        half = TWO_SIDED * self.standard_errors[name]
        return self[name] - half, self[name] + half
