"""docs/benchmarks.md: the tables of the race, made from stored results.

    python benchmarks/race_page.py

Quality against training time comes from experiments/blend/peers.py, time to one objective from benchmarks/sweep.py, one
answer from benchmarks/latency.py, a request from benchmarks/serve.py, installing and importing from
benchmarks/footprint.py. Nothing is measured here; ``--smoke`` makes the tables and writes nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "experiments"))
import tables
from page import filled
from smoke import parse

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "benchmarks.md"
RESULTS = Path(__file__).parent / "results"
PEERS = ROOT / "experiments" / "blend" / "results"
SETS = ("ml1m", "citeulike_t", "lastfm_hetrec", "yelp2018")
OURS = ("OneClassMF", "ItemItem", "Blend")
QUESTIONS = (
    "recommend",
    "fold-in of 20",
    "fold-in of the own history",
    "similar",
    "explain",
    "recommend, 1,000 hidden",
)
KINDS = ("known users", "fold-in", "similar")


def stored(path: Path) -> Any:
    """What a result file holds."""
    return json.loads(path.read_text(encoding="utf-8"))


def quality() -> list[str]:
    """A table for every data set: tested quality, CPU seconds of the last fit, of the whole search, and its points."""
    lines: list[str] = []
    for name in SETS:
        path = PEERS / f"peers_{name}.json"
        if not path.exists():
            continue
        methods = {one: found for one, found in stored(path)["methods"].items() if "test" in found}
        ranked = sorted(methods.items(), key=lambda pair: -pair[1]["test"]["ndcg@10"])
        lines += ["", f"**{name}**", "", "| method | nDCG@10 | recall@20 | CPU s, last fit | CPU s, search | points |"]
        lines += ["|---|---|---|---|---|---|"]
        for method, found in ranked:
            searched = sum(trial["cpu"] for trial in found["trials"])
            label = f"**{method}**" if method.startswith(OURS) else method
            points = len(found["trials"]) or "none"
            ended = "‡" if "stopped" in found else ""
            lines.append(
                f"| {label} | {100 * found['test']['ndcg@10']:.2f} | {100 * found['test']['recall@20']:.2f} "
                f"| {found['cpu']:.1f} | {searched:.0f}{ended} | {points} |"
            )
    return lines[1:]


def answers() -> list[str]:
    """CPU milliseconds of one question, medians."""
    record = stored(RESULTS / "latency.json")
    names = [f"{one}({rank})" for rank in (64, 256) for one in ("OneClassMF", "implicit", "irspack")] + ["Blend"]
    lines = [f"| CPU ms, median | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    for question in QUESTIONS:
        row = record["rows"][question]
        cells = [f"{row[name]['p50']:.2f}" if name in row else "" for name in names]
        lines.append(f"| {question} | {' | '.join(cells)} |")
    return lines


def requests() -> list[str]:
    """Requests of a CPU second by kind, connections and server, medians over rounds."""
    ranks = stored(RESULTS / "serve.json")["ranks"]
    names = {"everypair": "`everypair serve`", "same": "implicit, same app", "fastapi": "implicit, FastAPI"}
    lines = [f"| rank, question, connections | {' | '.join(names.values())} |", "|---" * (len(names) + 1) + "|"]
    for rank, rows in ranks.items():
        for kind in dict.fromkeys(row["kind"] for row in rows):
            for count in sorted({row["connections"] for row in rows}):
                cells = [
                    [r["cpu_ms"] for r in rows if (r["kind"], r["connections"], r["server"]) == (kind, count, name)]
                    for name in names
                ]
                shown = " | ".join(f"{1000 / median(found):,.0f}" if found else "" for found in cells)
                lines.append(f"| {rank}, {kind}, {count} | {shown} |")
    return lines


def footprint() -> list[str]:
    """What installing takes, and importing."""
    record = stored(RESULTS / "footprint.json")
    lines = ["| library | installed, MB | packages | import, CPU s | built here |", "|---|---|---|---|---|"]
    for name, found in record["libraries"].items():
        if "reason" in found:
            lines.append(f"| {name} | {found['reason']} | | | |")
        else:
            lines.append(
                f"| {name} {found['version']} | {found['megabytes']:,.0f} | {found['packages']} "
                f"| {found['import_cpu']:.2f} | {'yes' if found['built'] else ''} |"
            )
    return lines


TABLES = {
    "race_page.py quality": quality,
    "race_page.py objective": lambda: tables.lines(stored(RESULTS / "sweep.json"), tables.SHORT),
    "race_page.py answers": answers,
    "race_page.py requests": requests,
    "race_page.py footprint": footprint,
}


def written(text: str) -> str:
    """The page with its tables made anew."""
    for name, made in TABLES.items():
        text = filled(text, name, made())
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    text = written(PAGE.read_text(encoding="utf-8"))
    print(f"{len(TABLES)} tables of {PAGE.name} are made anew.")
    if not parse(parser).smoke:
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
