"""Files of events, written in many ways, against pandas."""

from __future__ import annotations

from pathlib import Path

import pytest
from trials import Case, Room

from data import test_random_files


def trial(case: Case, folder: Path) -> str:
    with pytest.MonkeyPatch.context() as patched:
        test_random_files.check(case["seed"], folder, patched)
    return "read as pandas does"


ROOM = Room(
    "readers",
    "A file of events is read as it stands: no event is lost, doubled, or given to another id.",
    "random tables, dialects, encodings, packings, ids, times and missing words against pandas and loops",
    {"seed": range(10_000, 10_000_000)},
    trial,
)
