"""What a test of bad input checks: the right kind of error, and a sentence that says what is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def refused(*kinds: type[Exception], match: str = "") -> Iterator[None]:
    """Check that the block raises one of ``kinds`` with a sentence that matches ``match``.

    >>> with refused(ValueError, match="invalid literal"):
    ...     int("three")
    """
    names = " or ".join(kind.__name__ for kind in kinds)
    try:
        yield
    except kinds as error:
        said = str(error)
    else:
        raise AssertionError(f"nothing was raised, expected {names}")
    assert re.search(match, said), f"the {names} should say {match!r}, it says: {said}"
