"""The ledger: which command wrote a result, at which state of the code, when, and how long it took.

A result is stale if the code that it rests on has changed since:

- its script, and what that imports below ``experiments/``, but for what only writes tables and draws;
- the rooms of the library in which the objective is stated and minimised, and the rivals' files (``ROOMS``).

Syntax trees are compared without docstrings, so that words do not count. What is left out is held to references by
tests of its own: readers, metrics, ranking, checks of parameters. Were it counted, every commit would make everything
stale.
"""

from __future__ import annotations

import ast
import hashlib
import json
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reproduction.entry import EXPERIMENTS, Entry

LEDGER = "reproduction/ledger.json"
LIBRARY = EXPERIMENTS.parent / "src" / "everypair"
SOLVED = (
    *(f"kernels/{name}.py" for name in ("all_pairs", "cholesky", "coordinate", "losses", "row_blocks", "row_newton",
                                        "stored_pairs", "terms")),
    *(f"problem/{name}.py" for name in ("all_pairs", "embedding", "gram", "losses", "negatives", "objective", "outside",
                                        "ridge", "rows", "side", "stored")),
    *(f"solvers/{name}.py" for name in ("alternating", "balance", "choose", "closed_form", "conjugate", "half_step",
                                        "line_search", "loop", "momentum", "preconditioner", "side", "tron")),
    "training/start.py",
)  # fmt: skip
RIVALS = "models/recommend/rivals"
ROOMS = {
    "negsel": (*SOLVED, "solvers/rivals", "kernels/bpr.py", "kernels/stochastic.py", "data/sampling.py", RIVALS),
    "ocsmf": (*SOLVED, "data/sampling.py", RIVALS, "features/nystrom.py"),
    "leml": (*SOLVED, "models/multilabel/problem.py", "models/multilabel/rivals"),
    "labels": ("models/multilabel/rivals/fast_xml.py", "models/multilabel/rivals/sleec.py"),
    "mlrm": (
        *(
            f"solvers/completion/{name}.py"
            for name in (
                "accelerated",
                "feature_nuclear",
                "fixed_point",
                "inductive",
                "interactive",
                "nesterov",
                "proximal",
                "ranking",
                "shrinkage",
            )
        ),
        *(f"problem/completion/{name}.py" for name in ("bilinear", "centring", "low_rank", "masked", "ranking")),
        "models/completion/mlrm.py",
        "models/completion/rivals",
    ),
    "esl": (
        "kernels/tower_pairs.py",
        *(
            f"neural/{name}.py"
            for name in ("activations", "functions", "inputs", "layers", "objective", "penalties", "towers")
        ),
        *(
            f"neural/optimizers/{name}.py"
            for name in (
                "conjugate_gradients",
                "estimates",
                "gd",
                "naive",
                "newton",
                "sampling",
                "search",
                "sg46",
                "sogram",
            )
        ),
    ),
}
APART = ("edges", "smoke", "tiny")  # marks in tables, and what only smoke runs use
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


def sources(command: str) -> Iterator[Path]:
    """The files that what a command writes rests on."""
    script = EXPERIMENTS / shlex.split(command)[0]
    yield from sorted(imported(script))
    for room in ROOMS[script.parent.name]:
        path = LIBRARY / room
        yield from [path] if path.suffix else sorted(path.rglob("*.py"))


def fingerprint(command: str) -> str:
    """A short hash of the code that what a command writes rests on."""
    digest = hashlib.sha256()
    for path in sources(command):
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
    """How many of an entry's commands the ledger does not know: what they wrote is older than it."""
    rows = read(folder)
    return sum(command not in rows for command in entry.full)


def made(entry: Entry, folder: Path = EXPERIMENTS) -> str:
    """When an entry's commands were last run, in words: commits and last day, and how much is older than the ledger."""
    known = [row for command, row in read(folder).items() if command in entry.full]
    older = unknown(entry, folder)
    words = []
    if known:
        words.append(f"{', '.join(sorted({row['commit'] for row in known}))} on {max(row['day'] for row in known)}")
    if older:
        words.append(f"**stale**, before the ledger{f', {older} of {len(entry.full)} commands' if known else ''}")
    return "; ".join(words)


def stale(entry: Entry, folder: Path = EXPERIMENTS) -> bool:
    """Whether a result was made with other code than the present one, or at an unknown state of it."""
    rows = read(folder)
    return any(rows.get(command, {}).get("code") != fingerprint(command) for command in entry.full)
