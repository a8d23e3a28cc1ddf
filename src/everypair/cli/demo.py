"""``everypair demo``: the main job on the embedded data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from everypair.cli.app import app
from everypair.cli.say import table

SHOWN_METRICS = ("ndcg@10", "recall@10", "recall@20", "precision@5", "auc")
HELD_OUT = 0.1  # of the shop's log, the latest
SHOWN_PACKAGES = ("gimp", "postgresql-15", "python3-pandas", "vlc", "texlive-science", "supertuxkart")


@app.command()
def demo(
    rank: Annotated[int | None, typer.Option(help="Number of factors.", show_default="by the data", min=1)] = None,
    seed: Annotated[int, typer.Option(help="Seed of the split and of the start.")] = 0,
    events: Annotated[
        Path | None, typer.Option(help="Write the data to a CSV file instead, to try the other commands on.")
    ] = None,
    items: Annotated[
        Path | None,
        typer.Option(help="With --events: a generated shop's log there, and here its products' titles and prices."),
    ] = None,
    serve: Annotated[
        bool, typer.Option("--serve", help="Open the service with a model of the generated shop instead.")
    ] = False,
    port: Annotated[int, typer.Option(help="Its port; 0 is any that is free.", min=0, max=65535)] = 8000,
) -> None:
    """Which dependency is missing here? Train on the embedded Debian packages and judge the answers by name."""
    import numpy as np

    from everypair import Blend, Popularity
    from everypair.data import load_debian, split_entries
    from everypair.evaluate import ranking_metrics
    from everypair.progress import shown_stages

    if items is not None:
        if events is None:
            raise ValueError("--items is written beside the log of a shop: say --events FILE too.")
        _write_shop(events, items, seed)
        return
    if serve:
        _serve(rank or "auto", seed, port)
        return
    data = load_debian()
    if events is not None:
        _write(data, events)
        return
    train, test = split_entries(data.depends, 0.1, random_state=seed)
    print(
        f"Debian {data.release}, {data.date}: {train.shape[0]:,} packages × {train.shape[1]:,} dependencies, "
        f"{train.nnz:,} known pairs, {test.nnz:,} held out. Everything else counts as a weighted negative."
    )
    with shown_stages(quiet=False):
        model = Blend(rank=rank or "auto", random_state=seed).fit(train)
    factors = model.models_[0]
    print(f"Factors: {factors.n_iter_} sweeps in {factors.history_[-1]['seconds']:.2f} s. {factors.status_}")

    rows = []
    for title, fitted in (("Popularity", Popularity().fit(train)), ("OneClassMF", factors), ("Blend", model)):
        values = ranking_metrics(fitted, train, test)
        rows.append([title, *(f"{100 * values[name]:.1f}" for name in SHOWN_METRICS)])
    table(["", *SHOWN_METRICS], rows, "Held-out dependencies, in percent")

    names = data.package_names
    known = [name for name in SHOWN_PACKAGES if name in names]
    packages = np.searchsorted(names, known)
    itself = data.dependency_names[None, :] == names[packages][:, None]  # a package does not depend on itself
    lists, _ = model.recommend(packages, n=6, block=itself)
    answers = []
    for name, package, suggestions in zip(known, packages, lists):
        held_out = set(test[[package]].indices.tolist())
        marked = (f"{data.dependency_names[j]}{' ✓' if j in held_out else ''}" for j in suggestions)
        answers.append([name, ", ".join(marked)])
    head = ["package", "suggested, best first"]
    table(head, answers, "What else would this package depend on? (✓ = it does, the pair was held out)")


def _serve(rank: Any, seed: int, port: int) -> None:
    """Fit a blend to the generated shop, after it was judged on the shop's last weeks, and serve it until Ctrl-C."""
    from tempfile import TemporaryDirectory

    from everypair import Blend, ranking_metrics, read_events
    from everypair.cli.serve import serve
    from everypair.data import generate_shop, split_time
    from everypair.progress import shown_stages

    shop = generate_shop()
    events = read_events(shop.events, verbose=False)
    train, test = split_time(events, test_share=HELD_OUT)
    with TemporaryDirectory() as folder, shown_stages(quiet=False):
        judged = ranking_metrics(Blend(rank=rank, random_state=seed).fit(train), train, test)
        model = Blend(rank=rank, random_state=seed).fit(events).describe_items(shop.items)
        model.record(judged, held_out=f"the latest {HELD_OUT:.0%} of the events of a generated shop")
        model.save(Path(folder) / "shop.ep")
        serve(models=[str(Path(folder) / "shop.ep")], port=port)


def _write(data: Any, path: Path) -> None:
    """Write the dependencies as a log of events."""
    from everypair.store.write import replacing

    packages, dependencies = data.depends.nonzero()
    names = zip(data.package_names[packages].tolist(), data.dependency_names[dependencies].tolist())
    with replacing(path) as file:
        file.write("".join(["user,item\n", *(f"{one},{other}\n" for one, other in names)]).encode())
    print(f"{len(packages):,} dependencies of {data.depends.shape[0]:,} packages written to {path}.")


def _write_shop(events: Path, items: Path, seed: int) -> None:
    """Write a generated log and its table of items."""
    from pyarrow import csv

    from everypair.data import generate_shop
    from everypair.store.write import check_output, replacing

    check_output(items, events)
    shop = generate_shop(random_state=seed)
    for path, columns in ((events, shop.events), (items, shop.items)):
        with replacing(path) as file:
            csv.write_csv(columns, file, csv.WriteOptions(quoting_style="needed"))
    print(
        f"{shop.events.num_rows:,} purchases written to {events}, {shop.items.num_rows:,} products to {items}. "
        "The shop is generated."
    )
