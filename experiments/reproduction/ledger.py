"""The ledger: which command wrote a result, at which state of the code, when, and how long it took.

A result is stale if the code that it rests on has changed since:

- its script, and what that imports below ``experiments/``, but for what only writes tables and draws (syntax trees are
  compared, without docstrings: words do not count);
- what the library's training computes, by the stored scores of small fits (canary.py). A change of the library that
  leaves them as they are leaves the results as they are too. Were its files compared, every commit would make
  everything stale.
"""

from __future__ import annotations

import ast
import hashlib
import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

from reproduction import canary
from reproduction.entry import EXPERIMENTS, Entry

LEDGER = "reproduction/ledger.json"
APART = ("edges", "pages", "smoke", "tiny")  # tables and their marks, and what only smoke runs use
SHOWING = ("report", "plot", "markdown", "described", "shown", "table")  # functions that write results, not make them


def essence(source: str) -> str:
    """The syntax tree of a module as text, without docstrings, imports and functions that write tables.

    >>> essence("x = 1  # one") == essence('"words"\\nx = 1\\ndef report(): pass')
    True
    """
    tree = ast.parse(source)
    tree.body = [part for part in tree.body if not _apart(part)]
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if (
            isinstance(body, list)
            and body
            and isinstance(body[0], ast.Expr)
            and isinstance(body[0].value, ast.Constant)
        ):
            node.body = body[1:]  # type: ignore[attr-defined]
    return ast.dump(tree)


def _apart(part: ast.stmt) -> bool:
    """Whether a statement of a module makes no figures: imports, ``__all__``, functions that write tables."""
    if isinstance(part, ast.FunctionDef):
        return part.name in SHOWING
    return isinstance(part, ast.Import | ast.ImportFrom) or ast.unparse(part).startswith("__all__")


def imported(script: Path) -> set[Path]:
    """A script of ``experiments/`` and what it imports there, directly or not."""
    found, waiting = set(), [script]
    while waiting:
        path = waiting.pop()
        found.add(path)
        for node in ast.walk(ast.parse(path.read_text())):
            names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in set(names).difference(APART):
                near = (folder / f"{name}.py" for folder in (path.parent, EXPERIMENTS))
                waiting += [one for one in near if one.exists() and one not in found][:1]
    return found


def fingerprint(command: str) -> str:
    """A short hash of the code that what a command writes rests on."""
    script = EXPERIMENTS / shlex.split(command)[0]
    digest = hashlib.sha256(json.dumps(canary.stored()[script.parent.name]).encode())
    for path in sorted(imported(script)):
        digest.update(f"{path.name}\n{essence(path.read_text())}\n".encode())
    return digest.hexdigest()[:16]


def commit() -> str:
    """The commit at hand, shortened; empty where there is no git."""
    done = subprocess.run(
        ["git", "rev-parse", "--short=10", "HEAD"], cwd=EXPERIMENTS, capture_output=True, text=True, check=False
    )
    return done.stdout.strip()


def read(folder: Path = EXPERIMENTS) -> dict[str, dict[str, Any]]:
    """Rows of the ledger by command."""
    path = folder / LEDGER
    return json.loads(path.read_text()) if path.exists() else {}


def note(folder: Path, command: str, row: dict[str, Any]) -> None:
    """Store a row of the ledger."""
    path = folder / LEDGER
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = dict(sorted({**read(folder), command: row}.items()))
    path.write_text(json.dumps(rows, indent=1) + "\n")


def unknown(entry: Entry, folder: Path = EXPERIMENTS) -> int:
    """How many of an entry's commands the ledger does not know: what they wrote is older than it, or they never ran."""
    rows = read(folder)
    return sum(command not in rows for command in entry.full)


def made(entry: Entry, folder: Path = EXPERIMENTS) -> str:
    """When an entry's commands were last run, in words: commits and last day, and of how many there is no record."""
    known = [row for command, row in read(folder).items() if command in entry.full]
    older = unknown(entry, folder)
    words = []
    if known:
        words.append(f"{', '.join(sorted({row['commit'] for row in known}))} on {max(row['day'] for row in known)}")
    if older:
        words.append(f"**stale or not run**: {older} of {len(entry.full)} commands")
    return "; ".join(words)


def stale(entry: Entry, folder: Path = EXPERIMENTS) -> bool:
    """Whether a result was made with other code than the present one, or at an unknown state of it."""
    rows = read(folder)
    return any(rows.get(command, {}).get("code") != fingerprint(command) for command in entry.full)
