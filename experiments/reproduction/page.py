"""The page: how much of the five papers is seen here, then every table, figure and claim with its verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from reproduction import ledger
from reproduction.entry import EXPERIMENTS, KINDS, STATES, Entry, Verdict

HEAD = """# Reproduction

<!-- made by python experiments/reproduce.py --report -->

What five papers print and claim, beside what this library measures. A verdict is computed from stored results by a
function of `experiments/reproduction/`, never typed in: **confirmed**, **partly**, **refuted** (the opposite is seen
here), **untested** (it could be run with the data at hand and was not) or **no data** (it needs data that are not at
hand). Parameters are chosen inside the training data unless a line says otherwise. A line ends with the commits whose
code made its results and the last day. **Stale or not run** are those of its commands of which no such record is kept:
what they once wrote is shown and older, or there is nothing of them.
"""
HEADLINES = (  # of each paper
    "negsel.claim.full",
    "negsel.figure1",
    "ocsmf.claim.loss",
    "ocsmf.supp1",
    "leml.claim.br",
    "leml.claim.rivals",
    "mlrm.claim.best",
    "mlrm.claim.iterations",
    "esl.claim.newton",
)
README_BEGIN, README_END = "<!-- made by experiments/reproduce.py --report -->", "<!-- end of it -->"
USE = """
```
python experiments/reproduce.py --quick           # minutes: what small runs say
python experiments/reproduce.py --full --only ID  # writes results anew, then this page
python experiments/reproduce.py --status          # which results are older than the code
```
"""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _counts(verdicts: Sequence[Verdict]) -> str:
    counts = Counter(verdict.state for verdict in verdicts)
    return " | ".join(str(counts[state] or "–") for state in STATES)


def headlines(entries: Sequence[Entry], folder: Path = EXPERIMENTS) -> str:
    """What the papers are known for, a line each, with its verdict: the page's beginning, and the README's lines."""
    known = {entry.id: entry for entry in entries}
    lines = []
    for name in HEADLINES:
        verdict = known[name].verdict(folder)
        lines.append(f"- {known[name].paper.upper()}, *{known[name].title}*: **{verdict.state}**, {verdict.sentence}")
    return "\n".join(lines)


def summary(papers: Mapping[str, str], entries: Sequence[Entry], folder: Path = EXPERIMENTS) -> str:
    """README's paragraph: how many are in which state, and the verdicts on what the papers are known for."""
    counts = Counter(entry.verdict(folder).state for entry in entries)
    known = {entry.id: entry for entry in entries}
    said = "; ".join(
        f"{paper.upper()}: "
        + ", ".join(
            f"{known[name].title[0].lower()}{known[name].title[1:]} **{known[name].verdict(folder).state}**"
            for name in HEADLINES
            if known[name].paper == paper
        )
        for paper in papers
    )
    states = ", ".join(f"{counts[state]} {state}" for state in STATES if counts[state])
    return f"Of {len(entries)} tables, figures and claims of the five papers: {states}. {said}."


def in_readme(readme: str, paragraph: str) -> str:
    """README with its paragraph made anew."""
    before, begin, rest = readme.partition(README_BEGIN)
    _, end, after = rest.partition(README_END)
    if not begin or not end:
        raise SystemExit(f"README.md needs the lines {README_BEGIN!r} and {README_END!r}.")
    return f"{before}{begin}\n{paragraph}\n{end}{after}"


def written(papers: Mapping[str, str], entries: Sequence[Entry], folder: Path = EXPERIMENTS) -> str:
    """The page in Markdown, from what is stored below ``folder``."""
    verdicts = {entry.id: entry.verdict(folder) for entry in entries}
    old = {entry.id for entry in entries if verdicts[entry.id].state in STATES[:3] and ledger.unknown(entry, folder)}
    lines = [HEAD, headlines(entries, folder), ""]
    lines += [
        f"| paper | | {' | '.join(STATES)} | of these stale or in part |",
        "|---|---|" + "---|" * (len(STATES) + 1),
    ]
    for paper in papers:
        for kind in KINDS:
            ids = [entry.id for entry in entries if entry.paper == paper and entry.kind == kind]
            here = [verdicts[one] for one in ids]
            name = f"[{paper.upper()}](#{paper})" if kind == KINDS[0] else ""
            lines.append(f"| {name} | {kind}s | {_counts(here)} | {len(old.intersection(ids)) or '–'} |")
    lines += [f"| all | {len(entries)} | {_counts(list(verdicts.values()))} | {len(old) or '–'} |", USE]
    for paper, title in papers.items():
        lines += [f"## {paper.upper()}", "", f"*{title}*", ""]
        for kind in KINDS:
            here = [entry for entry in entries if entry.paper == paper and entry.kind == kind]
            if here:
                lines += [f"### {paper.upper()}: {kind}s", "", "| | published | here | |", "|---|---|---|---|"]
                lines += [_row(entry, verdicts[entry.id], folder) for entry in here] + [""]
    return "\n".join(lines)


def _row(entry: Entry, verdict: Verdict, folder: Path) -> str:
    """A row: what it is, what the paper prints, what is seen here and how that was made."""
    here = verdict.sentence
    if entry.differs:
        here += f" *Differs: {entry.differs}.*"
    if entry.tests:
        here += f" Held by {', '.join(f'`{path}`' for path in entry.tests)}."
    elif verdict.state in STATES[:3] and (made := ledger.made(entry, folder)):
        here += f" Made: {made}."
    cells = (f"{entry.title} `{entry.id}`", entry.published, here, f"**{verdict.state}**")
    return f"| {' | '.join(map(_cell, cells))} |"
