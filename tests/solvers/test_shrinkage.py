"""Singular value thresholding: exact equals numpy, truncated equals exact, whatever the guess and the rank."""

import numpy as np
import pytest

from everypair.data.observed import Observed
from everypair.problem.completion.low_rank import LowRank, SparsePlusLowRank, largest_singular_value
from everypair.solvers.completion import shrinkage
from everypair.solvers.completion.proximal import BY_GRAM, shrink_exact, soft_threshold
from everypair.solvers.completion.shrinkage import Shrinkage, shrink_truncated


def plain(E, t):
    U, s, Vt = np.linalg.svd(E, full_matrices=False)
    return U * np.maximum(s - t, 0) @ Vt, int((s > t).sum())


def operator(n=80, m=60, rank=4, seed=0, share=0.3):
    random = np.random.default_rng(seed)
    pattern = Observed.from_matrix(random.standard_normal((n, m)), random.random((n, m)) < share)
    left, right = random.standard_normal((n, rank)), random.standard_normal((m, rank))
    return SparsePlusLowRank(pattern, pattern.values, left, right)


@pytest.mark.parametrize("shape", [(12, 9), (9, 12), (10, 10)])
@pytest.mark.parametrize("t", [0.0, 1e-6, 0.5, 2.0, 100.0])
def test_exact_is_that_of_numpy(shape, t):
    E = np.random.default_rng(0).standard_normal(shape)
    expected, rank = plain(E, t)
    found = shrink_exact(E, t)
    np.testing.assert_allclose(found.dense(), expected, atol=1e-11)
    assert found.rank == rank
    assert (np.diff(found.values) <= 1e-12).all()
    for vectors in (found.left, found.right):
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(rank), atol=1e-10)


def test_just_above_the_switch_the_gram_matrix_is_exact_enough():
    random = np.random.default_rng(1)
    U, V = (np.linalg.qr(random.standard_normal((n, 6)))[0] for n in (30, 20))
    values = np.array([1.0, 0.5, 1e-2, 1e-3, 3e-4, 2e-4])
    E = U * values @ V.T
    t = 1.01 * BY_GRAM * np.linalg.norm(E)
    np.testing.assert_allclose(shrink_exact(E, t).values, np.maximum(values - t, 0), atol=1e-12)


def test_soft_threshold_is_the_proximal_point():
    random = np.random.default_rng(0)
    X, t = random.standard_normal(50), 0.4
    N = soft_threshold(X, t)
    for _ in range(50):
        other = N + 0.1 * random.standard_normal(50)
        value, there = (t * np.abs(Z).sum() + 0.5 * np.sum((Z - X) ** 2) for Z in (N, other))
        assert value <= there
    assert (N == 0).any()


def test_products_are_those_of_the_dense_matrix():
    E = operator()
    dense = E.dense()
    block = np.random.default_rng(1).standard_normal((60, 3))
    np.testing.assert_allclose(E.product(block), dense @ block, atol=1e-12)
    np.testing.assert_allclose(E.adjoint(dense @ block), dense.T @ (dense @ block), atol=1e-9)
    assert largest_singular_value(E) == pytest.approx(np.linalg.norm(dense, 2), rel=1e-6)


@pytest.mark.parametrize("share_above", [0.02, 0.05, 0.15, 0.5, 1.0])  # of all triplets: few, many, all
@pytest.mark.parametrize("shape", [(80, 60), (60, 80)])
def test_truncated_equals_exact(share_above, shape, monkeypatch):
    monkeypatch.setattr(shrinkage, "WIDE", shrinkage.KRYLOV)  # so that a small matrix takes the long way too
    E = operator(*shape)
    values = np.linalg.svd(E.dense(), compute_uv=False)
    t = 0.999 * values[int(share_above * len(values)) - 1]
    expected, rank = plain(E.dense(), t)
    guesses = {
        "nothing": LowRank.zero(shape),
        "the answer": shrink_exact(E.dense(), t),
        "too little": shrink_exact(E.dense(), 0.9 * values[0]),
        "something else": shrink_exact(operator(*shape, seed=7).dense(), 2.0),
    }
    for name, guess in guesses.items():
        found = shrink_truncated(E, t, guess, tol=1e-10)
        np.testing.assert_allclose(found.dense(), expected, atol=1e-7, err_msg=name)
        assert found.rank == rank, name


def test_without_the_way_out_to_a_dense_matrix_it_still_agrees(monkeypatch):
    monkeypatch.setattr(shrinkage, "DENSE_ENTRIES", 0)
    E = operator()
    values = np.linalg.svd(E.dense(), compute_uv=False)
    for above in (3, 20, 59):
        t = 0.5 * (values[above - 1] + values[above])
        np.testing.assert_allclose(
            shrink_truncated(E, t, LowRank.zero((80, 60)), tol=1e-9).dense(), plain(E.dense(), t)[0], atol=1e-5
        )


def test_where_a_tenth_is_above_the_matrix_is_decomposed_as_a_whole():
    E = operator(320, 300, share=0.05)
    values = np.linalg.svd(E.dense(), compute_uv=False)
    widest = 300 // shrinkage.WIDE - shrinkage.EXTRA  # the highest rank whose block is not too wide
    for above, whole in ((widest, False), (widest + 1, True)):
        t = 0.5 * (values[above - 1] + values[above])
        answer = shrink_exact(E.dense(), t)
        counted, calls = SparsePlusLowRank(E.pattern, E.values, E.left, E.right), []
        counted.dense = lambda calls=calls: calls.append("dense") or E.dense()
        found = shrink_truncated(counted, t, answer)
        assert bool(calls) == whole
        assert found.rank == above
        np.testing.assert_allclose(found.dense(), answer.dense(), atol=1e-4)


def test_nothing_above_the_threshold_and_a_zero_matrix(monkeypatch):
    E = operator()
    monkeypatch.setattr(shrinkage, "DENSE_ENTRIES", 0)
    t = 2 * np.linalg.norm(E.dense(), 2)
    for method in ("exact", "truncated"):
        assert Shrinkage(method)(E, t, LowRank.zero((80, 60))).rank == 0
    zero = SparsePlusLowRank(E.pattern, 0 * E.values, np.zeros((80, 1)), np.zeros((60, 1)))
    assert shrink_truncated(zero, 1.0, LowRank.zero((80, 60))).rank == 0


def test_a_good_guess_saves_products():
    E = operator(400, 300, rank=15, share=0.02)
    t = 25.0
    counts = []
    answer = shrink_exact(E.dense(), t)
    assert 0 < answer.rank < 20
    for guess in (LowRank.zero((400, 300)), answer):
        calls = []
        counted = SparsePlusLowRank(E.pattern, E.values, E.left, E.right)
        counted.product = lambda block, calls=calls: calls.append(block.shape[1]) or E.product(block)
        shrink_truncated(counted, t, guess)
        counts.append(sum(calls))
    assert counts[1] < 0.5 * counts[0]


def test_auto_is_exact_where_one_side_is_short_and_unknown_methods_are_refused(monkeypatch):
    monkeypatch.setattr(shrinkage, "EXACT_SIDE", 59)
    E = operator()
    calls = []
    monkeypatch.setattr(shrinkage, "shrink_truncated", lambda *arguments: calls.append("truncated"))
    Shrinkage()(E, 1.0, LowRank.zero((80, 60)))
    assert calls == ["truncated"]
    monkeypatch.setattr(shrinkage, "EXACT_SIDE", 60)
    assert Shrinkage()(E, 1.0, LowRank.zero((80, 60))).rank > 0
    with pytest.raises(ValueError, match="svd must be"):
        Shrinkage("partial")
