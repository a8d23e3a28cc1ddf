"""Model files, damaged blindly and by somebody who knows the format."""

from __future__ import annotations

from pathlib import Path

import corrupt_model_files
from trials import Case, Room


def trial(case: Case, folder: Path) -> dict[str, int]:
    results, bad = corrupt_model_files.run(case["count"], case["seed"])
    assert not bad, bad[:5]
    return dict(results)


ROOM = Room(
    "files",
    "A damaged model file is refused with a sentence; one that was forged runs no code, crashes nothing and takes "
    "no more memory than a file of its size.",
    "bytes flipped, cut and inserted; headers and arrays changed with checksums made to fit; under limits of memory "
    "and time",
    {"count": (2_000,), "seed": range(1_000_000)},
    trial,
)
