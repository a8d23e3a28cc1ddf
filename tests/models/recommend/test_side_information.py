"""OneClassMF and SubsampledMF with features and graphs: each option means what it says, and what is refused."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from everypair import OneClassMF, Side, SubsampledMF
from everypair.data import split_entries
from everypair.features import knn_graph
from everypair.models.recommend.rivals.same_loss import SameLossMF
from everypair.problem.embedding import FEATURE_SHARE
from everypair.solvers.alternating import SIDE_METHODS
from everypair.solvers.loop import Status
from everypair.testing import block_matrix, group_of

from .informed import ITEMS, USERS, double, problem, with_sides, written_out

MATRIX, LEFT, RIGHT = problem()
SCALED = LEFT / np.linalg.norm(LEFT, axis=1, keepdims=True)
LEFT_GRAPH, RIGHT_GRAPH = knn_graph(LEFT, k=3), knn_graph(RIGHT, k=3)


def factors(model):
    return np.vstack([model.user_factors_, model.item_factors_])


def assert_same(one, other):
    assert np.array_equal(factors(one), factors(other))
    assert [sweep["objective"] for sweep in one.history_] == [sweep["objective"] for sweep in other.history_]


def assert_close(one, other):
    np.testing.assert_allclose(factors(one), factors(other), atol=1e-9)


# one model, however it is said


def test_dense_and_sparse_features_give_the_same_model():
    import pandas as pd

    dense = double().fit(MATRIX, user_features=LEFT, item_features=RIGHT)
    for kind in (sp.csr_array, sp.csc_matrix, sp.coo_array):
        assert_close(double().fit(MATRIX, user_features=kind(LEFT), item_features=kind(RIGHT)), dense)
    assert_close(double().fit(MATRIX, user_features=LEFT, item_features=sp.csr_array(RIGHT)), dense)
    assert_same(double().fit(MATRIX, user_features=pd.DataFrame(LEFT), item_features=RIGHT.tolist()), dense)
    assert_same(double().fit(sp.csr_array(MATRIX), user_features=np.asfortranarray(LEFT), item_features=RIGHT), dense)


def test_repeated_entries_of_sparse_features_are_summed():
    halves = sp.csr_array(
        (np.repeat(LEFT.ravel() / 2, 2), np.tile(np.repeat(np.arange(4), 2), USERS), 8 * np.arange(USERS + 1)),
        shape=LEFT.shape,
    )
    before = halves.copy()
    assert halves.nnz == 2 * LEFT.size
    assert_close(
        double(normalize=True).fit(MATRIX, user_features=halves), double(normalize=True).fit(MATRIX, user_features=LEFT)
    )
    assert np.array_equal(halves.data, before.data)


def test_groups_are_put_side_by_side():
    stacked = double().fit(MATRIX, user_features=LEFT, item_features=RIGHT)
    grouped = double().fit(
        MATRIX, user_features={"taste": LEFT[:, :2], "noise": LEFT[:, 2:]}, item_features={2024: RIGHT}
    )
    assert_same(grouped, stacked)
    mixed = double().fit(
        MATRIX, user_features={"taste": sp.coo_array(LEFT[:, :2]), "noise": LEFT[:, 2:]}, item_features=RIGHT
    )
    assert_close(mixed, stacked)
    other_order = grouped.fold_in_users(features={"noise": LEFT[:, 2:], "taste": LEFT[:, :2]})
    assert np.array_equal(other_order, stacked.fold_in_users(features=LEFT))
    assert np.array_equal(grouped.fold_in_users(features=LEFT), other_order)
    assert np.array_equal(grouped.fold_in_items(features={2024: RIGHT}), stacked.fold_in_items(features=RIGHT))


def test_normalize_and_fit_intercept_are_what_one_would_do_by_hand():
    ones = np.ones((ITEMS, 1))
    asked = double(normalize=(True, False), fit_intercept=(False, True)).fit(
        MATRIX, user_features=LEFT, item_features=RIGHT
    )
    assert_close(asked, double().fit(MATRIX, user_features=SCALED, item_features=np.hstack([RIGHT, ones])))
    assert asked.item_feature_weights_.shape == (4, 3)
    sparse = double(normalize=True, fit_intercept=True).fit(MATRIX, user_features=sp.csr_array(LEFT))
    assert_close(sparse, double().fit(MATRIX, user_features=np.hstack([SCALED, np.ones((USERS, 1))])))


def test_features_and_graphs_belong_to_the_caller():
    given = [LEFT.astype(np.float32), sp.csr_array(RIGHT.astype(np.float32)), LEFT_GRAPH.copy(), RIGHT_GRAPH.copy()]
    before = [part.copy() for part in given]
    names = ("user_features", "item_features", "user_graph", "item_graph")
    double(dtype="float32", normalize=True).fit(MATRIX, **dict(zip(names, given)))
    for now, then in zip(given, before):
        assert np.array_equal(now, then) if isinstance(now, np.ndarray) else (now != then).nnz == 0


# the objective, written out


KNOWN = {
    "left": {"user_features": LEFT},
    "right": {"item_features": sp.csr_array(RIGHT)},
    "both": {"user_features": LEFT, "item_features": RIGHT},
    "left graph": {"user_graph": LEFT_GRAPH},
    "right graph": {"item_graph": RIGHT_GRAPH},
    "all": {
        "user_features": LEFT, "item_features": RIGHT, "user_graph": LEFT_GRAPH, "item_graph": RIGHT_GRAPH.toarray()
    },
}  # fmt: skip
OPTIONS = {
    "plain": {},
    "biases": {"biases": True, "feature_reg": (0.5, 2.0), "graph_reg": (0.4, 0.05)},
    "prepared": {"normalize": (True, False), "fit_intercept": (False, True), "reg_exponent": 1.0, "reg": 0.1},
    "squared": {"loss": "squared"},
    "same": {"kind": SameLossMF, "negative_weight": 0.2, "reg": 0.3},
}


def dense(part):
    return part.toarray() if sp.issparse(part) else part


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("known", KNOWN.values(), ids=KNOWN)
def test_the_objective_is_the_sum_over_every_pair(known, options):
    sides = [tuple(dense(known.get(f"{side}_{what}")) for side in ("user", "item")) for what in ("features", "graph")]
    model = double(**options).fit(MATRIX, **known)
    assert model.objective_ == pytest.approx(written_out(model, MATRIX, *sides), rel=1e-10)
    values = np.array([sweep["objective"] for sweep in model.history_])
    assert (np.diff(values) <= 1e-12 * values[0]).all()
    assert np.abs(factors(model)).max() > 0.3
    for weights, features in zip((model.user_feature_weights_, model.item_feature_weights_), sides[0]):
        assert (weights is None) == (features is None)


@pytest.mark.parametrize("own_vectors", [(False, True), (True, False), False])
def test_without_own_vectors_factors_are_features_times_weights(own_vectors):
    for biases in (False, True):
        model = double(own_vectors=own_vectors, biases=biases).fit(MATRIX, user_features=LEFT, item_features=RIGHT)
        assert model.objective_ == pytest.approx(written_out(model, MATRIX, (LEFT, RIGHT)), rel=1e-10)
        np.testing.assert_allclose(model.score_users(), model.user_factors_ @ model.item_factors_.T, atol=1e-12)


def test_own_vectors_make_up_for_what_features_do_not_say():
    with_own = double(max_iter=60, tol=1e-8).fit(MATRIX, user_features=LEFT).objective_
    assert (
        with_own
        < 0.95 * double(max_iter=60, tol=1e-8, own_vectors=(False, True)).fit(MATRIX, user_features=LEFT).objective_
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("solver", ["auto", "gradient", "newton-linesearch"])
def test_the_objective_never_rises(solver, dtype):
    model = double(solver=solver, dtype=dtype, max_iter=12, tol=0.0).fit(
        MATRIX, user_features=LEFT, item_features=sp.csr_array(RIGHT), user_graph=LEFT_GRAPH, item_graph=RIGHT_GRAPH
    )
    values = np.array([sweep["objective"] for sweep in model.history_])
    assert len(values) > 8
    assert (np.diff(values) <= {"float32": 1e-6, "float64": 1e-12}[dtype] * values[0]).all()


def test_the_automatic_ridge_of_features_follows_their_size_and_the_own_vectors_ridge():
    model = double(negative_weight=0.1).fit(MATRIX, user_features=LEFT, item_features=RIGHT)
    own = [1.0 * (np.abs(MATRIX).sum(axis=1 - side) + 0.1 * MATRIX.shape[1 - side]) ** 0.5 for side in (0, 1)]
    expected = [FEATURE_SHARE * np.mean(np.sum(X**2, axis=1)) * ridge.mean() for X, ridge in zip((LEFT, RIGHT), own)]
    np.testing.assert_allclose(model.feature_reg_, expected, rtol=1e-12)
    spelled_out = double(negative_weight=0.1, feature_reg=model.feature_reg_).fit(
        MATRIX, user_features=LEFT, item_features=RIGHT
    )
    assert_same(model, spelled_out)
    assert double(feature_reg=(3.0, "auto")).fit(MATRIX, user_features=LEFT, user_graph=LEFT_GRAPH).feature_reg_ == (
        3.0,
        None,
    )
    scaled_up = double(negative_weight=0.1, max_iter=60, tol=1e-12).fit(MATRIX, user_features=100 * LEFT)
    as_it_was = double(negative_weight=0.1, max_iter=60, tol=1e-12).fit(MATRIX, user_features=LEFT)
    assert scaled_up.objective_ == pytest.approx(as_it_was.objective_, rel=1e-8)  # the unit does not matter


def test_features_that_are_all_zero_change_nothing():
    model = double(max_iter=60, tol=1e-12).fit(MATRIX, item_features=0 * RIGHT)
    assert np.abs(model.item_feature_weights_).max() < 1
    assert model.objective_ == pytest.approx(double(max_iter=60, tol=1e-12).fit(MATRIX).objective_, rel=1e-6)
    assert (model.fold_in_items(features=0 * RIGHT[:2]) == 0).all()


# graphs


def test_a_graph_without_weight_is_no_graph():
    for features in ({}, {"user_features": LEFT, "item_features": RIGHT}):
        without = double().fit(MATRIX, **features)
        assert_same(double(graph_reg=0).fit(MATRIX, **features, user_graph=LEFT_GRAPH, item_graph=RIGHT_GRAPH), without)
        assert_same(double(graph_reg=(0, 0.1)).fit(MATRIX, **features, user_graph=LEFT_GRAPH), without)


def test_neighbours_have_similar_factors():
    lengths = []
    for graph_reg in (0.0, 1.0, 10.0, 1000.0):
        model = double(graph_reg=(graph_reg, 0), max_iter=20).fit(MATRIX, user_graph=LEFT_GRAPH)
        ends = LEFT_GRAPH.nonzero()
        apart = model.user_factors_[ends[0]] - model.user_factors_[ends[1]]
        lengths.append(np.sum(apart**2) / np.sum(model.user_factors_**2))
    assert (np.diff(lengths) < 0).all()
    assert lengths[-1] < 0.01 * lengths[0]


def test_a_normalised_graph_weighs_nodes_by_their_degree():
    random = np.random.default_rng(1)
    similarity = np.triu(random.random((USERS, USERS)) * (random.random((USERS, USERS)) < 0.2), 1)
    similarity += similarity.T
    similarity[5] = similarity[:, 5] = 0
    root = np.sqrt(np.where(similarity.sum(axis=1) > 0, similarity.sum(axis=1), 1))
    model = double(normalize_graph=True, graph_reg=0.7).fit(MATRIX, user_graph=similarity)
    scaled = model.user_factors_ / root[:, None]
    smooth = 0.35 * sum(similarity[i, j] * np.sum((scaled[i] - scaled[j]) ** 2) for i in range(USERS) for j in range(i))
    assert model.objective_ == pytest.approx(written_out(model, MATRIX) + smooth, rel=1e-10)


def test_a_user_without_events_follows_the_friends_and_a_lonely_one_nobody():
    matrix, _ = block_matrix()
    matrix = np.pad(matrix, ((0, 2), (0, 0)))  # users 44 and 45 are new
    friends = np.zeros((46, 46))
    friends[44, 34:38] = 1  # of the third group, the smallest
    model = double(graph_reg=2.0, max_iter=300, tol=1e-12).fit(matrix, user_graph=friends)
    items, _ = model.recommend([44], n=6)
    assert (group_of(items[0], side=1) == 2).all()
    stranger = model.fold_in_users(np.zeros((1, 21)))  # nothing pulls at a node without neighbours
    np.testing.assert_allclose(model.user_factors_[[45]], stranger, atol=1e-5)
    assert np.abs(model.user_factors_[44] - stranger).max() > 0.1


# what features are good for


def cold_problem():
    """The block matrix with one more item in each group that nobody has yet; features are the group and noise."""
    matrix, _ = block_matrix()
    groups = np.concatenate([group_of(np.arange(21), side=1), [0, 1, 2]])
    noise = np.random.default_rng(0).standard_normal((24, 2))
    return np.pad(matrix, ((0, 0), (0, 3))), np.hstack([np.eye(3)[groups], noise]), 21 + group_of(np.arange(44), 0)


@pytest.mark.parametrize("loss", ["logistic", "squared"])
@pytest.mark.parametrize("own_vectors", [True, (True, False)])
def test_items_that_nobody_has_are_found_by_their_features(loss, own_vectors):
    matrix, features, wanted = cold_problem()
    params = {"rank": 3, "loss": loss, "random_state": 0, "max_iter": 30}
    model = OneClassMF(**with_sides({"own_vectors": own_vectors, **params})).fit(matrix, item_features=features)
    items, _ = model.recommend(n=1, allow=[21, 22, 23])
    assert (items[:, 0] == wanted).all()
    blind = OneClassMF(**params).fit(matrix)
    assert np.mean(blind.recommend(n=1, allow=[21, 22, 23])[0][:, 0] == wanted) < 0.7


def test_sampled_negatives_learn_from_features_too():
    matrix, features, wanted = cold_problem()
    params = {"rank": 3, "loss": "logistic", "random_state": 0, "ratio": 2.0}
    for resample in (False, True):
        model = SubsampledMF(resample=resample, items=Side(feature_reg=0.3), **params).fit(
            matrix, item_features=features
        )
        assert np.mean(model.recommend(n=1, allow=[21, 22, 23])[0][:, 0] == wanted) > 0.95
        assert model.item_feature_weights_.shape == (5, 3)
        assert model.feature_reg_[0] is None


# solvers


SOLVERS = ("auto", "block", "als", *SIDE_METHODS)


def test_solvers_agree_at_the_optimum():
    best = {
        solver: double(solver=solver, loss="squared", max_iter=500, tol=1e-7).fit(
            MATRIX, user_features=LEFT, item_features=RIGHT, user_graph=LEFT_GRAPH
        )
        for solver in SOLVERS
    }
    objectives = np.array([model.objective_ for model in best.values()])
    np.testing.assert_allclose(objectives, objectives.min(), rtol=1e-5)
    assert {model.status_ for model in best.values()} == {Status.CONVERGED}


def test_solvers_agree_on_other_losses():
    objectives = [
        double(solver=solver, max_iter=500, tol=1e-8).fit(MATRIX, user_features=LEFT, item_graph=RIGHT_GRAPH).objective_
        for solver in SOLVERS
        if solver != "als"
    ]
    np.testing.assert_allclose(objectives, min(objectives), rtol=1e-5)


@pytest.mark.parametrize("solver", ["cd", "sg-reform", "sg-bsearch", "sg-dense"])
@pytest.mark.parametrize("kind", [OneClassMF, SubsampledMF])
def test_solvers_that_know_no_side_information_say_so(solver, kind):
    model = kind(rank=3, loss="squared", solver=solver)
    for given in ({"user_features": LEFT}, {"item_graph": RIGHT_GRAPH}):
        with pytest.raises(ValueError, match=f'solver="{solver}" knows neither features nor graphs .*use "auto"'):
            model.fit(MATRIX, **given)


# training


def test_progress_callbacks_and_time(capsys):
    seen = []
    model = double(verbose=True, tol=0.0).fit(
        MATRIX, user_features=LEFT, callbacks=[lambda sweep: seen.append(sweep.iteration) or sweep.iteration == 3]
    )
    assert seen == [1, 2, 3]
    assert model.status_ is Status.CALLBACK
    out, err = capsys.readouterr()
    assert out == ""
    assert "3 of 5 sweeps" in err
    assert double(time_limit=1e-9).fit(MATRIX, user_features=LEFT, item_features=RIGHT).status_ is Status.TIME_LIMIT


def test_patience_keeps_weights_and_factors_of_the_best_sweep():
    random = np.random.default_rng(1)
    train, held_out = split_entries((random.random((60, 30)) < 0.2).astype(float), 0.3, 0)
    features = random.standard_normal((60, 5))
    params = {"own_vectors": (False, True), "tol": 0.0, "max_iter": 200, "reg": 0.01, "feature_reg": 0.01}
    model = double(patience=3, **params).fit(train, user_features=features, validation=held_out)
    measured = [sweep["ndcg@10"] for sweep in model.history_]
    best = int(np.argmax(measured))
    assert model.status_ is Status.NO_IMPROVEMENT
    assert best + 1 + 3 == model.n_iter_
    assert_close(model, double(**{**params, "max_iter": best + 1}).fit(train, user_features=features))
    np.testing.assert_allclose(model.user_factors_, features @ model.user_feature_weights_, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_threads_and_runs_do_not_change_the_bits(dtype):
    random = np.random.default_rng(0)
    left, right = random.integers(0, 3000, 20_000), random.integers(0, 1500, 20_000)
    matrix = sp.coo_array((np.ones(20_000), (left, right)), shape=(3000, 1500))
    sparse = sp.random_array((3000, 40), density=0.1, rng=random, format="csr")
    features, graph = random.standard_normal((1500, 30)), knn_graph(sparse, k=4)
    one, two, again = (
        double(dtype=dtype, max_iter=2, n_threads=threads).fit(
            matrix, user_features=sparse, item_features=features, user_graph=graph
        )
        for threads in (1, 2, 2)
    )
    assert_same(one, two)
    assert_same(two, again)
    assert np.array_equal(one.user_feature_weights_, two.user_feature_weights_)
    assert one.user_factors_.dtype == one.user_feature_weights_.dtype == dtype
    cold = [model.score_users(features=sparse[:600]) for model in (one, two)]
    assert np.array_equal(*cold)


def test_parameters_and_clone():
    model = double(own_vectors=(True, False), feature_reg=(1.0, "auto"), graph_reg=(0.5, 0.0), normalize=True)
    fitted = model.fit(MATRIX, user_features=LEFT, item_features=RIGHT, user_graph=LEFT_GRAPH)
    twin = clone(fitted)
    assert twin.get_params() == fitted.get_params()
    assert not [name for name in vars(twin) if name.endswith("_")]
    assert_same(twin.fit(MATRIX, user_features=LEFT, item_features=RIGHT, user_graph=LEFT_GRAPH), fitted)
    plain = fitted.set_params(items=Side()).fit(MATRIX)  # nothing of the features is left
    assert (plain.user_feature_weights_, plain.item_feature_weights_) == (None, None)
    with pytest.raises(ValueError, match="without user_features"):
        plain.recommend(features=LEFT)


def test_an_explanation_still_adds_up():
    model = double().fit(MATRIX, user_features=LEFT, item_features=RIGHT)
    said = model.explain(3, 5)
    assert said.score == pytest.approx(model.score_pairs(3, 5)[0])
    assert said.base + said.contributions.sum() == pytest.approx(said.score)
    for params, known in (({"own_vectors": (False, True)}, {"user_features": LEFT}), ({}, {"user_graph": LEFT_GRAPH})):
        with pytest.raises(ValueError, match="explain needs users with own vectors, without a graph"):
            double(**params).fit(MATRIX, **known).explain(3, 5)


# what is refused


@pytest.fixture
def no_work(monkeypatch):
    """Fail if a kernel would be compiled or a sweep begun."""

    def work(*arguments, **options):
        raise AssertionError("work has begun before the input was refused")

    monkeypatch.setattr("everypair.models.recommend.places.sweep_on_two_pairs", work)
    monkeypatch.setattr("everypair.models.recommend.places.train", work)


def outside():
    matrix = sp.csr_array(LEFT)
    matrix.indices[0] = 99
    return matrix


def with_value(matrix, value):
    changed = np.array(matrix, np.float64)
    changed[1, 2] = value
    return changed


BAD_FEATURES = {
    "too few rows": (LEFT[:-1], ValueError, r"user_features must have one row per entity of that side \(40\), got"),
    "of the other side": (RIGHT, ValueError, r"\(40\), got shape \(24, 3\)"),
    "groups": ({"a": LEFT, "b": RIGHT}, ValueError, r"the groups of user_features .*\(40, 4\), \(24, 3\)"),
    "NaN": (with_value(LEFT, np.nan), ValueError, "user_features has NaN or infinite values: drop or fill them"),
    "NaN in a group": ({"age": with_value(LEFT, np.nan)}, ValueError, r"user_features\['age'\] has NaN"),
    "NaN, sparse": (sp.csr_array(with_value(LEFT, np.inf)), ValueError, "user_features has NaN or infinite"),
    "too large": (with_value(LEFT, 1e200), ValueError, "user_features has values too large for float32: rescale them"),
    "strings": ([["red"]] * USERS, TypeError, "user_features must hold numbers.*encode names as columns of 0 and 1"),
    "objects": (np.full((USERS, 1), None), TypeError, "user_features must hold numbers, got dtype object"),
    "complex": (LEFT * 1j, TypeError, "must hold numbers"),
    "empty dict": ({}, ValueError, "user_features is an empty dict: give at least one group of features, or None"),
    "no columns": (LEFT[:, :0], ValueError, r"one row per entity, got shape \(40, 0\)"),
    "one dimension": (LEFT[:, 0], ValueError, r"user_features must be a matrix .* got shape \(40,\)"),
    "a number": (3, ValueError, "user_features must be a matrix"),
    "positions outside": (outside(), ValueError, "user_features is not a valid CSR matrix"),
}


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(("features", "kind", "sentence"), BAD_FEATURES.values(), ids=BAD_FEATURES)
def test_features_that_are_refused(features, kind, sentence):
    for estimator in (OneClassMF(rank=3), SubsampledMF(rank=3)):
        with pytest.raises(kind, match=sentence):
            estimator.fit(MATRIX, user_features=features)


BAD_GRAPHS = {
    "not square": (np.ones((ITEMS, USERS)), ValueError, r"item_graph must be square.* got shape \(24, 40\)"),
    "of the other side": (LEFT_GRAPH, ValueError, r"item_graph must be 24 × 24, one row per entity, got \(40, 40\)"),
    "negative": (-np.ones((ITEMS, ITEMS)), ValueError, "item_graph has negative similarities: cut them to 0"),
    "NaN": (with_value(RIGHT_GRAPH.toarray(), np.nan), ValueError, "item_graph has NaN or infinite similarities"),
    "strings": ("neighbours", TypeError, "item_graph must be a sparse matrix or a numeric 2-D array, got str"),
}


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(("graph", "kind", "sentence"), BAD_GRAPHS.values(), ids=BAD_GRAPHS)
def test_graphs_that_are_refused(graph, kind, sentence):
    with pytest.raises(kind, match=sentence):
        OneClassMF(rank=3).fit(MATRIX, item_graph=graph)


BAD_OPTIONS = [
    ({"own_vectors": (True, False)}, r"items=Side\(own_vectors=False\) needs item_features: nothing else is left"),
    ({"own_vectors": 1}, "own_vectors must be True or False, got 1"),
    ({"own_vectors": (True, None)}, "own_vectors must be True or False, got None"),
    ({"normalize": "rows"}, "normalize must be True or False"),
    ({"fit_intercept": None}, "fit_intercept must be True or False"),
    ({"normalize_graph": 2}, "normalize_graph must be True or False"),
    ({"feature_reg": -0.1}, 'feature_reg must be a finite number ≥ 0 or "auto", got -0.1'),
    ({"feature_reg": (1.0, float("inf"))}, "feature_reg must be a finite number"),
    ({"feature_reg": "much"}, "feature_reg must be a finite number"),
    ({"feature_reg": np.ones(2)}, "feature_reg must be a finite number"),
    ({"graph_reg": -1}, "graph_reg must be a finite number ≥ 0, got -1"),
    ({"graph_reg": "auto"}, "graph_reg must be a finite number"),
]


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(("params", "sentence"), BAD_OPTIONS)
def test_options_that_are_refused(params, sentence):
    with pytest.raises(ValueError, match=sentence):
        OneClassMF(**with_sides({"rank": 3, **params})).fit(MATRIX, user_features=LEFT)


# what rounding can do


def rough_problem():
    rng = np.random.default_rng(0)
    matrix = (rng.random((30, 20)) < 0.2).astype(float)
    matrix[0], matrix[:, 0] = 0, 0
    return matrix, rng.normal(size=(30, 6)), rng.normal(size=(20, 4))


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_a_rank_above_what_the_features_span_does_not_diverge_in_single_precision(loss):
    matrix, left, right = rough_problem()
    params = {"rank": 12, "loss": loss, "feature_reg": 0.0, "own_vectors": False, "max_iter": 10, "random_state": 0}
    params = with_sides(params)
    single = OneClassMF(**params).fit(matrix, user_features=left, item_features=right)
    double_precision = OneClassMF(dtype="float64", **params).fit(matrix, user_features=left, item_features=right)
    assert single.objective_ == pytest.approx(double_precision.objective_, rel=0.02)
    assert np.abs(single.item_factors_).max() < 100


def test_history_never_rises_by_more_than_rounding():
    matrix, left, right = rough_problem()
    graph = np.abs(np.random.default_rng(1).normal(size=(30, 30)))
    for params in ({"reg": 0.0}, {"reg": 0.0, "negative_weight": 0.0}, {"users": Side(graph_reg=1e8)}):
        model = OneClassMF(rank=12, max_iter=12, random_state=0, **params)
        model.fit(matrix, user_features=left, item_features=right, user_graph=graph if "users" in params else None)
        objectives = np.array([entry["objective"] for entry in model.history_])
        assert (np.diff(objectives) <= 1e-5 * np.abs(objectives[:-1]) + 1e-7 * objectives[0]).all()
        assert model.objective_ == objectives[-1]


def test_steepest_descent_moves_whatever_the_unit_of_the_features():
    matrix, left, right = rough_problem()
    params = {"rank": 3, "solver": "gradient", "max_iter": 20, "tol": 0.0, "random_state": 0, "own_vectors": False}
    params = with_sides(params)
    large = OneClassMF(**params).fit(matrix, user_features=1e6 * left, item_features=1e6 * right)
    assert large.objective_ == pytest.approx(
        OneClassMF(**params).fit(matrix, user_features=left, item_features=right).objective_, rel=1e-3
    )
    assert np.abs(large.user_factors_).max() > 0.01


def test_features_and_graphs_too_large_for_the_precision_are_refused():
    matrix, left, _ = rough_problem()
    with pytest.raises(ValueError, match="user_features has values too large for float32: rescale"):
        OneClassMF(rank=3).fit(matrix, user_features=1e25 * left)
    with pytest.raises(ValueError, match="similarities too large for float32"):
        OneClassMF(rank=3).fit(matrix, user_graph=np.full((30, 30), 1e39))
    with pytest.raises(ValueError, match="two groups of the same name"):
        OneClassMF(rank=3).fit(matrix, user_features={1: left, "1": left})


def test_normalised_features_may_have_any_scale():
    options = {"normalize": True, "own_vectors": (False, True), "feature_reg": 0.1}
    plain = double(**options).fit(MATRIX, user_features=LEFT)
    for scale in (1e-30, 1e30):
        scaled = double(dtype="float32", **options).fit(MATRIX, user_features=LEFT * scale)
        np.testing.assert_allclose(scaled.score_users(), plain.score_users(), rtol=1e-3, atol=1e-3)
        new = scaled.score_users(features=(LEFT[:3] * scale).astype(np.float32))
        np.testing.assert_allclose(new, plain.score_users([0, 1, 2]), rtol=1e-3, atol=1e-3)
