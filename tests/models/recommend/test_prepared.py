"""What belongs to the model is made once, and a user's answer has the same bits whoever is asked about beside them."""

import threading

import numpy as np
import pytest
import scipy.sparse as sp

import everypair
from everypair import Blend, ItemItem, MultiLabelMF, OneClassMF, Popularity
from everypair.models.recommend.answering_model import load_answering
from everypair.models.recommend.fitted import CAPABILITIES, Prepares
from everypair.models.recommend.rivals.bpr import BPR
from everypair.models.recommend.rivals.ensemble import EnsembleMF
from everypair.models.recommend.rivals.same_loss import SameLossMF
from everypair.models.recommend.rivals.subsampled import SubsampledMF
from everypair.solvers.fold_in import FixedSide
from everypair.store import ModelFileError, read_file, write_file

USERS, ITEMS = 120, 90


def interactions(seed=0, dislikes=False):
    random = np.random.default_rng(seed)
    left, right = random.standard_normal((USERS, 4)), random.standard_normal((ITEMS, 4))
    scores = left @ right.T + random.gumbel(size=(USERS, ITEMS))
    matrix = (scores > np.quantile(scores, 0.88, axis=1, keepdims=True)).astype(np.float32)
    matrix[::9] = 0  # users without anything
    matrix *= random.uniform(0.5, 2, matrix.shape).astype(np.float32)
    if dislikes:
        matrix *= np.where(random.random(matrix.shape) < 0.2, -1, 1)
    return sp.csr_array(matrix)


LIKES, BOTH = interactions(), interactions(dislikes=True)
RANDOM = np.random.default_rng(7)
LOW_RANK = (RANDOM.random((USERS, 2)), RANDOM.random((ITEMS, 2)))
FEW = {"rank": 6, "max_iter": 3, "random_state": 0}
MODELS = {
    "likes": (OneClassMF(**FEW), LIKES),
    "dislikes": (OneClassMF(**FEW), BOTH),
    "squared, biases, weighting": (OneClassMF(loss="squared", biases=True, weighting=("degree", 0.3), **FEW), LIKES),
    "logistic, biases, dislikes": (OneClassMF(loss="logistic", biases=True, **FEW), BOTH),
    "scheme": (OneClassMF(negative_scheme=("item-count", 0.5), **FEW), LIKES),
    "arrays": (OneClassMF(negative_scheme=(RANDOM.random(USERS), RANDOM.random(ITEMS)), **FEW), LIKES),
    "low rank": (OneClassMF(negative_value=LOW_RANK, **FEW), LIKES),
    "float64": (OneClassMF(dtype="float64", **FEW), LIKES),
    "same loss": (SameLossMF(**FEW), LIKES),
    "subsampled": (SubsampledMF(**FEW), LIKES),
    "ensemble": (EnsembleMF(n_models=2, **FEW), LIKES),
    "bpr": (BPR(rank=6, max_iter=2, random_state=0), LIKES),
    "item-item": (ItemItem(neighbors=20), BOTH),
    "all neighbors": (ItemItem(neighbors=None), (LIKES > 0).astype(np.float32)),
    "blend": (Blend(random_state=0), LIKES),
    "blend of three": (
        Blend(models=[OneClassMF(**FEW), OneClassMF(loss="squared", **FEW), ItemItem(neighbors=9)]),
        LIKES,
    ),
    "popularity": (Popularity(), LIKES),
}
NEW = interactions(seed=5)


@pytest.fixture(scope="module")
def fitted():
    return {name: model.set_params(n_threads=1).fit(matrix) for name, (model, matrix) in MODELS.items()}


@pytest.mark.parametrize("name", MODELS)
def test_answers_do_not_depend_on_the_batch(name, fitted):
    model = fitted[name]
    everybody, folded = model.recommend(n=5), model.recommend(interactions=NEW, n=5)
    model.set_params(n_threads=2)
    assert np.array_equal(model.recommend(n=5)[1], everybody[1])
    assert np.array_equal(model.recommend(interactions=NEW, n=5)[1], folded[1])
    model.set_params(n_threads=1)
    for rows in (np.array([9]), np.array([17]), np.arange(20, 27), np.arange(64)):
        for whole, few in (
            (everybody, model.recommend(rows, n=5)),
            (folded, model.recommend(interactions=NEW[rows], n=5)),
        ):
            assert np.array_equal(few[0], whole[0][rows])
            assert np.array_equal(few[1], whole[1][rows])
    items, scores = everybody
    shown = items >= 0
    users = np.nonzero(shown)[0]
    assert np.array_equal(model.score_pairs(users, items[shown]), scores[shown])
    assert np.array_equal(model.score_pairs(users[3:4], items[shown][3:4]), scores[shown][3:4])
    if hasattr(model, "similar_items"):
        near = model.similar_items(np.arange(ITEMS), n=4)
        for row in (0, 33):
            assert np.array_equal(model.similar_items([row], n=4)[0][0], near[0][row])
            assert np.array_equal(model.similar_items([row], n=4)[1][0], near[1][row])


@pytest.mark.parametrize("name", ["likes", "squared, biases, weighting", "blend", "item-item", "bpr", "popularity"])
def test_prepared_or_not_the_answers_are_the_same(name, fitted, tmp_path, monkeypatch):
    fitted[name].save(tmp_path / "model.ep")
    plain, ready = (everypair.load(tmp_path / "model.ep") for _ in range(2))
    assert ready.prepare() is ready
    answers = [answers_of(model) for model in (plain, ready)]
    for one, other in zip(*answers):
        assert np.array_equal(one, other)
    sides = []
    monkeypatch.setattr(FixedSide, "of", lambda *args: sides.append(args))
    answers_of(ready)
    assert sides == []


def answers_of(model):
    answers = [*model.recommend([1, 2], n=5), *model.recommend(interactions=NEW[:3], n=5)]
    if hasattr(model, "similar_items"):
        answers += model.similar_items([4], n=5)
    if hasattr(model, "explain"):
        answers += model.explain(1, 3)
    return answers


def test_several_threads_may_prepare_at_once(fitted, tmp_path):
    fitted["blend"].save(tmp_path / "model.ep")
    expected = answers_of(fitted["blend"])
    model = everypair.load(tmp_path / "model.ep")
    found = {}
    threads = [
        threading.Thread(target=lambda at=at: found.update({at: answers_of(model.prepare() if at % 2 else model)}))
        for at in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for at in range(4):
        assert all(np.array_equal(one, other) for one, other in zip(found[at], expected))


@pytest.mark.parametrize("name", ["likes", "dislikes", "squared, biases, weighting", "low rank", "float64"])
def test_reasons_are_those_of_the_whole_system(name, fitted):
    """A = p VᵀQV + λ I inverted as a matrix, in the axes of the factors."""
    state = fitted[name].state_
    user, item = 4, 11
    stored = state.interactions[[user]]
    values = None if not isinstance(state.negatives.value, tuple) else state.negatives.value[0][[user]]
    problem = state.row_problem(0, stored, None, state.negatives.left[[user]], values)
    V, u = state.item_factors.astype(float), state.user_factors[user].astype(float)
    p, q = float(problem.this_weights[0]), problem.other_weights.astype(float)
    scores = V[stored.indices] @ u
    slopes = problem.weights * problem.loss.slope(problem.targets, scores)
    slopes -= p * q[stored.indices] * (scores - problem.values)
    free = problem.free_columns(V.shape[1])
    system = p * (V.T * q) @ V + float(problem.ridge[0]) * np.eye(V.shape[1])
    influence = np.linalg.solve(system[np.ix_(free, free)], V[item, free])
    expected = dict(zip(stored.indices.tolist(), -slopes * (V[stored.indices][:, free] @ influence)))
    why = fitted[name].explain(user, item)
    np.testing.assert_allclose(why.contributions, [expected[one] for one in why.items.tolist()], rtol=1e-4, atol=1e-7)
    assert why.score == pytest.approx(float(V[item] @ u), rel=1e-6)


def test_factors_that_are_not_finite_are_refused_when_a_file_is_verified(fitted, tmp_path):
    for name in ("likes", "blend"):
        fitted[name].save(tmp_path / "model.ep")
        kind, values, arrays = read_file(tmp_path / "model.ep", mmap=False)
        damaged = next(key for key in arrays if key.endswith("item_factors"))
        arrays[damaged] = arrays[damaged].copy()
        arrays[damaged][3, 1] = np.nan
        write_file(tmp_path / "damaged.ep", kind, values, arrays)
        with pytest.raises(ModelFileError, match="item_factors holds NaN or infinite factors"):
            everypair.load(tmp_path / "damaged.ep")
        assert everypair.load(tmp_path / "damaged.ep", verify=False).recommend([1], n=3)[0].shape == (1, 3)


def test_what_prepares_is_said_by_a_protocol(fitted):
    assert {name for name, model in fitted.items() if isinstance(model.state_, Prepares)} == set(MODELS)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_that_only_answers_gives_the_same_bits(name, fitted, tmp_path):
    fitted[name].save(tmp_path / "model.ep", serve_only=True)
    model = load_answering(tmp_path / "model.ep")
    assert model.shape == (USERS, ITEMS)
    assert (model.kind, model.n_threads) == (type(fitted[name]).__name__, 1)
    whole = everypair.load(tmp_path / "model.ep")
    for method in CAPABILITIES:
        assert hasattr(model, method) == hasattr(whole, method)
    answers = [*model.recommend([1, 2], n=5), *model.recommend(interactions=NEW[:3], n=5), model.score_pairs([3], [4])]
    expected = [*whole.recommend([1, 2], n=5), *whole.recommend(interactions=NEW[:3], n=5), whole.score_pairs([3], [4])]
    assert all(np.array_equal(one, other) for one, other in zip(answers, expected))


def test_what_is_no_recommender_does_not_answer(tmp_path):
    MultiLabelMF(rank=1, max_iter=1).fit(np.eye(6), np.eye(6)).save(tmp_path / "labels.ep")
    with pytest.raises(ModelFileError, match=r"holds a MultiLabelMF, which is no recommender: everypair\.load"):
        load_answering(tmp_path / "labels.ep")
    Popularity().fit(LIKES).save(tmp_path / "model.ep")
    model = load_answering(tmp_path / "model.ep")
    with pytest.raises(AttributeError, match="Popularity has no explain: Blend, OneClassMF, ItemItem"):
        model.explain(0, 1)
