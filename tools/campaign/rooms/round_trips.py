"""Every estimator through a file and back, and trained by another number of threads."""

from __future__ import annotations

from pathlib import Path

from estimators import FAMILIES, Fitted, answers, check_same, fitted, refusal
from trials import Case, Room

import everypair

NAMES = tuple(name for names in FAMILIES.values() for name in names)


def trial(case: Case, folder: Path) -> str:
    name = case["model"]
    try:
        model, data = fitted(name, case)
    except ValueError as failure:
        return f"{name}: {refusal(failure)}"
    dropped = ("reasons",) if case["serve_only"] and name == "SubsampledMF" else ()  # which needs its samples
    expected = answers(Fitted(model, data), dropped)
    model.save(folder / "model.ep", serve_only=case["serve_only"])
    again = everypair.load(folder / "model.ep", mmap=case["mmap"], verify=case["verify"])
    check_same(answers(Fitted(again, data), dropped), expected, "from a file")
    assert repr(again) == repr(model), "other parameters from a file"
    again.save(folder / "again.ep", serve_only=case["serve_only"])
    assert (folder / "again.ep").read_bytes() == (folder / "model.ep").read_bytes(), "another file of the same model"
    if name != "TwoTower":
        check_same(answers(fitted(name, case, n_threads=2), dropped), expected, "on two threads")
    return name


ROOM = Room(
    "round_trips",
    "A model that was saved and loaded answers everything with the same bits, and is saved to the same bytes; training "
    "has the same bits on one thread and on two.",
    "every estimator of the three families on random data, whole and for serving, mapped and read, checked and not",
    {
        "model": NAMES,
        "shape": ([12, 9], [4, 5], [40, 30], [9, 70]),
        "density": (0.4, 0.15, 0.8),
        "features": (False, True),
        "sparse": (False, True),
        "dtype": (None, "float64", "float32"),
        "serve_only": (False, True),
        "mmap": (True, False),
        "verify": (True, False),
        "seed": range(100_000),
    },
    trial,
)
