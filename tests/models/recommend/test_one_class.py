"""OneClassMF: what training reports, when it stops, and that each option means what it says."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from everypair import EnsembleMF, InterruptedTraining, OneClassMF, Popularity, SubsampledMF
from everypair.data import Pairs, split_entries, time_decay
from everypair.evaluate import ranking_metrics
from everypair.problem.layout import Layout
from everypair.problem.losses import LOSSES, Loss, get_loss
from everypair.problem.objective import Objective
from everypair.problem.ridge import Ridge
from everypair.solvers.loop import Status
from everypair.testing import block_matrix


def tastes(m=50, n=30, seed=0):
    """Low-rank taste with weights from ½ to 2 and some dislikes, as a dense matrix of signed weights."""
    random = np.random.default_rng(seed)
    affinity = random.standard_normal((m, 3)) @ random.standard_normal((3, n))
    weights = random.uniform(0.5, 2.0, (m, n))
    return np.where(affinity > 1.8, weights, np.where(affinity < -4.0, -weights, 0.0))


def model(**params):
    return OneClassMF(**{"rank": 3, "random_state": 0, **params})


def double(**params):
    return model(**{"dtype": "float64", "max_iter": 6, "reg": 0.3, "reg_exponent": 0.5, **params})


def brute_force(fitted, matrix, p, q, value, ridge, targets=None):
    """F over all m·n pairs, as DESIGN's first formula has it."""
    loss = get_loss(fitted.loss)
    left, right = fitted.user_factors_, fitted.item_factors_
    scores = left @ right.T
    stored = matrix != 0
    if targets is None:
        targets = np.where(matrix > 0, 1.0, loss.dislike_target)
    observed = np.sum((np.abs(matrix) * loss.value(targets, scores))[stored])
    unobserved = 0.5 * np.sum((np.outer(p, q) * (value - scores) ** 2)[~stored])
    own, other = left.copy(), right.copy()
    if fitted.biases:  # the constant columns are not penalised
        own[:, fitted.rank + 1] = other[:, fitted.rank] = 0
    lambdas = ridge(np.abs(matrix), np.sum(matrix > 0, axis=1), p, q)
    other_lambdas = ridge(np.abs(matrix).T, np.sum(matrix > 0, axis=0), q, p)
    return observed + unobserved + 0.5 * lambdas @ (own**2).sum(axis=1) + 0.5 * other_lambdas @ (other**2).sum(axis=1)


def scaled(reg, exponent):
    return lambda weights, counts, own, other: reg * (weights.sum(axis=1) + own * other.sum()) ** exponent


def objective_of(fitted, matrix, targets=None):
    pairs = Pairs.from_matrix(matrix, targets, np.float64)
    return Objective(
        pairs,
        fitted.loss,
        fitted.negatives_,
        Ridge.checked(fitted.reg, fitted.reg_exponent),
        layout=Layout(fitted.rank, fitted.biases),
        dtype=np.float64,
    )


# what training reports


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("loss", LOSSES)
def test_history_has_a_falling_objective_and_cumulative_seconds(loss, dtype):
    fitted = model(loss=loss, dtype=dtype, tol=0.0, max_iter=10).fit(tastes())
    objectives = np.array([sweep["objective"] for sweep in fitted.history_])
    seconds = np.array([sweep["seconds"] for sweep in fitted.history_])
    slack = {"float32": 1e-6, "float64": 1e-12}[dtype]
    assert [set(sweep) for sweep in fitted.history_] == [{"iteration", "objective", "seconds"}] * len(objectives)
    assert [sweep["iteration"] for sweep in fitted.history_] == list(range(1, len(objectives) + 1))
    assert (objectives[1:] <= objectives[:-1] * (1 + slack)).all()
    assert objectives[-1] < 0.9 * objectives[0]
    assert seconds[0] > 0
    assert (np.diff(seconds) > 0).all()
    assert fitted.objective_ == objectives[-1]
    assert fitted.n_iter_ == len(objectives)


@pytest.mark.parametrize("biases", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_objective_is_the_sum_over_every_pair(loss, biases):
    matrix = tastes()
    fitted = double(loss=loss, biases=biases, reg=0.2, reg_exponent=0.5).fit(matrix)
    p, q = np.ones(50), np.full(30, fitted.negative_weight_)
    value = 0.0 if loss == "squared" else -1.0
    expected = brute_force(fitted, matrix, p, q, value, scaled(0.2, 0.5))
    assert fitted.objective_ == pytest.approx(expected, rel=1e-10)
    at_factors = objective_of(fitted, matrix).value(fitted.user_factors_, fitted.item_factors_)
    assert fitted.objective_ == pytest.approx(at_factors, rel=1e-10)


def test_status_says_why_it_stopped():
    converged = model(tol=1e-2).fit(tastes())
    assert converged.status_ is Status.CONVERGED
    before, last = (sweep["objective"] for sweep in converged.history_[-2:])
    assert before - last <= 1e-2 * before
    assert str(converged.status_) == "Converged: the objective's relative decrease fell below tol."
    cut = model(tol=0.0, max_iter=2).fit(tastes())
    assert cut.status_ is Status.MAX_ITER
    assert cut.n_iter_ == 2
    for status in Status:
        assert str(status)[0].isupper()
        assert str(status).endswith(".")


def test_verbose_shows_progress_on_standard_error(capsys):
    model(verbose=True, max_iter=3, tol=0.0).fit(tastes())
    out, err = capsys.readouterr()
    assert out == ""
    assert "3 of 3 sweeps" in err
    assert "objective" in err
    model().fit(tastes())
    assert capsys.readouterr() == ("", "")


# when it stops


def noise():
    random = np.random.default_rng(1)
    return split_entries((random.random((80, 40)) < 0.15).astype(float), 0.3, 0)


def test_patience_keeps_the_best_sweep():
    train, validation = noise()
    fitted = model(patience=3, tol=0.0, max_iter=200, reg=0.01).fit(train, validation=validation)
    measured = np.array([sweep["ndcg@10"] for sweep in fitted.history_])
    best = int(measured.argmax())
    assert fitted.status_ is Status.NO_IMPROVEMENT
    assert fitted.n_iter_ == best + 1 + 3
    assert measured[best] > measured[-1]
    assert ranking_metrics(fitted, train, validation)["ndcg@10"] == pytest.approx(measured[best], rel=1e-6)
    assert fitted.objective_ == fitted.history_[best]["objective"]


def test_validation_without_patience_only_watches():
    train, validation = noise()
    watched = model(max_iter=5).fit(train, validation=validation)
    alone = model(max_iter=5).fit(train)
    assert all({"ndcg@10", "recall@10", "auc"} <= set(sweep) for sweep in watched.history_)
    assert np.array_equal(watched.user_factors_, alone.user_factors_)
    last = ranking_metrics(watched, train, validation)["ndcg@10"]
    assert last == pytest.approx(watched.history_[-1]["ndcg@10"], rel=1e-6)


def test_a_callback_sees_each_sweep_and_stops_the_training():
    seen = []

    def watch(sweep):
        seen.append(sweep)
        return sweep.iteration == 3

    fitted = model(tol=0.0).fit(tastes(), callbacks=[lambda sweep: None, watch])
    assert fitted.status_ is Status.CALLBACK
    assert [sweep.iteration for sweep in seen] == [1, 2, 3]
    assert [sweep.objective for sweep in seen] == [entry["objective"] for entry in fitted.history_]
    assert np.array_equal(seen[-1].state.right, fitted.item_factors_)


def test_time_limit_lets_the_first_sweep_finish():
    fitted = model(time_limit=1e-9, tol=0.0).fit(tastes())
    assert fitted.status_ is Status.TIME_LIMIT
    assert fitted.n_iter_ == 1
    assert np.isfinite(fitted.recommend()[1]).any()


def test_ctrl_c_leaves_a_usable_model():
    def interrupt(sweep):
        if sweep.iteration == 2:
            raise KeyboardInterrupt

    matrix, held_out = block_matrix()
    with pytest.warns(InterruptedTraining, match="2 of"):
        fitted = model(tol=0.0).fit(matrix, callbacks=[interrupt])
    two_sweeps = model(tol=0.0, max_iter=2).fit(matrix)
    assert fitted.status_ is Status.INTERRUPTED
    assert np.array_equal(fitted.item_factors_, two_sweeps.item_factors_)
    assert fitted.objective_ == two_sweeps.objective_
    assert np.mean(fitted.recommend(n=1)[0][:, 0] == held_out) > 0.9


# what the data says


def test_explicit_targets_override_the_losses_own():
    matrix = tastes()
    stored = matrix != 0
    usual = np.where(matrix > 0, 1.0, -1.0)
    same = double().fit(matrix, targets=sp.csr_array(np.where(stored, usual, 0)))
    assert np.array_equal(same.item_factors_, double().fit(matrix).item_factors_)

    ratings = np.where(stored, np.random.default_rng(3).uniform(1, 5, matrix.shape), 0.0)
    rated = double(loss="squared", reg=0.01).fit(matrix, targets=ratings)
    p, q = np.ones(50), np.full(30, rated.negative_weight_)
    expected = brute_force(rated, matrix, p, q, 0.0, scaled(0.01, 0.5), ratings)
    assert rated.objective_ == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("maker", [OneClassMF, SubsampledMF, EnsembleMF])
def test_fold_in_takes_explicit_targets_and_does_not_pass_over_them(maker):
    matrix = np.abs(tastes())
    ratings = np.where(matrix != 0, np.random.default_rng(3).uniform(1, 5, matrix.shape), 0.0)
    options = {"rank": 3, "loss": "squared", "reg": 0.3, "max_iter": 400, "tol": 1e-13, "dtype": "float64"}
    options |= {"random_state": 0} | ({} if maker is OneClassMF else {"ratio": 0.0})
    rated = maker(**options).fit(matrix, targets=ratings)
    for folded, trained in (
        (rated.fold_in_users(matrix, targets=ratings) @ rated.item_factors_.T, rated.score_users()),
        (rated.user_factors_ @ rated.fold_in_items(matrix, targets=sp.coo_array(ratings)).T, rated.score_users()),
        (rated.score_users(interactions=matrix, targets=ratings), rated.score_users()),
    ):
        np.testing.assert_allclose(folded, trained, atol=1e-4 * np.ptp(trained))
    assert np.array_equal(rated.recommend(interactions=matrix, targets=ratings)[0][:, 0], rated.recommend()[0][:, 0])
    for ask in (rated.fold_in_users, rated.fold_in_items):
        with pytest.raises(ValueError, match="fitted with explicit targets: give those"):
            ask(matrix)
        with pytest.raises(ValueError, match="exactly the pairs"):
            ask(matrix, targets=np.ones_like(matrix))
    with pytest.raises(ValueError, match="fitted with explicit targets: give those"):
        rated.recommend(interactions=matrix)
    with pytest.raises(ValueError, match="give the interactions as well"):
        rated.recommend([0], targets=ratings[:1])
    assert np.isfinite(rated.score_users(interactions=np.zeros((1, 30)))).all()  # nothing stored, no targets needed
    plain = maker(**options).fit(matrix)
    ones = (matrix != 0).astype(float)
    assert np.array_equal(plain.fold_in_users(matrix, targets=ones), plain.fold_in_users(matrix))
    with pytest.raises(ValueError, match="this model knows no targets"):
        Popularity().fit(matrix).recommend(interactions=matrix, targets=ones)


def test_a_target_may_be_an_explicit_zero():
    matrix = sp.csr_array(block_matrix()[0])
    targets = matrix.copy()
    targets.data[0] = 0
    user, item = 0, matrix.indices[0]
    plain = model(loss="squared").fit(matrix).score_pairs(user, item)[0]
    assert model(loss="squared").fit(matrix, targets=targets).score_pairs(user, item)[0] < plain - 0.05


@pytest.mark.parametrize("biases", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_dislike_lowers_and_a_weight_raises_the_score(loss, biases):
    matrix, held_out = block_matrix()

    def score(weight):
        changed = matrix.copy()
        changed[0, held_out[0]] = weight
        fitted = model(loss=loss, biases=biases, negative_weight=0.05, reg=0.3, reg_exponent=0.5).fit(
            changed
        )  # a dislike says more than silence
        return fitted.score_pairs(0, held_out[0])[0]

    scores = [score(weight) for weight in (-10.0, -1.0, 0.0, 1.0, 10.0)]
    assert (np.diff(scores) > 0.001).all(), scores


def test_old_events_count_less():
    matrix, _ = block_matrix()
    matrix[0, 8:12] = 1  # user 0 turned from the first group's items to the second's, or the other way round
    stored = sp.csr_array(matrix)
    first_group = stored.indices < 8

    def prefers_second(times):
        aged = stored.copy()
        aged.data = time_decay(times, half_life=10.0)
        scores = model().fit(aged).score_users([0])[0]
        return scores[12:15].mean() - scores[0]

    assert prefers_second(np.where(first_group, 0.0, 50.0)) > 0
    user = np.arange(stored.nnz) < stored.indptr[1]
    assert prefers_second(np.where(user & ~first_group, 0.0, 50.0)) < 0


# negatives


@pytest.mark.parametrize("scheme", ["uniform", "user-count", "item-rarity", ("item-count", 0.5), "arrays"])
def test_negative_schemes_shape_the_weights_and_keep_their_mean(scheme):
    matrix = tastes()
    counts = np.sum(matrix > 0, axis=1), np.sum(matrix > 0, axis=0)
    random = np.random.default_rng(5)
    arrays = random.uniform(0, 2, 50), random.uniform(0, 2, 30)
    p, q = {
        "uniform": (np.ones(50), np.ones(30)),
        "user-count": (np.maximum(counts[0], 1), np.ones(30)),
        "item-rarity": (np.ones(50), 50 - counts[1]),
        ("item-count", 0.5): (np.ones(50), np.maximum(counts[1], 1) ** 0.5),
        "arrays": arrays,
    }[scheme]
    p, q = p / p.mean(), 0.3 * q / q.mean()
    fitted = double(negative_weight=0.3, negative_scheme=arrays if scheme == "arrays" else scheme).fit(matrix)
    assert fitted.negative_weight_ == 0.3
    assert fitted.objective_ == pytest.approx(brute_force(fitted, matrix, p, q, -1.0, scaled(0.3, 0.5)), rel=1e-10)


def test_low_rank_negative_value():
    matrix = tastes()
    random = np.random.default_rng(6)
    own, other = random.standard_normal((50, 2)), random.standard_normal((30, 2))
    fitted = double(negative_value=(own, other), negative_weight=0.3).fit(matrix)
    p, q = np.ones(50), np.full(30, 0.3)
    expected = brute_force(fitted, matrix, p, q, own @ other.T, scaled(0.3, 0.5))
    assert fitted.objective_ == pytest.approx(expected, rel=1e-10)

    constant = double(negative_value=-0.5).fit(matrix)
    as_matrices = double(negative_value=(np.full((50, 1), -0.5), np.ones((30, 1)))).fit(matrix)
    np.testing.assert_allclose(as_matrices.score_users(), constant.score_users(), atol=1e-8)


def test_negatives_are_pulled_to_their_value():
    matrix, _ = block_matrix()
    outside = [
        model(negative_weight=0.5, negative_value=value).fit(matrix).score_pairs(0, 20)[0]
        for value in (-2.0, -1.0, 0.0)
    ]
    assert outside[0] < outside[1] - 0.2 < outside[2] - 0.4


@pytest.mark.parametrize("loss", LOSSES)
def test_auto_weight_is_a_multiple_of_the_density_of_positives(loss):
    matrix = tastes()
    auto = model(loss=loss).fit(matrix)
    liked = matrix > 0
    density = liked.sum() / (liked.any(axis=1).sum() * liked.any(axis=0).sum())
    assert 0 < auto.negative_weight_ <= 0.5
    assert auto.negative_weight_ == pytest.approx(min(0.5, {"squared": 32}.get(loss, 4) * density))
    spelled_out = model(loss=loss, negative_weight=auto.negative_weight_).fit(matrix)
    assert np.array_equal(auto.item_factors_, spelled_out.item_factors_)
    wider = np.pad(matrix, ((0, 50), (0, 0)))
    assert model(loss=loss).fit(wider).negative_weight_ == pytest.approx(
        auto.negative_weight_
    )  # empty rows do not count


# ridge, biases, loss


def test_auto_rank_grows_with_the_entities_that_have_events():
    padded = sp.block_diag([sp.eye_array(600), sp.csr_array((3000, 900))])  # 1,200 with events, √1200 = 34.6
    auto = OneClassMF(rank="auto", max_iter=1, random_state=0).fit(padded)
    assert auto.rank_ == 32
    assert auto.user_factors_.shape == (3600, 32)
    spelled_out = OneClassMF(rank=32, max_iter=1, random_state=0).fit(padded)
    assert np.array_equal(auto.item_factors_, spelled_out.item_factors_)
    assert OneClassMF(rank="auto", max_iter=1).fit(np.eye(3)).rank_ == 3  # never more than either side makes sense of
    assert OneClassMF(rank="auto", max_iter=1).fit(np.eye(40)).rank_ == 16


def test_one_ridge_or_one_for_each_side():
    matrix = tastes()
    both = double(reg=0.3).fit(matrix)
    assert np.array_equal(double(reg=(0.3, 0.3)).fit(matrix).item_factors_, both.item_factors_)
    firm_left = double(reg=(3.0, 0.03)).fit(matrix)
    firm_right = double(reg=(0.03, 3.0)).fit(matrix)
    sizes = [
        np.linalg.norm(fitted.user_factors_) / np.linalg.norm(fitted.item_factors_)
        for fitted in (firm_left, both, firm_right)
    ]
    assert sizes[0] < sizes[1] / 2
    assert sizes[1] < sizes[2] / 2


def test_ridge_by_count():
    matrix = tastes()
    fitted = double(reg=0.05, reg_exponent="count").fit(matrix)
    p, q = np.ones(50), np.full(30, fitted.negative_weight_)
    expected = brute_force(fitted, matrix, p, q, -1.0, lambda weights, counts, own, other: 0.05 * np.maximum(counts, 1))
    assert fitted.objective_ == pytest.approx(expected, rel=1e-10)


def test_biases_are_two_more_columns_of_which_one_is_constant():
    fitted = model(biases=True).fit(tastes())
    assert fitted.user_factors_.shape == (50, 5)
    assert (fitted.user_factors_[:, 4] == 1).all()
    assert (fitted.item_factors_[:, 3] == 1).all()
    assert fitted.user_factors_[:, 3].std() > 0
    counts = np.sum(tastes() > 0, axis=0)
    assert np.corrcoef(fitted.item_factors_[:, 4], counts)[0, 1] > 0.3
    own = fitted.item_factors_[:, :3].astype(np.float64)
    own /= np.linalg.norm(own, axis=1, keepdims=True)
    items, cosines = fitted.similar_items([7], n=5)
    np.testing.assert_allclose(cosines[0], own[items[0]] @ own[7], atol=1e-5)


def test_biases_lower_the_objective():
    for loss in LOSSES:
        plain, biased = (double(loss=loss, biases=biases, max_iter=30).fit(tastes()) for biases in (False, True))
        assert biased.objective_ < plain.objective_


def test_a_custom_loss_runs_in_the_same_kernels():
    def value(y, s):
        margin = y * s
        return math.log1p(math.exp(-margin)) if margin > 0 else math.log1p(math.exp(margin)) - margin

    def sigmoid_of_minus(margin):
        return math.exp(-margin) / (1 + math.exp(-margin)) if margin > 0 else 1 / (1 + math.exp(margin))

    from numba import njit

    share = njit(sigmoid_of_minus)
    own = Loss(
        "my_logistic",
        value=value,
        slope=lambda y, s: -y * share(y * s),
        curvature=lambda y, s: y * y * share(y * s) * (1 - share(y * s)),
    )
    matrix = tastes()
    mine, built_in = double(loss=own).fit(matrix), double(loss="logistic").fit(matrix)
    assert mine.negative_weight_ == built_in.negative_weight_
    np.testing.assert_allclose(mine.score_users(), built_in.score_users(), atol=1e-8)
    assert mine.objective_ == pytest.approx(built_in.objective_, rel=1e-10)
    np.testing.assert_allclose(mine.fold_in_users(matrix), built_in.fold_in_users(matrix), atol=1e-7)


# fold-in


def assert_optimal(fitted, matrix, side):
    """The gradient of all folded-in rows vanishes, compared with what it is at the rows set to zero."""
    objective = objective_of(fitted, matrix)
    factors = [fitted.user_factors_, fitted.item_factors_]
    extra = {}
    if isinstance(fitted.negatives_.value, tuple):
        extra["values"] = fitted.negatives_.value[side]
    if not isinstance(fitted.negative_scheme, str):
        extra["weights"] = (fitted.negatives_.left, fitted.negatives_.right)[side]
    fold_in = fitted.fold_in_items if side else fitted.fold_in_users
    factors[side] = fold_in(sp.csr_array(matrix), **extra)
    gradient = objective.gradient(side, *factors)
    free = objective.rows[side].free_columns(factors[side].shape[1])
    factors[side] = np.where(free, 0.0, factors[side])
    np.testing.assert_allclose(gradient, 0, atol=1e-8 * np.abs(objective.gradient(side, *factors)).max())


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("biases", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_fold_in_is_the_optimum_of_the_training_sub_problem(loss, biases, side):
    matrix = tastes()
    assert_optimal(double(loss=loss, biases=biases).fit(matrix), matrix, side)


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize(
    "options",
    [
        {"negative_scheme": "user-count"},
        {"negative_scheme": "item-rarity"},
        {"negative_scheme": (np.linspace(0.5, 2, 50), np.linspace(2, 0.1, 30))},
        {"negative_value": (np.linspace(-2, 1, 100).reshape(50, 2), np.linspace(-1, 1, 60).reshape(30, 2))},
        {"reg_exponent": "count"},
        {"reg": (0.1, 2.0), "reg_exponent": 1.0},
    ],
    ids=["user-count", "item-rarity", "arrays", "low-rank", "count", "pair"],
)
def test_fold_in_knows_the_training_options(options, side):
    matrix = tastes()
    assert_optimal(double(**options).fit(matrix), matrix, side)


def test_fold_in_defaults_for_arrays_and_low_rank_values_are_the_means():
    matrix = tastes()
    p, q = np.linspace(0.5, 2, 50), np.linspace(2, 0.1, 30)
    values = np.linspace(-2, 1, 100).reshape(50, 2), np.linspace(-1, 1, 60).reshape(30, 2)
    fitted = double(negative_scheme=(p, q), negative_value=values).fit(matrix)
    spelled_out = fitted.fold_in_users(matrix[:2], weights=[1.0, 1.0], values=np.tile(values[0].mean(axis=0), (2, 1)))
    np.testing.assert_allclose(fitted.fold_in_users(matrix[:2]), spelled_out, rtol=1e-12)
    other = fitted.fold_in_users(matrix[:2], weights=[5.0, 1.0])
    assert not np.allclose(other[0], spelled_out[0])
    np.testing.assert_allclose(other[1], spelled_out[1], rtol=1e-9)


def test_new_items_find_their_users():
    matrix, _ = block_matrix()
    fitted = model().fit(matrix)
    columns = np.zeros((44, 2))
    columns[22:30, 0] = columns[40:, 1] = 1  # liked by some of the second and of the third group
    factors = fitted.fold_in_items(columns)
    assert factors.shape == (2, 3)
    scores = fitted.user_factors_ @ factors.T
    assert scores[20:34, 0].min() > np.delete(scores[:, 0], np.s_[20:34]).max()
    assert scores[34:, 1].min() > scores[:34, 1].max()


# bits


def test_threads_and_blocks_do_not_change_the_bits():
    random = np.random.default_rng(0)
    left, right = random.integers(0, 6000, 60_000), random.integers(0, 3000, 60_000) ** 2 // 3000
    matrix = sp.coo_array((np.ones(60_000), (left, right)), shape=(6000, 3000))  # several blocks of every kind
    one, two = (model(max_iter=3, n_threads=threads).fit(matrix) for threads in (1, 2))
    assert np.array_equal(one.user_factors_, two.user_factors_)
    assert np.array_equal(one.item_factors_, two.item_factors_)
    assert [h["objective"] for h in one.history_] == [h["objective"] for h in two.history_]


def test_seeds_and_generators():
    matrix = tastes()
    seeded = model(random_state=7, max_iter=2).fit(matrix)
    generator = model(random_state=np.random.default_rng(7), max_iter=2).fit(matrix)
    assert np.array_equal(seeded.item_factors_, generator.item_factors_)
    assert not np.array_equal(seeded.item_factors_, model(random_state=8, max_iter=2).fit(matrix).item_factors_)
