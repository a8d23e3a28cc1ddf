"""What a release is made of: built, installed alone, tried, and its notes written. Nothing is uploaded.

    python tools/release.py [--out dist]

1. the version of the package, of CITATION.cff and of the first section of CHANGELOG.md agree,
2. wheel and source are built, and the wheel holds the package and nothing else,
3. the wheel is installed in a fresh environment outside the clone, where `everypair doctor`, `demo`, `fit` and
   `recommend` run,
4. dist/notes.md has the section of the changelog.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
TRIED = (
    ("doctor",),
    ("demo", "--events", "shop.csv", "--items", "items.csv"),
    ("fit", "shop.csv", "-o", "shop.ep", "--items", "items.csv", "--quiet"),
    ("recommend", "shop.ep", "--user", "ada-0000", "-n", "3"),
)


def version() -> str:
    """The version that the package says."""
    found = re.search(r'^__version__ = "(.+)"$', (ROOT / "src" / "everypair" / "__init__.py").read_text(), re.MULTILINE)
    assert found is not None
    return found[1]


def notes(text: str, number: str) -> str:
    """The section of the changelog about a version; one that is not released yet has the section Unreleased."""
    title = "Unreleased" if ".dev" in number else re.escape(number)
    found = re.search(rf"^## \[{title}\].*?\n(.*?)(?=^## \[|\Z)", text, re.MULTILINE | re.DOTALL)
    if found is None:
        raise SystemExit(f"CHANGELOG.md has no section for {number}.")
    return found[1].strip() + "\n"


def check_versions(number: str) -> None:
    """Refuse a release whose files do not agree on what it is."""
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    if cited is None or cited[1] != number:
        raise SystemExit(f"CITATION.cff does not say version: {number}.")


def built(out: Path) -> Path:
    """Build into a folder; the wheel."""
    subprocess.run([sys.executable, "-m", "build", "--outdir", str(out), str(ROOT)], check=True)
    wheel = max(out.glob("*.whl"), key=lambda path: path.stat().st_mtime)
    strange = [
        name
        for name in zipfile.ZipFile(wheel).namelist()
        if not name.startswith("everypair") or name.endswith((".pyc", ".nbi", ".nbc"))
    ]
    if strange:
        raise SystemExit(f"the wheel holds {strange[0]}.")
    return wheel


def tried(wheel: Path) -> None:
    """Install the wheel where nothing else is, and use it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        venv.create(folder / "env", with_pip=True)
        program = folder / "env" / "bin"
        subprocess.run([str(program / "python"), "-m", "pip", "install", "--quiet", str(wheel)], check=True)
        for arguments in TRIED:
            subprocess.run([str(program / "everypair"), *arguments], cwd=folder, check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    out = parser.parse_args().out
    number = version()
    check_versions(number)
    section = notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), number)
    wheel = built(out)
    tried(wheel)
    (out / "notes.md").write_text(f"# EveryPair {number}\n\n{section}", encoding="utf-8")
    print(f"{wheel.name} works in an environment of its own; notes in {out / 'notes.md'}. Nothing was uploaded.")


if __name__ == "__main__":
    main()
