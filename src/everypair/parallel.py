"""Threads over fixed chunks: the only place where the library starts threads.

Work is cut into chunks by the data alone, never by the number of threads, and every chunk writes its own
rows, so one thread and N threads give the same bits. Where rows are cut into blocks of 1024, chunks stay inside a block
and sums run over blocks in a fixed tree, so a part of the rows that begins and ends at such borders gives the same bits
as all of them. Kernels release the interpreter lock and are called
from plain Python threads that live for one call: that is safe after a fork and from several threads at once,
and needs no threading layer. BLAS runs single-threaded inside, because the chunks are the parallelism.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import threadpoolctl
from numpy.typing import NDArray

Chunk = tuple[int, int]
Result = TypeVar("Result")
BLOCK_ROWS = 1024  # rows that are summed up together
BLOCKS_AT_ONCE = 64  # whose sums are kept until they are added up; a power of 2, so that they are a node of the tree
CHUNK_WORK = 2**15  # pairs and rows (each as many pairs as it costs) of a chunk, at least
MOST_CHUNKS = 128
MOST_THREADS = 1024


def resolve_threads(n_threads: int | None) -> int:
    """Return the number of threads to use: ``None`` or −1 means every core this process may run on.

    ``OMP_NUM_THREADS`` limits that number, as it does that of other libraries. joblib sets it in its worker processes
    to their share of the cores, so ``GridSearchCV(n_jobs=2)`` does not start more threads than there are cores.

    >>> resolve_threads(3)
    3
    """
    if n_threads is None or (isinstance(n_threads, int | np.integer) and n_threads == -1):
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        limit = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
        return min(cores, int(limit)) if limit.isdecimal() and int(limit) else cores
    if isinstance(n_threads, bool) or not isinstance(n_threads, int | np.integer) or n_threads < 1:
        raise ValueError(f"n_threads must be a positive integer, or None or -1 for all cores, got {n_threads!r}.")
    if n_threads > MOST_THREADS:
        raise ValueError(f"n_threads={n_threads} is more than any machine has cores: give at most {MOST_THREADS}.")
    return int(n_threads)


def balanced_chunks(indptr: NDArray[Any], row_cost: int = 16, pieces: int | None = None) -> list[Chunk]:
    """Cut rows into at most ``pieces`` runs of about equal work, nnz + row_cost per row.

    ``None``: at most 128, of at least 2¹⁵ each.

    >>> balanced_chunks(np.array([0, 5, 5, 6]), row_cost=1, pieces=2)
    [(0, 1), (1, 3)]
    """
    rows = len(indptr) - 1
    if rows == 0:
        return []
    work = indptr.astype(np.int64) - indptr[0] + row_cost * np.arange(rows + 1)
    if pieces is None:
        pieces = min(MOST_CHUNKS, max(1, int(work[-1]) // CHUNK_WORK))
    cuts = np.searchsorted(work, np.linspace(0, work[-1], min(pieces, rows) + 1))
    cuts[0], cuts[-1] = 0, rows
    cuts = np.unique(cuts)
    return [(int(a), int(b)) for a, b in pairwise(cuts)]


def block_chunks(indptr: NDArray[Any], row_cost: int = 16) -> list[Chunk]:
    """Cut every block of 1024 rows into runs of about equal work, at least 2¹⁵ pairs each: by the block alone.

    >>> block_chunks(np.arange(0, 2049 * 64, 64))  # 2048 rows of 64 pairs
    [(0, 512), (512, 1024), (1024, 1536), (1536, 2048)]
    """
    chunks: list[Chunk] = []
    for start, stop in even_chunks(len(indptr) - 1, BLOCK_ROWS):
        work = int(indptr[stop] - indptr[start]) + row_cost * (stop - start)
        inside = balanced_chunks(indptr[start : stop + 1], row_cost, max(1, work // CHUNK_WORK))
        chunks += [(start + first, start + last) for first, last in inside]
    return chunks


def block_sums(values: NDArray[Any]) -> float:
    """Add up one number per row: within blocks of 1024, then over the blocks in a fixed tree.

    >>> block_sums(np.ones(5000))
    5000.0
    """
    parts = block_parts(values)
    return float(tree_sum(parts)) if parts else 0.0


def block_parts(values: NDArray[Any]) -> list[float]:
    """The sums within blocks of 1024, in float64."""
    return [float(values[a:b].sum(dtype=np.float64)) for a, b in even_chunks(len(values), BLOCK_ROWS)]


def tree_sum(parts: Sequence[Any]) -> Any:
    """Add up numbers or arrays two by two, then the pairs two by two: the order depends on their number alone.

    The sum of 2ˡ neighbours that begin at a multiple of 2ˡ is a node of the tree, whoever adds it up.

    >>> tree_sum([1, 2, 3, 4, 5])
    15
    """
    while len(parts) > 1:
        paired = [first + second for first, second in zip(parts[::2], parts[1::2])]
        parts = [*paired, parts[-1]] if len(parts) % 2 else paired
    return parts[0]


def sum_blocks(work: Callable[[Chunk, int], Any], rows: int, n_threads: int) -> Any:
    """The :func:`tree_sum` of ``work(block, worker)`` over all blocks of rows, of which few are kept at a time.

    >>> sum_blocks(lambda block, worker: sum(range(*block)), 3000, n_threads=2) == sum(range(3000))
    True
    """
    blocks = even_chunks(rows, BLOCK_ROWS)
    groups = (blocks[first : first + BLOCKS_AT_ONCE] for first in range(0, len(blocks), BLOCKS_AT_ONCE))
    return tree_sum([tree_sum(run_chunks(work, group, n_threads)) for group in groups])


def thread_blocks(rows: NDArray[Any], dtype: Any, n_threads: int) -> list[NDArray[Any]]:
    """Scratch memory for a block of rows of a matrix, for each thread: cheaper than new memory for every block.

    >>> [block.shape for block in thread_blocks(np.ones((3000, 2)), np.float32, n_threads=2)]
    [(1024, 2), (1024, 2)]
    """
    return [np.empty((min(len(rows), BLOCK_ROWS), rows.shape[1]), dtype) for _ in range(n_threads)]


def tree_nodes(parts: Sequence[Any], first: int) -> dict[tuple[int, int], Any]:
    """Sums of the parts number ``first``, ``first + 1``, … as far as they are nodes of :func:`tree_sum`'s tree.

    They are few, keyed by (level, number); :func:`tree_total` makes the sum of all parts of them, in the same order.

    >>> tree_nodes([1, 2, 3, 4], first=1)  # 1 | 2 + 3 | 4
    {(0, 1): 1, (0, 4): 4, (1, 1): 5}
    """
    nodes: dict[tuple[int, int], Any] = {}
    parts, level = list(parts), 0
    while parts:
        if first % 2:
            nodes[level, first] = parts.pop(0)
            first += 1
        if len(parts) % 2:
            last = parts.pop()
            nodes[level, first + len(parts)] = last
        parts = [one + two for one, two in zip(parts[::2], parts[1::2])]
        first, level = first // 2, level + 1
    return nodes


def tree_total(nodes: Mapping[tuple[int, int], Any], count: int) -> Any:
    """The :func:`tree_sum` of ``count`` parts from :func:`tree_nodes` of runs of them, to the bit.

    >>> tree_total(tree_nodes([1, 2, 3], 0) | tree_nodes([4, 5], 3), 5)
    15
    """
    sizes = [count]
    while sizes[-1] > 1:
        sizes.append((sizes[-1] + 1) // 2)

    def node(level: int, number: int) -> Any:
        if (level, number) in nodes:
            return nodes[level, number]
        first = node(level - 1, 2 * number)
        return first if 2 * number + 1 == sizes[level - 1] else first + node(level - 1, 2 * number + 1)

    return node(len(sizes) - 1, 0)


def even_chunks(rows: int, size: int) -> list[Chunk]:
    """Cut ``range(rows)`` into runs of ``size`` rows; the last may be shorter.

    >>> even_chunks(5, 2)
    [(0, 2), (2, 4), (4, 5)]
    """
    return [(start, min(start + size, rows)) for start in range(0, rows, size)]


@cache
def _controller() -> Any:
    return threadpoolctl.ThreadpoolController()


def _take_control() -> None:
    """Let this thread set OpenBLAS's limit, which newer threadpoolctl leaves to the first thread that ever did."""
    release = getattr(getattr(threadpoolctl, "OpenBLASController", None), "clear_controlling_thread", None)
    if release is not None:
        release(force=True)


_blas_lock = threading.Lock()
_blas_depth = 0
_blas_limiter: Any = None


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Limit BLAS to one thread inside the block; nested and concurrent blocks share one limit.

    The first to enter sets it, the last to leave lifts it, in whatever thread that is.
    """
    global _blas_depth, _blas_limiter
    with _blas_lock:
        if _blas_depth == 0:
            _take_control()
            _blas_limiter = _controller().limit(limits=1, user_api="blas")
        _blas_depth += 1
    try:
        yield
    finally:
        with _blas_lock:
            _blas_depth -= 1
            if _blas_depth == 0:
                _take_control()
                _blas_limiter.restore_original_limits()
                _take_control()
                _blas_limiter = None


def run_chunks(work: Callable[[Chunk, int], Result], chunks: Sequence[Chunk], n_threads: int) -> list[Result]:
    """Call ``work(chunk, worker)`` for every chunk and return the results in the chunks' order.

    ``worker`` numbers the thread (0 to n_threads − 1), so that scratch memory can be allocated once each.
    Chunks are handed out as threads become free, heaviest rows cannot hold up the rest. The calling thread
    works too: an exception or Ctrl-C stops the hand-out, waits for the chunks under way and is raised here.

    >>> run_chunks(lambda chunk, worker: sum(range(*chunk)), [(0, 3), (3, 5)], n_threads=2)
    [3, 7]
    """
    results: list[Any] = [None] * len(chunks)
    failures: list[BaseException] = []
    queue = iter(range(len(chunks)))
    lock = threading.Lock()

    def serve(worker: int) -> None:
        while not failures:
            with lock:
                number = next(queue, None)
            if number is None:
                return
            try:
                results[number] = work(chunks[number], worker)
            except BaseException as failure:
                failures.append(failure)
                return

    with single_threaded_blas():
        helpers = [
            threading.Thread(target=serve, args=(worker,), name=f"everypair-{worker}", daemon=True)
            for worker in range(1, min(n_threads, len(chunks)))
        ]
        try:
            for helper in helpers:
                helper.start()
            serve(0)
            for helper in helpers:
                helper.join()
        except BaseException as failure:  # Ctrl-C while waiting: hand out nothing more, let running chunks end
            failures.append(failure)
            for helper in helpers:
                if helper.ident is not None:
                    helper.join()
    if failures:
        raise failures[0]
    return results


def blocked_product(matrix: NDArray[Any], other: NDArray[Any], block_rows: int, n_threads: int) -> NDArray[Any]:
    """Return matrix @ other by fixed blocks of rows: the same bits on any number of threads.

    >>> blocked_product(np.eye(3), np.arange(6.0).reshape(3, 2), block_rows=2, n_threads=2).tolist()
    [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    """
    out = np.empty((matrix.shape[0], other.shape[1]), other.dtype)

    def work(chunk: Chunk, worker: int) -> None:
        np.matmul(matrix[slice(*chunk)], other, out=out[slice(*chunk)])

    run_chunks(work, even_chunks(matrix.shape[0], block_rows), n_threads)
    return out
