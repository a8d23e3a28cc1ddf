"""The benchmark's mapping of other libraries' parameters is exact: where they stop, our gradient vanishes."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

PEERS = Path(__file__).parents[1] / "benchmarks" / "peer_objectives.py"


@pytest.fixture(scope="module")
def peers():
    spec = importlib.util.spec_from_file_location("peer_objectives", PEERS)
    module = importlib.util.module_from_spec(spec)
    sys.modules["peer_objectives"] = module
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


def test_cmfrec(peers, interactions):
    cmfrec = pytest.importorskip("cmfrec")
    model = cmfrec.CMF_implicit(
        k=4, alpha=6.0, lambda_=3.0, niter=400, use_cg=False, use_float=False, nthreads=1, produce_dicts=False
    ).fit(interactions.tocoo())
    objective = peers.implicit_objective(interactions, 7.0, 3.0, dtype=np.float64)
    assert relative_gradient(objective, model.A_, model.B_) < 1e-3


def test_irspack_in_units_of_implicit(peers, interactions):
    alpha, reg = 11.0, 5.5
    alpha0, irspack_reg, unit = peers.irspack_units(alpha, reg)
    assert (alpha0, irspack_reg) == pytest.approx((0.1, 0.5))
    theirs = peers.implicit_objective(interactions, alpha, reg, dtype=np.float64)
    ours = peers.irspack_objective(interactions.astype(np.float64), alpha0, irspack_reg, dtype=np.float64)
    random = np.random.default_rng(1)
    values = []
    for scale in (0.3, 1.0):
        left, right = (scale * random.standard_normal((size, 4)) for size in interactions.shape)
        values.append((theirs.value(left, right), ours.value(unit * left, unit * right)))
    assert values[0][1] / values[0][0] == pytest.approx(alpha0 * unit**4, rel=1e-9)
    assert values[1][1] / values[1][0] == pytest.approx(alpha0 * unit**4, rel=1e-9)


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
