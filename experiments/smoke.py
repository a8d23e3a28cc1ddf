"""Options that every script has: ``--smoke`` for a run of seconds, ``--results`` for where its results go.

    options = smoke.parse(parser, Path(__file__).parent / "results", rank=4, sweeps=2)

With ``--smoke`` the same code runs on tiny generated data (tiny.py) with the small values given here, as far as the
command line says nothing else, and results go into a new temporary folder: stored results are never touched.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import datasets


def parse(parser: argparse.ArgumentParser, results: Path | None = None, **small: Any) -> argparse.Namespace:
    """Parse the command line; ``results`` is the script's folder of results, if it writes any."""
    parser.add_argument("--smoke", action="store_true", help="seconds, on tiny generated data")
    if results is not None:
        parser.add_argument("--results", type=Path, default=results, help="folder of results (beside the script)")
    if parser.parse_known_args()[0].smoke:
        datasets.generate()
        parser.set_defaults(**small)
        if results is not None:
            parser.set_defaults(results=Path(tempfile.mkdtemp(prefix="everypair-smoke-")))
    options = parser.parse_args()
    if results is not None:
        options.results.mkdir(parents=True, exist_ok=True)
        if options.smoke:
            print(f"Smoke run on generated data; results are in {options.results}.")
    return options
