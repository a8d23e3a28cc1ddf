"""Every reader under inputs that change by what they reach; see ``tools/campaign/fuzz.py``."""

from __future__ import annotations

from pathlib import Path

import fuzz
from trials import Case, Room


def trial(case: Case, folder: Path) -> dict[str, int]:
    found = fuzz.played(case["target"], case["seed"], case["seconds"])
    assert not found["failures"], found["failures"][0]
    return {f"{case['target']}: {told}": times for told, times in found["counts"].items()}


ROOM = Room(
    "fuzz",
    "Whatever bytes a model file, a checkpoint, a manifest, a configuration, a table or a text has, it is read or "
    "refused with a sentence: no crash, no hang, no other error, no more than a gigabyte.",
    "inputs changed by chance, by what they mean, and by which lines they reach, some thousands a second",
    {"target": tuple(fuzz.targets()), "seconds": (5,), "seed": range(1_000_000)},
    trial,
)
