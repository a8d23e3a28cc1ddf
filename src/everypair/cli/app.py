"""The command ``everypair`` itself: how its subcommands are called, and how they end.

0     done
1     a fault of the program, with a traceback
2     a mistake that can be mended: one sentence on standard error, nothing written
130   Ctrl-C

Subcommands import what they need when they run, so that ``--help`` needs neither numba nor scikit-learn.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import time
import warnings
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from everypair import __version__
from everypair.cli.sentences import as_options

START = time.perf_counter()
DONE, MISTAKE, INTERRUPTED = 0, 2, 130
CTRL_C = ("KeyboardInterrupt", "InterruptedTraining")  # what it is by name: the class of the latter needs numba
MISTAKES = (ValueError, TypeError, OSError, ImportError, NotImplementedError, MemoryError)
Shown: Any = typer.BadParameter.__mro__[2]  # the base of what typer says about options, wherever its version keeps it


class Commands(TyperGroup):
    """A group whose commands end with a sentence and an exit code where something is wrong."""

    def main(  # type: ignore[override]
        self, args: Sequence[str] | None = None, standalone_mode: bool = True, **extra: Any
    ) -> Any:
        """Run a command; in ``standalone_mode`` end the process with its exit code."""
        sys.stdout, sys.stderr = sys.stdout or _nowhere(), sys.stderr or _nowhere()
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        given = list(map(_as_utf8, sys.argv[1:]) if args is None else args)
        warned: list[str] = []
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("default")
                warnings.showwarning = partial(_show_warning, warned)
                code = super().main(given, standalone_mode=False, **extra)
                sys.stdout.flush()
            if set(warned) & set(CTRL_C):  # what was learnt by then has been written or shown
                code = INTERRUPTED
        except BrokenPipeError:
            code = _closed_pipe()
        except SystemExit as ended:
            if not isinstance(ended.__context__, BrokenPipeError):  # which typer turns into exit code 1
                raise
            code = _closed_pipe()
        except Shown as failure:
            said = failure.format_message()  # nothing where the help page has been shown instead
            code = _refuse(f"{said.rstrip('.')}. {_advice(failure)}", given) if said else MISTAKE
        except MISTAKES as failure:
            if os.environ.get("EVERYPAIR_TRACEBACK"):
                raise
            code = INTERRUPTED if _is_ctrl_c(failure) else _refuse(_sentence(failure), given)
        except KeyboardInterrupt:
            code = INTERRUPTED
        code = code if isinstance(code, int) else DONE
        if code == INTERRUPTED:
            if standalone_mode:
                signal.signal(signal.SIGINT, signal.SIG_IGN)  # another one would end the process by a signal
            print("everypair: interrupted.", file=sys.stderr)
        if not standalone_mode:
            return code
        raise SystemExit(code)


app = typer.Typer(
    cls=Commands,
    help="Learn from every pair: the few that were observed and all the rest.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"], "max_content_width": 110},
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"everypair {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Learn from every pair: the few that were observed and all the rest.

    \b
    everypair fit events.csv --output model.ep
    everypair recommend model.ep --user ann
    everypair evaluate events.csv
    """


def _refuse(sentence: str, given: list[str]) -> int:
    sys.stderr.write(f"everypair: {as_options(sentence, given)}\n")
    try:
        sys.stdout.flush()
    except OSError:  # a full disk behind standard output: what is left in the buffer cannot be kept
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return MISTAKE


def _sentence(failure: BaseException) -> str:
    if isinstance(failure, OSError) and failure.errno is not None and failure.strerror:
        about = f" {failure.filename}" if failure.filename else ""
        if failure.errno == errno.ENOSPC:
            return f"cannot write{about}: the disk is full; free some room or choose another folder."
        return f"{failure.strerror}:{about}." if about else f"{failure.strerror}."
    if isinstance(failure, MemoryError):
        return f"there is not enough memory{f': {failure}' if str(failure) else ''}."
    return str(failure) or type(failure).__name__


def _advice(failure: Any) -> str:
    """Where to look; and which arguments a command takes, where there was one too many."""
    context = getattr(failure, "ctx", None)
    if context is None:
        return ""
    told = f"See {context.command_path} --help."
    if "unexpected extra argument" not in failure.format_message():
        return told
    takes = [f"{{{one.name}}}" for one in context.command.params if one.param_type_name == "argument"]
    return f"{context.info_name} takes {' '.join(takes) or 'no argument'}; all else are options. {told}"


def _closed_pipe() -> int:
    """Whoever reads has seen enough: nothing is said, neither now nor when Python ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(nowhere, stream.fileno())
    return DONE


def _nowhere() -> Any:
    """In the place of a stream that was closed before the start, as ``>&-`` does."""
    return os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")


def _is_ctrl_c(failure: BaseException | None) -> bool:
    """Whether Ctrl-C is behind a failure: in the middle of an import it looks like a module that cannot be loaded."""
    while failure is not None:
        if type(failure).__name__ in CTRL_C:
            return True
        failure = failure.__cause__ or failure.__context__
    return False


def _as_utf8(argument: str) -> str:
    """What was typed, in UTF-8 although the locale says ASCII.

    >>> _as_utf8("Zo\\udcc3\\udcab"), _as_utf8("Zoë")
    ('Zoë', 'Zoë')
    """
    if argument.isascii() or not any("\udc80" <= letter <= "\udcff" for letter in argument):
        return argument
    return argument.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")


def _show_warning(warned: list[str], message: Any, category: Any, *_: Any, **__: Any) -> None:
    warned.append(category.__name__)
    if issubclass(category, UserWarning):
        print(f"everypair: warning: {message}", file=sys.stderr)
