"""Run and judge the tables, figures and claims of the five papers.

    python experiments/reproduce.py [--quick | --full] [--paper P …] [--only ID …] [--jobs N] [--again]
    python experiments/reproduce.py --report | --status

``--quick`` (the default) runs small versions of what takes minutes, with results below ``build/reproduction``, and
prints a line per entry; without data sets it runs what is generated or embedded and says "no data" for the rest.
``--full`` writes the stored results beside the scripts and then docs/reproduction.md. A command that was run with the
code at hand is not run again unless ``--again`` says so, so a run that was interrupted goes on where it was.
``--report`` only writes the page; ``--status`` lists results that are older than the code they rest on; ``--canary``
is for a change of what training computes (reproduction/canary.py).
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

from registry import ENTRIES, PAPERS
from reproduction import canary, ledger, page
from reproduction.entry import EXPERIMENTS, Entry

PAGE = EXPERIMENTS.parent / "docs" / "reproduction.md"
README = EXPERIMENTS.parent / "README.md"
EMBEDDED = "debian"
QUICK = EXPERIMENTS.parent / "build" / "reproduction"


def has_data(entry: Entry) -> bool:
    """Whether the data sets that an entry's commands read are there."""
    folder = os.environ.get("EVERYPAIR_DATA", "")
    return all(Path(folder, f"{name}.npz").is_file() for name in entry.data) if folder else not entry.data


def can_run(entry: Entry, command: str) -> bool:
    """Whether what a command reads is there: the data sets, or it has one that ships with the library."""
    return has_data(entry) or f"--data {EMBEDDED}" in command


def run(command: str, folder: Path, smoke: bool) -> str | None:
    """Run a command of the registry, note it in the ledger; return what went wrong, or None."""
    script, *arguments = shlex.split(command)
    results = folder / Path(script).parent / "results"
    call = [sys.executable, str(EXPERIMENTS / script), *arguments, "--results", str(results)]
    state = {"commit": ledger.commit(), "code": ledger.fingerprint(command)}  # before: it may change while this runs
    start = time.perf_counter()
    done = subprocess.run(call + ["--smoke"] * smoke, capture_output=True, text=True, check=False, cwd=EXPERIMENTS)
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["no message"])[-1]
    spent = {"seconds": round(time.perf_counter() - start), "day": datetime.now(UTC).date().isoformat()}
    ledger.note(folder, command, {**state, **spent})
    return None


def run_all(commands: Iterable[str], folder: Path, jobs: int, again: bool, smoke: bool) -> bool:
    """Run commands, those of one script one after the other; say how far it is. True if all went well."""
    rows = ledger.read(folder)
    left = [one for one in commands if again or rows.get(one, {}).get("code") != ledger.fingerprint(one)]
    scripts: dict[str, list[str]] = {}
    for command in left:
        scripts.setdefault(command.split()[0], []).append(command)
    failures = 0
    started = 0

    def work(group: Sequence[str]) -> None:
        nonlocal failures, started
        for command in group:
            started += 1
            print(f"[{started}/{len(left)}] {command}", flush=True)
            problem = run(command, folder, smoke)
            if problem is not None:
                failures += 1
                print(f"{command} failed: {problem}", file=sys.stderr, flush=True)

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(work, scripts.values()))
    return not failures


def line(entry: Entry, folder: Path) -> str:
    """An entry in one line."""
    if entry.data and not has_data(entry) and not entry.records(folder):
        return f"{entry.id}: no data ({', '.join(entry.data)})"
    verdict = entry.verdict(folder)
    return f"{entry.id}: {verdict.state}. {verdict.sentence}"


def chosen(papers: Sequence[str] | None, only: Sequence[str] | None) -> list[Entry]:
    """The entries that are asked for, or the end with a sentence."""
    known = {entry.id for entry in ENTRIES}
    unknown = [one for one in only or () if one not in known]
    if unknown:
        sys.exit(f"There is no entry {unknown[0]!r}: experiments/reproduce.py --status lists all of them.")
    return [entry for entry in ENTRIES
            if (papers is None or entry.paper in papers) and (only is None or entry.id in only)]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    how = parser.add_mutually_exclusive_group()
    for name, text in {"quick": "small runs (the default)", "full": "write the stored results anew",
                       "report": "only write the page", "status": "list what is stale",
                       "canary": "store anew what small fits give"}.items():  # fmt: skip
        how.add_argument(f"--{name}", action="store_true", help=text)
    parser.add_argument("--paper", nargs="+", choices=tuple(PAPERS))
    parser.add_argument("--only", nargs="+", metavar="ID")
    parser.add_argument("--jobs", type=int, default=1, help="scripts at once")
    parser.add_argument("--again", action="store_true", help="also what was run with the code at hand")
    parser.add_argument("--smoke", action="store_true", help="seconds, on tiny generated data, nothing kept")
    options, _ = parser.parse_known_args() if "--smoke" in sys.argv else (parser.parse_args(), None)
    entries = chosen(options.paper, options.only)
    if options.canary:
        print("\n".join(canary.store()) or "No score moved.")
        return
    if options.status:
        for entry in entries:
            old = entry.full and ledger.stale(entry)
            print(f"{entry.id}: {entry.verdict().state}{', stale' if old else ''}")
        return
    well = True
    if not options.report:
        folder = EXPERIMENTS if options.full else QUICK
        folder = Path(tempfile.mkdtemp(prefix="everypair-smoke-")) if options.smoke else folder
        every = ((entry, c) for entry in entries for c in (entry.full if options.full else entry.quick))
        commands = dict.fromkeys(c for entry, c in every if options.smoke or can_run(entry, c))
        well = run_all(commands, folder, options.jobs, options.again, options.smoke)
        for entry in entries:
            print(line(entry, folder))
    if options.report or (options.full and not options.smoke):
        PAGE.write_text(page.written(PAPERS, ENTRIES))
        README.write_text(page.in_readme(README.read_text(), page.summary(PAPERS, ENTRIES)))
        print(f"{PAGE.name} is written.")
    if not well:
        sys.exit(1)


if __name__ == "__main__":
    main()
