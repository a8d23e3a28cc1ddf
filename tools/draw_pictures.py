"""Draw the pictures of the docs.

    python tools/draw_pictures.py [name …]

Writes docs/pictures/<name>.svg. Those of measurements read stored results of experiments, those of tutorials run the
page's own code and draw what it found, the others are drawn from formulas and words.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "pictures"))
import explaining
import from_results

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
DRAWN: dict[str, Callable[[], str]] = {
    "gram": explaining.gram,
    "losses": explaining.losses,
    "events": explaining.events_to_matrix,
    "side-information": explaining.side_information,
    "model-file": explaining.model_file,
    "tuning": explaining.tuning,
    "convergence": from_results.convergence,
    "quality-and-cost": from_results.quality_and_cost,
    "blend": from_results.blend_gain,
}


def main(names: list[str]) -> None:
    for name in names or sorted(DRAWN):
        (PICTURES / f"{name}.svg").write_text(DRAWN[name](), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
