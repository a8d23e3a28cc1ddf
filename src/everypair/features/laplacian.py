"""The graph regulariser tr(UᵀLU) = ½ Σ_{i,j} S_ij ‖u_i − u_j‖²: neighbours have similar factors.

    L = D − S,  D = diag(S1)            or, normalised,            L = I − D^{-½} S D^{-½}

with S ← (S + Sᵀ)/2 and without self-loops. A node without neighbours has a zero row in L: nothing pulls it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.check import as_csr
from everypair.features.matrix import Features
from everypair.types import Array


class Laplacian:
    """L of a similarity or adjacency matrix.

    >>> path = Laplacian.from_similarity([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=np.float64)
    >>> path.product(np.array([[1.0], [2.0], [4.0]])).ravel().tolist()
    [-1.0, -1.0, 2.0]
    """

    def __init__(self, matrix: Any, dtype: Any) -> None:
        with np.errstate(over="ignore"):  # refused with a sentence
            if not np.isfinite(matrix.data.astype(dtype)).all():
                raise ValueError(f"the graph has similarities too large for {np.dtype(dtype)}: rescale them.")
        self.matrix = matrix
        self.diagonal: Array = matrix.diagonal()
        self._product = Features(matrix, dtype)

    @classmethod
    def from_similarity(
        cls, similarity: Any, *, normalized: bool = False, dtype: Any = np.float32, name: str = "graph"
    ) -> Laplacian:
        """Check a square matrix of similarities ≥ 0 and form its Laplacian."""
        matrix, _ = as_csr(similarity, np.float64, name)
        if matrix.shape[0] != matrix.shape[1]:
            raise ValueError(f"{name} must be square, one row and one column per entity, got shape {matrix.shape}.")
        if matrix.nnz and not np.isfinite(matrix.data).all():
            raise ValueError(f"{name} has NaN or infinite similarities: drop or fill them.")
        if matrix.nnz and matrix.data.min() < 0:
            raise ValueError(f"{name} has negative similarities: cut them to 0 or drop them.")
        both_ways = sp.csr_array((matrix + matrix.T) * 0.5)
        both_ways = sp.csr_array(both_ways - sp.diags_array(both_ways.diagonal()))
        degrees = np.asarray(both_ways.sum(axis=1)).ravel()
        if normalized:
            root = np.divide(1.0, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0)
            both_ways = sp.csr_array(sp.diags_array(root) @ both_ways @ sp.diags_array(root))
            degrees = (degrees > 0).astype(np.float64)
        laplacian = sp.csr_array(sp.diags_array(degrees) - both_ways)
        laplacian.eliminate_zeros()
        laplacian.sort_indices()
        return cls(laplacian, dtype)

    def product(self, factors: Array, n_threads: int = 1) -> Array:
        """LU."""
        return self._product.product(factors, n_threads)

    def form(self, features: Features) -> NDArray[np.float64]:
        """XᵀLX (d × d, dense)."""
        matrix = features.matrix.astype(np.float64)
        product = matrix.T @ (self.matrix @ matrix)
        return np.asarray(product.toarray() if sp.issparse(product) else product)

    def form_diagonal(self, features: Features) -> NDArray[np.float64]:
        """Diagonal of XᵀLX."""
        matrix = features.matrix.astype(np.float64)
        image = self.matrix @ matrix
        product = matrix.multiply(image) if sp.issparse(matrix) else matrix * image
        return np.asarray(product.sum(axis=0)).ravel()
