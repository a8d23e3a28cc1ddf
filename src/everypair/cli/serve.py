"""``everypair serve``: a model file as a service over HTTP, with a page to try it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from everypair.cli.options import command

Option = typer.Option


@command
def serve(
    models: Annotated[
        list[str], typer.Argument(help="Model file, or two: the second with its share of users, b.ep=10%.")
    ],
    host: Annotated[str, Option(help="Address; 0.0.0.0 is every one of this machine.")] = "127.0.0.1",
    port: Annotated[int, Option(help="Port; 0 is any that is free.", min=0, max=65535)] = 8000,
    workers: Annotated[int | None, Option(help="Processes that answer; one for each core by default.", min=1)] = None,
    items: Annotated[Path | None, Option(help="Table of items: their ids, titles, and columns to choose by.")] = None,
    token_file: Annotated[Path | None, Option(help="File with a secret that requests must have.")] = None,
    no_token: Annotated[bool, Option("--no-token", help="Let others ask without a secret.")] = False,
    watch: Annotated[bool, Option("--watch", help="Take the files again when they are replaced.")] = False,
    check: Annotated[
        bool, Option("--check", help="Load, check and warm up alone: before a switch, or in an image.")
    ] = False,
    log: Annotated[Path | None, Option(help="File for a line of JSON per request; - is standard output.")] = None,
    log_users: Annotated[bool, Option("--log-users", help="Write ids of users into that file too.")] = False,
) -> None:
    """Answer over HTTP: recommendations, neighbours and scores of a model file, and a page to try them.

    everypair serve model.ep --items items.csv --watch
    """
    import os

    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # workers are processes
    from everypair.cli.say import note
    from everypair.parallel import resolve_threads
    from everypair.serve import setup as asked
    from everypair.serve.sockets import bound, is_loopback

    served = asked.served_models(models)
    asked.check_readable(items, token_file)
    asked.check_log(log, log_users)
    with bound(host, port) as sock:
        gate = asked.gate_of(token_file, no_token, is_loopback(sock))
        count = resolve_threads(None) if workers is None else workers
        setup = asked.Setup(served, items, gate, count, watch, log, log_users)
        from everypair.serve import start

        (start.check if check else start.serve)(setup, sock, lambda sentence: note(f"everypair: {sentence}"))
