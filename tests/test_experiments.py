"""The experiments' scripts run: on small generated data, writing nothing; and what they call SLIM is SLIM."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import ElasticNet

MLRM = Path(__file__).parents[1] / "experiments" / "mlrm"


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
