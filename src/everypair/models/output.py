"""The form of answers: arrays, or one table of pandas, polars or pyarrow; chosen for a model, or for one answer.

Ranked answers are a line each: who asked, what was found, its score, its rank. Rows of numbers are a column for each
item or label; the rows' names, where there are some, are the index of a pandas frame and a first column of others.
"""

from __future__ import annotations

from typing import Any, Literal, Self

import narwhals as nw
import numpy as np

from everypair.types import Array

FORMS: dict[str, Literal["pandas", "polars", "pyarrow"]] = {"pandas": "pandas", "polars": "polars", "arrow": "pyarrow"}
DEFAULT = "default"


class Output:
    """What answers in arrays or in tables."""

    _sklearn_output_config: dict[str, str]

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose the form of the answers, as scikit-learn's method does; ``output=`` chooses that of one answer.

        ``"pandas"``, ``"polars"`` or ``"arrow"``: a table, a line per recommendation (or per label of a row) with its
        score and its rank from 1; ``"default"``: arrays; ``None`` changes nothing.

        >>> from everypair import Popularity
        >>> model = Popularity().fit({"user": ["ann", "ann", "bob"], "item": ["blue", "rain", "blue"]})
        >>> model.set_output(transform="pandas").recommend(["bob"])
          user  item  score  rank
        0  bob  rain    1.0     1
        """
        if transform is not None:
            chosen = checked_form(transform, "transform")
            self._sklearn_output_config = {"transform": chosen}  # scikit-learn's clone keeps it
        return self

    def _form(self, output: str | None) -> str:
        """The form of one answer: ``output``, or what ``set_output`` chose."""
        if output is not None:
            return checked_form(output, "output")
        return vars(self).get("_sklearn_output_config", {}).get("transform", DEFAULT)


def checked_form(form: Any, name: str) -> str:
    """Refuse a form of answers that there is not, or whose package is not there."""
    if not isinstance(form, str) or form not in (DEFAULT, *FORMS):
        raise ValueError(f"{name} must be one of {', '.join(map(repr, (DEFAULT, *FORMS)))}, got {form!r}.")
    if form != DEFAULT:
        try:
            column_table(form, {"rank": np.arange(1)})
        except ImportError:
            raise ImportError(f"{name}={form!r} needs {FORMS[form]}: pip install {FORMS[form]}.") from None
    return form


def ranked_table(form: str, asked: tuple[str, Any], found: tuple[str, Array], scores: Array) -> Any:
    """Return one line per answer: who asked, what was found, its score and its rank from 1; padding is left out.

    >>> ranked_table("pandas", ("user", ["ann"]), ("item", np.array([["rain", None]])), np.array([[2.0, -np.inf]]))
      user  item  score  rank
    0  ann  rain    2.0     1
    """
    (subject, askers), (answer, ids) = asked, found
    there = ~np.isneginf(scores)
    rows, places = np.nonzero(there)
    columns = {subject: np.asarray(askers)[rows], answer: ids[there], "score": scores[there], "rank": places + 1}
    return column_table(form, columns)


def column_table(form: str, columns: dict[str, Array]) -> Any:
    """Return a table of named columns; ids among which None stands for none keep their kind."""
    plain = {
        name: column.tolist() if column.dtype == object and form != "pandas" else column
        for name, column in columns.items()
    }
    return nw.from_dict(plain, backend=FORMS[form]).to_native()


def matrix_table(form: str, values: Array, columns: Any, rows: Any = None) -> Any:
    """Return a table with a column for each column of ``values``; ``rows`` are the names of its rows, if they have any.

    >>> matrix_table("pandas", np.array([[0.5, 1.0]]), ["rain", "wind"], ["ann"])
         rain  wind
    ann   0.5   1.0
    """
    names = [str(name) for name in columns]
    if form == "pandas":
        table: Any = nw.from_numpy(values, names, backend="pandas").to_native()
        if rows is not None:
            table.index = rows
        return table
    named = {} if rows is None else {"row": np.asarray(rows)}
    return column_table(form, named | dict(zip(names, values.T)))
