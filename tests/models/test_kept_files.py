"""Files of every version of the format, written once and read ever since; and files that somebody corrupted."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from everypair import load
from everypair.store import ModelFileError
from everypair.store.layout import VERSION

KEPT = Path(__file__).parent / "kept"
TOOLS = Path(__file__).parents[2] / "tools"


def tool(name):
    spec = importlib.util.spec_from_file_location(name, TOOLS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", sorted(KEPT.glob("*.ep")), ids=lambda path: path.stem)
def test_kept_models_still_answer(path):
    name, version = path.stem.split(".")
    wanted = json.loads((KEPT / f"answers.{version}.json").read_text())[name]
    said = tool("write_kept_models").answers(load(path))
    assert list(said) == list(wanted)
    for question, answer in said.items():
        np.testing.assert_allclose(answer, wanted[question], rtol=1e-4, atol=1e-6)


def test_every_version_is_kept():
    for version in range(1, VERSION + 1):
        assert {path.name.split(".")[0] for path in KEPT.glob(f"*.v{version}.ep")} >= {"one_class", "blend"}


def test_corrupted_files_are_refused_with_a_sentence(tmp_path):
    """Some hundred of what ``tools/corrupt_model_files.py`` runs a hundred thousand of."""
    corrupt = tool("corrupt_model_files")
    files = [path.read_bytes() for path in sorted(KEPT.glob("*.ep"))]
    path, sentences, loaded = tmp_path / "model.ep", [], 0
    for number in range(600):
        random = np.random.default_rng((1, number))
        whole = files[number % len(files)]
        damaged = (corrupt.knowing if number % 2 else corrupt.blind)(whole, random)
        if damaged == whole:
            continue
        path.write_bytes(damaged)
        try:
            load(path, mmap=bool(number % 3))
            assert number % 2, "a corruption without fitting checksums was not found"
            loaded += 1
        except ModelFileError as failure:
            sentences.append(str(failure))
    assert all(sentence.startswith(f"{path} cannot be read: ") for sentence in sentences)
    assert len(sentences) > 400
    assert loaded > 10
