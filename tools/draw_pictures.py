"""Draw the pictures of the docs.

    python tools/draw_pictures.py [name …]

Writes docs/pictures/<name>.svg. Those of measurements read stored results of experiments, those of tutorials run the
page's own code and draw what it found, the others are drawn from formulas and words.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "pictures"))
import explaining
import from_results
import tutorials

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
DRAWN: dict[str, Callable[[], str]] = {
    "gram": explaining.gram,
    "losses": explaining.losses,
    "production": explaining.production,
    "events": explaining.events_to_matrix,
    "side-information": explaining.side_information,
    "model-file": explaining.model_file,
    "tuning": explaining.tuning,
    "convergence": from_results.convergence,
    "quality-and-cost": from_results.quality_and_cost,
    "blend": from_results.blend_gain,
    "labels": from_results.labels,
    "latency": from_results.latency,
    "serve-cost": from_results.serve_cost,
}


FOUND: dict[str, Callable[[dict[str, Any]], str]] = {  # by the tutorial of that name
    "shop-log": tutorials.shop_log,
    "cold-start": tutorials.cold_start,
    "tagging-text": tutorials.tagging_text,
    "star-ratings": tutorials.star_ratings,
}


def main(names: list[str]) -> None:
    for name in names or sorted([*DRAWN, *FOUND]):
        drawn = DRAWN[name]() if name in DRAWN else FOUND[name](tutorials.run(name))
        (PICTURES / f"{name}.svg").write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
