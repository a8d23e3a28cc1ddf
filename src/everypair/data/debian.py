"""Debian's package index as a pair problem: which dependency, which tag is missing here?

``depends[i, j] = 1`` where package i depends on package j, ``tags[i, t] = 1`` where package i carries the tag
t, ``features[i, w] = 1`` where word w stands in its short description or name. What is not stored is unknown:
maintainers forget dependencies, and 42 % of the packages here have no tag at all.

**Source.** The public package index of Debian 12 "bookworm" (amd64, archive area main, with its updates and
security updates) as of 14 November 2026: 63,620 packages, of which 29,817 (47 %) carry tags of the Debtags
project.

**Selection** (``tools/build_debian.py`` in the repository builds the file and gives the reasons):

- A pair is an entry of Depends, Pre-Depends or Recommends without version and architecture. Of alternatives
  ``a | b`` the first that is a real package counts; purely virtual names and self-dependence are left out.
- Left out as packages, because they repeat others en masse: debug symbols, language packs, transitional and
  installer task packages, profiling and documentation packages of Haskell libraries, cross compilers and
  their libraries, builds of the kernel. They may still occur as dependencies.
- Of the rest the largest part in which each package has at least 3 dependencies and each dependency at least
  5 packages; tags and words occur in at least 5 packages. Working notes of the taggers (``special::``,
  ``::TODO``) and 24 English function words are left out.

**Counts.** 24,904 packages × 5,411 dependencies with 173,426 pairs; 429 tags with 56,940 entries on 14,508
tagged packages (58 %); 4,658 words with 149,435 entries; 54 sections. 3,354 dependencies are among the
packages themselves. A few dependencies are nearly trivial and are kept because the data is so: libc6 alone is
in 62 % of the rows, and the ten most frequent dependencies hold 26 % of all pairs, so compare with the
popularity baseline.

**Rights.** The file holds facts taken from the public index: names, relations, tags, sections, and which words
occur, but no text. We found no licence statement of Debian's for the index as a whole; all packages of the area
main are free software by Debian's guidelines. The tags are the work of the Debtags project, whose package
``debtags`` (program, vocabulary and tags) names the GNU GPL version 2. Debian does not endorse this library.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


@dataclass(frozen=True, eq=False)
class DebianData:
    """Packages i, the packages j that they depend on, their tags, words and sections; all names sorted.

    Parameters
    ----------
    depends : csr_matrix of float32, packages × dependencies
        1 where package i depends on, pre-depends on or recommends dependency j.
    tags : csr_matrix of float32, packages × tags
        1 where package i carries the tag. A row without entries is unlabelled, not free of tags.
    tagged : bool array, one per package
        Whether the package carries any tag of ``tag_names``.
    features : csr_matrix of float32, packages × words
        1 where the word is in the short description, or, for words that begin with ``name:``, is a part of
        the package's name between hyphens and dots.
    section : int array, one per package
        Index in ``section_names``.
    dependency_package : int array, one per dependency
        Index in ``package_names``, or -1 where the dependency is not among the packages.
    package_names, dependency_names, tag_names, word_names, section_names : str arrays
        What the indices stand for.
    date, release : str
        Date of the index (ISO 8601) and name of the Debian release.

    Examples
    --------
    Packages that depend on each other, as a graph over the left side:

    >>> debian = load_debian()
    >>> inside = debian.dependency_package >= 0
    >>> columns = debian.dependency_package[inside]
    >>> edges = debian.depends[:, inside].tocoo()
    >>> size = len(debian.package_names)
    >>> graph = sparse.csr_matrix((edges.data, (edges.row, columns[edges.col])), shape=(size, size))
    >>> graph.nnz
    95447
    """

    depends: sparse.csr_matrix
    tags: sparse.csr_matrix
    tagged: NDArray[np.bool_]
    features: sparse.csr_matrix
    section: NDArray[np.int32]
    dependency_package: NDArray[np.int32]
    package_names: NDArray[np.str_]
    dependency_names: NDArray[np.str_]
    tag_names: NDArray[np.str_]
    word_names: NDArray[np.str_]
    section_names: NDArray[np.str_]
    date: str
    release: str


def load_debian() -> DebianData:
    """Return the embedded Debian data set: 24,904 packages × 5,411 dependencies, tags, words and sections.

    Nothing is downloaded, and every call returns arrays of its own. Selection, counts, source and rights are
    described at the top of this module.

    Examples
    --------
    >>> debian = load_debian()
    >>> debian.depends.shape, debian.depends.nnz
    ((24904, 5411), 173426)
    >>> debian.release, debian.date
    ('bookworm', '2026-11-14')
    >>> git = debian.package_names.searchsorted("git")
    >>> print(*debian.dependency_names[debian.depends[git].indices])
    ca-certificates less libc6 libcurl3-gnutls liberror-perl libexpat1 libpcre2-8-0 patch perl zlib1g
    >>> print(debian.section_names[debian.section[git]], *debian.tag_names[debian.tags[git].indices][:2])
    vcs devel::lang:perl devel::library
    >>> print(f"{debian.tagged.mean():.0%}")
    58%
    """
    with files("everypair.data").joinpath("debian.npz").open("rb") as file:
        archive = np.load(file, allow_pickle=False)
        stored = {name: archive[name] for name in archive.files}
    names = {
        name: np.array(_text(stored[name]).split("\n"))
        for name in ("package_names", "dependency_names", "tag_names", "word_names", "section_names")
    }
    tags = _matrix(stored, "tags", len(names["tag_names"]))
    metadata = json.loads(_text(stored["metadata"]))
    return DebianData(
        depends=_matrix(stored, "depends", len(names["dependency_names"])),
        tags=tags,
        tagged=np.diff(tags.indptr) > 0,
        features=_matrix(stored, "features", len(names["word_names"])),
        section=stored["section"].astype(np.int32),
        dependency_package=_positions(names["dependency_names"], names["package_names"]),
        date=metadata["date"],
        release=metadata["release"],
        **names,
    )


def _text(utf8: NDArray[np.uint8]) -> str:
    """Text from its UTF-8 bytes."""
    return utf8.tobytes().decode("utf-8")


def _matrix(stored: Mapping[str, NDArray[np.uint16]], key: str, n_columns: int) -> sparse.csr_matrix:
    """Matrix of ones from the entries per row and the ascending column indices within each row."""
    counts, indices = stored[f"{key}_counts"], stored[f"{key}_indices"].astype(np.int32)
    indptr = np.zeros(len(counts) + 1, dtype=np.int32)
    np.cumsum(counts, out=indptr[1:])
    ones = np.ones(len(indices), dtype=np.float32)
    return sparse.csr_matrix((ones, indices, indptr), shape=(len(counts), n_columns))


def _positions(wanted: NDArray[np.str_], names: NDArray[np.str_]) -> NDArray[np.int32]:
    """Index of each wanted name in the sorted names, -1 where it is not among them."""
    at = np.minimum(np.searchsorted(names, wanted), len(names) - 1)
    return np.where(names[at] == wanted, at, -1).astype(np.int32)
