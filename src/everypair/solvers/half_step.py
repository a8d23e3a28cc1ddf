"""One half-step: every row of one side improves while the other side is fixed.

Rotate into the eigenbasis of the other side's Gram matrix, VᵀQV = E Σ Eᵀ. Scores and ridge do not change when both
sides are rotated together, but the all-pairs term of every row becomes diagonal, p_i Σ: a Newton–CG step then costs
O(|Ω_i| k) and that diagonal is its preconditioner. Left rows, right rows and rows to fold in all come through here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.kernels.row_blocks import block_solver
from everypair.kernels.row_newton import Kernel, solve_rows
from everypair.parallel import Chunk, block_sums, run_chunks, thread_blocks, tree_sum
from everypair.problem.gram import Gram
from everypair.problem.rotation import Axes, column_sizes, unspanned
from everypair.problem.rows import RowProblem
from everypair.types import Array


@dataclass(frozen=True)
class RowSteps:
    """How far each row goes: Newton steps, conjugate-gradient steps in each, and when to stop earlier.

    With ``block`` the Newton system of so many coordinates at a time is solved exactly instead, one block after the
    other, and ``newton`` counts sweeps over all blocks. A row stops once its preconditioned gradient is ``newton_tol``
    times what it was; CG stops once its residual is ``cg_tol`` times the gradient.
    """

    newton: int = 1
    cg: int = 2
    newton_tol: float = 0.0
    cg_tol: float = 0.0
    block: int | None = None

    def kernel(self, rank: int) -> Kernel:
        """Return the compiled kernel that takes these steps; blocks are cut down to the next divisor of the rank."""
        if self.block is None:
            return solve_rows
        return block_solver(max(size for size in range(1, min(self.block, rank) + 1) if rank % size == 0))


TO_OPTIMUM = {  # for fold-in: to the optimum, as far as the precision goes
    np.dtype(np.float32): RowSteps(newton=30, cg=100, newton_tol=1e-5, cg_tol=1e-3),
    np.dtype(np.float64): RowSteps(newton=60, cg=300, newton_tol=1e-11, cg_tol=1e-6),
}


def half_step(
    problem: RowProblem, this: Array, other: Array, gram: Gram, steps: RowSteps, n_threads: int = 1
) -> tuple[Array, float]:
    """Return this side's improved rows (a new array) and their sum over stored pairs, Σ_Ω [c ℓ − ½ p_i q_j (ỹ − s)²].

    ``gram`` is ``problem.gram_of(other)``. No row's objective rises. Nothing passed in is changed.
    Temporary memory: a rotated copy of ``other``, and per thread six numbers for each pair of the longest row
    and one chunk of rows.
    """
    axes = Axes.of(gram, problem.free_columns(this.shape[1]))
    rotated = axes.rotate(other, n_threads)
    new, values = rotated_half_step(
        problem, this, rotated, tree_sum(column_sizes(rotated)), gram, axes, steps, n_threads
    )
    return new, block_sums(values)


def rotated_half_step(
    problem: RowProblem,
    this: Array,
    rotated: Array,
    sizes: NDArray[np.float64],
    gram: Gram,
    axes: Axes,
    steps: RowSteps,
    n_threads: int = 1,
) -> tuple[Array, NDArray[np.float64]]:
    """The half-step with the other side in its ``axes`` already: improved rows, and each row's sum over its pairs.

    ``rotated`` may be changed. It needs the rows that the pairs of ``problem`` name and no others; ``sizes``, the sums
    of the squares of its columns, and ``gram`` are those of all of them.
    """
    dtype, free, basis = this.dtype, axes.free, axes.basis
    rotation = basis.astype(dtype)
    fixed = np.zeros(len(free)) if problem.constant is None else gram.matrix[problem.constant] * free
    stepping = Stepping(problem, rotated, Directions.of(sizes, axes.sigma, free, dtype), steps, n_threads)
    new = np.empty_like(this)
    blocks = thread_blocks(this, dtype, n_threads)

    def work(chunk: Chunk, worker: int) -> None:
        rows, count = slice(*chunk), chunk[1] - chunk[0]
        block = np.matmul(this[rows], rotation, out=blocks[worker][:count])
        centers = None if problem.centers is None else problem.centers[rows] @ basis
        stepping.take(chunk, worker, block, (problem.pulls(gram, rows) - fixed) @ basis, centers)
        np.matmul(block, rotation.T, out=new[rows])
        still = ~stepping.moved[rows]
        new[rows][still] = this[rows][still]  # rather than there and back, which rounds

    run_chunks(work, problem.chunks, n_threads)
    if problem.constant is not None:
        new[:, problem.constant] = this[:, problem.constant]
    return new, stepping.values


@dataclass(frozen=True)
class Directions:
    """The other side's axes in the factors' dtype: eigenvalues, which are learnt, and which hold ``nothing``."""

    sigma: Array
    mask: Array
    nothing: NDArray[np.intp]

    @classmethod
    def of(cls, sizes: NDArray[np.float64], sigma: Array, free: NDArray[np.bool_], dtype: Any) -> Directions:
        """``sizes`` are those of :func:`rotated_half_step`."""
        nothing = np.flatnonzero(unspanned(sizes, free, dtype))
        sigma = sigma.astype(dtype)
        sigma[nothing] = 0
        return cls(sigma, free.astype(dtype), nothing)


class Stepping:
    """The steps of rows that are in the other side's axes already: half-steps and fold-in take theirs here.

    ``rotated`` is that of :func:`rotated_half_step`. Once steps are taken, ``values`` holds each row's
    sum over its pairs and ``moved`` whether it is new.
    """

    def __init__(
        self, problem: RowProblem, rotated: Array, directions: Directions, steps: RowSteps, n_threads: int
    ) -> None:
        dtype = rotated.dtype
        self.problem, self.rotated, self.directions, self.steps = problem, rotated, directions, steps
        if len(directions.nothing):
            rotated[:, directions.nothing] = 0
        self.kernel = steps.kernel(len(directions.sigma))
        self.loops = problem.loss.loops(problem.weights.dtype, dtype)
        self.scratch = [np.empty((6, problem.longest), dtype) for _ in range(n_threads)]
        self.rounding = float(np.finfo(dtype).eps)
        self.values, self.moved = np.empty(problem.n_rows), np.empty(problem.n_rows, bool)

    def take(self, chunk: Chunk, worker: int, block: Array, pulls: Array, centers: Array | None) -> None:
        """Take the steps of a chunk of rows: ``block`` are their factors, which change, all in the axes."""
        problem, directions, steps, rows = self.problem, self.directions, self.steps, slice(*chunk)
        linear = problem.this_weights[rows, None] * pulls
        if len(directions.nothing):
            linear[:, directions.nothing] = 0
        if centers is not None:
            linear += problem.ridge[rows, None] * centers
        self.kernel(
            self.loops, *chunk, problem.indptr, problem.indices, problem.row_weights, problem.row_targets,
            problem.values, self.rotated, problem.other_weights, problem.this_weights, problem.ridge, directions.sigma,
            directions.mask, linear.astype(block.dtype), block, self.values[rows], self.moved[rows], steps.newton,
            steps.cg, steps.newton_tol, steps.cg_tol, self.rounding, self.scratch[worker],
        )  # fmt: skip
