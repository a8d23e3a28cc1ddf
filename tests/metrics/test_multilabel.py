"""Multi-label metrics against scikit-learn, plain loops and numbers worked out by hand."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_multilabel_classification
from sklearn.metrics import f1_score, hamming_loss, ndcg_score, roc_auc_score

from everypair import MultiLabelMF, metrics
from everypair.metrics import ranking
from everypair.metrics.multilabel import multilabel_metrics, propensities


def problem(seed, dtype=np.float64, n_rows=40, n_labels=13):
    """Scores with many ties; rows without labels, with all labels, labels that are never true or predicted."""
    rng = np.random.default_rng(seed)
    scores = (rng.integers(0, 5, size=(n_rows, n_labels)) / 4).astype(dtype)
    truth = (rng.random(scores.shape) < 0.25).astype(int)
    truth[:3] = 0
    truth[3] = 1
    truth[:, 4] = 0
    scores[:, 4] = 0
    truth[:, 5] = 0
    scores[:, 6] = 0.25
    scores[rng.random(scores.shape) < 0.05] = -np.inf
    return scores, truth


def first(scores, k):
    return sorted(range(len(scores)), key=lambda label: (-scores[label], label))[:k]


def expected(scores, truth, k, threshold, p):
    """Every metric by its definition, with loops."""
    predicted = (scores > threshold).astype(int)
    labelled = [i for i in range(len(truth)) if truth[i].any()]
    right = [[truth[i, label] for label in first(scores[i], k)] for i in range(len(truth))]
    gain = best = 0.0
    for i in range(len(truth)):
        gain += sum(1 / p[label] for label in first(scores[i], k) if truth[i, label])
        best += sum(sorted((1 / p[label] for label in np.flatnonzero(truth[i])), reverse=True)[:k])
    pairs = [(scores[i][truth[i] > 0][:, None], scores[i][truth[i] == 0]) for i in labelled if not truth[i].all()]
    discount = [1 / math.log2(place + 2) for place in range(scores.shape[1])]
    ndcg = [np.dot(right[i], discount[: len(right[i])]) / sum(discount[: min(k, truth[i].sum())]) for i in labelled]
    return {
        f"precision@{k}": np.mean([sum(right[i]) / k for i in labelled]),
        f"top-{k}": np.mean([sum(row) / k for row in right]),
        f"ndcg@{k}": np.mean(ndcg),
        f"psp@{k}": gain / best,
        "auc": np.mean([np.mean((good > bad) + 0.5 * (good == bad)) for good, bad in pairs]),
        "hamming_loss": hamming_loss(truth, predicted),
        "micro_f1": f1_score(truth, predicted, average="micro", zero_division=0),
        "macro_f1": f1_score(truth, predicted, average="macro", zero_division=0),
    }


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [1, 3, 13, 20])
def test_every_metric_equals_its_definition(k, dtype):
    for seed in range(2):
        scores, truth = problem(seed, dtype)
        p = np.random.default_rng(seed).uniform(0.1, 1, size=truth.shape[1])
        for threshold in (0.5, 0.1):
            got = multilabel_metrics(scores, truth, (k,), threshold=threshold, propensities=p)
            assert got == pytest.approx(expected(scores, truth, k, threshold, p), rel=1e-12)
            assert all(type(value) is float for value in got.values())


def test_auc_equals_scikit_learn_row_by_row():
    scores, truth = problem(1)
    scores = np.where(np.isinf(scores), -1, scores)
    both = [i for i in range(len(truth)) if truth[i].any() and not truth[i].all()]
    want = np.mean([roc_auc_score(truth[i], scores[i]) for i in both])
    assert multilabel_metrics(scores, truth)["auc"] == pytest.approx(want, rel=1e-12)


def test_ndcg_equals_scikit_learn_without_ties():
    rng = np.random.default_rng(3)
    scores, truth = rng.random((30, 9)), rng.random((30, 9)) < 0.3
    truth = truth[truth.any(axis=1)].astype(int)
    got = multilabel_metrics(scores[: len(truth)], truth, ks=(1, 4))
    for k in (1, 4):
        assert got[f"ndcg@{k}"] == pytest.approx(ndcg_score(truth, scores[: len(truth)], k=k), rel=1e-12)


def test_numbers_by_hand():
    scores = [[0.9, 0.8, 0.1, 0.2], [0.3, 0.3, 0.3, 0.6], [0.7, 0.1, 0.1, 0.1]]
    truth = [[1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
    got = multilabel_metrics(scores, truth, ks=(1, 2), threshold=0.5, propensities=[1.0, 0.5, 0.25, 0.5])
    best_two = 1 + 1 / math.log2(3)
    assert got == pytest.approx(
        {
            "precision@1": 1 / 2,  # row 0 right, row 1 wrong, row 2 has no label
            "top-1": 1 / 3,
            "ndcg@1": 1 / 2,
            "psp@1": 1 / (4 + 2),  # found: label 0 (1); best: label 2 (4) and label 1 (2)
            "precision@2": (1 / 2 + 0) / 2,  # row 1: label 3, then of the ties the first, label 0
            "top-2": (1 / 2 + 0 + 0) / 3,
            "ndcg@2": (1 / best_two + 0) / 2,
            "psp@2": 1 / ((4 + 1) + 2),
            "auc": ((2 + 0) / 4 + (1 / 2 + 1 / 2) / 3) / 2,
            "hamming_loss": (2 + 2 + 1) / 12,
            "micro_f1": 2 / (2 + 5),  # TP 1 (row 0, label 0), FP 3, FN 2
            "macro_f1": (2 / 3 + 0 + 0 + 0) / 4,  # label 0: TP 1, FP 1; label 1: FP, FN; label 2: FN; label 3: FP
        },
        rel=1e-14,
    )


def test_shared_metrics_are_those_of_the_functions():
    scores, truth = problem(8)
    got = multilabel_metrics(scores, truth, ks=(3,))
    assert got["precision@3"] == metrics.precision_at_k(scores, truth, 3)
    assert got["top-3"] == metrics.precision_at_k(scores, truth, 3, average="all")
    assert got["ndcg@3"] == metrics.ndcg_at_k(scores, truth, 3)
    assert got["auc"] == metrics.auc(scores, truth)
    assert not any(name.startswith("psp") for name in got)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_blocks_threads_and_kind_of_input_do_not_change_a_bit(dtype, monkeypatch):
    monkeypatch.setattr(ranking, "SCORES_PER_CHUNK", 100)  # many small chunks
    scores, truth = problem(5, dtype, n_rows=203, n_labels=31)
    p = propensities(truth)
    whole = multilabel_metrics(scores, truth, threshold=0.5, propensities=p, n_threads=1)
    for threads in (1, 2):
        for block_rows in (7, 203, None):
            for given in (scores, lambda rows: scores[rows], np.asfortranarray(scores)):
                again = multilabel_metrics(
                    given, sp.csc_array(truth), threshold=0.5, propensities=p, block_rows=block_rows, n_threads=threads
                )
                assert again == whole


def test_a_function_is_asked_for_every_row_once_in_blocks():
    scores, truth = problem(2)
    asked = []

    def score_rows(rows):
        asked.append(rows)
        return scores[rows]

    before = scores.copy()
    multilabel_metrics(score_rows, truth, block_rows=12)
    assert [len(rows) for rows in asked] == [12, 12, 12, 4]
    assert all(rows.dtype == np.int64 for rows in asked)
    np.testing.assert_array_equal(np.concatenate(asked), np.arange(40))
    np.testing.assert_array_equal(scores, before)


def test_integers_and_half_precision_count_as_their_values():
    scores, truth = problem(2)
    scores = np.where(np.isinf(scores), 0, scores)
    want = multilabel_metrics(scores, truth, threshold=0.5)
    assert multilabel_metrics(scores.astype(np.float16), truth, threshold=0.5) == want
    assert multilabel_metrics((4 * scores).astype(np.int8), truth, threshold=2) == want


def test_a_score_at_the_threshold_predicts_nothing_and_a_perfect_score_is_one():
    _, truth = problem(6)
    nothing = multilabel_metrics(np.full(truth.shape, 0.5), truth, threshold=0.5)
    assert nothing["hamming_loss"] == truth.mean()
    assert nothing["micro_f1"] == nothing["macro_f1"] == 0
    p = propensities(truth)
    perfect = multilabel_metrics(truth / p, truth, threshold=0.5, propensities=p, ks=(1, 5))
    assert perfect["hamming_loss"] == 0
    assert [perfect[name] for name in ("precision@1", "ndcg@5", "psp@1", "psp@5", "auc", "micro_f1")] == [1] * 6
    assert perfect["macro_f1"] == truth.any(axis=0).mean()


def test_auc_is_nan_where_no_row_has_both():
    assert math.isnan(multilabel_metrics([[0.1, 0.2], [0.3, 0.4]], [[1, 1], [0, 0]], ks=())["auc"])


def test_propensities_equal_the_formula():
    truth = sp.csr_array(np.array([[1, 1, 0]] * 4 + [[1, 0, 0]] * 6))
    for a, b in ((0.55, 1.5), (0.5, 0.4)):
        scale = (math.log(10) - 1) * (b + 1) ** a
        want = [1 / (1 + scale * math.exp(-a * math.log(count + b))) for count in (10, 4, 0)]
        got = propensities(truth, a, b)
        np.testing.assert_allclose(got, want, rtol=1e-14)
        assert (np.diff(got) < 0).all()


def test_bad_propensities():
    with pytest.raises(ValueError, match="at least 3 rows"):
        propensities([[1, 0], [0, 1]])
    for a, b in ((0, 1), (0.5, -1), (math.nan, 1), (0.5, 0)):
        with pytest.raises(ValueError, match="a must be positive"):
            propensities([[1, 0]] * 5, a, b)
    scores, truth = problem(0)
    with pytest.raises(ValueError, match="for each of the 13 labels"):
        multilabel_metrics(scores, truth, propensities=np.ones(12))
    for bad in (0, 1.5, math.nan):
        with pytest.raises(ValueError, match="above 0 and at most 1"):
            multilabel_metrics(scores, truth, propensities=np.full(13, bad))


def test_bad_input_is_refused_before_any_work():
    scores, truth = problem(0)

    def never(rows):
        raise AssertionError("called")

    for arguments, error, problem_text in (
        ({"ks": 3}, ValueError, "sequence of positive integers"),
        ({"ks": (0,)}, ValueError, "positive integer"),
        ({"threshold": math.nan}, ValueError, "threshold must be a number"),
        ({"threshold": "0.5"}, ValueError, "threshold must be a number"),
        ({"threshold": True}, ValueError, "threshold must be a number"),
        ({"threshold": MultiLabelMF()}, ValueError, "a fitted classifier with threshold_"),
        ({"block_rows": 0}, ValueError, "block_rows must be"),
        ({"block_rows": 2.5}, ValueError, "block_rows must be"),
        ({"n_threads": 0}, ValueError, "n_threads must be"),
    ):
        with pytest.raises(error, match=problem_text):
            multilabel_metrics(never, truth, **arguments)
    with pytest.raises(ValueError, match="no positive"):
        multilabel_metrics(never, np.zeros((3, 4)))
    with pytest.raises(ValueError, match="NaN"):
        multilabel_metrics(never, [[1, np.nan]])
    with pytest.raises(ValueError, match=r"shape \(13, 40\) and truth \(40, 13\)"):
        multilabel_metrics(scores.T, truth)
    with pytest.raises(TypeError, match=r"scores\.toarray\(\)"):
        multilabel_metrics(sp.csr_array(scores), truth)


def test_bad_scores():
    scores, truth = problem(0)
    with pytest.raises(ValueError, match=r"must have the shape \(40, 13\), got \(40, 12\)"):
        multilabel_metrics(lambda rows: scores[rows, :12], truth)
    with pytest.raises(TypeError, match="real numbers"):
        multilabel_metrics(scores.astype(str), truth)
    scores[7, 2] = np.nan
    with pytest.raises(ValueError, match="Scores hold NaN"):
        multilabel_metrics(scores, truth)


def test_labels_are_cut_where_the_model_cuts_them_and_not_at_a_half():
    X, Y = make_multilabel_classification(300, 10, n_classes=8, random_state=0)
    model = MultiLabelMF(random_state=0).fit(X[:200], Y[:200])
    scores, truth = model.predict_scores(X[200:]), Y[200:]
    predicted = model.predict(X[200:])
    got = multilabel_metrics(scores, truth, threshold=model)
    assert got == multilabel_metrics(scores, truth, threshold=model.threshold_)
    assert got["hamming_loss"] == pytest.approx(hamming_loss(truth, predicted))
    assert got["micro_f1"] == pytest.approx(f1_score(truth, predicted, average="micro"))
    assert got["macro_f1"] == pytest.approx(f1_score(truth, predicted, average="macro", zero_division=0))
    at_half = multilabel_metrics(scores, truth, threshold=0.5)
    assert at_half["micro_f1"] != pytest.approx(got["micro_f1"], abs=0.01)
    uncut = multilabel_metrics(scores, truth)
    assert set(got) - set(uncut) == {"hamming_loss", "micro_f1", "macro_f1"}
    assert all(got[name] == value for name, value in uncut.items())
