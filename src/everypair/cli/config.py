"""Runs that are repeated: ``--save-config run.toml`` writes what a run was told, ``--config run.toml`` tells it again.

A file holds every option of one command, defaults included, so that a later version with other defaults still repeats
the run. What is given on the command line as well replaces what the file says. Paths are kept as they were given.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import typer

from everypair import __version__

FORMAT = 1
NOT_KEPT = ("config", "save_config", "json_output", "quiet")


def read_config(context: typer.Context, path: Path | None) -> Path | None:
    """Take the options of a file as the defaults of this call: a callback of ``--config``."""
    if path is not None and not context.resilient_parsing:
        command, options = parse(path)
        if command != context.info_name:
            raise ValueError(f"{path} is a run of `everypair {command}`: say that instead of {context.info_name}.")
        known = {parameter.name for parameter in context.command.params} - set(NOT_KEPT)
        unknown = sorted(set(options) - known)
        if unknown:
            raise ValueError(f"{path}: {command} has no option {', '.join(unknown)}.")
        context.default_map = options
    return path


def parse(path: Path) -> tuple[str, dict[str, Any]]:
    """Return the command of a file and its options, or say what is wrong with it."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file {path}.") from None
    except IsADirectoryError:
        raise IsADirectoryError(f"{path} is a folder, not a file that --save-config wrote.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as failure:
        raise ValueError(f"{path} is not TOML: {failure}.") from None
    match content:
        case {"format": int(version)} if version > FORMAT:
            raise ValueError(
                f"{path} has version {version} of the format, and this EveryPair reads version {FORMAT}: install a "
                "newer one."
            )
        case {"format": int(version), "everypair": str(_), "command": str(command), "options": dict(options)} if (
            len(content) == 4 and version == FORMAT
        ):
            return command, options
    raise ValueError(f"{path} is not a file that --save-config wrote: it needs format, everypair, command, options.")


def write_config(path: Path, command: str, options: dict[str, Any]) -> None:
    """Write the options of a run to a file, which takes the place of an older one."""
    from everypair.store.write import replacing

    lines = [
        f"# `everypair {command} --config {path.name}` repeats this run.",
        f"format = {FORMAT}",
        f"everypair = {_toml(__version__)}",
        f"command = {_toml(command)}",
        "",
        "[options]",
        *(f"{name} = {_toml(value)}" for name, value in options.items() if name not in NOT_KEPT and value is not None),
    ]
    with replacing(path) as file:
        file.write(("\n".join(lines) + "\n").encode())


def _toml(value: Any) -> str:
    """One value as TOML.

    >>> _toml(["a\\"b", True, 0.5, Path("x")])
    '["a\\\\"b", true, 0.5, "x"]'
    """
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
