"""``everypair warm-up``: kernels compiled before they are needed, in an image or on a machine that is to serve."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer

from everypair.cli.options import Run, command
from everypair.cli.say import note, show


@command
def warm_up(
    run: Run,
    model: Annotated[Path | None, typer.Argument(help="Model file whose answers are asked for.")] = None,
) -> None:
    """Compile what a model needs to answer, or without one what the default models need to be trained and to answer.

    Kernels are kept on disk, where the next process finds them: see NUMBA_CACHE_DIR.

    everypair warm-up model.ep
    """
    began = time.perf_counter()
    warmed = _defaults() if model is None else _asked(model)
    seconds = round(time.perf_counter() - began, 2)
    if run.json_output:
        show({"models": warmed, "seconds": seconds})
    else:
        note(f"{' and '.join(warmed)} ready to answer, in {seconds:.1f} s.", run.quiet)


def _asked(path: Path) -> list[str]:
    """Every question to the model of a file."""
    from everypair.cli.model_files import load_to_ask

    loaded = load_to_ask(path)
    loaded.prepare(compile=True)
    return [loaded.kind]


def _defaults() -> list[str]:
    """The models that `fit` makes without further options, trained on next to nothing and asked."""
    from everypair import Blend, ItemItem, OneClassMF

    events = {"user": ["ann", "ann", "bob", "bob", "cem"], "item": ["blue", "rain", "blue", "iron", "dust"]}
    models = (OneClassMF(rank=2, max_iter=2), ItemItem(), Blend())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.ep")
        for model in models:
            model.fit(events).prepare(compile=True).save(path)
            _asked(path)  # mapped files are read-only, which is another type of arrays
    return [type(model).__name__ for model in models]
