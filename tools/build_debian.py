"""Build ``src/everypair/data/debian.npz`` from a Debian machine's package index.

Run on Debian, after ``apt-get update``, with the date found in the archive's ``Release`` files::

    python tools/build_debian.py --date 2026-11-14

or from the saved output of that command (``DUMP``) with ``--input``. The same input, date and release
give the same bytes. ``everypair.data.debian`` describes the result and reads it.
"""

import argparse
import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np

OUTPUT = Path(__file__).resolve().parents[1] / "src" / "everypair" / "data" / "debian.npz"
# The archive's index alone: without the option, what this machine has installed from elsewhere would hide
# Debian's own package of that name.
DUMP = ("apt-cache", "-o", "Dir::State::status=/dev/null", "dumpavail")

# The selection. Each threshold holds in the finished data, not only in the raw index.
MIN_DEPENDENCIES = 3  # per package: hide one and two are left to find it from
MIN_DEPENDENTS = 5  # per dependency: a column seen less often cannot be learned and tested
MIN_TAG_PACKAGES = 5  # per tag, for the same reason
MIN_WORD_PACKAGES = 5  # per word: the rarer 27,800 of 32,500 words make up only a fifth of all entries

RELATIONS = ("Depends", "Pre-Depends", "Recommends")
MAIN_POOLS = ("pool/main/", "pool/updates/main/")  # Debian's own free archive; no third-party source
DROPPED_SECTIONS = frozenset(
    {
        "debug",  # debug symbols repeat the package that they belong to
        "localization",  # one package per language with the same dependencies
        "oldlibs",  # transitional packages
        "tasks",  # lists of packages for the installer, most of them one per language
    }
)
DROPPED_NAMES = re.compile(
    r"-dbg(sym)?$"  # debug symbols
    r"|-l10n(-|$)|-help-[a-z]{2}(-[a-z]+)?$"  # language packs
    r"|^linux-(image|headers)-\d"  # builds of the same kernel
    r"|^libghc-.*-(prof|doc)$"  # Haskell: three packages per library; the -dev one stays
    r"|-cross(-|$)|-linux-(gnu|musl)"  # one compiler, repeated for some fifteen foreign architectures
)
DROPPED_DESCRIPTIONS = re.compile(r"\btransitional\b|\bdummy package\b", re.IGNORECASE)
DROPPED_TAGS = re.compile(r"::TODO$|^special::")  # notes among taggers, not statements about the package

RELATION_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9+.\-]*")
WORD = re.compile(r"[^\W_]*[^\W\d_][^\W_]*[+#]*")  # letters and digits, at least one letter: c++, 3d, python3
STOP_WORDS = frozenset(
    {
        *("a", "an", "and", "as", "at", "be", "by", "for", "from", "in", "into", "is", "it", "its"),
        *("of", "on", "or", "s", "that", "the", "this", "to", "via", "with"),
    }
)


@dataclass(frozen=True)
class Package:
    """What is kept of one paragraph of the index."""

    name: str
    section: str
    description: str
    relations: tuple[tuple[str, ...], ...]  # each a tuple of alternatives, in the order of preference
    tags: frozenset[str]


def paragraphs(text: str) -> Iterator[dict[str, str]]:
    """Fields of each paragraph; a continued line is joined to its field with a newline."""
    for block in re.split(r"\n\s*\n", text):
        fields: dict[str, str] = {}
        name = ""
        for line in block.splitlines():
            if line[:1].isspace():
                if name:
                    fields[name] += "\n" + line.strip()
            elif ":" in line:
                name, _, value = line.partition(":")
                fields[name] = value.strip()
        if "Package" in fields:
            yield fields


def parse_relations(value: str) -> list[tuple[str, ...]]:
    """``"a (>= 1) | b:any, c"`` to ``[("a", "b"), ("c",)]``: no versions, no architectures."""
    groups = []
    for clause in value.split(","):
        matches = (RELATION_NAME.match(alternative.strip()) for alternative in clause.split("|"))
        names = tuple(match.group() for match in matches if match)
        if names:
            groups.append(names)
    return groups


def parse_package(fields: dict[str, str]) -> Package:
    """One paragraph of the index as a Package."""
    relations = [group for field in RELATIONS for group in parse_relations(fields.get(field, ""))]
    tags = (tag.strip() for tag in fields.get("Tag", "").split(","))
    return Package(
        name=fields["Package"],
        section=fields.get("Section", "unknown").rpartition("/")[2],
        description=fields.get("Description", "").partition("\n")[0],
        relations=tuple(relations),
        tags=frozenset(tag for tag in tags if tag and not DROPPED_TAGS.search(tag)),
    )


def parse_index(text: str) -> dict[str, Package]:
    """Packages of Debian's main archive by name; of several paragraphs with one name the first counts."""
    index: dict[str, Package] = {}
    for fields in paragraphs(text):
        if fields.get("Filename", "").startswith(MAIN_POOLS):
            index.setdefault(fields["Package"], parse_package(fields))
    return index


def real_dependencies(package: Package, index: dict[str, Package]) -> frozenset[str]:
    """Of each group of alternatives the first that is a real package; never the package itself."""
    first = (next((name for name in group if name in index), package.name) for group in package.relations)
    return frozenset(first) - {package.name}


def is_duplicate_kind(package: Package) -> bool:
    """Whether the package belongs to a kind that repeats other packages en masse."""
    return (
        package.section in DROPPED_SECTIONS
        or DROPPED_NAMES.search(package.name) is not None
        or DROPPED_DESCRIPTIONS.search(package.description) is not None
    )


def select(depends: dict[str, frozenset[str]], min_dependencies: int, min_dependents: int) -> dict[str, frozenset[str]]:
    """Largest part in which each row has ``min_dependencies`` and each column ``min_dependents`` pairs."""
    while True:
        count = Counter(name for row in depends.values() for name in row)
        popular = {name for name, packages in count.items() if packages >= min_dependents}
        cut = {package: row & popular for package, row in depends.items()}
        kept = {package: row for package, row in cut.items() if len(row) >= min_dependencies}
        if kept == depends:
            return kept
        depends = kept


def frequent(rows: Iterable[frozenset[str]], least: int) -> list[str]:
    """Names that occur in at least ``least`` rows, sorted."""
    count = Counter(name for row in rows for name in row)
    return sorted(name for name, times in count.items() if times >= least)


def words(package: Package) -> frozenset[str]:
    """Words of the short description, and the parts of the name marked ``name:``."""
    spoken = set(WORD.findall(package.description.lower())) - STOP_WORDS
    parts = {part for part in re.split(r"[-.]", package.name) if part and not part.isdigit()}
    return frozenset(spoken | {f"name:{part}" for part in parts})


def encode_names(names: Sequence[str]) -> np.ndarray:
    """Names as the UTF-8 bytes of lines."""
    return np.frombuffer("\n".join(names).encode(), dtype=np.uint8)


def encode_rows(rows: Sequence[frozenset[str]], columns: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Entries per row, and their column indices, ascending within each row; both uint16.

    Plain indices, not differences: neighbours in the alphabet often share a whole run of dependencies, which
    the compressor finds only where equal runs have equal bytes (measured: a tenth smaller).
    """
    if len(columns) > np.iinfo(np.uint16).max:
        raise ValueError(f"{len(columns)} columns do not fit in 16 bits: raise the thresholds")
    position = {name: j for j, name in enumerate(columns)}
    indices = [sorted(position[name] for name in row if name in position) for row in rows]
    flat = [j for row in indices for j in row]
    return np.array([len(row) for row in indices], dtype=np.uint16), np.array(flat, dtype=np.uint16)


def build(
    text: str,
    day: str,
    release: str,
    *,
    min_dependencies: int = MIN_DEPENDENCIES,
    min_dependents: int = MIN_DEPENDENTS,
    min_tag_packages: int = MIN_TAG_PACKAGES,
    min_word_packages: int = MIN_WORD_PACKAGES,
) -> dict[str, np.ndarray]:
    """Arrays of the data file from the text of ``apt-cache dumpavail``."""
    index = parse_index(text)
    candidates = {
        name: real_dependencies(package, index) for name, package in index.items() if not is_duplicate_kind(package)
    }
    depends = select(candidates, min_dependencies, min_dependents)
    if not depends:
        raise ValueError("no package is left: give the output of `apt-cache dumpavail` after `apt-get update`")

    packages = [index[name] for name in sorted(depends)]
    sections = sorted({package.section for package in packages})
    metadata = {
        "date": day,
        "release": release,
        "index_packages": len(index),
        "index_tagged": sum(bool(package.tags) for package in index.values()),
    }
    arrays = {
        "metadata": np.frombuffer(json.dumps(metadata, sort_keys=True).encode(), dtype=np.uint8),
        "package_names": encode_names([package.name for package in packages]),
        "section_names": encode_names(sections),
        "section": np.array([sections.index(package.section) for package in packages], dtype=np.uint8),
    }

    rows = {
        "depends": [depends[package.name] for package in packages],
        "tags": [package.tags for package in packages],
        "features": [words(package) for package in packages],
    }
    columns = {
        "depends": frequent(rows["depends"], min_dependents),
        "tags": frequent(rows["tags"], min_tag_packages),
        "features": frequent(rows["features"], min_word_packages),
    }
    for key, names in (("depends", "dependency_names"), ("tags", "tag_names"), ("features", "word_names")):
        arrays[f"{key}_counts"], arrays[f"{key}_indices"] = encode_rows(rows[key], columns[key])
        arrays[names] = encode_names(columns[key])
    return arrays


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=OUTPUT, help="the .npz file to write")
    parser.add_argument("--input", type=Path, help="saved output of apt-cache dumpavail; else it is run")
    parser.add_argument("--date", type=date.fromisoformat, required=True, help="of the index: YYYY-MM-DD")
    parser.add_argument("--release", default="bookworm", help="name of the Debian release")
    options = parser.parse_args()

    if options.input is None:
        dump = subprocess.run(DUMP, check=True, capture_output=True).stdout
    else:
        dump = options.input.read_bytes()
    arrays = build(dump.decode("utf-8"), options.date.isoformat(), options.release)
    np.savez_compressed(options.output, **arrays)

    pairs, tags, features = (arrays[f"{key}_indices"].size for key in ("depends", "tags", "features"))
    print(f"{options.output}: {options.output.stat().st_size:,} bytes")
    print(f"{arrays['section'].size:,} packages, {pairs:,} dependencies, {tags:,} tags, {features:,} words")


if __name__ == "__main__":
    main()
