"""How the passes of Table 2 grow: sizes of a generated series, and exponents from measured seconds."""

from __future__ import annotations

import math

# m, n, |Ω|, k of the generated series, and what grows → the exponents of Table 2 (ρ is fixed)
BASE = {"m": 8_000, "n": 8_000, "pairs": 400_000, "k": 64}
FACTOR = 4
SAID = {
    "m": {"gradient": 1, "naive": 1, "sampling": 1, "sg46": 0},
    "n": {"gradient": 1, "naive": 1, "sampling": 1, "sg46": 0},
    "pairs": {"gradient": 1, "naive": 0, "sampling": 1, "sg46": 1},
    "k": {"gradient": 2, "naive": 1, "sampling": 2, "sg46": 2},
}


def exponents(seconds: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """Slope of log seconds of a pass, by what grows and method."""
    return {
        name: {method: math.log(value / seconds["base"][method]) / math.log(FACTOR) for method, value in row.items()}
        for name, row in seconds.items()
        if name != "base"
    }
