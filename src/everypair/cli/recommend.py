"""``everypair recommend``: the best items for one user, for those of a file, or for all of them."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import typer

from everypair.cli.items import ListFilters, Titles
from everypair.cli.options import Run, command
from everypair.cli.reading import Reading
from everypair.cli.say import note, show, table
from everypair.progress import Progress

BYTES_PER_ANSWER = 160  # of a block: positions, scores, ids and their text on the way into a file
MOST_ROWS = 2**15  # so that progress is seen
SAME_BITS = 4096  # from so many rows on a product is cut in the same way, whatever their number
SHOWN_USERS = 20  # on a terminal


class Request(NamedTuple):
    """Whom the lists are for: their ids, and how the answers of some of them, by place, are made."""

    users: Any
    answer: Callable[[Any], tuple[Any, Any]]


@command
def recommend(
    model: Annotated[Path, typer.Argument(help="Model file.")],
    run: Run,
    choice: ListFilters,
    user: Annotated[list[str] | None, typer.Option("--user", "-u", help="A user, again and again.")] = None,
    users: Annotated[Path | None, typer.Option(help="Text file with a user per line.")] = None,
    every: Annotated[bool, typer.Option("--all", help="All users.")] = False,
    likes: Annotated[list[str] | None, typer.Option(help="An item that one new user has, again and again.")] = None,
    new_users: Annotated[Path | None, typer.Option(help="File of the events of new users.")] = None,
    n: Annotated[int, typer.Option("--n", "-n", help="Items per user.", min=1)] = 10,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help=".csv, .parquet or .jsonl file to write; - for the screen.")
    ] = None,
    kind: Annotated[
        Literal["csv", "parquet", "jsonl"] | None,
        typer.Option("--format", help="Format of the file.", show_default="by the file's name"),
    ] = None,
    include_seen: Annotated[bool, typer.Option("--include-seen", help="Also items that a user has.")] = False,
    block: Annotated[list[str] | None, typer.Option(help="An item to leave out, again and again.")] = None,
    allow: Annotated[list[str] | None, typer.Option(help="An item to choose from, again and again.")] = None,
    unknown: Annotated[
        Literal["error", "skip"] | None,
        typer.Option(help="Users of a file, and their items, that the model does not know.", show_default="skip"),
    ] = None,
    memory_mb: Annotated[float, typer.Option(help="Memory for a block of answers, in MiB.", min=1)] = 256.0,
    threads: Annotated[int | None, typer.Option(help="Threads.", show_default="all cores")] = None,
    min_rating: Annotated[float | None, typer.Option(help="Of --new-users: ratings from here on count.")] = None,
    weight: Annotated[str | None, typer.Option(help="Of --new-users: column of weights or ratings.")] = None,
    cluster: Annotated[
        str | None,
        typer.Option(help="With --all: workers write a folder of Parquet files; tcp://scheduler:port or local:4."),
    ] = None,
) -> None:
    """Recommend items: to users by id, to those of a file, to all, or to new ones by what they have.

    everypair recommend model.ep --user ann -n 5

    everypair recommend model.ep --all --output recommendations.parquet
    """
    from everypair.cli.model_files import ids_of, load_to_ask, typed
    from everypair.cli.ranked_files import STDOUT, format_of, ranked_file
    from everypair.store.write import check_output

    chosen = [user, users, every or None, likes, new_users]
    if sum(one is not None for one in chosen) != 1:
        raise ValueError("say whom to recommend to: one of --user, --users, --all, --likes and --new-users.")
    if new_users is None and (min_rating is not None or weight is not None):
        raise ValueError("--min-rating and --weight read the events of new users: say --new-users FILE.")
    if output is None and kind is not None:
        raise ValueError(f"--format {kind} belongs to a file: say --output FILE, or --output - for the screen.")
    if cluster is not None and not (every and output is not None and kind in (None, "parquet")):
        raise ValueError("--cluster writes the lists of all to a folder of Parquet files: say --all --output FOLDER.")
    if cluster is not None and choice != ListFilters():
        raise ValueError("--cluster writes plain lists: leave out --items, --where, --at-most and --diversity.")
    filters = choice.filters()
    if cluster is not None and threads is not None:
        raise ValueError("workers of a cluster use the threads they were started with: leave --threads out.")
    if output is not None and cluster is None:
        form = format_of(output, kind)
        if str(output) != STDOUT:
            check_output(output, model, users, new_users, choice.items)
    loaded = choice.described(load_to_ask(model))
    known_users, known_items = ids_of(loaded)
    if threads is not None:
        loaded.n_threads = threads
    length = min(n, len(known_items))
    filters |= {
        "n": length,
        "exclude_seen": not include_seen,
        "allow": None if allow is None else typed(allow, known_items, "item"),
        "block": None if block is None else typed(block, known_items, "item"),
    }
    reading = Reading(min_rating=min_rating, weight=weight)
    if cluster is not None:
        from everypair.cli.cluster import write_all_lists

        assert output is not None
        written = write_all_lists(model, len(known_users), filters, output, cluster)
        if run.json_output:
            show({"output": output, "users": len(known_users), "n": length, "files": len(written)})
        else:
            files = f"{len(written)} file{'s' * (len(written) > 1)}"
            note(f"{len(known_users):,} users, {length} items each, in {files} of {output}.", run.quiet)
        return
    _count_unknown(known_items, [*(allow or ()), *(block or ())], run.quiet)
    request = _request(loaded, known_users, known_items, chosen, filters, reading, unknown, run.quiet)
    if output is None:
        _print(request, choice.titles(loaded), run)
        return
    rows = int(min(max(memory_mb * 2**20 / (BYTES_PER_ANSWER * length), 1), MOST_ROWS))
    count = len(request.users)
    texts = (request.users.dtype == object, known_items.are_strings)
    with ranked_file(output, form, texts) as write, Progress(count, "users", run.quiet) as progress:
        for part in _blocks(count, rows):
            write(request.users[part], *request.answer(part))
            progress.reach(part.stop)
    if str(output) != STDOUT:
        if run.json_output:
            show({"output": output, "users": count, "n": length})
        else:
            note(f"{count:,} users, {length} items each, written to {output}.", run.quiet)


def _count_unknown(items: Any, listed: list[str], quiet: bool) -> None:
    """Say how many items of a filter the model does not know."""
    from everypair.cli.model_files import typed

    known = int((items.find(typed(listed, items, "item")) >= 0).sum()) if listed else 0
    if known < len(listed):
        note(f"{len(listed) - known} of the items to choose from or to leave out are not known to the model.", quiet)


def _request(
    model: Any,
    users: Any,
    items: Any,
    chosen: list[Any],
    filters: dict[str, Any],
    reading: Reading,
    unknown: str | None,
    quiet: bool,
) -> Request:
    """Known users by id, or rows of events of new ones."""
    import numpy as np

    from everypair import read_events
    from everypair.cli.model_files import typed

    user, file, every, likes, new_users = chosen
    if likes is None and new_users is None:
        names = users.values
        if not every:
            listed = typed(user if file is None else _listed(file, users), users, "user")
            names = np.array(listed, dtype=names.dtype)
            if unknown == "skip" or (unknown is None and file is not None):
                there = users.find(names) >= 0
                if not there.all():
                    note(f"{int((~there).sum()):,} of {len(names):,} users are not known and left out.", quiet)
                names = names[there]
        return Request(names, lambda part: model.recommend(names[part], **filters))
    if likes is None:
        events = reading.read(new_users, quiet, model.state_.log)
    else:
        events = read_events([("new", item) for item in dict.fromkeys(typed(likes, items, "item"))], verbose=False)
    skip = unknown == "skip" or (unknown is None and new_users is not None)
    new, matrix = _new(events, items, skip, quiet)
    return Request(new, lambda part: model.recommend(interactions=matrix[part], **filters))


def _listed(path: Path, users: Any) -> list[str]:
    """Return the users of a text file; a first line such as user_id is taken for a heading if there is no such user."""
    from everypair.column_names import find_role
    from everypair.data.tables.streams import checked_file, kind_of_file

    if kind_of_file(checked_file(path)) != "text":
        raise ValueError(f"{path} is no text file: write a user on every line.")
    try:
        lines = [line.strip() for line in path.read_text(encoding="utf-8-sig").splitlines()]
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not a text file in UTF-8: write a user on every line.") from None
    listed = [line for line in lines if line]
    first = re.split(r"[,;\t|]", listed[0]) if listed else []
    if len(first) > 1 and find_role(first, "user") and not (users.are_strings and listed[0] in users):
        raise ValueError(
            f"{path} is a table with the columns {', '.join(first)}: write a user, and no more, on a line."
        )
    if listed and find_role(listed[:1], "user") and not (users.are_strings and listed[0] in users):
        listed = listed[1:]
    if not listed:
        raise ValueError(f"{path} has no users: write one on every line.")
    return listed


def _new(events: Any, items: Any, skip: bool, quiet: bool) -> tuple[Any, Any]:
    """Return the ids of new users and their events as rows over known items."""
    from everypair.data.matching import IdPair, match_events

    matched = match_events(events, IdPair(events.user_ids, items))
    if len(matched.unknown_items) and skip:
        strange = len(matched.unknown_items)
        note(f"{matched.n_unknown:,} events of {strange:,} items that the model does not know are left out.", quiet)
    elif len(matched.unknown_items):
        items.index(matched.unknown_items, "item")  # which names them and those they are like
    return events.user_ids.values, matched.matrix


def _blocks(count: int, rows: int) -> list[slice]:
    """Cut users into blocks whose answers are, to the last bit, those of one call for all of them.

    A block has ``rows`` of them, a multiple of 4096 if it has as many; a short rest joins the block before it.

    >>> _blocks(10_000, 5_000), _blocks(3, 2)
    ([slice(0, 4096, None), slice(4096, 10000, None)], [slice(0, 2, None), slice(2, 3, None)])
    """
    size = rows - rows % SAME_BITS if rows >= SAME_BITS else rows
    starts = list(range(0, count, size))
    if size >= SAME_BITS and len(starts) > 1 and count - starts[-1] < SAME_BITS:
        starts.pop()
    return list(map(slice, starts, [*starts[1:], count]))


def _print(request: Request, titles: Titles, run: Run) -> None:
    """Show a few users; many belong into a file."""
    from everypair.cli.ranked_files import rounded, shown

    count = len(request.users)
    if count > SHOWN_USERS and sys.stdout.isatty():
        raise ValueError(f"these are {count:,} users: write them to a file with --output FILE.csv, or to -.")
    for name, items, scores in zip(request.users.tolist(), *map(list, request.answer(slice(None)))):
        there = shown(scores)
        if not there.any():
            note(f"{name}: no item is left of those to choose from, less those left out and those that the user has.")
        answers, rated = items[there].tolist(), rounded(scores[there])
        if run.json_output:
            show({"user": name, "items": answers, "scores": rated, **titles.field(answers)})
        else:
            shown_items = [[str(one), *titles.cells(one), f"{score:.4f}"] for one, score in zip(answers, rated)]
            rows = [[str(rank), *cells] for rank, cells in enumerate(shown_items, 1)]
            table(["rank", "item", *titles.head, "score"], rows, str(name))
