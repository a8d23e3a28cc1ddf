"""After ``prepare(compile=True)`` no question compiles anything."""

import subprocess
import sys

import numpy as np
import pytest

import everypair
from everypair.models.recommend.every_question import ask_everything

ASKED = """
import sys
from importlib import import_module
from pkgutil import iter_modules

import numba
import everypair.kernels
from everypair.models.recommend.answering_model import load_answering


def compiled():
    modules = (import_module(f"everypair.kernels.{found.name}") for found in iter_modules(everypair.kernels.__path__))
    kernels = [one for module in modules for one in vars(module).values() if hasattr(one, "signatures")]
    return {f"{kernel.py_func.__name__}: {signature}" for kernel in kernels for signature in kernel.signatures}


for path in sys.argv[1:]:
    model = load_answering(path).prepare(compile=True)
    before = compiled()
    users, items = model.user_ids_.values.tolist(), model.item_ids_.values.tolist()
    for count in (1, 5, 40):
        model.recommend(users[:count], n=2), model.recommend(users[:count], n=len(items), exclude_seen=False)
        model.recommend(users[:count], n=2, allow=items[:2]), model.recommend(users[:count], n=2, block=items[:2])
        model.recommend(interactions=[items[:3]] * count, n=2)
        model.similar_items(items[:count], n=2), model.score_pairs(users[:count], [items[0]] * count)
    model.recommend(interactions=[{items[0]: 2.0, items[1]: 1.0}], n=1)
    model.explain(users[0], items[0]), model.recommend(n=1), model.score_users([users[0]])
    print(*(compiled() - before), sep="\\n", end="")
"""


def test_nothing_is_left_to_compile(tmp_path):
    random = np.random.default_rng(0)
    events = {
        "user": [f"u{one}" for one in random.integers(0, 60, 400)],
        "item": [f"i{one}" for one in random.integers(0, 90, 400)],
    }
    models = [everypair.OneClassMF(rank=2, max_iter=2), everypair.ItemItem(), everypair.Blend(random_state=0)]
    paths = [tmp_path / f"{number}.ep" for number in range(len(models))]
    for model, path in zip(models, paths):
        model.fit(events).save(path)
    told = subprocess.run(
        [sys.executable, "-c", ASKED, *map(str, paths)], capture_output=True, text=True, check=True
    ).stdout
    assert told == ""


@pytest.mark.parametrize(
    "model",
    [
        everypair.Popularity(),
        everypair.BPR(rank=2, max_iter=1, random_state=0),
        everypair.OneClassMF(rank=2, max_iter=1, negative_value=(np.ones((3, 1)), np.ones((2, 1)))),
        everypair.OneClassMF(rank=2, max_iter=1, dtype="float64", biases=True),
    ],
    ids=["popularity", "bpr", "low rank", "biases"],
)
def test_all_kinds_are_asked(model):
    """Also with fewer users and items than are asked about."""
    matrix = np.array([[1, 0], [1, 1], [0, 1]])
    fitted = model.fit(matrix)
    assert fitted.prepare(compile=True) is fitted
    fitted.fit([("ann", "rain"), ("bob", "rain"), ("bob", "iron"), ("cem", "iron")]).prepare(compile=True)


def test_explicit_targets_are_no_obstacle():
    matrix = np.array([[1, 0], [1, 1], [0, 1]])
    model = everypair.OneClassMF(rank=1, max_iter=1).fit(matrix, targets=0.5 * matrix)
    ask_everything(model)
    ask_everything(everypair.Blend(random_state=0).fit(matrix))
