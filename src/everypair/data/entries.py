"""A matrix as the list of its stored entries, which scikit-learn's searches can cut.

``Entries(matrix)`` has as many samples as the matrix has entries; some of them are the matrix of the same shape that
stores those alone, which is what ``fit`` and ``score`` of a recommender take. Any splitter of scikit-learn cuts entries
then, :class:`EntrySplit` by the rules of :mod:`everypair.data.splits`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.check import as_csr, integer
from everypair.data.matching import as_events
from everypair.data.splits import check_held_out, hold_out


class Entries:
    """The stored entries of a matrix (users × items) as samples, in row-major order, with their times if given.

    Of events it takes the matrix and the times; a search then works in positions, and what it finds is fitted by id
    with ``OneClassMF(**search.best_params_).fit(events)``.

    >>> entries = Entries([[1, 0, 2], [0, 3, 0]])
    >>> len(entries), entries[[0, 2]].toarray().tolist()
    (3, [[1.0, 0.0, 0.0], [0.0, 3.0, 0.0]])
    """

    def __init__(self, interactions: Any, times: Any = None) -> None:
        events = as_events(interactions, "interactions")
        self.matrix, _ = as_csr(interactions if events is None else events.matrix, np.float32, "interactions")
        self.times = times if events is None or times is not None else events.times
        self._rows = np.repeat(np.arange(self.matrix.shape[0]), np.diff(self.matrix.indptr))

    @property
    def shape(self) -> tuple[int]:
        """One number per sample, as scikit-learn counts them."""
        return (self.matrix.nnz,)

    def __len__(self) -> int:
        return int(self.matrix.nnz)

    def __getitem__(self, chosen: Any) -> Any:
        if isinstance(chosen, tuple):  # scikit-learn asks for entries[chosen, ...]
            chosen = chosen[0]
        stored = self.matrix
        rows = np.atleast_1d(self._rows[chosen])
        return sp.csr_array(
            (np.atleast_1d(stored.data[chosen]), (rows, np.atleast_1d(stored.indices[chosen]))), shape=stored.shape
        )

    def tocsr(self) -> Any:
        """The whole matrix."""
        return self.matrix


class EntrySplit:
    """A splitter for ``cv=``: held-out entries by chance, every user's last one, or the latest by time.

    >>> entries = Entries(np.ones((4, 5)), times=np.arange(20))
    >>> ((train, test),) = EntrySplit("last").split(entries)
    >>> test.tolist()
    [4, 9, 14, 19]
    """

    def __init__(
        self, held_out: str = "random", n_splits: int = 1, test_share: float = 0.1, random_state: int = 0
    ) -> None:
        check_held_out(held_out)
        if integer("n_splits", n_splits) > 1 and held_out != "random":
            raise ValueError(f"there is one way to hold out the {held_out!r} entries: n_splits must be 1.")
        self.held_out, self.n_splits = held_out, n_splits
        self.test_share, self.random_state = test_share, random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """How many (train, test) there will be."""
        return self.n_splits

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Yield the numbers of the entries to train on and of those held out."""
        if not isinstance(X, Entries):
            raise TypeError(f"EntrySplit cuts Entries(matrix), got {type(X).__name__}: rows of a matrix are users.")
        numbered = X.matrix.copy()
        numbered.data = np.arange(1, len(X) + 1)
        for number in range(self.n_splits):
            _, test = hold_out(numbered, self.held_out, X.times, self.random_state + number, self.test_share)
            chosen = np.zeros(len(X), bool)
            chosen[test.data - 1] = True
            yield np.flatnonzero(~chosen), np.flatnonzero(chosen)
