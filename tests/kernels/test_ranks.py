from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from everypair.kernels import ranks as kernel
from everypair.kernels.ranks import COUNT_UP_TO, rank_rows


def twin(scores, seen, positives):
    """Ranks and correct pairs of one row, by sorting it and by comparing every pair."""
    candidates = [j for j in range(len(scores)) if j not in seen]
    ordered = sorted(candidates, key=lambda j: (-scores[j], j))
    ranks = sorted(ordered.index(j) for j in positives)
    correct = 0.0
    for j in positives:
        for other in set(candidates) - set(positives):
            correct += 1.0 if scores[j] > scores[other] else 0.5 if scores[j] == scores[other] else 0.0
    return ranks, correct


def compressed(sets):
    indptr = np.cumsum([0] + [len(s) for s in sets]).astype(np.int64)
    return indptr, np.array([j for s in sets for j in sorted(s)], dtype=np.int32)


def run(scores, rows, seen, positives):
    indptr, indices = compressed(positives)
    ranks = np.full(len(indices), -7, dtype=np.int32)
    correct = np.full(len(positives), np.nan)
    rank_rows(scores, np.asarray(rows, dtype=np.int64), *compressed(seen), indptr, indices, ranks, correct)
    return [ranks[a:b].tolist() for a, b in pairwise(indptr)], correct


def random_problem(rng, n_rows, n_items, levels, dtype, most_positives):
    scores = rng.integers(0, levels, size=(n_rows, n_items)).astype(dtype)
    scores[rng.random(scores.shape) < 0.1] = -np.inf
    scores[rng.random(scores.shape) < 0.02] = np.inf
    seen, positives = [], []
    for _ in range(n_rows):
        shuffled = rng.permutation(n_items)
        cut = rng.integers(0, most_positives + 1)
        positives.append(set(shuffled[:cut].tolist()))
        seen.append(set(shuffled[cut : cut + rng.integers(0, n_items - cut + 1)].tolist()))
    return scores, seen, positives


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("levels", [1, 2, 5, 1000])
def test_few_positives_equal_the_sorted_list(dtype, levels):
    rng = np.random.default_rng(levels)
    scores, seen, positives = random_problem(rng, 60, 23, levels, dtype, most_positives=23)
    ranks, correct = run(scores, np.arange(60), seen, positives)
    for i in range(60):
        expected = twin(scores[i], seen[i], positives[i])
        assert (ranks[i], correct[i]) == expected


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("levels", [2, 40, 10_000])
def test_many_positives_equal_the_sorted_list(dtype, levels):
    rng = np.random.default_rng(levels)
    n_items = 3 * COUNT_UP_TO
    scores, seen, positives = random_problem(rng, 12, n_items, levels, dtype, most_positives=n_items)
    sizes = [len(p) for p in positives]
    assert min(sizes) <= COUNT_UP_TO < max(sizes)  # both ways of counting are exercised
    ranks, correct = run(scores, np.arange(12), seen, positives)
    for i in range(12):
        assert (ranks[i], correct[i]) == twin(scores[i], seen[i], positives[i])


@pytest.mark.parametrize("n_positives", [COUNT_UP_TO, COUNT_UP_TO + 1])
def test_both_sides_of_the_limit_between_counting_and_searching(n_positives):
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 30, size=(1, 2 * COUNT_UP_TO)).astype(np.float32)
    positives = [set(rng.choice(2 * COUNT_UP_TO, n_positives, replace=False).tolist())]
    ranks, correct = run(scores, [0], [set()], positives)
    assert (ranks[0], correct[0]) == twin(scores[0], set(), positives[0])


def test_ties_rank_by_ascending_item_by_hand():
    scores = np.array([[2.0, 5.0, 2.0, 2.0, -np.inf, -np.inf]])
    # candidates without item 1 in order: 0, 2, 3, 4, 5; negatives are 0 and 4
    ranks, correct = run(scores, [0], [{1}], [{2, 3, 5}])
    assert ranks == [[1, 2, 4]]
    # 2 and 3 each tie with 0 (½) and beat 4 (1); 5 loses to 0 and ties with 4 (½)
    assert correct.tolist() == [3.5]


def test_rows_choose_their_stretch_and_leave_the_others_alone():
    scores = np.array([[1.0, 2.0, 3.0]])
    ranks, correct = run(scores, [2], [{0}, set(), {2}], [{1}, {0}, {0}])
    assert ranks == [[-7], [-7], [1]]
    assert np.isnan(correct[:2]).all()
    assert correct[2] == 0.0


def test_rows_without_positives_and_rows_without_negatives():
    scores = np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]])
    ranks, correct = run(scores, [0, 1], [{0}, {2}], [set(), {0, 1}])
    assert ranks == [[], [0, 1]]
    assert correct.tolist() == [0.0, 0.0]


def test_kernel_is_cached_on_disk_and_releases_the_lock():
    for function in (kernel.rank_rows, kernel._count_row, kernel._place):
        assert function.targetoptions["nogil"]
        assert type(function._cache).__name__ == "FunctionCache"


def test_rank_is_the_double_argsort_on_distinct_scores():
    rng = np.random.default_rng(5)
    scores = rng.standard_normal((4, 500))
    truth = sp.random_array((4, 500), density=0.1, rng=rng, format="csr")
    positives = [set(truth.indices[a:b].tolist()) for a, b in pairwise(truth.indptr)]
    ranks, _ = run(scores, np.arange(4), [set()] * 4, positives)
    places = np.argsort(np.argsort(-scores, axis=1), axis=1)
    for i in range(4):
        assert ranks[i] == sorted(places[i, list(positives[i])].tolist())
