"""``everypair demo``: the main job on the embedded data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from everypair.cli.app import app
from everypair.cli.say import table

SHOWN_METRICS = ("ndcg@10", "recall@10", "recall@20", "precision@5", "auc")
SHOWN_PACKAGES = ("gimp", "postgresql-15", "python3-pandas", "vlc", "texlive-science", "supertuxkart")


@app.command()
def demo(
    rank: Annotated[int, typer.Option(help="Number of factors.", min=1)] = 64,
    seed: Annotated[int, typer.Option(help="Seed of the split and of the start.")] = 0,
    events: Annotated[
        Path | None, typer.Option(help="Write the data to a CSV file instead, to try the other commands on.")
    ] = None,
    serve: Annotated[
        bool, typer.Option("--serve", help="Open the service with a model of all the data instead.")
    ] = False,
    port: Annotated[int, typer.Option(help="Its port; 0 is any that is free.", min=0, max=65535)] = 8000,
) -> None:
    """Which dependency is missing here? Train on the embedded Debian packages and judge the answers by name."""
    import numpy as np

    from everypair import OneClassMF, Popularity
    from everypair.data import load_debian, split_entries
    from everypair.evaluate import ranking_metrics

    data = load_debian()
    if events is not None:
        _write(data, events)
        return
    if serve:
        _serve(data, rank, seed, port)
        return
    train, test = split_entries(data.depends, 0.1, random_state=seed)
    print(
        f"Debian {data.release}, {data.date}: {train.shape[0]:,} packages × {train.shape[1]:,} dependencies, "
        f"{train.nnz:,} known pairs, {test.nnz:,} held out. Everything else counts as a weighted negative."
    )
    model = OneClassMF(rank=rank, random_state=seed, verbose=True).fit(train)
    print(f"{model.n_iter_} sweeps in {model.history_[-1]['seconds']:.2f} s. {model.status_}")

    rows = []
    for title, fitted in (("Popularity", Popularity().fit(train)), ("OneClassMF", model)):
        values = ranking_metrics(fitted, train, test)
        rows.append([title, *(f"{100 * values[name]:.1f}" for name in SHOWN_METRICS)])
    table(["", *SHOWN_METRICS], rows, "Held-out dependencies, in percent")

    names = data.package_names
    known = [name for name in SHOWN_PACKAGES if name in names]
    packages = np.searchsorted(names, known)
    itself = data.dependency_names[None, :] == names[packages][:, None]  # a package does not depend on itself
    items, _ = model.recommend(packages, n=6, block=itself)
    answers = []
    for name, package, suggestions in zip(known, packages, items):
        held_out = set(test[[package]].indices.tolist())
        marked = (f"{data.dependency_names[j]}{' ✓' if j in held_out else ''}" for j in suggestions)
        answers.append([name, ", ".join(marked)])
    head = ["package", "suggested, best first"]
    table(head, answers, "What else would this package depend on? (✓ = it does, the pair was held out)")


def _serve(data: Any, rank: int, seed: int, port: int) -> None:
    """Fit a model to all dependencies, and serve it with the sections of the packages until Ctrl-C."""
    from tempfile import TemporaryDirectory

    from everypair import OneClassMF
    from everypair.cli.serve import serve

    packages, dependencies = data.depends.nonzero()
    names = data.package_names[packages], data.dependency_names[dependencies]
    with TemporaryDirectory() as folder:
        model, items = Path(folder) / "debian.ep", Path(folder) / "sections.csv"
        OneClassMF(rank=rank, random_state=seed, verbose=True).fit(list(zip(*map(list, names)))).save(model)
        sections = dict(zip(data.package_names.tolist(), data.section_names[data.section].tolist()))
        lines = [f"{name},{sections.get(name, '')}\n" for name in data.dependency_names.tolist()]
        items.write_text("".join(["item,section\n", *lines]), encoding="utf-8")
        serve(models=[str(model)], items=items, port=port)


def _write(data: Any, path: Path) -> None:
    """Write the dependencies as a log of events."""
    from everypair.store.write import replacing

    packages, dependencies = data.depends.nonzero()
    names = zip(data.package_names[packages].tolist(), data.dependency_names[dependencies].tolist())
    with replacing(path) as file:
        file.write("".join(["user,item\n", *(f"{one},{other}\n" for one, other in names)]).encode())
    print(f"{len(packages):,} dependencies of {data.depends.shape[0]:,} packages written to {path}.")
