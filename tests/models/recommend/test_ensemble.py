import inspect

import numpy as np
import pytest

from everypair import EnsembleMF, SubsampledMF
from everypair.solvers.loop import Status
from everypair.testing import block_matrix

FIXED = {"rank": 2, "reg": 0.05, "max_iter": 3, "dtype": "float64"}


@pytest.fixture(scope="module")
def fitted():
    matrix, _ = block_matrix()
    return matrix, EnsembleMF(n_models=3, random_state=7, **FIXED).fit(matrix)


@pytest.fixture(scope="module")
def members(fitted):
    matrix, _ = fitted
    seeds = np.random.default_rng(7).integers(2**63, size=3)
    return [SubsampledMF(random_state=int(seed), **FIXED).fit(matrix) for seed in seeds]


def test_scores_are_the_mean_of_the_members(fitted, members):
    _, ensemble = fitted
    assert ensemble.user_factors_.shape == (44, 6)
    mean = np.mean([member.score_users() for member in members], axis=0)
    np.testing.assert_allclose(ensemble.score_users(), mean, atol=1e-12)
    assert (members[0].sampled_ != members[1].sampled_).nnz > 0


def test_fold_in_is_the_mean_of_the_members(fitted, members):
    matrix, ensemble = fitted
    rows = matrix[::7]
    mean = np.mean([member.score_users(interactions=rows) for member in members], axis=0)
    np.testing.assert_allclose(ensemble.score_users(interactions=rows), mean, atol=1e-9)
    items = matrix[:, ::5]
    mean = np.mean([member.user_factors_ @ member.fold_in_items(items).T for member in members], axis=0)
    np.testing.assert_allclose(ensemble.user_factors_ @ ensemble.fold_in_items(items).T, mean, atol=1e-9)


def test_history_and_objective(fitted, members):
    _, ensemble = fitted
    assert [entry["model"] for entry in ensemble.history_] == [1] * 3 + [2] * 3 + [3] * 3
    assert (np.diff([entry["seconds"] for entry in ensemble.history_]) > 0).all()
    assert ensemble.objective_ == pytest.approx(np.mean([member.objective_ for member in members]))


def test_biases_are_averaged_and_not_compared():
    matrix, _ = block_matrix()
    ensemble = EnsembleMF(n_models=2, biases=True, random_state=0, **FIXED).fit(matrix)
    assert ensemble.user_factors_.shape == (44, 8)
    assert ensemble.state_.vectors(0).shape == (44, 4)
    parts = [ensemble.state_.member(number).known(None).scores.dense(1) for number in range(2)]
    np.testing.assert_allclose(ensemble.score_users(), np.mean(parts, axis=0), atol=1e-12)


def test_a_callback_and_the_time_limit_end_all_of_it():
    matrix, _ = block_matrix()
    stopped = EnsembleMF(n_models=5, random_state=0, **FIXED).fit(
        matrix, callbacks=[lambda sweep: sweep.iteration == 2]
    )
    assert (stopped.n_models_, stopped.n_iter_, stopped.status_) == (1, 2, Status.CALLBACK)
    hurried = EnsembleMF(n_models=50, random_state=0, time_limit=1e-9, **FIXED).fit(matrix)
    assert hurried.n_models_ == 1
    assert hurried.recommend(n=1)[0].shape == (44, 1)


def test_explanations_are_refused(fitted):
    with pytest.raises(AttributeError, match=r"EnsembleMF has no explain: .*OneClassMF, .*SubsampledMF.* have it"):
        fitted[1].explain(0, 0)


def test_members_have_the_defaults_of_the_subsampled_model():
    shared = {name: p.default for name, p in inspect.signature(EnsembleMF).parameters.items() if name != "n_models"}
    members = {name: p.default for name, p in inspect.signature(SubsampledMF).parameters.items()}
    assert shared == {name: default for name, default in members.items() if name not in ("users", "items")}


def test_the_number_of_models_is_checked():
    with pytest.raises(ValueError, match="n_models must be an integer"):
        EnsembleMF(n_models=0).fit(np.eye(3))
