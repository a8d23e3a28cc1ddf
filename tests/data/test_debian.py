import importlib.util
import os
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from everypair.data.debian import DebianData, load_debian

BUILDER = Path(__file__).resolve().parents[2] / "tools" / "build_debian.py"

DUMP = """\
Package: viewer
Version: 1:2.0-1
Architecture: amd64
Depends: libdraw1 (>= 1.2), libc6 (>= 2.34), viewer, python3:any | python2
Pre-Depends: dpkg (>= 1.15)
Recommends: no-such-mta | fonts-a | fonts-b, only-virtual
Suggests: never-counted
Description: Fast image viewer in C++ for the X desktop
 A long description that mentions zebras.
Tag: role::program, use::viewing,
 works-with::image, special::not-yet-tagged
Section: graphics
Filename: pool/main/v/viewer/viewer_2.0-1_amd64.deb

Package: editor
Depends: libc6, libdraw1, libdraw1 (<< 2)
Recommends: fonts-a
Description: image editor
Section: contrib/graphics
Filename: pool/updates/main/e/editor/editor_1_amd64.deb

Package: editor
Depends: dpkg
Description: an older version of the same name
Section: graphics
Filename: pool/main/e/editor/editor_0_amd64.deb

Package: editor-dbgsym
Depends: libc6, libdraw1, fonts-a
Description: image editor
Section: debug
Filename: pool/main/e/editor/editor-dbgsym_1_amd64.deb

Package: painter
Depends: libc6, libdraw1, fonts-a
Description: transitional package for editor
Section: graphics
Filename: pool/main/p/painter/painter_1_amd64.deb

Package: vendor-tool
Depends: libc6, libdraw1, fonts-a
Description: image viewer from elsewhere
Section: graphics
Filename: pool/elsewhere/vendor-tool_1_amd64.deb

Package: libdraw1
Depends: libc6
Description: drawing library
Section: libs
Filename: pool/main/d/draw/libdraw1_1_amd64.deb

Package: libc6
Description: C library
Section: libs
Filename: pool/main/g/glibc/libc6_2_amd64.deb

Package: fonts-a
Description: a font
Section: fonts
Filename: pool/main/f/fonts-a/fonts-a_1_all.deb

Package: python2
Description: interpreter
Section: python
Filename: pool/main/p/python2/python2_2_amd64.deb

Package: dpkg
Description: package manager
Section: admin
Filename: pool/main/d/dpkg/dpkg_1_amd64.deb
"""


@pytest.fixture(scope="module")
def debian() -> DebianData:
    return load_debian()


@pytest.fixture(scope="module")
def builder() -> ModuleType:
    if not BUILDER.exists():
        pytest.skip("tools/build_debian.py is part of the repository, not of the installed package")
    spec = importlib.util.spec_from_file_location("build_debian", BUILDER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up by name
    spec.loader.exec_module(module)
    return module


def row_names(matrix, names, row):
    return set(names[matrix[row].indices])


def package(debian: DebianData, name: str) -> int:
    (found,) = np.flatnonzero(debian.package_names == name)
    return int(found)


def lines(array: np.ndarray) -> list[str]:
    return array.tobytes().decode().split("\n")


def test_counts_are_the_documented_ones(debian):
    assert debian.depends.shape == (24904, 5411)
    assert debian.depends.nnz == 173426
    assert debian.tags.shape == (24904, 429)
    assert debian.tags.nnz == 56940
    assert debian.features.shape == (24904, 4658)
    assert debian.features.nnz == 149435
    assert debian.tagged.sum() == 14508
    assert len(debian.section_names) == 54
    assert (debian.dependency_package >= 0).sum() == 3354
    assert (debian.release, debian.date) == ("bookworm", "2026-11-14")


def test_shapes_agree_with_names(debian):
    m = len(debian.package_names)
    assert debian.depends.shape == (m, len(debian.dependency_names))
    assert debian.tags.shape == (m, len(debian.tag_names))
    assert debian.features.shape == (m, len(debian.word_names))
    assert debian.section.shape == debian.tagged.shape == (m,)
    assert debian.dependency_package.shape == debian.dependency_names.shape


@pytest.mark.parametrize("key", ["depends", "tags", "features"])
def test_matrices_are_canonical_ones(debian, key):
    matrix = getattr(debian, key)
    assert matrix.format == "csr"
    assert matrix.dtype == np.float32
    assert matrix.indices.dtype == matrix.indptr.dtype == np.int32
    assert (matrix.data == 1).all()
    assert matrix.indices.max() < matrix.shape[1]
    # Strictly ascending within each row, checked here and not through scipy's cached flags.
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    keys = rows * np.int64(matrix.shape[1]) + matrix.indices
    assert (np.diff(keys) > 0).all()


def test_selection_holds_in_the_finished_data(debian):
    assert np.diff(debian.depends.indptr).min() == 3
    assert np.bincount(debian.depends.indices).min() == 5
    assert np.bincount(debian.tags.indices).min() == 5
    assert np.bincount(debian.features.indices).min() == 5
    assert not np.char.endswith(debian.package_names, "-dbgsym").any()
    assert not np.isin(debian.section_names, ["debug", "localization", "oldlibs", "tasks"]).any()


@pytest.mark.parametrize("key", ["package_names", "dependency_names", "tag_names", "word_names", "section_names"])
def test_names_are_sorted_unique_and_not_empty(debian, key):
    names = getattr(debian, key)
    assert names.dtype.kind == "U"
    assert (names[1:] > names[:-1]).all()
    assert (np.char.str_len(names) > 0).all()


def test_dependency_package_is_the_same_name_or_minus_one(debian):
    known = debian.dependency_package >= 0
    found = debian.package_names[debian.dependency_package[known]]
    assert (found == debian.dependency_names[known]).all()
    assert (debian.dependency_package[~known] == -1).all()
    assert not np.isin(debian.dependency_names[~known], debian.package_names).any()


def test_nothing_depends_on_itself(debian):
    pairs = debian.depends.tocoo()
    assert (debian.dependency_package[pairs.col] != pairs.row).all()


def test_known_facts(debian):
    pandas = package(debian, "python3-pandas")
    assert {"python3", "python3-numpy", "python3-dateutil"} <= row_names(
        debian.depends, debian.dependency_names, pandas
    )
    assert debian.section_names[debian.section[pandas]] == "python"
    assert {"data", "structures", "name:python3"} <= row_names(debian.features, debian.word_names, pandas)
    gimp = package(debian, "gimp")
    assert "libgimp2.0" in row_names(debian.depends, debian.dependency_names, gimp)
    assert {"role::program", "works-with::image"} <= row_names(debian.tags, debian.tag_names, gimp)
    popular = debian.dependency_names[np.bincount(debian.depends.indices).argmax()]
    assert popular == "libc6"


def test_a_package_that_a_machine_may_have_from_elsewhere_is_still_debians(debian):
    assert "nodejs" in debian.dependency_names


def test_tags_are_incomplete(debian):
    assert (debian.tagged == (np.diff(debian.tags.indptr) > 0)).all()
    assert 0.3 < 1 - debian.tagged.mean() < 0.6
    assert not np.char.startswith(debian.tag_names, "special::").any()


def test_every_call_returns_its_own_arrays(debian):
    other = load_debian()
    other.depends.data[:] = 7
    other.section[:] = -1
    assert debian.depends.data.max() == 1
    assert load_debian().section.min() == 0


def test_file_is_small_and_needs_no_pickle():
    data = files("everypair.data").joinpath("debian.npz")
    assert len(data.read_bytes()) <= 3_000_000
    with data.open("rb") as file:
        archive = np.load(file, allow_pickle=False)
        assert all(archive[name].dtype.kind == "u" for name in archive.files)


def test_relations_lose_versions_architectures_and_keep_the_order(builder):
    value = "a (>= 1:2.0) | b:any, c++-dev [amd64] , d0.1 (<< 3), libe <!nocheck>|f"
    assert builder.parse_relations(value) == [
        ("a", "b"),
        ("c++-dev",),
        ("d0.1",),
        ("libe", "f"),
    ]
    assert builder.parse_relations("") == []


def test_parser_reads_fields_continued_lines_and_archives(builder):
    index = builder.parse_index(DUMP)
    assert "vendor-tool" not in index
    viewer = index["viewer"]
    assert viewer.description == "Fast image viewer in C++ for the X desktop"
    assert viewer.tags == {"role::program", "use::viewing", "works-with::image"}
    assert viewer.section == "graphics"
    assert index["editor"].section == "graphics"
    assert index["editor"].description == "image editor"  # the first paragraph of a name counts


def test_first_real_alternative_counts_and_self_dependence_does_not(builder):
    index = builder.parse_index(DUMP)
    assert builder.real_dependencies(index["viewer"], index) == {
        "libdraw1",
        "libc6",
        "python2",
        "dpkg",
        "fonts-a",
    }
    assert builder.real_dependencies(index["editor"], index) == {"libc6", "libdraw1", "fonts-a"}


@pytest.mark.parametrize(
    ("name", "dropped"),
    [
        ("editor-dbgsym", True),
        ("libfoo1-dbg", True),
        ("firefox-esr-l10n-de", True),
        ("gimp-help-pt-br", True),
        ("gimp-help-common", False),
        ("libghc-foo-prof", True),
        ("libghc-foo-dev", False),
        ("gcc-12-s390x-linux-gnu", True),
        ("libc6-dev-arm64-cross", True),
        ("linux-image-6.1.0-47-amd64", True),
        ("linux-image-amd64", False),
        ("libcommons-lang-java", False),
        ("across", False),
    ],
)
def test_kinds_that_repeat_others(builder, name, dropped):
    fields = {"Package": name, "Section": "misc", "Description": "something"}
    assert builder.is_duplicate_kind(builder.parse_package(fields)) is dropped


def test_words_come_from_description_and_name(builder):
    fields = {"Package": "libc++-view2-1.0", "Description": "The C# and C++ viewer, 3D, 2 a viewer's"}
    words = builder.words(builder.parse_package(fields))
    assert words == {"c#", "c++", "viewer", "3d", "name:libc++", "name:view2"}


def test_selection_repeats_until_both_thresholds_hold(builder):
    depends = {
        "p": frozenset("abx"),
        "q": frozenset("ab"),
        "r": frozenset("xy"),  # y occurs once, so r falls below two, and then x occurs once
    }
    assert builder.select(depends, 2, 2) == {"p": frozenset("ab"), "q": frozenset("ab")}
    assert builder.select(depends, 3, 3) == {}


def test_builder_by_hand(builder):
    arrays = builder.build(
        DUMP,
        "2020-01-02",
        "test",
        min_dependencies=2,
        min_dependents=2,
        min_tag_packages=1,
        min_word_packages=2,
    )
    assert lines(arrays["package_names"]) == ["editor", "viewer"]
    assert lines(arrays["dependency_names"]) == ["fonts-a", "libc6", "libdraw1"]
    assert arrays["depends_counts"].tolist() == [3, 3]
    assert arrays["depends_indices"].tolist() == [0, 1, 2, 0, 1, 2]
    assert lines(arrays["tag_names"]) == ["role::program", "use::viewing", "works-with::image"]
    assert arrays["tags_counts"].tolist() == [0, 3]
    assert arrays["tags_indices"].tolist() == [0, 1, 2]
    assert lines(arrays["word_names"]) == ["image"]
    assert arrays["features_indices"].tolist() == [0, 0]
    assert lines(arrays["section_names"]) == ["graphics"]
    assert lines(arrays["metadata"]) == [
        '{"date": "2020-01-02", "index_packages": 9, "index_tagged": 1, "release": "test"}'
    ]


def test_builder_refuses_an_index_with_nothing_left(builder):
    with pytest.raises(ValueError, match="apt-cache dumpavail"):
        builder.build(DUMP, "2020-01-02", "test", min_dependencies=50)


def test_command_writes_the_same_bytes_whatever_the_hash_seed(builder, tmp_path):
    viewer = DUMP.partition("\n\n")[0]
    copies = [viewer.replace("Package: viewer", f"Package: viewer{i}") for i in range(4)]
    dump = tmp_path / "dump.txt"
    dump.write_text("\n\n".join([*copies, DUMP]), encoding="utf-8")
    written = []
    for seed in ("1", "2"):
        output = tmp_path / f"{seed}.npz"
        command = [sys.executable, str(BUILDER), "--input", str(dump), "--output", str(output)]
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run([*command, "--date", "2020-01-02"], env=environment, check=True)
        written.append(output.read_bytes())
    assert written[0] == written[1]
    with np.load(output) as archive:
        assert lines(archive["package_names"]) == [
            "editor",
            "viewer",
            "viewer0",
            "viewer1",
            "viewer2",
            "viewer3",
        ]
        assert "image" in lines(archive["word_names"])
