"""A fitted model written down and read again, as a model file would do it."""

from __future__ import annotations

import json
from typing import Any


def from_json_and_arrays(model: Any) -> Any:
    """Return the model that its parts make, after a journey through JSON text and copies of the arrays.

    >>> from everypair import Popularity
    >>> from_json_and_arrays(Popularity().fit([[1, 0], [1, 1]])).item_factors_.ravel().tolist()
    [2.0, 1.0]
    """
    values, arrays = model.to_parts()
    text = json.dumps(values, allow_nan=False)
    return type(model).from_parts(json.loads(text), {name: array.copy() for name, array in arrays.items()})
