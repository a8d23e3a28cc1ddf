import numpy as np
import pytest
import scipy.sparse as sp

from everypair import OneClassMF
from everypair.evaluate import ranking_metrics
from everypair.metrics import stream_metrics
from everypair.testing import block_matrix


class DenseModel:
    """Scores are a stored matrix; new users get the mean scores of the events' items."""

    def __init__(self, scores):
        self.scores = scores
        self.calls = []

    def score_users(self, users=None, interactions=None):
        if interactions is None:
            self.calls.append(len(users))
            return self.scores[users]
        self.calls.append(interactions.shape[0])
        return interactions @ (self.scores.T @ self.scores)


def problem(n_users=120, n_items=30, dtype=np.float32):
    rng = np.random.default_rng(2)
    scores = np.round(rng.standard_normal((n_users, n_items)), 1).astype(dtype)
    kind = rng.random(scores.shape)
    train = sp.csr_array(np.where(kind < 0.2, 1.0, np.where(kind < 0.25, -1.0, 0.0)))
    test = sp.csr_array(np.where(kind > 0.96, 1.0, np.where(kind > 0.92, -1.0, 0.0)))
    return DenseModel(scores), train, test


@pytest.mark.parametrize("average", ["test", "all"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equals_naive_metrics_on_the_models_scores(dtype, average):
    model, train, test = problem(dtype=dtype)
    got = ranking_metrics(model, train, test, ks=(3,), average=average)
    precision, recall, pairs = [], [], []
    seen, good = train.toarray() != 0, test.toarray() > 0
    for i in np.flatnonzero(good.any(axis=1)):
        candidates = [j for j in range(30) if not seen[i, j]]
        ranked = sorted(candidates, key=lambda j: (-model.scores[i, j], j))
        hits = sum(good[i, j] for j in ranked[:3])
        precision.append(hits / 3)
        recall.append(hits / good[i].sum())
        s = model.scores[i]
        wins = [
            (s[a] > s[b]) + 0.5 * (s[a] == s[b])
            for a in candidates
            for b in candidates
            if good[i, a] and not good[i, b]
        ]
        pairs.append(np.mean(wins))
    rows = 120 if average == "all" else len(precision)
    assert 0 < len(precision) < 120
    assert got["precision@3"] == pytest.approx(sum(precision) / rows)
    assert got["recall@3"] == pytest.approx(sum(recall) / rows)
    assert got["auc"] == pytest.approx(sum(pairs) / rows)


def test_default_lists_and_dislikes():
    model, train, test = problem()
    got = ranking_metrics(model, train, test)
    assert {"precision@1", "recall@5", "ndcg@10", "coverage@20", "nhlu", "map", "auc"} <= set(got)
    likes_only = test.multiply(test > 0)
    assert got == ranking_metrics(model, train, likes_only)
    assert got == ranking_metrics(model, abs(train), likes_only)
    assert got != ranking_metrics(model, train.multiply(train > 0), likes_only)  # dislikes are not ranked


@pytest.mark.parametrize("kind", [np.asarray, sp.csc_matrix, sp.coo_array])
def test_any_format_gives_the_same_numbers(kind):
    model, train, test = problem()
    assert ranking_metrics(model, kind(train.toarray()), kind(test.toarray())) == ranking_metrics(model, train, test)


def test_one_thread_and_two_give_the_same_bits_within_the_memory_budget():
    model, train, test = problem()
    one = ranking_metrics(model, train, test, n_threads=1, memory_mb=0.002)
    assert max(model.calls) == int(0.002 * 2**20 / (30 * 8))
    assert sum(model.calls) == np.count_nonzero((test > 0).sum(axis=1))
    assert one == ranking_metrics(model, train, test, n_threads=2)


def test_fold_in_scores_the_events_and_leaves_them_out():
    model, train, test = problem()
    events, held_out = train[:40], test[:40]
    scores = events @ (model.scores.T @ model.scores)
    want = stream_metrics(lambda rows: scores[rows], events, held_out, ks=(1, 5))
    assert ranking_metrics(model, None, held_out, (1, 5), fold_in=events) == pytest.approx(want, rel=1e-12)
    assert ranking_metrics(model, train, held_out, (1, 5), fold_in=events.toarray()) == pytest.approx(want, rel=1e-12)


def test_fold_in_passes_the_rows_of_the_test_positives():
    received = []

    class Spy:
        def score_users(self, users=None, interactions=None):
            assert users is None
            received.append(interactions.toarray())
            return np.zeros(interactions.shape)

    events = np.array([[1.0, 0, 0], [0, 2.0, 0], [0, 0, -3.0]])
    ranking_metrics(Spy(), None, np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]]), fold_in=events)
    np.testing.assert_array_equal(np.concatenate(received), events[[0, 2]])


def test_repeats_are_left_out_or_ranked_like_everything():
    model, train, test = problem()
    again, seen = test.toarray(), train.toarray()
    again[:2, 4] = 1.0
    seen[:2, 4] = [1.0, -1.0]
    fresh = again * (seen == 0)
    for arguments in ({"train": seen}, {"train": None, "fold_in": seen}):
        found = ranking_metrics(model, test=again, **arguments)
        assert found.repeats == np.count_nonzero(again > 0) - np.count_nonzero(fresh > 0) >= 2
        assert found == ranking_metrics(model, test=fresh, **arguments)
        every = ranking_metrics(model, test=again, repeats="count", **arguments)
        assert every.repeats == 0
        nothing = {name: None if value is None else 0 * seen for name, value in arguments.items()}
        if "fold_in" not in arguments:
            assert every == ranking_metrics(model, test=again, **nothing)
        with pytest.raises(ValueError, match=r"positives of test are stored in .* too: nothing is held out"):
            ranking_metrics(model, test=np.abs(seen), **arguments)
    with pytest.raises(ValueError, match="repeats must be one of 'drop', 'count', got 'both'"):
        ranking_metrics(model, train, test, repeats="both")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"train": None}, "train is needed"),
        ({"test": "transposed"}, r"train has the shape \(120, 30\) and test \(30, 120\).*test\.T would fit"),
        ({"test": np.ones((120, 4))}, r"train has the shape \(120, 30\) and test \(120, 4\)"),
        ({"fold_in": np.ones((7, 30))}, r"fold_in has the shape \(7, 30\) and test \(120, 30\)"),
        ({"test": -np.eye(120, 30)}, "test holds no positive"),
        ({"average": "users"}, "average must be"),
        ({"ks": (0,)}, "positive integer"),
        ({"memory_mb": -1}, "memory_mb"),
    ],
)
def test_bad_input_is_refused_before_any_score(change, words):
    model, train, test = problem()
    arguments = {"train": train, "test": test} | change
    if isinstance(arguments["test"], str):
        arguments["test"] = test.T
    with pytest.raises(ValueError, match=words):
        ranking_metrics(model, **arguments)
    assert not model.calls


def test_a_model_with_other_items_is_refused():
    _, train, test = problem()
    with pytest.raises(ValueError, match=r"the model scores 8 items and test has 30 columns.*the same items"):
        ranking_metrics(DenseModel(np.zeros((120, 8))), train, test)


def test_a_model_that_has_grown_is_measured_with_the_matrix_that_has():
    matrix, held_out = block_matrix()
    test = np.zeros_like(matrix)
    test[np.arange(44), held_out] = 1
    model = OneClassMF(rank=3, random_state=0).fit(matrix)
    before = ranking_metrics(model, matrix, test, ks=(1,))
    model.add_users(interactions=matrix[:1])
    assert ranking_metrics(model, matrix, test, ks=(1,)) == before  # the old users' rows are where they were
    model.add_items(interactions=np.zeros((45, 1)))
    with pytest.raises(
        ValueError, match=r"scores 22 items and test has 21 columns.*after add_items, train and test need"
    ):
        ranking_metrics(model, matrix, test)
    grown = ranking_metrics(model, model.interactions_, np.pad(test, ((0, 1), (0, 1))), ks=(1,))
    assert grown["precision@1"] == before["precision@1"] == 1
