"""docs/reliability.md: what is promised, how it is tried, and what the last stored campaign counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
HEAD = """# Reliability

What is promised, how each promise is tried, and how often that was done. This page is written by
`python tools/campaign/run.py --report` from the stored counts of a run of `make campaign`; a test holds it to them.

"""
TESTS = """
## Promises that tests hold at every change

| promise | tests |
|---|---|
| the same bits on any number of threads, for every estimator | contract kits of `everypair.testing`, `make test-blas` |
| a row's answer has the same bits alone and in company | `tests/retrieve`, contract kits |
| every objective is the sum over all pairs, every gradient its slope | `tests/problem` |
| every compiled kernel is its plain twin in numpy | `tests/kernels` |
| fold-in is the training sub-problem; growth and updates are too | contract kits |
| a training goes on from its checkpoint to the same bits | `tests/models/test_checkpoint.py` |
| files of every format version are read for ever | `tests/models/test_kept_files.py` |
| a file from a newer version is refused with both numbers | `tests/store` |
| nothing that is loaded runs code: no pickle, no class that is not in the registry | `tests/store`, the room `files` |
| a mistake in a command or a call is one sentence, before any work | `tests/test_mistakes.py` |
| on a cluster the same bits on 1, 2 and 4 workers, also when one is killed | `tests/distribute` |

## What is not tested

- Other processors than those of the machines the tests run on, and 32-bit systems; bits are equal across threads and
  runs on one machine, not across machines or versions of numpy, numba and OpenBLAS.
- Windows and macOS: what is used of the system (renames, file locks, memory maps, forks) is portable, but no run has
  shown it.
- Power loss: files are synced before they are renamed, but no disk was unplugged.
- Imports and the compilation of kernels without memory: the rooms begin where all is imported and compiled.
- Networks that lose packets between a cluster's workers.
"""


def write(record: dict[str, Any]) -> None:
    """Write the page."""
    PAGE.write_text(text(record))


def text(record: dict[str, Any]) -> str:
    """The page of a record."""
    rooms = record["rooms"]
    total = sum(one["cases"] for one in rooms)
    failed = sum(len(one["failures"]) for one in rooms)
    lines = [
        HEAD,
        f"The last stored campaign, {record['when']}, seed {record['seed']}: **{total:,} cases in {len(rooms)} "
        f"rooms, {failed} failures**, {record['minutes']:g} minutes. `make campaign` plays all rooms for ten minutes, "
        "`make campaign MINUTES=480` for a night, `python tools/campaign/run.py ROOM --minutes 5` one of them; seeds "
        "are printed, and a case that fails is made as small as it still fails with, and shown.\n",
        "| room | what is promised | how it is tried | cases | failures |\n|---|---|---|---|---|",
    ]
    for one in rooms:
        told = (f"`{one['room']}`", one["promise"], one["how"], f"{one['cases']:,}", f"{len(one['failures'])}")
        lines += [f"| {' | '.join(told)} |"]
    lines.append("\nWhat came out of them:\n\n| room | outcome | times |\n|---|---|---|")
    for one in rooms:
        lines += [f"| `{one['room']}` | {outcome} | {times:,} |" for outcome, times in one["counts"].items()]
    return "\n".join(lines) + "\n" + TESTS
