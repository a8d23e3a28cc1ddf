"""A = CCᵀ by tiles of 512 rows, in place, and what follows from C: solutions, and the diagonal of the inverse.

    C_JJ C_JJᵀ = A_JJ − Σ_{K<J} C_JK C_JKᵀ,      C_IJ = (A_IJ − Σ_{K<J} C_IK C_JKᵀ) C_JJ⁻ᵀ     (I > J)
    (A⁻¹)_ii = ‖C⁻¹ e_i‖²,                       a third of n³ for all i, (n − i)³ / 3 for the last n − i of them

Tiles depend on n alone and each is the work of one thread, so that the number of threads changes no bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from everypair.parallel import Chunk, even_chunks, run_chunks, single_threaded_blas

Matrix = NDArray[Any]
TILE = 512
COLUMNS_AT_ONCE = 128


def tiles(n: int) -> list[Chunk]:
    """Rows of a tile each."""
    return even_chunks(n, TILE)


@dataclass(frozen=True)
class TiledCholesky:
    """C of A = CCᵀ in the lower tiles of ``lower``; what lies above them has no meaning.

    >>> factor = TiledCholesky.factorise(np.array([[4.0, 0.0], [2.0, 2.0]]), n_threads=1)
    >>> factor.lower.tolist()
    [[2.0, 0.0], [1.0, 1.0]]
    >>> factor.solve(np.array([[4.0], [2.0]]), n_threads=1).ravel().tolist(), factor.inverse_diagonal(1).tolist()
    ([1.0, 0.0], [0.5, 1.0])
    """

    lower: Matrix

    @classmethod
    def factorise(cls, lower: Matrix, n_threads: int) -> Self:
        """Replace the lower triangle of a positive definite matrix, which is all that is read, by C."""
        chunks = tiles(len(lower))
        with single_threaded_blas():
            for number, (first, last) in enumerate(chunks):
                done = lower[first:last, :first]
                corner = lower[first:last, first:last]
                corner -= done @ done.T
                corner[...] = _cholesky(corner)

                def below(chunk: Chunk, worker: int, done: Matrix = done, corner: Matrix = corner) -> None:
                    rows = slice(*chunk)
                    tile = lower[rows, done.shape[1] : done.shape[1] + len(corner)]
                    tile -= lower[rows, : done.shape[1]] @ done.T
                    tile[...] = _left(corner, tile.T).T

                run_chunks(below, chunks[number + 1 :], n_threads)
        return cls(lower)

    def solve(self, right: Matrix, n_threads: int) -> Matrix:
        """A⁻¹ B."""
        out = np.empty(right.shape, self.lower.dtype)

        def work(chunk: Chunk, worker: int) -> None:
            columns = slice(*chunk)
            out[:, columns] = self.backward(self.forward(right[:, columns]))

        run_chunks(work, even_chunks(right.shape[1], COLUMNS_AT_ONCE), n_threads)
        return out

    def forward(self, right: Matrix) -> Matrix:
        """C⁻¹ B, on the calling thread."""
        B = np.array(right, self.lower.dtype, order="C")
        for first, last in tiles(len(self.lower)):
            B[first:last] -= self.lower[first:last, :first] @ B[:first]
            B[first:last] = _left(self.lower[first:last, first:last], B[first:last])
        return B

    def backward(self, right: Matrix) -> Matrix:
        """C⁻ᵀ B, on the calling thread."""
        B = np.array(right, self.lower.dtype, order="C")
        for first, last in tiles(len(self.lower))[::-1]:
            B[first:last] -= self.lower[last:, first:last].T @ B[last:]
            B[first:last] = _left(self.lower[first:last, first:last], B[first:last], transposed=True)
        return B

    def inverse_diagonal(self, n_threads: int, start: int = 0) -> Matrix:
        """The diagonal of A⁻¹ from row ``start`` on."""
        n = len(self.lower)
        diagonal = np.empty(n, self.lower.dtype)

        def work(chunk: Chunk, worker: int) -> None:
            first, last = chunk
            X = np.zeros((n - first, last - first), self.lower.dtype)  # the columns of C⁻¹, from their first row on
            X[: last - first] = _left(self.lower[first:last, first:last], np.eye(last - first, dtype=X.dtype))
            for begin, end in tiles(n):
                if begin >= last:
                    done = self.lower[begin:end, first:begin] @ X[: begin - first]
                    X[begin - first : end - first] = _left(self.lower[begin:end, begin:end], -done)
            diagonal[first:last] = np.einsum("ij,ij->j", X, X)

        run_chunks(work, [chunk for chunk in tiles(n) if chunk[1] > start], n_threads)
        return diagonal[start:]


def _cholesky(matrix: Matrix) -> Matrix:
    import scipy.linalg  # slow to import, and answers that have no kernel do without

    try:
        return np.asarray(scipy.linalg.cholesky(matrix, lower=True, check_finite=False))
    except scipy.linalg.LinAlgError:
        raise ValueError(
            f"the kernel matrix is not positive definite in {matrix.dtype}: raise reg, or use dtype='float64'."
        ) from None


def _left(corner: Matrix, right: Matrix, transposed: bool = False) -> Matrix:
    """C⁻¹ B or C⁻ᵀ B for one tile."""
    from scipy.linalg import solve_triangular

    return np.asarray(solve_triangular(corner, right, lower=True, trans=int(transposed), check_finite=False))
