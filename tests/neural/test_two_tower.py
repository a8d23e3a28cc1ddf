"""TwoTower: the contract of recommenders, and what it claims besides."""

import subprocess
import sys

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse as sp

from everypair import Checkpoint, GaussNewton, OneClassMF, Side, TwoTower
from everypair.evaluate import ranking_metrics
from everypair.models.registry import ESTIMATORS
from everypair.neural.functions import PureTower, SparseRows, register_tower
from everypair.neural.trees import leaves
from everypair.testing import RecommenderContract, block_matrix
from everypair.testing.journey import from_json_and_arrays
from everypair.testing.recommender import group_of

from .naive import LOSS, QUARTIC

SMALL = {"widths": (8,), "rank": 3, "max_iter": 30, "learning_rate": 0.02, "random_state": 0}


class TestTwoTower(RecommenderContract):
    offers = frozenset({*ESTIMATORS["TwoTower"].offers, "n_threads", "dtype"})
    alone_tolerance = 1e-4  # rows go through the network together

    def make_converging_model(self):
        return self.make_model(optimizer="gauss-newton", learning_rate=None, tol=1e-12, max_iter=600, dtype="float64")

    def make_model(self, **params):
        return TwoTower(**{**SMALL, **params})


def item_groups():
    return np.repeat(np.eye(3), [8, 7, 6], axis=0)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_linear_towers_are_matrix_factorization(loss):
    matrix = (np.random.default_rng(0).random((30, 20)) < 0.3) * 1.0
    shared = {"loss": loss, "rank": 3, "reg": 0.15, "negative_weight": 0.2, "dtype": "float64", "random_state": 0}
    mf = OneClassMF(tol=1e-12, max_iter=500, **shared).fit(matrix)
    linear = {"widths": (), "layer_biases": False, "id_reg": 0.0, "linear_start": False, **shared}
    towers = TwoTower(optimizer="newton-unit", tol=1e-12, max_iter=300, **linear).fit(matrix)
    assert towers.objective_ == pytest.approx(mf.objective_, rel=1e-8)
    np.testing.assert_allclose(towers.score_users(), mf.score_users(), atol=2e-4)
    rows = matrix[:3, ::-1]
    np.testing.assert_allclose(
        towers.score_users(interactions=rows), mf.score_users(interactions=rows), atol=1e-3
    )  # fmt: skip


def test_a_linear_tower_on_features_is_the_linear_model():
    matrix, _ = block_matrix()
    random = np.random.default_rng(0)
    features = item_groups() @ random.normal(size=(3, 5)) + 0.1 * random.normal(size=(21, 5))
    shared = {"loss": "squared", "rank": 3, "reg": 0.5, "negative_weight": 0.2, "dtype": "float64", "random_state": 0}
    own = (True, False)
    mf = OneClassMF(reg_exponent=0, items=Side(feature_reg=0.5, own_vectors=False), tol=1e-13, max_iter=500, **shared)
    mf.fit(matrix, item_features=features)
    towers = TwoTower(
        widths=(), layer_biases=False, own_vectors=own, optimizer="gauss-newton", tol=1e-13, max_iter=300,
        id_reg=(0.5, 0.0), feature_reg=0.5, linear_path=False, **{**shared, "reg": 0.0},
    ).fit(matrix, item_features=sp.csr_array(features))  # fmt: skip
    assert towers.objective_ == pytest.approx(mf.objective_, rel=1e-6)
    np.testing.assert_allclose(towers.score_users(), mf.score_users(), atol=1e-3)
    fresh = random.normal(size=(2, 5))
    np.testing.assert_allclose(
        np.abs(towers.user_factors_ @ towers.fold_in_items(features=fresh).T),
        np.abs(mf.user_factors_ @ mf.fold_in_items(features=fresh).T),
        atol=2e-3,
    )


@pytest.mark.parametrize("own", [True, False])
def test_items_never_seen_are_understood_by_their_features(own):
    matrix, _ = block_matrix()
    seen = np.array([j for j in range(21) if j not in (0, 8, 15)])
    model = TwoTower(**SMALL, own_vectors=(True, own)).fit(matrix[:, seen], item_features=item_groups()[seen])
    assert model.add_items(features=np.eye(3)).tolist() == [18, 19, 20]
    scores = model.score_users()[:, 18:]
    assert scores[:20].argmax(axis=1).tolist() == [0] * 20
    assert scores[20:34].argmax(axis=1).tolist() == [1] * 14
    assert scores[34:].argmax(axis=1).tolist() == [2] * 10
    both = model.fold_in_items(matrix[:, [0]], features=np.eye(3)[:1])
    assert ((model.user_factors_ @ both.T).ravel()[:20] > 0).all()


def test_a_new_user_by_features_by_events_and_by_both():
    matrix, _ = block_matrix()
    groups = np.repeat(np.eye(3), [20, 14, 10], axis=0)
    model = TwoTower(**SMALL).fit(matrix, user_features={"group": groups, "noise": sp.csr_array((44, 2))})
    fresh = {"group": np.eye(3), "noise": sp.csr_array((3, 2))}
    rows = np.zeros((3, 21))
    rows[0, [0, 1, 2]] = rows[1, [8, 9, 10]] = rows[2, [15, 16, 17]] = 1
    for described in ({"features": fresh}, {"interactions": rows}, {"features": fresh, "interactions": rows}):
        items, _ = model.recommend(n=1, **described)
        assert group_of(items, side=1).ravel().tolist() == [0, 1, 2]
    again = from_json_and_arrays(model)
    assert np.array_equal(again.fold_in_users(features=fresh), model.fold_in_users(features=fresh))


def with_dislikes(random):
    signed = np.where(random.random((12, 9)) < 0.4, random.choice([1.0, 2.0, -1.5], (12, 9)), 0.0)
    signed[3], signed[:, 4] = 0, 0
    signed[0, 0] = 1
    return signed


WRITTEN_OUT = {
    "a loss of one's own": {"loss": QUARTIC},
    "imputed": {"negative_value": "factors"},
    "cosines": {"temperature": 0.5, "loss": "squared"},
    "weights": {"negative_scheme": "user-count", "reg": (0.3, 0.1), "id_reg": (0.4, 0.0)},
    "a random start": {"linear_start": False, "reg_exponent": 0.0, "layer_reg": (0.3, 0.1)},
    "a function": {"towers": "function"},
}


@pytest.mark.parametrize("case", WRITTEN_OUT)
def test_the_objective_is_the_sum_over_all_pairs(case):
    random = np.random.default_rng(0)
    signed, parameters = with_dislikes(random), dict(WRITTEN_OUT[case])
    values = np.full(signed.shape, -1.0 if parameters.get("loss") != "squared" else 0.0)
    if "negative_value" in parameters:
        mf = OneClassMF(rank=2, max_iter=3, random_state=0).fit(np.abs(signed))
        parameters["negative_value"] = mf.user_factors_, mf.item_factors_
        values = mf.user_factors_.astype(float) @ mf.item_factors_.T
    if "towers" in parameters:
        parameters["towers"] = PureTower(table, pick)
    shared = {"reg": 0.2, "widths": (4,), "rank": 3, "dtype": "float64", "max_iter": 2, "negative_weight": 0.3}
    model = TwoTower(**{**shared, "random_state": 0, **parameters}).fit(signed)
    scores = model.user_factors_ @ model.item_factors_.T
    loss = model.state_.loss
    targets = np.where(signed > 0, 1.0, loss.dislike_target)
    p, q = model.state_.negatives.left, model.state_.negatives.right
    outside = 0.5 * np.outer(p, q) * (values - scores) ** 2
    expected = np.where(signed != 0, np.abs(signed) * LOSS[loss.name](targets, scores), outside).sum()
    totals = [np.abs(signed).sum(axis=1 - side) + one * other.sum()
              for side, (one, other) in enumerate([(p, q), (q, p)])]  # fmt: skip
    for side, (factors, total) in enumerate(zip((model.user_factors_, model.item_factors_), totals)):
        expected += 0.5 * model.reg_[side] * np.sum(total ** parameters.get("reg_exponent", 0.75) * (factors**2).T)
        kinds = {"ids": "id_reg", "matrices": "layer_reg"}
        theta = model.theta_[side] if isinstance(model.theta_[side], dict) else {"matrices": model.theta_[side]}
        for kind, name in kinds.items():
            reg = np.broadcast_to(parameters.get(name, 0.5), 2)[side]
            expected += 0.5 * reg * sum(np.sum(leaf**2) for leaf in leaves(theta.get(kind, [])))
    assert model.objective_ == pytest.approx(float(expected), rel=1e-6)


def test_cosines_with_a_temperature():
    matrix, held_out = block_matrix()
    model = TwoTower(**SMALL, temperature=0.25).fit(matrix)
    np.testing.assert_allclose(np.linalg.norm(model.user_factors_, axis=1), 2, rtol=1e-5)
    assert np.abs(model.score_users()).max() <= 4 + 1e-5
    assert np.mean(model.recommend(n=1)[0][:, 0] == held_out) > 0.7


def test_patience_keeps_the_best_sweep_and_metrics_are_recorded():
    matrix, held_out = block_matrix()
    validation = np.zeros_like(matrix)
    validation[np.arange(44), held_out] = 1
    model = TwoTower(**{**SMALL, "max_iter": 60, "patience": 3}).fit(matrix, validation=validation)
    best = max(entry["ndcg@10"] for entry in model.history_)
    assert len(model.history_) < 60
    assert ranking_metrics(model, matrix, validation, ks=(10,))["ndcg@10"] == pytest.approx(best)


def init(random, parts, rank):
    width = parts["kinds"].shape[1]
    return {"ids": 0.1 * random.normal(size=(parts["count"], rank)), "kinds": 0.1 * random.normal(size=(width, rank)),
            "words": 0.1 * random.normal(size=(4, rank))}  # fmt: skip


def apply(theta, parts):
    assert isinstance(parts["words"], SparseRows)
    return theta["ids"][parts["ids"]] + jnp.tanh(parts["kinds"] @ theta["kinds"]) + parts["words"] @ theta["words"]


def table(random, parts, rank):
    return [0.1 * random.normal(size=(parts["count"], rank))]


@pytest.mark.parametrize("optimizer", ["adam", "gauss-newton"])
def test_towers_brought_along(optimizer):
    matrix, held_out = block_matrix()
    words = sp.csr_array(np.random.default_rng(0).random((21, 4)) < 0.5).astype(float)
    towers = PureTower(table, lambda theta, parts: theta[0][parts["ids"]]), PureTower(init, apply)
    rate = None if optimizer == "gauss-newton" else 0.02
    model = TwoTower(**{**SMALL, "learning_rate": rate}, towers=towers, optimizer=optimizer)
    model.fit(matrix, item_features={"kinds": item_groups(), "words": words})
    assert np.mean(model.recommend(n=1)[0][:, 0] == held_out) == 1
    assert np.mean(model.recommend(interactions=matrix, n=1)[0][:, 0] == held_out) == 1
    assert model.fold_in_items(features={"kinds": np.eye(3), "words": words[:3]}).shape == (3, 3)
    with pytest.raises(TypeError, match=r'register_tower\("name", tower\)'):
        model.to_parts()


def test_registered_towers_are_written_down():
    register_tower("table", PureTower(table, pick))
    matrix, _ = block_matrix()
    model = TwoTower(**{**SMALL, "towers": "table"}).fit(matrix)
    again = from_json_and_arrays(model)
    assert np.array_equal(again.score_users(interactions=matrix), model.score_users(interactions=matrix))
    register_tower("table", PureTower(table, pick))
    with pytest.raises(ValueError, match="another tower is registered as 'table' already"):
        register_tower("table", PureTower(table, apply))
    with pytest.raises(TypeError, match="a name and a PureTower"):
        register_tower("table", table)


def pick(theta, parts):
    return theta[0][parts["ids"]]


BAD = {
    "widths": [(256, "widths must be a tuple"), ((0,), "every width must be an integer")],
    "rank": [(0, "rank must be an integer"), (99, "larger than both sides")],
    "activation": [("gelu", "activation must be one of 'elu', 'relu', 'tanh', 'identity'")],
    "id_dropout": [(1.0, "id_dropout must be a finite number ≥ 0 and < 1"), ("no", "id_dropout must be")],
    "temperature": [(0, "temperature must be a finite number > 0")],
    "learning_rate": [(0, "learning_rate must be a finite number > 0"), (np.inf, "learning_rate must be")],
    "optimizer": [("sgd", "optimizer must be one of 'adam', 'gd'"), (None, "optimizer must be one of")],
    "towers": [("none such", "no tower is registered as 'none such'"), (3, "towers must be a PureTower"),
               ((None, 3), "a tower must be a PureTower")],
    "reg": [(-1, "reg must be a finite number ≥ 0")],
    "layer_reg": [(-1, "layer_reg must be a finite number ≥ 0"), ((1, 2, 3), "layer_reg must be")],
    "linear_start": [(1, "linear_start must be True or False")],
    "own_vectors": [((True, False), "own_vectors=False of items needs item_features"), (3, "True or False")],
    "layer_biases": [(1, "layer_biases must be True or False")],
    "max_iter": [(0, "max_iter must be")],
}  # fmt: skip


@pytest.mark.parametrize(("name", "value", "match"), [(name, *bad) for name, several in BAD.items() for bad in several])
def test_bad_parameters_are_refused(name, value, match):
    with pytest.raises(ValueError, match=match):
        TwoTower(**{**SMALL, name: value}).fit(block_matrix()[0])


def test_what_an_optimiser_would_ignore_is_refused():
    matrix, _ = block_matrix()
    with pytest.raises(ValueError, match="optimizer='gd' searches for its steps: leave learning_rate at None"):
        TwoTower(**SMALL, optimizer="gd").fit(matrix)
    towers = PureTower(table, pick)
    with pytest.raises(ValueError, match="rows of ids, which both sides need"):
        TwoTower(**SMALL, towers=towers).fit(matrix, start=OneClassMF(rank=3, max_iter=1).fit(matrix))


def test_bad_descriptions_are_refused():
    matrix, _ = block_matrix()
    model = TwoTower(**{**SMALL, "max_iter": 1}).fit(matrix)
    with pytest.raises(ValueError, match="fitted without user_features"):
        model.recommend(features=np.eye(3))
    with pytest.raises(ValueError, match="give the interactions of new entities, their features, or both"):
        model.fold_in_users()
    with pytest.raises(ValueError, match="give those as well"):
        model.fold_in_users(features=np.eye(3), weights=[1.0])
    with pytest.raises(AttributeError, match="TwoTower has no explain: Blend, OneClassMF, "):
        model.explain(0, 0)
    narrow = PureTower(table, lambda theta, parts: theta[0][parts["ids"], :2])
    with pytest.raises(ValueError, match=r"one row of 3 numbers \(rank\) per entity"):
        TwoTower(**{**SMALL, "towers": narrow}).fit(matrix)


def test_built_in_towers_need_no_jax_and_others_say_what_to_install():
    code = """
import sys
sys.modules["jax"] = None
import numpy as np
from everypair import TwoTower
from everypair.neural.functions import PureTower
blocks = np.kron(np.eye(2), np.ones((6, 5)))
blocks[0, 0] = 0
for optimizer in ("adam", "gauss-newton"):
    model = TwoTower(widths=(8,), rank=4, max_iter=20, random_state=0, optimizer=optimizer).fit(blocks)
    assert model.recommend([0], n=1)[0][0, 0] == 0
try:
    TwoTower(rank=2, towers=PureTower(None, None)).fit(blocks)
except ImportError as failure:
    print(failure)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "towers of your own need jax, which is not installed: pip install everypair[neural]."


def test_the_core_never_imports_jax():
    code = "import sys, everypair; everypair.TwoTower(); assert 'jax' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_settings_of_gauss_newton_are_a_parameter_that_is_written_down():
    matrix, _ = block_matrix()
    model = TwoTower(**{**SMALL, "learning_rate": None, "max_iter": 2}, optimizer=GaussNewton(cg_steps=2)).fit(matrix)
    again = from_json_and_arrays(model)
    assert again.optimizer == GaussNewton(cg_steps=2)
    named = TwoTower(**{**SMALL, "learning_rate": None, "max_iter": 2}, optimizer="gauss-newton").fit(matrix)
    assert named.objective_ < model.objective_
    with pytest.raises(ValueError, match="optimizer='gauss-newton' searches for its steps"):
        TwoTower(**SMALL, optimizer=GaussNewton()).fit(matrix)


@pytest.mark.parametrize("optimizer", ["adam", "gauss-newton", "gd-diag", "sampling-diag", "sg46", "sogram-diag"])
def test_an_interrupted_training_goes_on_with_the_same_bits(optimizer, tmp_path):
    matrix, _ = block_matrix()
    rate = {"gauss-newton": None, "gd-diag": None, "sg46": 1e-4}.get(optimizer, 0.02)
    parameters = {**SMALL, "optimizer": optimizer, "learning_rate": rate, "tol": 0.0, "random_state": 0}
    keep = Checkpoint(tmp_path / "towers.ckpt", every=2)
    TwoTower(**{**parameters, "max_iter": 4}).fit(matrix, callbacks=[keep])
    resumed = TwoTower(**{**parameters, "max_iter": 6}).fit(matrix, callbacks=[keep])
    whole = TwoTower(**{**parameters, "max_iter": 6}).fit(matrix)
    assert len(resumed.history_) == 6
    np.testing.assert_array_equal(resumed.user_factors_, whole.user_factors_)
    np.testing.assert_array_equal(resumed.item_factors_, whole.item_factors_)


@pytest.mark.parametrize(("columns", "factor"), [(9, 1.0), (60, (3600 / 120 / 10) ** 0.2), (600, 1.4)])
def test_the_automatic_ridge_grows_with_the_positives_of_an_entity(columns, factor):
    matrix = np.ones((60 if columns <= 60 else 200, columns))
    shared = {"rank": 2, "max_iter": 1, "random_state": 0}
    linear = OneClassMF(**shared).fit(matrix)
    towers = TwoTower(widths=(2,), **shared).fit(matrix)
    assert towers.reg_ == pytest.approx(factor * np.asarray(linear.reg_))


def test_a_user_without_events_leaves_the_kink_of_relu():
    """All that a user without events is begins at 0, where the slope of relu must not be 0."""
    matrix = block_matrix()[0].copy()
    matrix[4] = 0
    layers = {"activation": "relu", "layer_biases": False, "linear_start": False, "linear_path": False}
    model = TwoTower(**{**SMALL, "max_iter": 30}, **layers).fit(matrix)
    folded = model.fold_in_users(np.zeros((1, matrix.shape[1])))
    for factors in (model.user_factors_[4], folded[0]):
        assert (factors @ model.item_factors_.T).mean() < -0.1  # below 0 for most items: nobody knows this user
