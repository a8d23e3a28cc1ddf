"""The campaign: every room's promise tried for a while, counted, and kept as JSON; what fails is made small and shown.

    python tools/campaign/run.py [ROOM …] [--minutes 10 | --hours 8] [--seed N] [--jobs 2] [--results FILE]
    python tools/campaign/run.py ROOM --case '{"seed": 7}'         one case again
    python tools/campaign/run.py --report                          writes docs/reliability.md from the stored counts

Every room runs in a process of its own, so that a crash is a failure of its case and not of the campaign. Without a
seed that of the day is taken and printed. A case that fails is written, made small, into ``kept.json`` and is tried
first for ever: commit it with what mends it.
"""

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE.parent), str(ROOT / "tests")]

import reliability  # noqa: E402
from trials import play  # noqa: E402

HANGS = 600  # seconds beyond a room's own, in which a failure is made small: a room that takes more hangs
KEPT = HERE / "kept.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rooms", nargs="*", help="all of them unless said")
    parser.add_argument("--minutes", type=float, default=10.0, help="of all rooms together, on so many jobs")
    parser.add_argument("--hours", type=float, help="the same in hours, for a night")
    parser.add_argument("--seed", type=int, default=int(datetime.date.today().strftime("%Y%m%d")))
    parser.add_argument("--jobs", type=int, default=2, help="rooms at once")
    parser.add_argument(
        "--results", type=Path, help="JSON file to write; the stored one takes part in docs/reliability.md"
    )
    parser.add_argument("--case", help="JSON of one case of the one room")
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.minutes = options.minutes if options.hours is None else 60 * options.hours
    if options.report:
        reliability.write()
        return
    from rooms import ROOMS

    names = options.rooms or list(ROOMS)
    if unknown := [name for name in names if name not in ROOMS]:
        parser.error(f"there is no room {unknown[0]!r}; there are {', '.join(ROOMS)}.")
    if options.case:
        print(ROOMS[names[0]].tried(json.loads(options.case)))
        return
    if options.worker:
        kept = json.loads(KEPT.read_text()).get(names[0], []) if KEPT.exists() else []
        outcome = play(ROOMS[names[0]], options.seed, options.seconds, options.worker, kept)
        print(json.dumps(outcome.as_json()))
        return
    print(f"seed {options.seed}, {options.minutes:g} minutes, {len(names)} rooms")
    shares = sum(ROOMS[name].share for name in names)

    def one(name: str) -> dict[str, Any]:
        seconds = 60 * options.minutes * min(options.jobs, len(names)) * ROOMS[name].share / shares
        told = {"promise": ROOMS[name].promise, "how": ROOMS[name].how}
        found = {**worked(name, options.seed, seconds), **told}
        bad = f", {len(found['failures'])} FAILED" if found["failures"] else ""
        print(f"{name}: {found['cases']:,} cases in {found['seconds']:.0f} s{bad}", flush=True)
        for failure in found["failures"]:
            print(
                f"  {name} --case '{json.dumps(failure['case'])}'\n    {failure['why'].strip().splitlines()[-1][:300]}"
            )
        return found

    with ThreadPoolExecutor(options.jobs) as pool:
        found = list(pool.map(one, names))
    if options.results:
        record = {"seed": options.seed, "minutes": options.minutes, "when": time.strftime("%Y-%m-%d"), "rooms": found}
        options.results.write_text(json.dumps(record, indent=1) + "\n")
    keep({one["room"]: [failure["case"] for failure in one["failures"]] for one in found})
    sys.exit(any(one["failures"] for one in found))


def keep(failed: dict[str, list[Any]]) -> None:
    """Add cases that failed to those that are tried first."""
    kept = json.loads(KEPT.read_text())
    for name, cases in failed.items():
        kept[name] = kept.get(name, []) + [case for case in cases if case and case not in kept.get(name, [])]
    lines = [
        f' "{name}": [\n  ' + ",\n  ".join(map(json.dumps, cases)) + "\n ]" for name, cases in kept.items() if cases
    ]
    if any(failed.values()):
        KEPT.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def worked(name: str, seed: int, seconds: float) -> dict[str, Any]:
    """A room in a process of its own; what ends the process is a failure of the case at hand."""
    with tempfile.TemporaryDirectory() as folder:
        now = Path(folder) / "case"
        command = [sys.executable, __file__, name, "--worker", str(now), "--seed", str(seed), "--seconds", str(seconds)]
        try:
            ran = subprocess.run(command, capture_output=True, text=True, timeout=2 * seconds + HANGS)
        except subprocess.TimeoutExpired as late:
            ran = subprocess.CompletedProcess(command, "it hung", "", (late.stderr or b"").decode(errors="replace"))
        if ran.returncode == 0:
            return dict(json.loads(ran.stdout.splitlines()[-1]))
        case = json.loads(now.read_text()) if now.exists() else {}
        failure = {"case": case, "first": case, "why": f"the process ended ({ran.returncode}): {ran.stderr[-1500:]}"}
        return {"room": name, "seed": seed, "seconds": 0.0, "cases": 1, "counts": {}, "failures": [failure]}


if __name__ == "__main__":
    main()
