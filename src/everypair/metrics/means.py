"""Means over rows with their standard errors, s/√rows."""

from __future__ import annotations

from collections.abc import Mapping

TWO_SIDED = 1.96  # standard errors on either side that hold 95 % of a normal distribution


class Metrics(dict[str, float]):
    """A dict of means, whose ``standard_errors`` holds the standard error of each that is a mean over rows.

    ``repeats`` counts test positives that were not ranked, because they are in train too.

    >>> found = Metrics({"ndcg@10": 0.3, "coverage@10": 0.5}, {"ndcg@10": 0.01})
    >>> found["ndcg@10"], found.standard_errors, [round(end, 4) for end in found.interval("ndcg@10")]
    (0.3, {'ndcg@10': 0.01}, [0.2804, 0.3196])
    >>> found
    Metrics(ndcg@10 0.3000 ± 0.0100, coverage@10 0.5000)
    """

    def __init__(self, means: Mapping[str, float], standard_errors: Mapping[str, float], repeats: int = 0) -> None:
        super().__init__(means)
        self.standard_errors, self.repeats = dict(standard_errors), repeats

    def __repr__(self) -> str:
        return f"Metrics({', '.join(f'{name} {said}' for name, said in self._cells())})"

    def _repr_html_(self) -> str:
        """A table in notebooks."""
        rows = "".join(f"<tr><td>{name}</td><td>{said}</td></tr>" for name, said in self._cells())
        return f"<table>{rows}</table>"

    def _cells(self) -> list[tuple[str, str]]:
        errors = {name: f" ± {error:.4f}" for name, error in self.standard_errors.items()}
        return [(name, f"{mean:.4f}{errors.get(name, '')}") for name, mean in self.items()]

    def interval(self, name: str) -> tuple[float, float]:
        """95 % of such samples of rows have a mean in here: 1.96 standard errors on either side."""
        if name not in self.standard_errors:
            names = ", ".join(self.standard_errors)
            raise ValueError(f"{name!r} is no mean over rows and has no interval; these have: {names}.")
        half = TWO_SIDED * self.standard_errors[name]
        return self[name] - half, self[name] + half
