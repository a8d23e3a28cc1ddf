"""Every metric against its definition, written with loops over sorted lists."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from everypair import metrics


def ordered(scores, seen):
    return sorted((j for j in range(len(scores)) if not seen[j]), key=lambda j: (-scores[j], j))


def precision(ranked, good, k):
    return sum(j in good for j in ranked[:k]) / k


def recall(ranked, good, k):
    return sum(j in good for j in ranked[:k]) / len(good)


def hit_rate(ranked, good, k):
    return float(any(j in good for j in ranked[:k]))


def ndcg(ranked, good, k):
    gain = sum(1 / math.log2(1 + place) for place, j in enumerate(ranked[:k], start=1) if j in good)
    return gain / sum(1 / math.log2(1 + place) for place in range(1, min(k, len(good)) + 1))


def map_at(ranked, good, k):
    right = [place for place, j in enumerate(ranked[:k], start=1) if j in good]
    return sum(precision(ranked, good, place) for place in right) / min(k, len(good))


def mrr(ranked, good, k):
    return next((1 / place for place, j in enumerate(ranked[:k], start=1) if j in good), 0.0)


def mean_precision(ranked, good, k):
    return sum(precision(ranked, good, j) for j in range(1, k + 1)) / k


def nhlu(ranked, good):
    gain = sum(1 / 2 ** ((place - 1) / 4) for place, j in enumerate(ranked, start=1) if j in good)
    return gain / sum(1 / 2 ** ((place - 1) / 4) for place in range(1, len(good) + 1))


def average_precision(ranked, good):
    places = [place for place, j in enumerate(ranked, start=1) if j in good]
    return sum(sum(other <= place for other in places) / place for place in places) / len(good)


def pair_accuracy(ranked, good, scores):
    bad = [j for j in ranked if j not in good]
    if not bad:
        return None
    wins = sum(1.0 if scores[j] > scores[i] else 0.5 if scores[j] == scores[i] else 0.0 for j in good for i in bad)
    return wins / (len(good) * len(bad))


def expected(scores, truth, seen, k, average):
    """All metrics by their definitions; rows without a value are left out, or count as 0 for "all"."""
    values = {name: [] for name in AT_K | WHOLE}
    shown = set()
    for i in range(len(scores)):
        good = set(np.flatnonzero(truth[i] > 0).tolist())
        if not good:
            continue
        ranked = ordered(scores[i], seen[i])
        shown |= {j for j in ranked[:k] if scores[i, j] > -np.inf}
        for name in AT_K:
            values[name].append(AT_K[name][1](ranked, good, k))
        values["nhlu"].append(nhlu(ranked, good))
        values["map"].append(average_precision(ranked, good))
        values["auc"].append(pair_accuracy(ranked, good, scores[i]))
    result = {}
    for name, found in values.items():
        found = [value for value in found if value is not None]
        result[name] = sum(found) / (len(scores) if average == "all" else len(found))
    result["coverage@"] = len(shown) / scores.shape[1]
    return result


AT_K = {
    "precision@": (metrics.precision_at_k, precision),
    "recall@": (metrics.recall_at_k, recall),
    "hit_rate@": (metrics.hit_rate_at_k, hit_rate),
    "ndcg@": (metrics.ndcg_at_k, ndcg),
    "map@": (metrics.map_at_k, map_at),
    "mrr@": (metrics.mrr_at_k, mrr),
    "mean_precision@": (metrics.mean_precision_at_k, mean_precision),
}
WHOLE = {"nhlu": metrics.nhlu, "map": metrics.mean_average_precision, "auc": metrics.auc}


def problem(seed, dtype, levels=4):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, levels, size=(25, 13)).astype(dtype)
    scores[rng.random(scores.shape) < 0.1] = -np.inf
    kind = rng.choice(4, p=[0.5, 0.2, 0.2, 0.1], size=scores.shape)
    truth = np.where(kind == 1, 1, np.where(kind == 3, -1, 0))  # dislikes in the truth are no positives
    seen = np.where(kind == 2, rng.choice([-1.0, 2.0], size=scores.shape), 0)
    truth[:3] = 0  # rows without a positive
    truth[3] = seen[3] == 0  # a row without a negative
    return scores, truth, seen


@pytest.mark.parametrize("average", ["test", "all"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [1, 3, 13, 20])
def test_metrics_equal_their_definitions(k, dtype, average):
    for seed in range(4):
        scores, truth, seen = problem(seed, dtype)
        want = expected(scores, truth, seen, k, average)
        got = {name: f(scores, truth, k, exclude=seen, average=average) for name, (f, _) in AT_K.items()}
        got |= {name: f(scores, truth, exclude=seen, average=average) for name, f in WHOLE.items()}
        got["coverage@"] = metrics.coverage_at_k(scores, truth, k, exclude=seen)
        assert got == pytest.approx(want, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("average", ["test", "all"])
def test_stream_equals_the_functions_bit_for_bit(average):
    scores, truth, seen = problem(7, np.float32)
    got = metrics.stream_metrics(lambda rows: scores[rows], seen, truth, ks=(2, 5), average=average)
    for k in (2, 5):
        for name, (function, _) in AT_K.items():
            assert got.pop(f"{name}{k}") == function(scores, truth, k, seen, average)
        assert got.pop(f"coverage@{k}") == metrics.coverage_at_k(scores, truth, k, seen)
    for name, function in WHOLE.items():
        assert got.pop(name) == function(scores, truth, seen, average)
    assert not got


def test_numbers_by_hand():
    # places of the positives: 1 and 4 of 5 candidates (item 0 is excluded)
    scores = np.array([[9, 5, 4, 3, 2, 1]])
    truth = np.array([[0, 1, 0, 0, 1, 0]])
    exclude = np.array([[1, 0, 0, 0, 0, 0]])
    args = (scores, truth)
    assert metrics.precision_at_k(*args, 3, exclude) == pytest.approx(1 / 3)
    assert metrics.recall_at_k(*args, 3, exclude) == 0.5
    assert metrics.hit_rate_at_k(*args, 3, exclude) == 1.0
    assert metrics.ndcg_at_k(*args, 4, exclude) == pytest.approx((1 + 0.43067655807) / (1 + 0.63092975357))
    assert metrics.map_at_k(*args, 3, exclude) == 0.5
    assert metrics.map_at_k(*args, 4, exclude) == metrics.mean_average_precision(*args, exclude)
    assert metrics.mean_precision_at_k(*args, 4, exclude) == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 2) / 4)
    assert metrics.nhlu(*args, exclude) == pytest.approx((1 + 0.59460355750) / (1 + 0.84089641525))
    assert metrics.mean_average_precision(*args, exclude) == 0.75
    assert metrics.auc(*args, exclude) == pytest.approx(4 / 6)
    assert metrics.coverage_at_k(*args, 2, exclude) == pytest.approx(2 / 6)


def test_half_life_is_five():
    scores = -np.arange(9.0)[None]
    truth = np.zeros((1, 9))
    truth[0, 4] = 1
    assert metrics.nhlu(scores, truth) == 0.5
    assert metrics.nhlu(scores, np.roll(truth, 4)) == 0.25


def test_auc_counts_the_right_order_not_the_wrong_one():
    assert metrics.auc([[3, 2, 1]], [[1, 0, 0]]) == 1.0
    assert metrics.auc([[1, 2, 3]], [[1, 0, 0]]) == 0.0
    assert metrics.auc([[2, 2, 2]], [[1, 0, 0]]) == 0.5


def test_auc_leaves_out_rows_without_negatives():
    scores = [[2, 1], [2, 1]]
    truth = [[1, 0], [1, 1]]
    assert metrics.auc(scores, truth) == 1.0
    assert metrics.auc(scores, truth, average="all") == 0.5
    assert math.isnan(metrics.auc([[2, 1]], [[1, 1]]))
    assert metrics.auc([[2, 1]], [[1, 1]], average="all") == 0.0


def test_a_perfect_ranking_is_exactly_one():
    rng = np.random.default_rng(1)
    scores = rng.standard_normal((50, 40)).astype(np.float32)
    truth = scores > 0.5
    for k in (1, 2, 3, 7):
        assert metrics.ndcg_at_k(scores, truth, k) == 1.0
    assert metrics.nhlu(scores, truth) == 1.0
    assert metrics.mean_average_precision(scores, truth) == 1.0
    assert metrics.auc(scores, truth) == 1.0
    everything = np.ones_like(truth)
    for k in range(1, 40):
        assert metrics.precision_at_k(scores, everything, k) == 1.0
        assert metrics.map_at_k(scores, everything, k) == 1.0
        assert metrics.mean_precision_at_k(scores, everything, k) == pytest.approx(1.0, abs=1e-13)
        assert metrics.mean_precision_at_k(scores, everything, k) <= 1.0


def test_lists_longer_than_the_items_still_divide_by_k():
    assert metrics.precision_at_k([[1, 2]], [[1, 1]], 8) == 0.25
    assert metrics.recall_at_k([[1, 2]], [[1, 1]], 8) == 1.0
    assert metrics.ndcg_at_k([[1, 2]], [[1, 1]], 10**12) == 1.0
    assert metrics.coverage_at_k([[1, -np.inf]], [[1, 0]], 10**12) == 0.5
    assert metrics.map_at_k([[1, 2]], [[1, 0]], 4) == 0.5
    assert metrics.mean_precision_at_k([[1, 2]], [[1, 0]], 4) == pytest.approx((0 + 1 / 2 + 1 / 3 + 1 / 4) / 4)


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_matrix, sp.coo_array, sp.lil_matrix])
def test_sparse_truth_and_exclude_equal_dense(kind):
    scores, truth, seen = problem(3, np.float64)
    dense = metrics.ndcg_at_k(scores, truth, 5, seen)
    assert metrics.ndcg_at_k(scores, kind(truth), 5, kind(seen)) == dense


def test_duplicates_are_summed_and_inputs_are_not_changed():
    truth = sp.csr_array((np.ones(3), np.array([2, 0, 2]), np.array([0, 3])), shape=(1, 4))
    scores = np.array([[1.0, 4.0, 2.0, 3.0]])
    before = truth.indices.copy(), scores.copy()
    exclude = sp.csr_array(np.array([[0.0, 1.0, 0.0, 0.0]]))
    scores.setflags(write=False)
    assert metrics.recall_at_k(scores, truth, 2, exclude) == 0.5
    assert metrics.coverage_at_k(scores, truth, 2, exclude) == 0.5
    np.testing.assert_array_equal(truth.indices, before[0])
    np.testing.assert_array_equal(scores, before[1])


def test_stored_zeros_are_excluded_and_are_no_positives():
    zero = sp.csr_array((np.array([0.0]), np.array([0]), np.array([0, 1])), shape=(1, 3))
    assert metrics.precision_at_k([[3, 2, 1]], [[0, 1, 0]], 1, exclude=zero) == 1.0
    with pytest.raises(ValueError, match="no positive"):
        metrics.precision_at_k([[3, 2, 1]], zero, 1)


@pytest.mark.parametrize("dtype", [np.float16, np.int64, bool])
def test_other_dtypes_of_scores(dtype):
    scores = np.array([[0, 1, 0, 1]]).astype(dtype)
    assert metrics.precision_at_k(scores, [[0, 0, 0, 1]], 2) == 0.5


def test_coverage_counts_rows_with_a_positive_only():
    scores = [[9, 1, 1], [1, 9, 1]]
    assert metrics.coverage_at_k(scores, [[0, 0, 1], [0, 0, 0]], 1) == pytest.approx(1 / 3)
    assert metrics.coverage_at_k(scores, [[0, 0, 1], [0, 0, 1]], 1) == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"k": 0}, ValueError, "positive integer"),
        ({"k": 2.0}, ValueError, "positive integer"),
        ({"k": True}, ValueError, "positive integer"),
        ({"average": "micro"}, ValueError, "average must be"),
        ({"scores": [1.0, 2.0]}, ValueError, "scores must be a matrix"),
        ({"scores": [[1.0, 2.0]]}, ValueError, r"scores has the shape \(1, 2\)"),
        ({"scores": [[1.0, np.nan, 0.0]]}, ValueError, "Scores hold NaN"),
        ({"scores": [[1j, 0, 0]]}, TypeError, "real numbers"),
        ({"truth": [[0, 0, -1]]}, ValueError, "truth holds no positive"),
        ({"truth": [[0, 1, np.nan]]}, ValueError, "truth holds NaN"),
        ({"exclude": [[0, 1, 0]]}, ValueError, r"1 pair\(s\) are stored in exclude"),
        ({"exclude": [[1, 0]]}, ValueError, "same size"),
        ({"exclude": [[1], [0], [0]]}, ValueError, r"truth\.T would fit"),
    ],
)
def test_bad_input_is_refused(arguments, error, words):
    good = {"scores": [[3.0, 2.0, 1.0]], "truth": [[0, 1, 0]], "k": 1, "exclude": None, "average": "test"}
    assert metrics.precision_at_k(**good) == 0.0
    with pytest.raises(error, match=words):
        metrics.precision_at_k(**good | arguments)
