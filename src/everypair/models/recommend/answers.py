"""What a recommender answers: positions turned into ids, as two arrays or as one table."""

from __future__ import annotations

from typing import Any, Literal

import narwhals as nw
import numpy as np

from everypair.data.ids import Ids
from everypair.types import Array

FORMS: dict[str, Literal["pandas", "polars", "pyarrow"]] = {"pandas": "pandas", "polars": "polars", "arrow": "pyarrow"}
DEFAULT = "default"


def checked_form(form: Any) -> str:
    """Refuse a form of answers that there is not, or whose package is not there."""
    if not isinstance(form, str) or form not in (DEFAULT, *FORMS):
        raise ValueError(f"transform must be one of {', '.join(map(repr, (DEFAULT, *FORMS)))}, got {form!r}.")
    if form != DEFAULT:
        _table({"rank": np.arange(1)}, form)
    return form


def form_of(model: Any) -> str:
    """Return the form that ``set_output`` chose.

    >>> form_of(object())
    'default'
    """
    return str(getattr(model, "_sklearn_output_config", {}).get("transform", DEFAULT))


def named(positions: Array, ids: Ids | None) -> Array:
    """Return ids in the place of positions, None in the place of −1."""
    return positions if ids is None else ids.names(positions)


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
    return _table(columns, form)


def _table(columns: dict[str, Array], form: str) -> Any:
    plain = {name: column.tolist() if column.dtype == object else column for name, column in columns.items()}
    try:
        return nw.from_dict(plain, backend=FORMS[form]).to_native()
    except ImportError:
        raise ImportError(f"set_output(transform={form!r}) needs {FORMS[form]}: pip install {FORMS[form]}.") from None
