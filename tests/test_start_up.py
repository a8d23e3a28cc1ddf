"""``import everypair`` costs next to nothing: what is slow to import comes when it is asked for."""

import subprocess
import sys

import pytest

import everypair

SLOW = ("numba", "scipy", "sklearn", "pandas", "polars", "pyarrow", "rich", "typer", "matplotlib", "jax")


def told(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()


def test_nothing_slow_is_imported():
    assert told(f"import sys, everypair; print(*(set({SLOW}) & set(sys.modules)))") == []


def test_import_takes_no_longer_than_what_it_needs():
    timed = "import time; start = time.process_time(); import {}; print(time.process_time() - start)"
    mine, needed = (float(told(timed.format(what))[0]) for what in ("everypair", "numba, sklearn.base"))
    assert mine <= 1.2 * needed


def test_frames_are_not_imported_by_models():
    """Beyond what scikit-learn does by itself."""
    code = "import sys, numba, sklearn.base; before = set(sys.modules); import everypair.models; "
    assert told(f"{code} print(*(set({SLOW}) & set(sys.modules) - before))") == []


def test_a_matrix_is_fitted_without_pyarrow():
    """Beyond what numba, scipy's sparse matrices and scikit-learn import by themselves."""
    code = "import sys, numba, sklearn.base; before = set(sys.modules); import numpy as np, everypair; "
    code += "everypair.Popularity().fit(np.eye(4)); everypair.OneClassMF(rank=1, max_iter=1).fit(np.eye(4)); "
    assert told(f"{code} print(*({{'pyarrow', 'pandas', 'polars'}} & set(sys.modules) - before))") == []


ANSWERS = """
import sys
from everypair.models.recommend.answering_model import load_answering
for path in sys.argv[1:]:
    model = load_answering(path)
    model.prepare().recommend(["ann"], n=1), model.recommend(interactions=[["rain"]], n=1)
    if model.kind != "Popularity":
        model.similar_items(["rain"], n=1), model.explain("ann", "rain")
print(*({"sklearn", "pandas", "pyarrow", "rich"} & set(sys.modules)))
"""


def test_answers_need_no_scikit_learn(tmp_path):
    events = {"user": ["ann", "ann", "bob", "cem"], "item": ["rain", "iron", "rain", "blue"]}
    models = [everypair.OneClassMF(rank=2), everypair.ItemItem(), everypair.Blend(), everypair.Popularity()]
    paths = [tmp_path / f"{number}.ep" for number in range(len(models))]
    for model, path in zip(models, paths):
        model.fit(events).save(path)
    code = [sys.executable, "-c", ANSWERS, *map(str, paths)]
    assert subprocess.run(code, capture_output=True, text=True, check=True).stdout.split() == []
    code[2] = "import sys; from everypair.cli import app; app(sys.argv[1:], standalone_mode=False); print(*sys.modules)"
    asked = [*code[:3], "recommend", str(paths[2]), "--user", "ann"]
    shown = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split()
    assert "blue" in shown
    assert "everypair.models.recommend.blend.state" in shown
    assert "sklearn" not in shown


def test_only_the_first_collection_is_late():
    code = "import gc; from everypair.__main__ import collect_late as late; usual = gc.get_threshold(); late(); "
    code += "print(gc.get_threshold()[0]); kept = [[] for _ in range(400_000)]; print(usual == gc.get_threshold())"
    code += "; print(len(gc.callbacks))"
    assert told(code) == ["300000", "True", "0"]


def test_names_are_there():
    assert set(everypair.__all__) <= set(dir(everypair))
    assert all(hasattr(everypair, name) for name in dir(everypair))
    assert told("import everypair as ep; print(ep.data.Ids(['a']), ep.OneClassMF().rank)")[-1] == "64"
    with pytest.raises(AttributeError, match="module 'everypair' has no attribute 'OneClass'"):
        everypair.OneClass  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'OneClass'"):
        from everypair import OneClass  # noqa: F401
