import os
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from everypair.parallel import BLOCK_ROWS, even_chunks, tree_sum
from everypair.problem.gram import gram
from everypair.problem.losses import LOSSES
from everypair.problem.rotation import rotate
from everypair.solvers.half_step import TO_OPTIMUM, RowSteps, half_step

from ..kernels.twins import newton_cg
from ..problem.brute import COLUMNS, PLAIN_LOSSES, SCHEMES, VALUES, Case, build, start

RISE = {np.float32: 1e-6, np.float64: 1e-12}
DTYPES = [np.float32, np.float64]


def step(problem, side, left, right, steps, n_threads=1):
    """Half-step of one side: both sides afterwards, and the sum over stored pairs."""
    this, other = (left, right) if side == 0 else (right, left)
    rows = problem.objective.rows[side]
    new, stored = half_step(rows, this, other, rows.gram_of(other, n_threads), steps, n_threads)
    return (new, right, stored) if side == 0 else (left, new, stored)


def seen_from(dense, side):
    """(stored, c, y, z, w, λ) with the rows of ``side`` as rows."""
    matrices = dense.stored, dense.weights, dense.targets, dense.values, np.outer(dense.p, dense.q)
    return *(matrix.T if side else matrix for matrix in matrices), dense.ridge[side]


def plain_step(problem, side, left, right, steps):
    """The same half-step row by row in the factors' own basis, with dense matrices."""
    stored, c, y, z, w, lam = seen_from(problem.dense, side)
    this, other = (left, right) if side == 0 else (right, left)
    learnt = np.ix_(problem.dense.learnt(side), problem.dense.learnt(side))
    new, total = np.empty_like(this), 0.0
    for i in range(len(this)):
        j = stored[i]
        D = (other.T * w[i]) @ other + lam[i] * np.eye(COLUMNS)
        precondition = np.zeros_like(D)
        precondition[learnt] = np.linalg.inv(D[learnt])
        new[i], value, _ = newton_cg(
            problem.dense.loss, c[i, j], y[i, j], z[i, j], w[i, j], other[j], D, other.T @ (w[i] * z[i]),
            precondition, this[i], steps.newton, steps.cg, steps.newton_tol, steps.cg_tol,
        )  # fmt: skip
        total += value
    return new, total


@pytest.mark.parametrize("biases", ["unbiased", "biased"])
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("scheme", ["constant", "popular", "arrays"])
@pytest.mark.parametrize("loss", PLAIN_LOSSES)
@pytest.mark.parametrize("steps", [RowSteps(), RowSteps(newton=2, cg=3)], ids=["one", "two"])
def test_eigenbasis_step_is_the_plain_step(loss, scheme, value, biases, steps):
    problem = build(Case(loss=loss, scheme=scheme, value=value, biases=biases), shape=(12, 9))
    factors = start(problem.dense)
    for side in (0, 1):
        *after, stored = step(problem, side, *factors, steps)
        expected, expected_stored = plain_step(problem, side, *factors, steps)
        np.testing.assert_allclose(after[side], expected, rtol=1e-9, atol=1e-10)
        assert stored == pytest.approx(expected_stored, rel=1e-9, abs=1e-10)


@pytest.mark.parametrize("biases", ["unbiased", "biased"])
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_squared_optimum_is_the_solution_of_the_normal_equations(scheme, value, biases):
    problem = build(Case(loss="squared", scheme=scheme, value=value, biases=biases), shape=(12, 9))
    factors = start(problem.dense)
    for side in (0, 1):
        *after, _ = step(problem, side, *factors, TO_OPTIMUM[np.dtype(np.float64)])
        stored, c, y, z, w, lam = seen_from(problem.dense, side)
        learnt = problem.dense.learnt(side)
        weight, target = np.where(stored, c, w), np.where(stored, y, z)
        other = factors[1 - side]
        for i in range(len(stored)):
            fixed = other[:, ~learnt].sum(axis=1)  # the constant column times the other side's bias
            free = other[:, learnt]
            matrix = (free.T * weight[i]) @ free + lam[i] * np.eye(learnt.sum())
            pull = free.T @ (weight[i] * (target[i] - fixed))
            expected = np.linalg.solve(matrix, pull) if matrix.any() else 0 * pull  # nothing at stake: the origin
            np.testing.assert_allclose(after[side][i, learnt], expected, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("steps", [RowSteps(), RowSteps(block=5)], ids=["newton", "exact"])
@pytest.mark.parametrize("scale", [1.0, 100.0])
@pytest.mark.parametrize("reg", [(0.0, 0.0), (0.1, 0.3)], ids=["no ridge", "ridge"])
@pytest.mark.parametrize("biases", ["unbiased", "biased"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("loss", PLAIN_LOSSES)
def test_no_half_step_raises_the_objective(loss, dtype, biases, reg, scale, steps):
    """Measured over every pair in float64; row 0 stores every pair, which leaves it hardly any curvature."""
    for weights in ("unit", "random"):
        for negative_weight in (0.05, 1.0, 20.0):
            for seed in range(2):
                problem = build(
                    Case(loss=loss, weights=weights, biases=biases),
                    shape=(12, 9),
                    reg=reg,
                    negative_weight=negative_weight,
                    dtype=dtype,
                    seed=seed,
                )
                factors = start(problem.dense, scale=scale, dtype=dtype, seed=seed)
                before = problem.dense.value(*factors)
                for number in range(8):
                    *factors, _ = step(problem, number % 2, *factors, steps)
                    after = problem.dense.value(*factors)
                    assert np.isfinite(after)
                    assert after <= before + RISE[dtype] * abs(before)
                    before = after


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("loss", PLAIN_LOSSES)
def test_no_half_step_raises_the_objective_of_any_scheme(loss, scheme, value):
    problem = build(Case(loss=loss, scheme=scheme, value=value), shape=(12, 9))
    for scale in (1.0, 100.0):
        factors = start(problem.dense, scale=scale)
        before = problem.objective.value(*factors)
        for number in range(6):
            *factors, _ = step(problem, number % 2, *factors, RowSteps())
            after = problem.objective.value(*factors)
            assert after <= before * (1 + 1e-12)
            before = after


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("loss", PLAIN_LOSSES)
def test_no_half_step_raises_the_objective_at_the_end_either(loss, dtype):
    problem = build(Case(loss=loss), shape=(12, 9), dtype=dtype)
    factors = start(problem.dense, dtype=dtype)
    before = start_value = problem.dense.value(*factors)
    for number in range(300):
        *factors, _ = step(problem, number % 2, *factors, RowSteps(newton=2, cg=3))
        after = problem.dense.value(*factors)
        assert after <= before * (1 + RISE[dtype])
        before = after
    assert before < 0.9 * start_value


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_without_pairs_do_not_get_worse_in_directions_the_other_side_hardly_spans(dtype):
    problem = build(Case(loss="squared", value="minus", biases="unbiased"), reg=(0.0, 0.0), dtype=dtype)
    left, right = start(problem.dense, dtype=dtype)
    right[:, 0] = 1e-4  # ỹ = −0.7 is met exactly by u = (−7000, 0, ...)
    left[1] = [-7000, 0, 0, 0, 0]
    z, w = problem.dense.values[1], problem.dense.p[1] * problem.dense.q

    def value(factors):
        return 0.5 * np.sum(w * (z - right.astype(np.float64) @ factors.astype(np.float64)) ** 2)

    after, _, _ = step(problem, 0, left, right, RowSteps())
    assert value(after[1]) <= value(left[1]) + 1e-5
    if dtype == np.float64:
        np.testing.assert_allclose(after[1], left[1], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("scale", [1.0, 100.0])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("loss", PLAIN_LOSSES)
def test_returned_sum_is_that_over_the_stored_pairs(loss, dtype, scale):
    problem = build(Case(loss=loss), shape=(12, 9), dtype=dtype)
    factors = start(problem.dense, dtype=dtype, scale=scale)
    dense, objective = problem.dense, problem.objective
    value, _, _ = PLAIN_LOSSES[loss]
    for side in (0, 1, 0, 1):
        *factors, stored = step(problem, side, *factors, RowSteps())
        scores = factors[0].astype(np.float64) @ factors[1].astype(np.float64).T
        observed = np.sum(dense.weights * value(dense.targets, scores), where=dense.stored)
        square = 0.5 * np.sum(np.outer(dense.p, dense.q) * (dense.values - scores) ** 2, where=dense.stored)
        tolerance = 1e-13 if dtype == np.float64 else 1e-5
        assert abs(stored - (observed - square)) <= tolerance * (observed + square)
        if dtype == np.float64 or scale == 1:
            grams = objective.rows[1].gram_of(factors[0]), objective.rows[0].gram_of(factors[1])
            complete = objective.total(stored, *factors, *grams)
            assert complete == pytest.approx(objective.value(*factors), rel=100 * tolerance)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("loss", PLAIN_LOSSES)
def test_inputs_are_left_alone_and_constant_columns_stay(loss, dtype):
    problem = build(Case(loss=loss, biases="biased"), dtype=dtype)
    for scale in (1.0, 100.0):
        left, right = start(problem.dense, dtype=dtype, scale=scale)
        kept = left.copy(), right.copy()
        for side, constant in ((0, COLUMNS - 1), (1, COLUMNS - 2)):
            for steps in (RowSteps(), RowSteps(newton=5, cg=5)):
                *after, _ = step(problem, side, left, right, steps)
                assert np.array_equal(left, kept[0])
                assert np.array_equal(right, kept[1])
                assert not np.shares_memory(after[side], (left, right)[side])
                assert after[side].dtype == dtype
                assert (after[side][:, constant] == 1).all()
                assert not np.array_equal(after[side], kept[side])


def test_read_only_factors_are_enough():
    problem = build(Case())
    factors = start(problem.dense)
    expected = step(problem, 0, *factors, RowSteps())
    for array in factors:
        array.setflags(write=False)
    assert np.array_equal(step(problem, 0, *factors, RowSteps())[0], expected[0])


def large(dtype, value="minus", loss="logistic", n_threads=1):
    problem = build(Case(loss=loss, value=value), shape=(700, 300), dtype=dtype, n_threads=n_threads)
    return problem, start(problem.dense, dtype=dtype)


def sweep(problem, factors, n_threads):
    left, right, first = step(problem, 0, *factors, RowSteps(newton=2), n_threads)
    left, right, second = step(problem, 1, left, right, RowSteps(newton=2), n_threads)
    return left, right, first, second


def same_bits(one, two):
    return all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("loss", LOSSES)
def test_threads_do_not_change_a_bit(loss, dtype):
    problem, factors = large(dtype, loss=loss)
    one = sweep(problem, factors, 1)
    for n_threads in (1, 2, 3, 8):
        assert same_bits(one, sweep(problem, factors, n_threads))


def test_threads_do_not_change_a_bit_with_low_rank_values():
    problem, factors = large(np.float64, value="low_rank")
    assert same_bits(sweep(problem, factors, 1), sweep(problem, factors, 2))


@pytest.mark.parametrize("dtype", DTYPES)
def test_calls_from_several_threads_at_once(dtype):
    problems = [large(dtype, loss=loss) for loss in ("squared", "logistic")]
    expected = [sweep(*problem, 1) for problem in problems]
    barrier = threading.Barrier(4, timeout=30)

    def call(number):
        barrier.wait()
        return [sweep(*problems[number % 2], n_threads=1 + number // 2) for _ in range(5)]

    with ThreadPoolExecutor(4) as pool:
        for number, results in enumerate(pool.map(call, range(4))):
            assert all(same_bits(result, expected[number % 2]) for result in results)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("n_threads", [1, 2])
def test_call_after_a_fork(n_threads):
    problem, factors = large(np.float32)
    expected = sweep(problem, factors, 2)  # the parent has run threads before it forks
    child = os.fork()
    if child == 0:
        code = 2
        try:
            code = 0 if same_bits(sweep(problem, factors, n_threads), expected) else 1
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", [0, 1, 4095, 4096, 9000])
def test_rotate(dtype, rows):
    rng = np.random.default_rng(rows)
    factors, rotation = rng.normal(size=(rows, 5)).astype(dtype), rng.normal(size=(5, 5)).astype(dtype)
    rotated = rotate(factors, rotation, 2)
    assert rotated.dtype == dtype
    np.testing.assert_allclose(rotated, factors @ rotation, rtol=1e-4, atol=1e-5)
    assert np.array_equal(rotated, rotate(factors, rotation, 1))


@pytest.mark.parametrize("value", ["minus", "low_rank"])
def test_rows_cut_at_borders_of_blocks_give_the_same_bits(value):
    size = 2 * BLOCK_ROWS + 300
    problem = build(Case(scheme="arrays", value=value), shape=(size, 30), dtype=np.float32)
    left, right = start(problem.dense, dtype=np.float32)
    rows, other = problem.objective.rows
    of_right = rows.gram_of(right)
    whole, pairs = half_step(rows, left, right, of_right, RowSteps(cg=3))
    blocks = even_chunks(size, BLOCK_ROWS)
    parts = [half_step(rows.slice(*cut), left[slice(*cut)], right, of_right, RowSteps(cg=3)) for cut in blocks]
    assert np.array_equal(np.concatenate([part for part, _ in parts]), whole)
    assert tree_sum([part for _, part in parts]) == pairs
    grams = [gram(left[slice(*cut)], other.other_weights[slice(*cut)]).matrix for cut in blocks]
    assert np.array_equal(tree_sum(grams), other.gram_of(left).matrix)
    tail = rows.slice(BLOCK_ROWS, size)  # several blocks at once
    end, _ = half_step(tail, left[BLOCK_ROWS:], right, of_right, RowSteps(cg=3))
    assert np.array_equal(end, whole[BLOCK_ROWS:])
