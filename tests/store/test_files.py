"""Files of values and arrays: what is written is read, what is altered is found, a failed save changes nothing."""

import hashlib
import io
import json
import os
import pickle
import resource
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import everypair
from everypair.store import ModelFileError, read_file, write_file
from everypair.store.layout import DTYPES, MAGIC, PREFIX, START, aligned, prefix

ALONE = f"""
import sys, types
everypair = sys.modules["everypair"] = types.ModuleType("everypair")  # the store alone: nothing else is imported
everypair.__path__ = {list(everypair.__path__)!r}
"""
VALUES = {"name": "ü", "lone": "\ud800", "numbers": [1, -2.5, 1e-300, 2**80], "nested": {"a": [None, True]}}
ARRAYS = {
    "floats": np.arange(6, dtype=np.float32).reshape(2, 3),
    "columns": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "text": np.frombuffer("one ünïcode id".encode(), np.uint8),
    "ends": np.array([3, 16]),
    "flags": np.array([True, False, True]),
    "nothing": np.empty((0, 4)),
    "zero-dimensional": np.array(3.0),
    "half": np.arange(3, dtype=np.float16),
}


@pytest.fixture
def path(tmp_path):
    write_file(tmp_path / "some.ep", "example", VALUES, ARRAYS)
    return tmp_path / "some.ep"


@pytest.mark.parametrize("mmap", [True, False])
@pytest.mark.parametrize("verify", [True, False])
def test_what_is_written_is_read(path, mmap, verify):
    contents = read_file(path, mmap=mmap, verify=verify)
    assert (contents.kind, contents.values) == ("example", VALUES)
    assert list(contents.arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        again = contents.arrays[name]
        assert (again.dtype, again.shape, again.tobytes()) == (array.dtype, array.shape, array.tobytes())
        assert again.flags.c_contiguous == array.flags.c_contiguous
        assert again.ctypes.data % 64 == 0 or not mmap or not again.size
        assert type(again) is np.ndarray
        assert again.flags.writeable  # kernels compiled for arrays in memory serve here too


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("view", ["whole", "sliced", "reversed", "swapped"])
def test_any_layout_in_memory_is_kept_by_value(tmp_path, dtype, view):
    array = (np.arange(40) % 2).astype(dtype).reshape(5, 8)
    if view == "sliced":
        array = array[1:4, ::3]
    elif view == "reversed":
        array = array[::-1]
    elif view == "swapped":
        array = array.astype(array.dtype.newbyteorder(">"))
    write_file(tmp_path / "one.ep", "example", {}, {"array": array})
    again = read_file(tmp_path / "one.ep").arrays["array"]
    assert again.dtype == np.dtype(dtype)
    assert again.dtype.isnative
    assert np.array_equal(again, array)


def test_the_bytes_are_those_of_the_page(path):
    whole = path.read_bytes()
    assert whole[:8] == bytes([0x89, 0x45, 0x50, 0x4D, 0x0D, 0x0A, 0x1A, 0x0A]) == MAGIC
    version, zero = np.frombuffer(whole[8:16], "<u4").tolist()
    header, length = np.frombuffer(whole[16:32], "<u8").tolist()
    assert (version, zero, length) == (1, 0, len(whole))
    assert whole[32:64] == hashlib.sha256(whole[:32] + whole[64 : 64 + header]).digest()
    content = json.loads(whole[64 : 64 + header])
    assert set(content) == {"kind", "values", "arrays"}
    for entry in content["arrays"]:
        start = 64 + header + entry["offset"]
        assert start % 64 == 0
        size = int(np.prod(entry["shape"])) * np.dtype(entry["dtype"]).itemsize
        assert hashlib.sha256(whole[start : start + size]).hexdigest() == entry["sha256"]


def test_the_same_contents_are_the_same_bytes_and_written_once(tmp_path):
    ones = np.ones(1000)
    arrays = {"a": ones, "b": ones.copy(), "c": ones.astype(np.float32), "d": ones.reshape(10, 100)}
    for name in ("first.ep", "second.ep"):
        write_file(tmp_path / name, "example", {}, arrays)
    assert (tmp_path / "first.ep").read_bytes() == (tmp_path / "second.ep").read_bytes()
    again = read_file(tmp_path / "first.ep").arrays
    assert again["a"] is again["b"]
    assert (tmp_path / "first.ep").stat().st_size < 8000 + 4000 + 8000 + 1000
    for name, array in arrays.items():
        assert np.array_equal(again[name], array)
        assert again[name].shape == array.shape


def test_every_altered_byte_and_every_length_is_found(path):
    whole = path.read_bytes()
    generator = np.random.default_rng(0)
    for position in range(len(whole)):
        damaged = bytearray(whole)
        damaged[position] ^= int(generator.integers(1, 256))
        path.write_bytes(damaged)
        with pytest.raises(ModelFileError):
            read_file(path, mmap=bool(position % 2))
    for length in (*range(START + 8), *range(START + 8, len(whole), 7)):
        path.write_bytes(whole[:length])
        with pytest.raises(ModelFileError):
            read_file(path, mmap=bool(length % 2))
    for more in (b"\0", bytes(64), whole):
        path.write_bytes(whole + more)
        with pytest.raises(ModelFileError, match="do not fit its length"):
            read_file(path)


def remade(whole, change):
    """The file with another header and checksums that fit it, as somebody who means harm would make it."""
    header_length = PREFIX.unpack(whole[:32])[3]
    content = json.loads(whole[START : START + header_length])
    change(content)
    text = json.dumps(content).encode()
    text = text.ljust(aligned(len(text)))
    data = whole[START + header_length :]
    return prefix(1, text, START + len(text) + len(data)) + text + data


def block(number, **entries):
    return lambda content: content["arrays"][number].update(entries)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (block(0, shape=[10**6, 10**6]), "'floats' is larger than what the file holds"),
        (block(0, shape=[2**60, 2**60]), "shape that no array has"),
        (block(0, shape=[-2, -3]), "shape that no array has"),
        (block(0, shape=[2.0, 3]), "shape that no array has"),
        (block(0, shape=[True, 6]), "shape that no array has"),
        (block(0, shape=[1] * 70), "shape that no array has"),
        (block(0, shape="23"), "shape that no array has"),
        (block(0, dtype="|O"), "type that arrays here do not have"),
        (block(0, dtype="<M8[s]"), "type that arrays here do not have"),
        (block(0, dtype="f4,f4"), "type that arrays here do not have"),
        (block(0, dtype=["<f4"]), "type that arrays here do not have"),
        (block(0, order="K"), "type that arrays here do not have"),
        (block(0, sha256=0), "type that arrays here do not have"),
        (block(0, sha256="0"), "'floats' is damaged: the checksum differs"),
        (block(0, names=[]), "without a name"),
        (block(0, names=["floats", 3]), "without a name"),
        (block(0, names=["columns"]), "two arrays of one name"),
        (block(0, more=1), "in a way that is not known"),
        (block(1, offset=0), "'columns' in the wrong place"),
        (block(1, offset=-64), "'columns' in the wrong place"),
        (block(1, offset=2**70), "'columns' in the wrong place"),
        (block(1, offset=64.0), "'columns' in the wrong place"),
        (block(0, shape=[1, 3]), "'floats' is damaged: the checksum differs"),
        (lambda content: content["arrays"].pop(), "arrays do not fill it"),
        (lambda content: content["arrays"].reverse(), "in the wrong place"),
        (lambda content: content["arrays"].insert(0, 3), "in a way that is not known"),
        (lambda content: content.update(arrays={}), "does not have the keys"),
        (lambda content: content.update(values=[]), "does not have the keys"),
        (lambda content: content.update(more=1), "does not have the keys"),
        (lambda content: content.update(values={"a": float("nan")}), "NaN is not a number"),
    ],
)
def test_headers_that_lie_are_refused_even_with_checksums_that_fit(path, change, words):
    path.write_bytes(remade(path.read_bytes(), change))
    with pytest.raises(ModelFileError, match=words):
        read_file(path)


def with_header(text):
    text = text.ljust(aligned(len(text)))
    return prefix(1, text, START + len(text)) + text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"[" * 100_000, "header is not what was written"),
        (b'{"a": ' * 100_000, "header is not what was written"),
        (b"\xff\xfe", "header is not what was written"),
        (b'{"kind": "a", "kind": "b", "values": {}, "arrays": []}', "a key appears twice"),
        (b'{"kind": 1' + b"0" * 10_000 + b', "values": {}, "arrays": []}', "header is not what was written"),
        (b"null", "does not have the keys"),
        (b" ", "header is not what was written"),
    ],
    ids=range(7),
)
def test_headers_that_are_no_json_of_ours(path, text, words):
    path.write_bytes(with_header(text))
    with pytest.raises(ModelFileError, match=words):
        read_file(path)


def test_booleans_are_zero_or_one(path):
    whole = bytearray(path.read_bytes())
    header = PREFIX.unpack(whole[:32])[3]
    entry = next(one for one in json.loads(whole[START : START + header])["arrays"] if one["names"] == ["flags"])
    place = START + header + entry["offset"]
    whole[place] = 7
    sha = hashlib.sha256(whole[place : place + 3]).hexdigest()
    path.write_bytes(
        remade(
            bytes(whole),
            lambda content: [one.update(sha256=sha) for one in content["arrays"] if "flags" in one["names"]],
        )
    )
    with pytest.raises(ModelFileError, match="neither true nor false"):
        read_file(path)


def npz():
    file = io.BytesIO()
    np.savez(file, a=np.ones(3))
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "it is empty"),
        (npz(), "not an EveryPair file but a zip or npz file"),
        (pickle.dumps([1, 2]), "not an EveryPair file but a pickle"),
        (b"user,item\n1,2\n", "it is not an EveryPair file"),
        (MAGIC, "cut short: it ends after 8 bytes"),
        (prefix(2, b"{}", 66) + b"{}", "version 2 of the format, and this EveryPair reads version 1: install a newer"),
        (prefix(0, b"{}", 66) + b"{}", "a version of the format that never was"),
        (prefix(1, b"{}", 2**60) + b"{}", "cut short: it has 66 of"),
    ],
    ids=range(8),
)
def test_other_files_are_named(tmp_path, content, words):
    (tmp_path / "some.ep").write_bytes(content)
    with pytest.raises(ModelFileError, match=words):
        read_file(tmp_path / "some.ep")


def test_a_pickle_is_not_run(tmp_path):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "ran"),)

    (tmp_path / "some.ep").write_bytes(pickle.dumps(Trap()))
    with pytest.raises(ModelFileError, match="a pickle, which could run anything"):
        read_file(tmp_path / "some.ep")
    assert not (tmp_path / "ran").exists()


def test_what_is_no_file(tmp_path):
    with pytest.raises(ModelFileError, match=f"{tmp_path} cannot be read: it is a folder, not a file"):
        read_file(tmp_path)
    with pytest.raises(FileNotFoundError, match=f"^there is no file {tmp_path}/none.ep.$"):
        read_file(tmp_path / "none.ep")
    os.mkfifo(tmp_path / "pipe.ep")
    with pytest.raises(ModelFileError, match="it is not a plain file"):
        read_file(tmp_path / "pipe.ep")


def test_unwritable_places_are_named_and_nothing_is_left(path, monkeypatch):
    before, folder = path.read_bytes(), path.parent
    with pytest.raises(
        FileNotFoundError, match=f"^cannot write {folder}/none/some.ep: the folder {folder}/none does not"
    ):
        write_file(folder / "none" / "some.ep", "example", {}, {})
    with pytest.raises(IsADirectoryError, match="it is a folder; name a file in it"):
        write_file(folder, "example", {}, {})
    with pytest.raises(NotADirectoryError, match="is not a folder"):
        write_file(path / "some.ep", "example", {}, {})
    with pytest.raises(OSError, match="File name too long"):
        write_file(folder / ("x" * 300), "example", {}, {})
    with pytest.raises(TypeError, match="an array of complex128, which files do not hold"):
        write_file(path, "example", {}, {"a": np.ones(2, complex)})
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_file(path, "example", {"a": float("inf")}, {})
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", interrupted)
        with pytest.raises(KeyboardInterrupt):
            write_file(path, "example", {}, {})
    assert path.read_bytes() == before
    assert list(folder.iterdir()) == [path]


def interrupted(_):
    raise KeyboardInterrupt


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="needs another user to become")
def test_no_permission_as_another_user(path):
    os.chmod(path.parent, 0o555)
    os.seteuid(65534)
    try:
        with pytest.raises(PermissionError, match="there is no permission to write in"):
            write_file(path.parent / "other.ep", "example", {}, {})
    finally:
        os.seteuid(0)
    assert list(path.parent.iterdir()) == [path]


def test_a_full_disk_leaves_the_old_file(path):
    """The system refuses to write more than a megabyte, in the middle of the second array."""
    before = path.read_bytes()

    def limited():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, 2**20))

    code = f"""
        import numpy as np
        from everypair.store import write_file
        try:
            write_file({str(path)!r}, "example", {{}}, {{"a": np.ones(1000), "b": np.arange(500_000)}})
        except OSError as failure:
            print(failure)
    """
    command, quiet = [sys.executable, "-c", ALONE + textwrap.dedent(code)], {"PYTHONDONTWRITEBYTECODE": "1"}
    ran = subprocess.run(
        command, capture_output=True, text=True, timeout=120, preexec_fn=limited, env=os.environ | quiet
    )
    assert ran.stdout == (
        f"cannot write {path}: the disk is full or its quota reached; free some room or choose another folder.\n"
    ), ran.stderr
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_save_that_is_killed_leaves_the_old_file(tmp_path):
    """A process saves over one file again and again; it is killed while it writes, several times."""
    path = tmp_path / "some.ep"
    write_file(path, "example", {"turn": -1}, {"data": np.full(4_000_000, -1)})
    code = f"""
        import numpy as np
        from everypair.store import write_file
        print("ready", flush=True)
        for turn in range(10_000):
            write_file({str(path)!r}, "example", {{"turn": turn}}, {{"data": np.full(4_000_000, turn)}})
    """
    in_the_middle = 0
    for attempt in range(3):
        process = subprocess.Popen([sys.executable, "-c", ALONE + textwrap.dedent(code)], stdout=subprocess.PIPE)
        try:
            assert process.stdout.readline() == b"ready\n"
            deadline = time.monotonic() + 60
            while not half_written(tmp_path) and time.monotonic() < deadline:
                time.sleep(0.0002)
            time.sleep(0.003 * attempt)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
        left = list(tmp_path.glob(".some.ep.*.tmp"))
        in_the_middle += bool(left)
        for one in left:
            one.unlink()
        _, values, arrays = read_file(path)
        assert (arrays["data"] == values["turn"]).all()
    assert in_the_middle


def half_written(folder):
    for one in folder.glob(".some.ep.*.tmp"):
        try:
            if 0 < one.stat().st_size < 32_000_000:
                return True
        except FileNotFoundError:
            pass
    return False


def test_the_file_has_the_permissions_of_a_new_file_and_links_stay(path):
    link = path.parent / "link.ep"
    link.symlink_to(path)
    write_file(link, "example", {"new": 1}, {})
    assert link.is_symlink()
    assert read_file(path).values == {"new": 1}
    other = path.parent / "plain"
    other.touch()
    assert path.stat().st_mode == other.stat().st_mode


def test_a_file_that_only_its_owner_reads_stays_so(path):
    path.chmod(0o600)
    write_file(path, "example", {"new": 1}, {})
    assert path.stat().st_mode & 0o777 == 0o600
    assert read_file(path).values == {"new": 1}


def test_names_as_long_as_a_folder_takes_them(tmp_path):
    from everypair.store.write import replacing

    path = tmp_path / ("m" * 250 + ".ep")
    with replacing(path) as file:
        file.write(b"whole")
    assert path.read_bytes() == b"whole"
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
