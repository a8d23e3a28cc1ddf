"""The experiments' scripts run: on small generated data, writing nothing; their SLIM and logistic B are such."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import approx_fprime
from sklearn.linear_model import ElasticNet

from everypair import ItemItem

ROOT = Path(__file__).parents[1]
MLRM = ROOT / "experiments" / "mlrm"
LABELS = ROOT / "experiments" / "labels"


@pytest.mark.parametrize("script", ["beside", "figures", "multilabel", "scale", "table1"])
def test_it_runs(script):
    done = subprocess.run(
        [sys.executable, f"{script}.py", "--smoke"], cwd=MLRM, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert "generated" in done.stdout


def test_slim_of_the_peers_is_an_elastic_net_of_every_column():
    irspack = pytest.importorskip("irspack")
    likes = (np.random.default_rng(0).random((200, 15)) < 0.3).astype(float)
    found = irspack.SLIMRecommender(sp.csr_matrix(likes), alpha=0.02, l1_ratio=0.1, n_threads=1, tol=1e-8).learn().W
    for item in range(15):
        others = np.where(np.arange(15) == item, 0, likes)
        model = ElasticNet(alpha=0.02, l1_ratio=0.1, positive=True, fit_intercept=False, tol=1e-10, max_iter=10_000)
        expected = model.fit(others, likes[:, item]).coef_
        np.testing.assert_allclose(found[:, [item]].toarray().ravel(), expected, atol=1e-4)  # irspack is float32
        assert (expected > 0).any()


def test_the_logistic_b_is_the_least_of_its_objective_over_every_pair(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "experiments" / "blend"))
    import further

    monkeypatch.setattr(further, "NEWTON_STEPS", 12)
    likes = (np.random.default_rng(0).random((60, 9)) < 0.3).astype(float)
    items = ItemItem(neighbors=4, reg=2.0, reg_scale=0.5).fit(likes)
    users = items.state_.user_weights
    penalty = 2.0 + 0.5 * (users @ likes)
    found = further.logistic_coefficients(items, likes, (1.0, 0.3))
    assert list(found) == [1.0, 0.3]
    for weight, coefficients in found.items():
        for item in range(9):
            b = coefficients.toarray()[:, item]
            support = np.flatnonzero(b)

            def objective(free, item=item, support=support, weight=weight):
                g = likes[:, support] @ free
                pairs = np.where(likes[:, item] > 0, np.log1p(np.exp(1 - g)), weight * g**2 / 2)
                return users @ pairs + penalty[support] @ free**2 / 2

            assert len(support) == 4
            np.testing.assert_allclose(approx_fprime(b[support], objective), 0, atol=1e-4)


def test_tables_of_the_page_on_labels_are_those_of_stored_results(tmp_path):
    shutil.copytree(LABELS / "results", tmp_path, dirs_exist_ok=True)
    page = (ROOT / "docs" / "multi-label.md").read_text()
    for script, tables in {"study": ["quality", "page"], "missing": ["missing"], "scaling": ["scaling"]}.items():
        done = subprocess.run(
            [sys.executable, f"{script}.py", "--report", "--results", str(tmp_path)], cwd=LABELS, capture_output=True,
            text=True, timeout=300,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        for table in tables:
            made = (tmp_path / f"{table}.md").read_text()
            assert made == (LABELS / "results" / f"{table}.md").read_text()
            if table in ("page", "missing"):
                assert "\n".join(line for line in made.splitlines() if line.startswith("|")) in page
