"""Side(joint=False): training sees events alone, and features say who newcomers are."""

import numpy as np
import pytest
import scipy.sparse as sp

from everypair import Blend, OneClassMF, Side, load
from everypair.models.recommend.rivals.subsampled import SubsampledMF
from everypair.testing.journey import from_json_and_arrays

from .informed import ITEMS, USERS, double, problem

ALONE = {"users": Side(joint=False), "items": Side(joint=False)}


def fitted(kind=OneClassMF, **params):
    matrix, left, right = problem()
    model = double(kind=kind).set_params(**{**ALONE, **params})
    return model.fit(matrix, user_features=left, item_features=right)


def test_training_is_that_of_events():
    matrix = problem()[0]
    model, plain = fitted(), double().fit(matrix)
    users, items = ((matrix != 0).any(axis=axis) for axis in (1, 0))  # who has events: the others are regressed
    assert np.array_equal(model.user_factors_[users], plain.user_factors_[users])
    assert np.array_equal(model.item_factors_[items], plain.item_factors_[items])
    assert model.objective_ == plain.objective_
    assert model.item_feature_weights_ is None
    assert model.feature_reg_ == (None, None)


def test_newcomers_are_regressed_and_their_events_begin_there():
    model, random = fitted(), np.random.default_rng(1)
    new = random.standard_normal((5, 4))
    predicted = model.fold_in_users(features=new)
    np.testing.assert_array_equal(predicted, model.state_.cold[0](new, 1))
    few = np.zeros((5, ITEMS))
    both = model.fold_in_users(few, features=new)
    problem_of = model.state_.row_problem(0, sp.csr_array(few), centers=predicted)
    assert problem_of.centers is not None
    weights = model.state_.negatives
    V, q = model.item_factors_.astype(float), weights.right
    p = weights.left_weights(np.zeros(5, int))
    ridge = problem_of.ridge
    for row in range(5):
        A = p[row] * (V.T * q) @ V + ridge[row] * np.eye(V.shape[1])
        b = p[row] * weights.value * (V.T @ q) + ridge[row] * predicted[row]
        np.testing.assert_allclose(both[row], np.linalg.solve(A, b), atol=1e-9)


def test_those_without_events_are_answered_by_features_and_the_model_grows():
    matrix, left, right = problem()
    matrix[:, -3:] = 0
    model = double().set_params(**ALONE).fit(matrix, user_features=left, item_features=right)
    known = model.state_.cold[1](right[-3:], 1)
    np.testing.assert_array_equal(model.item_factors_[-3:], known)
    positions = model.add_items(features=right[:2])
    assert positions.tolist() == [ITEMS, ITEMS + 1]
    users = model.add_users(features=left[:2], interactions=np.pad(matrix[:2], ((0, 0), (0, 2))))
    assert users.tolist() == [USERS, USERS + 1]
    copy = from_json_and_arrays(model)
    assert np.array_equal(copy.score_users(), model.score_users())
    more = np.zeros((USERS + 2, ITEMS + 2))
    more[0, 5] = 1
    assert np.isfinite(model.recommend([0], n=3, more=more[:1])[1]).all()


def test_it_is_written_down(tmp_path):
    model = fitted(kind=SubsampledMF)
    model.save(tmp_path / "model.ep")
    again = load(tmp_path / "model.ep")
    assert again.items.joint is False
    assert np.array_equal(again.recommend(n=3)[0], model.recommend(n=3)[0])


def test_without_events_of_two_there_is_nothing_to_regress():
    matrix, _, right = problem()
    few = np.zeros_like(matrix)
    few[:, 0] = 1
    model = double().set_params(**ALONE).fit(few, item_features=right)
    assert model.state_.cold[1] is None
    assert np.isfinite(model.fold_in_items(features=right[:2])).all()


@pytest.mark.parametrize("side", [{"own_vectors": False}, {"cold": "weights"}])
def test_what_does_not_go_together_is_refused(side):
    with pytest.raises(ValueError, match="learns own vectors from events"):
        Side(joint=False, **side)
    with pytest.raises(ValueError, match="joint"):
        Side(joint=2)


def test_a_blend_finds_out_whether_features_help_training():
    random = np.random.default_rng(0)
    large = np.kron(np.eye(3), np.ones((40, 20))) * (random.random((120, 60)) < 0.4)
    noise = 30 * random.standard_normal((60, 40))
    kinds = np.eye(3)[np.arange(60) // 20]
    telling = Blend(random_state=0, rank=4).fit(large, item_features=kinds)
    misled = Blend(random_state=0, rank=4).fit(large, item_features=noise)
    assert not misled.models_[0].items.joint
    for model, features in ((telling, kinds), (misled, noise)):
        chosen = model.models_[0]
        best = {}
        for joint in (True, False):
            side = Side(joint=joint)
            members = [
                chosen.__class__(
                    **{**chosen.get_params(deep=False), "users": side, "items": side, "random_state": None}
                )
            ]
            members += list(model.models_[1:])
            blend = Blend(models=members, random_state=0).fit(large, item_features=features)
            row = blend.search_[0]
            assert row["weights"] == [1.0, 0.3, 0.3]
            best[joint] = row["ndcg@10"] + row["recall@100"]
        assert chosen.items.joint is (best[True] >= best[False])
