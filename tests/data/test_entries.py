"""scikit-learn's searches on recommenders: entries as samples, splitters over them, score."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, RandomizedSearchCV, ShuffleSplit, cross_val_score

from everypair import Blend, ItemItem, OneClassMF, Popularity
from everypair.data import Entries, EntrySplit, read_events, split_entries, split_leave_last, split_per_row, split_time
from everypair.evaluate import ranking_metrics
from everypair.metrics import ndcg_at_k

RANDOM = np.random.default_rng(0)
MATRIX = sp.csr_array((RANDOM.random((60, 40)) < np.kron(np.eye(2), np.ones((30, 20))) * 0.4 + 0.1).astype(np.float32))
TIMES = RANDOM.permutation(MATRIX.nnz)
MODEL = OneClassMF(rank=4, max_iter=5, random_state=0, n_threads=1)


def test_some_entries_are_a_matrix_of_the_same_shape():
    entries = Entries(MATRIX)
    chosen = RANDOM.permutation(len(entries))[:50]
    rows, columns = MATRIX.nonzero()
    expected = np.zeros(MATRIX.shape)
    expected[rows[chosen], columns[chosen]] = 1
    assert np.array_equal(entries[chosen].toarray(), expected)
    assert np.array_equal(entries[np.isin(np.arange(len(entries)), chosen)].toarray(), expected)
    assert (entries[3].nnz, entries[1:4, ...].nnz) == (1, 3)
    assert np.array_equal(entries[np.arange(len(entries))].toarray(), MATRIX.toarray())


@pytest.mark.parametrize("held_out", ["random", "last", "time"])
def test_the_splitter_follows_the_rules_of_splits(held_out):
    entries = Entries(MATRIX, TIMES)
    expected = {
        "random": lambda: split_entries(MATRIX, 0.2, 7),
        "last": lambda: split_leave_last(MATRIX, TIMES),
        "time": lambda: split_time(MATRIX, TIMES, 0.2),
    }[held_out]()
    ((train, test),) = EntrySplit(held_out, test_share=0.2, random_state=7).split(entries)
    for numbers, matrix in zip((train, test), expected):
        assert np.array_equal(entries[numbers].toarray(), matrix.toarray())


def test_several_splits_differ():
    splitter = EntrySplit(n_splits=3)
    tests = [test for _, test in splitter.split(Entries(MATRIX))]
    assert splitter.get_n_splits() == len(tests) == 3
    assert not np.array_equal(tests[0], tests[1])


def test_grid_search_is_what_one_would_do_by_hand():
    splitter = EntrySplit(n_splits=2, test_share=0.2)
    search = GridSearchCV(MODEL, {"reg": [0.01, 0.1, 10.0]}, cv=splitter).fit(Entries(MATRIX))
    for number, reg in enumerate([0.01, 0.1, 10.0]):
        for split in range(2):
            train, test = split_entries(MATRIX, 0.2, split)
            fitted = OneClassMF(rank=4, max_iter=5, random_state=0, reg=reg).fit(train)
            by_hand = ranking_metrics(fitted, train, test)["ndcg@10"]
            assert search.cv_results_[f"split{split}_test_score"][number] == pytest.approx(by_hand)
            assert fitted.score(test) == pytest.approx(by_hand)
    best = search.best_estimator_
    assert best.reg == [0.01, 0.1, 10.0][np.argmax(search.cv_results_["mean_test_score"])]
    assert np.array_equal(best.item_factors_, clone(MODEL).set_params(reg=best.reg).fit(MATRIX).item_factors_)


@pytest.mark.parametrize(
    "model", [ItemItem(), Popularity(), Blend(models=[ItemItem(), MODEL])], ids=lambda m: type(m).__name__
)
@pytest.mark.parametrize("cv", [KFold(3, shuffle=True, random_state=0), ShuffleSplit(2, random_state=0), EntrySplit()])
def test_scikit_learns_own_splitters(model, cv):
    scores = cross_val_score(model, Entries(MATRIX), cv=cv)
    assert (scores > 0.1).all()


def test_random_search_in_two_processes():
    search = RandomizedSearchCV(MODEL, {"reg": [0.01, 0.1, 1.0]}, n_iter=2, cv=EntrySplit(), n_jobs=2, random_state=0)
    assert np.isfinite(search.fit(Entries(MATRIX)).best_score_)


def test_what_is_refused():
    with pytest.raises(TypeError, match="rows of a matrix are users"):
        next(EntrySplit().split(MATRIX))
    with pytest.raises(ValueError, match=r"needs the times of the stored pairs: .*Entries\(matrix, times\)"):
        next(EntrySplit("last").split(Entries(MATRIX)))
    with pytest.raises(ValueError, match="held_out must be one of"):
        EntrySplit("first")
    with pytest.raises(ValueError, match="one way to hold out"):
        EntrySplit("last", n_splits=2)
    fitted = MODEL.fit(MATRIX)
    with pytest.raises(ValueError, match=r"nothing that training's first 10 have, as held-out entries would"):
        fitted.score(sp.csr_array(MATRIX.toarray()[:10] == 0))
    with pytest.raises(ValueError, match=r"users of the training's 40 items, got the shape \(60, 39\)"):
        fitted.score(MATRIX[:, :39])
    with pytest.raises(ValueError, match=r"users of the training's 40 items, got the shape \(20, 39\)"):
        fitted.score(MATRIX[:20, :39])
    with pytest.raises(ValueError, match="all 748 positives of interactions are stored in training too"):
        fitted.score(MATRIX)
    with pytest.raises(
        ValueError, match=r"must be held-out entries of the same users\. everypair.data.Entries\(matrix\)"
    ):
        cross_val_score(MODEL, MATRIX, cv=2, error_score="raise")


@pytest.mark.parametrize(
    "model", [ItemItem(), Popularity(), MODEL, Blend(models=[ItemItem(), MODEL])], ids=lambda m: type(m).__name__
)
def test_rows_that_a_search_cuts_are_new_users(model):
    """``cross_val_score(model, matrix)`` folds in what test users show and ranks what they hide."""
    (train, test), *_ = KFold(3, shuffle=True, random_state=0).split(MATRIX)
    fitted = clone(model).fit(MATRIX[train])
    shown, hidden = split_per_row(MATRIX[test], 0.2, random_state=0)
    scores = fitted.score_users(interactions=shown)
    assert fitted.score(MATRIX[test]) == pytest.approx(ndcg_at_k(scores, hidden, 10, exclude=shown))
    found = cross_val_score(model, MATRIX, cv=KFold(3, shuffle=True, random_state=0))
    assert found[0] == pytest.approx(fitted.score(MATRIX[test]))
    assert (found > 0.1).all()


def test_a_plain_grid_search_finds_what_is_best_for_new_users():
    search = GridSearchCV(MODEL, {"reg": [0.1, 1e6]}, cv=KFold(3, shuffle=True, random_state=0)).fit(MATRIX)
    assert search.best_params_ == {"reg": 0.1}
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_events_are_cut_as_their_matrix_with_their_times():
    users, items = MATRIX.nonzero()
    events = read_events({"user": users, "item": items, "time": TIMES})
    mine, other = Entries(events), Entries(MATRIX, TIMES)
    for held_out in ("random", "last", "time"):
        for one, two in zip(*(next(EntrySplit(held_out).split(entries)) for entries in (mine, other))):
            assert np.array_equal(mine[one].toarray(), other[two].toarray())
    search = GridSearchCV(MODEL, {"reg": [0.1, 1.0]}, cv=EntrySplit("time")).fit(mine)
    assert np.isfinite(search.best_score_)
    for ask in (GridSearchCV(MODEL, {"reg": [0.1]}).fit, lambda events: cross_val_score(MODEL, events)):
        with pytest.raises(TypeError, match=r"scikit-learn's searches take everypair\.data\.Entries\(events\)"):
            ask(events)
