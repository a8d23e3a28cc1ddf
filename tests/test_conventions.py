"""docs/conventions.md says what the code does: its words, and the defaults of every estimator."""

import inspect
import re
from pathlib import Path

import pytest

from everypair.models.registry import ESTIMATORS, estimator_class

PAGE = (Path(__file__).parents[1] / "docs" / "conventions.md").read_text()
COMMON = ("reg", "tol", "max_iter", "random_state")
WORDS = ("row", "block", "chunk", "shard", "part", "side", "entity", "event", "pair")


def table(heading):
    """The cells of the rows below a line of headings."""
    lines = PAGE.partition(heading)[2].splitlines()[2:]
    rows = []
    for line in lines:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def test_words_are_defined_once():
    words = [word for word, _ in table("| word | means |")]
    assert sorted(words) == sorted(WORDS)


DEFAULTS = {row[0].strip("`"): row[1:] for row in table("| estimator | `reg` | `tol` | `max_iter` | `random_state` |")}


def test_every_estimator_is_in_the_table_of_defaults():
    assert list(DEFAULTS) == list(ESTIMATORS)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_defaults_are_those_of_the_class(name):
    if ESTIMATORS[name].extra is not None:
        pytest.importorskip("jax")
    parameters = inspect.signature(estimator_class(name)).parameters
    expected = [f"`{parameters[one].default!r}`" if one in parameters else "" for one in COMMON]
    assert DEFAULTS[name] == [re.sub("'", '"', cell) for cell in expected]
