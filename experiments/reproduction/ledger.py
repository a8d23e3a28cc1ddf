"""The ledger: which command wrote a result, at which state of the code, when, and how long it took.

A result is stale if the code that it rests on has changed since: the scripts of its paper and the rooms of the library
that they use, compared by their syntax trees without docstrings, so that words and comments do not count.
"""

from __future__ import annotations

import ast
import hashlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reproduction.entry import EXPERIMENTS, Entry

LEDGER = "reproduction/ledger.json"
LIBRARY = EXPERIMENTS.parent / "src" / "everypair"
SOLVED = ("kernels", "problem", "solvers", "training")
ROOMS = {
    "negsel": (*SOLVED, "models/recommend", "metrics"),
    "ocsmf": (*SOLVED, "models/recommend", "models/multilabel", "features", "metrics"),
    "leml": (*SOLVED, "models/multilabel", "metrics"),
    "mlrm": ("solvers/completion", "problem/completion", "models/completion", "metrics"),
    "esl": ("kernels", "problem", "neural", "models/recommend/two_tower.py", "metrics"),
}


def without_docstrings(source: str) -> str:
    """The syntax tree of a module as text, without its docstrings.

    >>> without_docstrings("x = 1  # one") == without_docstrings('"words"\\nx = 1')
    True
    """
    tree = ast.parse(source)
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


def sources(paper: str) -> Iterator[Path]:
    """The files that a paper's results rest on."""
    yield from sorted((EXPERIMENTS / paper).glob("*.py"))
    for room in ROOMS[paper]:
        path = LIBRARY / room
        yield from [path] if path.suffix else sorted(path.rglob("*.py"))


def fingerprint(paper: str) -> str:
    """A short hash of the code that a paper's results rest on."""
    digest = hashlib.sha256()
    for path in sources(paper):
        digest.update(f"{path.name}\n{without_docstrings(path.read_text())}\n".encode())
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


def made(entry: Entry, folder: Path = EXPERIMENTS) -> str:
    """When an entry's commands were last run, in words: their commits, or that the ledger does not know."""
    rows = read(folder)
    commits = {rows[command]["commit"] for command in entry.full if command in rows}
    if not entry.full:
        return ""
    known = sum(command in rows for command in entry.full)
    if not known:
        return "before the ledger"
    return ", ".join(sorted(commits)) + (f" ({known} of {len(entry.full)} commands)" if known < len(entry.full) else "")


def stale(entry: Entry, folder: Path = EXPERIMENTS) -> bool:
    """Whether a result was made with other code than the present one, or at an unknown state of it."""
    rows, now = read(folder), fingerprint(entry.paper)
    return any(rows.get(command, {}).get("code") != now for command in entry.full)
