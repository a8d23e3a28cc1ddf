"""Versions: the lowest that pyproject.toml declares, those that continuous integration pins, and what they are.

    python tools/versions.py floors          constraints of the lowest declared versions, for make test-oldest
    python tools/versions.py lock            tools/lock.txt: what is installed here for everypair[dev] and all it needs;
                                             examples/serve/lock.txt: the part of it that the image needs
    python tools/versions.py sbom FILE       a CycloneDX list of what is installed here for everypair and its extras
    python tools/versions.py licences        tools/licences.json, which docs/reliability.md shows
    python tools/versions.py ran NAME XML …  tools/versions.json: what was installed when pytest wrote these reports

What is installed is read from its metadata, nothing is asked of a network.
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import time
import tomllib
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Sequence
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
RAN = ROOT / "tools" / "versions.json"
LICENCES = ROOT / "tools" / "licences.json"
EXTRAS = ("plot", "neural", "tune", "cluster", "serve")
LOCKS = {
    ROOT / "tools" / "lock.txt": ("dev", *EXTRAS),  # continuous integration
    ROOT / "examples" / "serve" / "lock.txt": ("serve",),  # the image
}
CLASSIFIER = re.compile(r"License :: (?:OSI Approved :: )?(.+)")


def declared(*extras: str) -> list[Requirement]:
    """What pyproject.toml requires, with these extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    texts = [*project["dependencies"], *(text for extra in extras for text in project["optional-dependencies"][extra])]
    return [one for one in map(Requirement, texts) if one.name != "everypair"]


def floor(requirement: Requirement) -> str:
    """The lowest version that a requirement allows, and its patches, as a constraint.

    >>> floor(Requirement("numpy>=1.26")), floor(Requirement("httptools>=0.6.3")), floor(Requirement("pyarrow>=16"))
    ('numpy==1.26.*', 'httptools==0.6.3', 'pyarrow==16.0.*')
    """
    (least,) = [one.version for one in requirement.specifier if one.operator == ">="]
    parts = least.split(".")
    return f"{requirement.name}=={least}" if len(parts) > 2 else f"{requirement.name}=={'.'.join([*parts, '0'][:2])}.*"


def needed(requirements: Iterable[Requirement]) -> dict[str, Distribution]:
    """What is installed for requirements, and what that needs in turn, by name."""
    found: dict[str, Distribution] = {}
    waiting = [(one, extra) for one in requirements for extra in ("", *one.extras)]
    seen = set()
    while waiting:
        requirement, extra = waiting.pop()
        name = canonicalize_name(requirement.name)
        if (name, extra) in seen or not (requirement.marker is None or requirement.marker.evaluate({"extra": ""})):
            continue
        seen.add((name, extra))
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:
            continue
        for text in found[name].requires or ():
            inner = Requirement(text)
            if inner.marker is None or inner.marker.evaluate({"extra": extra}):
                inner.marker = None
                waiting += [(inner, one) for one in ("", *inner.extras)]
    return dict(sorted(found.items()))


def licence(one: Distribution) -> str:
    """What a distribution says of its licence: an expression, classifiers, or the first words of a text."""
    metadata = one.metadata
    if said := metadata.get("License-Expression"):
        return str(said)
    classified = [CLASSIFIER.fullmatch(text) for text in metadata.get_all("Classifier") or ()]
    if names := [match[1] for match in classified if match]:
        return " and ".join(sorted(set(names)))
    return (str(metadata.get("License") or "").strip().splitlines() or ["not said"])[0][:60]


def sbom() -> dict[str, Any]:
    """CycloneDX 1.5 of the library, its extras and all that they need, as installed here."""
    components = [
        {
            "type": "library", "name": name, "version": one.version, "purl": f"pkg:pypi/{name}@{one.version}",
            "licenses": [{"license": {"name": licence(one)}}],
        }
        for name, one in needed(declared(*EXTRAS)).items()
    ]  # fmt: skip
    about = {"type": "library", "name": "everypair", "version": distribution("everypair").version}
    return {
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "metadata": {"component": about},
        "components": components,
    }  # fmt: skip


def licences() -> dict[str, dict[str, str]]:
    """What is needed by the core and by every extra, with its licence."""
    core = needed(declared())
    told = {"core": {name: licence(one) for name, one in core.items()}}
    for extra in EXTRAS:
        own = [one for one in declared(extra) if one not in declared()]
        told[extra] = {name: licence(one) for name, one in needed(own).items() if name not in core}
    return told


def ran(reports: Sequence[Path]) -> dict[str, Any]:
    """What is installed here of what the library declares, and what pytest's reports counted with it."""
    suites = [suite for path in reports for suite in ElementTree.parse(path).getroot().iter("testsuite")]
    counted = {
        key: sum(int(suite.get(key, 0)) for suite in suites) for key in ("tests", "failures", "errors", "skipped")
    }
    own = {canonicalize_name(one.name) for one in declared(*EXTRAS)}
    installed = {name: one.version for name, one in needed(declared(*EXTRAS)).items() if name in own}
    return {
        "python": platform.python_version(), "system": platform.system(), "when": time.strftime("%Y-%m-%d"), **counted,
        "parts": sorted(path.stem for path in reports), "versions": installed,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("floors", "lock", "sbom", "licences", "ran"))
    parser.add_argument("arguments", nargs="*")
    options = parser.parse_args()
    if options.what == "floors":
        print("\n".join(sorted({floor(one) for one in declared(*EXTRAS)})))
    elif options.what == "lock":
        for path, extras in LOCKS.items():
            pins = [f"{name}=={one.version}" for name, one in needed(declared(*extras)).items()]
            path.write_text("# written by tools/versions.py lock\n" + "\n".join(pins) + "\n")
    elif options.what == "sbom":
        Path(options.arguments[0]).write_text(json.dumps(sbom(), indent=1) + "\n")
    elif options.what == "ran":
        name, *reports = options.arguments
        record = json.loads(RAN.read_text()) if RAN.exists() else {}
        record[name] = ran(list(map(Path, reports)))
        RAN.write_text(json.dumps(record, indent=1) + "\n")
    else:
        LICENCES.write_text(json.dumps(licences(), indent=1) + "\n")


if __name__ == "__main__":
    main()
