import os
import threading
from itertools import pairwise

import numpy as np
import pytest
from joblib import Parallel, delayed
from threadpoolctl import threadpool_info

from everypair.parallel import (
    BLOCK_ROWS,
    balanced_chunks,
    even_chunks,
    resolve_threads,
    run_chunks,
    single_threaded_blas,
    sum_blocks,
    tree_nodes,
    tree_sum,
    tree_total,
)


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def covers(chunks, rows):
    return [row for start, stop in chunks for row in range(start, stop)] == list(range(rows))


@pytest.mark.parametrize("rows", [0, 1, 2, 127, 128, 129, 1000])
@pytest.mark.parametrize("pieces", [1, 2, 7, 128])
@pytest.mark.parametrize("kind", ["empty", "even", "skewed", "all in the last", "all in the first"])
@pytest.mark.parametrize("row_cost", [0, 1, 16])
def test_balanced_chunks_cover_every_row_once(rows, pieces, kind, row_cost):
    counts = {
        "empty": np.zeros(rows, int),
        "even": np.full(rows, 3),
        "skewed": (1000 / (1 + np.arange(rows))).astype(int),
        "all in the last": np.where(np.arange(rows) == rows - 1, 5000, 0),
        "all in the first": np.where(np.arange(rows) == 0, 5000, 0),
    }[kind]
    chunks = balanced_chunks(np.concatenate([[0], np.cumsum(counts)]), row_cost, pieces)
    assert covers(chunks, rows)
    assert len(chunks) <= pieces
    assert all(start < stop for start, stop in chunks)


def test_balanced_chunks_share_out_the_work():
    for most, expected in ((50, 6), (500, 40), (5000, 128)):
        counts = np.random.default_rng(0).integers(0, most, 5000)
        indptr = np.concatenate([[0], np.cumsum(counts)])
        work = np.array([indptr[stop] - indptr[start] + 16 * (stop - start) for start, stop in balanced_chunks(indptr)])
        assert len(work) == expected
        assert work.max() < 1.2 * work.mean()


def test_balanced_chunks_of_a_slice_of_rows():
    indptr = np.array([0, 5, 5, 6])
    assert balanced_chunks(indptr + 1000, 1, 2) == balanced_chunks(indptr, 1, 2) == [(0, 1), (1, 3)]


@pytest.mark.parametrize("rows", [0, 1, 5, 6, 7, 100])
@pytest.mark.parametrize("size", [1, 3, 6, 1000])
def test_even_chunks_cover_every_row_once(rows, size):
    chunks = even_chunks(rows, size)
    assert covers(chunks, rows)
    assert all(0 < stop - start <= size for start, stop in chunks)
    assert all(stop - start == size for start, stop in chunks[:-1])


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize("rows", [0, 1, 3, 100])
def test_results_come_in_the_order_of_the_chunks(rows, n_threads):
    chunks = even_chunks(rows, 3)
    workers = set()

    def work(chunk, worker):
        workers.add(worker)
        threading.Event().wait(0.0005 * (chunk[0] % 2))
        return chunk

    assert run_chunks(work, chunks, n_threads) == chunks
    assert workers <= set(range(n_threads))


def test_each_worker_is_one_thread():
    seen = {}
    barrier = threading.Barrier(3, timeout=10)

    def work(chunk, worker):
        barrier.wait()  # all three work at the same time, so three threads are needed
        seen.setdefault(worker, set()).add(threading.get_ident())

    run_chunks(work, even_chunks(12, 1), 3)
    assert sorted(seen) == [0, 1, 2]
    assert all(len(threads) == 1 for threads in seen.values())
    assert len(set.union(*seen.values())) == 3
    assert seen[0] == {threading.get_ident()}


@pytest.mark.parametrize("n_threads", [1, 2, 4])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("bad", [0, 7, 19])
def test_exceptions_come_out_and_stop_the_hand_out(n_threads, error, bad):
    done = []
    before = blas_threads()

    def work(chunk, worker):
        if chunk[0] == bad:
            raise error("the reason")
        threading.Event().wait(0.001)
        done.append(chunk)

    with pytest.raises(error, match="the reason"):
        run_chunks(work, even_chunks(20, 1), n_threads)
    assert len(done) < 20
    if n_threads == 1:
        assert done == even_chunks(bad, 1)
    assert blas_threads() == before
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("everypair-")]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_exceptions_of_a_helper_thread_come_out_in_the_caller(error):
    caller = threading.get_ident()
    started = threading.Event()

    def work(chunk, worker):
        if threading.get_ident() != caller:
            started.set()
            raise error("from a helper")
        started.wait(10)

    with pytest.raises(error, match="from a helper"):
        run_chunks(work, even_chunks(50, 1), 2)


def test_interrupt_while_waiting_for_helpers_lets_their_chunks_end(monkeypatch):
    caller = threading.get_ident()
    begun, ended = [], []
    join, joins = threading.Thread.join, []

    def interrupted_join(thread, timeout=None):
        joins.append(thread)
        if len(joins) == 1:
            raise KeyboardInterrupt
        join(thread, timeout)

    taken = threading.Event()

    def work(chunk, worker):
        if threading.get_ident() == caller:
            taken.wait(10)  # until the helper has a chunk, then the queue is empty
            return
        begun.append(chunk)
        taken.set()
        threading.Event().wait(0.1)
        ended.append(chunk)

    monkeypatch.setattr(threading.Thread, "join", interrupted_join)
    with pytest.raises(KeyboardInterrupt):
        run_chunks(work, even_chunks(2, 1), 2)
    assert len(joins) == 2
    assert begun == ended
    assert len(begun) == 1


def test_blas_has_one_thread_inside_and_its_own_number_outside():
    before = blas_threads()
    assert before
    inside = run_chunks(lambda chunk, worker: blas_threads(), even_chunks(4, 1), 2)
    assert all(threads == 1 for pools in inside for threads in pools)
    assert blas_threads() == before


def test_any_thread_limits_blas_and_lifts_the_limit():
    before = blas_threads()
    seen = []

    def other():
        with single_threaded_blas():
            seen.append(blas_threads())
        seen.append(blas_threads())

    with single_threaded_blas():
        pass
    for _ in range(2):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert seen == [[1] * len(before), before] * 2


def test_blas_limits_nest_and_overlap():
    before = blas_threads()
    entered, leave = threading.Event(), threading.Event()

    def other():
        with single_threaded_blas():
            entered.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    with single_threaded_blas():
        with single_threaded_blas():
            thread.start()
            assert entered.wait(10)
        assert set(blas_threads()) == {1}
    assert set(blas_threads()) == {1}  # the other thread is still inside
    leave.set()
    thread.join()
    assert blas_threads() == before


@pytest.mark.parametrize(("limit", "expected"), [("1", 1), ("1,4", 1), ("1000", None), ("0", None), ("many", None)])
def test_omp_num_threads_limits_all_cores_but_not_a_given_number(monkeypatch, limit, expected):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    cores = resolve_threads(None)
    monkeypatch.setenv("OMP_NUM_THREADS", limit)
    assert resolve_threads(None) == (expected or cores)
    assert resolve_threads(7) == 7


def test_workers_of_joblib_share_the_cores(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    cores = resolve_threads(None)
    threads = Parallel(n_jobs=2, backend="loky")(delayed(resolve_threads)(None) for _ in range(2))
    assert threads == [max(1, cores // 2)] * 2


def test_number_of_threads():
    assert resolve_threads(3) == 3
    assert resolve_threads(np.int64(2)) == 2
    with pytest.raises(ValueError, match="n_threads=2147483648 is more than any machine has cores"):
        resolve_threads(2**31)
    assert 1 <= resolve_threads(None) <= os.cpu_count()
    assert resolve_threads(-1) == resolve_threads(np.int64(-1)) == resolve_threads(None)


@pytest.mark.parametrize("bad", [0, -2, 1.5, 2.0, True, "2", "all", [2], np.nan], ids=repr)
def test_bad_numbers_of_threads_are_refused(bad):
    with pytest.raises(ValueError, match="n_threads must be a positive integer, or None or -1"):
        resolve_threads(bad)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 13, 64, 77])
def test_a_tree_of_runs_is_the_tree_of_all(count):
    parts = np.random.default_rng(count).standard_normal(count)
    for cuts in ([], [count // 2], [1, count // 3, count - 1], range(1, count)):
        borders = sorted({0, count, *(cut for cut in cuts if 0 < cut < count)})
        nodes = {}
        for start, stop in pairwise(borders):
            nodes |= tree_nodes(parts[start:stop], start)
        assert tree_total(nodes, count) == tree_sum(parts)


@pytest.mark.parametrize("count", [1, 2, 63, 64, 65, 127, 129, 200])
def test_blocks_that_are_added_up_as_they_come_give_the_tree_s_bits(count):
    numbers = np.random.default_rng(count).normal(size=count) * 10.0 ** np.arange(count)
    added = sum_blocks(lambda block, worker: numbers[block[0] // BLOCK_ROWS], count * BLOCK_ROWS - 3, n_threads=2)
    assert added == tree_sum(list(numbers))
