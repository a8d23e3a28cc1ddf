"""The benchmark's mapping of other libraries' parameters is exact: where they stop, our gradient vanishes."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

PEERS = Path(__file__).parents[1] / "benchmarks" / "peers.py"


@pytest.fixture(scope="module")
def peers():
    spec = importlib.util.spec_from_file_location("peers", PEERS)
    module = importlib.util.module_from_spec(spec)
    sys.modules["peers"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def interactions():
    random = np.random.default_rng(0)
    taste = random.normal(size=(60, 3)) @ random.normal(size=(3, 40)) + random.normal(size=(60, 40))
    return sp.csr_matrix((taste > 2).astype(np.float32))


def relative_gradient(objective, left, right):
    left, right = (np.ascontiguousarray(part, np.float64) for part in (left, right))
    off = 1.02 * left, 1.02 * right
    here, there = (
        np.sqrt(sum(float(np.sum(objective.gradient(side, *factors) ** 2)) for side in (0, 1)))
        for factors in ((left, right), off)
    )
    return here / there


def test_implicit(peers, interactions):
    als = pytest.importorskip("implicit.als")
    with threadpool_limits(1, "blas"):
        model = als.AlternatingLeastSquares(
            factors=4, alpha=7.0, regularization=3.0, iterations=400, use_cg=False, random_state=0, dtype=np.float64
        )
        model.fit(interactions, show_progress=False)
    objective = peers.implicit_objective(interactions, 7.0, 3.0, dtype=np.float64)
    assert relative_gradient(objective, model.user_factors, model.item_factors) < 1e-3
    other = peers.implicit_objective(interactions, 7.0, 2.9, dtype=np.float64)
    assert relative_gradient(other, model.user_factors, model.item_factors) > 0.03  # the check can fail


def test_irspack(peers, interactions):
    ials = pytest.importorskip("irspack.recommenders.ials")
    model = ials.IALSRecommender(
        interactions, n_components=4, alpha0=0.2, reg=0.4, nu=0.0, solver_type="CHOLESKY", train_epochs=400, n_threads=1
    )
    trainer = model._create_trainer()
    for _ in range(400):
        trainer.run_epoch()
    left, right = trainer.core_trainer.user, trainer.core_trainer.item
    objective = peers.irspack_objective(interactions, 0.2, 0.4, dtype=np.float64)
    assert relative_gradient(objective, left, right) < 1e-2
    assert relative_gradient(peers.irspack_objective(interactions, 0.2, 0.38, dtype=np.float64), left, right) > 0.03
