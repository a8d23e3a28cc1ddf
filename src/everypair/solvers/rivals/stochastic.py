"""Stochastic gradient for the Full approach (NegSel, section 3.2): here to be compared, not to be used.

    draw a term of F = Σ_terms,   u_i ← u_i − η ∇_u term,   v_j ← v_j − η ∇_v term

The gradient of a random term is, up to the number of terms, unbiased for ∇F. But most of the terms are pairs that
nobody stored, so that passing over them once takes O(m·n·k): nothing here uses the Gram identity, and the alternating
solvers are faster by orders of magnitude. Updates depend on each other, so there is one thread.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from everypair.check import integer, number
from everypair.kernels.losses import CUSTOM
from everypair.kernels.stochastic import BSEARCH, DENSE, REFORM, SampledTerms, random_updates
from everypair.problem.layout import LEFT, RIGHT
from everypair.problem.losses import Loss
from everypair.problem.objective import Objective
from everypair.solvers.state import Factors
from everypair.types import Array

VARIANTS = {"reform": REFORM, "bsearch": BSEARCH, "dense": DENSE}
LEARNING_RATE = 0.05  # of 0.02 to 0.2 the lowest objective after four steps on 6000 × 3700 synthetic pairs
UPDATES_PER_STORED_PAIR = 10
SLOW_SHARE = 0.08  # of the columns, as in Chin et al.
MAX_DENSE_BYTES = 2**30


class StochasticGradient:
    """Lower an :class:`Objective` by random single-pair updates, drawn uniformly from the terms of the variant.

    - ``"reform"``: |Ω| + m·n terms, all pairs as if unknown and the stored ones corrected (NegSel (3.20)); |Ω| terms
      where nothing outside Ω has a weight.
    - ``"bsearch"``: m·n terms; binary search tells whether the pair is stored (NegSel (3.19)).
    - ``"dense"``: the same, looked up in an m × n array of 4·m·n bytes; refused above 1 GiB.

    One step is ``updates`` updates, by default min(m·n, 10·|Ω|), and F is evaluated after them; it may rise. The
    learning rates are those of Chin, Zhuang, Juan and Lin (PAKDD 2015): η = learning_rate / √G, where G sums a row's
    mean squared gradients. It does so twice: ``slow_share`` of the columns are learnt from the beginning, the others
    after |Ω| updates, from a G of their own, which has not grown by the steep gradients of the start. G begins at
    ``first_sum``, 1 in that paper, and anew where a step is not given what the last one returned; the random numbers
    go on. With ``slow_share=0`` there is one G and no waiting. At least one side of the start must differ from zero.

    >>> from everypair.data.pairs import Pairs
    >>> from everypair.problem.negatives import Negatives
    >>> from everypair.problem.ridge import Ridge
    >>> pairs = Pairs.from_matrix([[1, 0], [1, 1]])
    >>> objective = Objective(pairs, "squared", Negatives.from_scheme(pairs, weight=0.5), Ridge.checked(0.1, 0))
    >>> start = Factors(np.zeros((2, 1), np.float32), np.ones((2, 1), np.float32))
    >>> state = StochasticGradient(objective, "bsearch", updates=100).step(start)
    >>> state.objective < objective.value(start.left, start.right)
    True
    """

    descends = False
    quadratic_only, structured = False, False

    def __init__(
        self,
        objective: Objective,
        variant: str = "reform",
        learning_rate: float = LEARNING_RATE,
        random_state: Any = 0,
        *,
        updates: int | None = None,
        slow_share: float = SLOW_SHARE,
        first_sum: float = 0.0,
    ) -> None:
        if variant not in VARIANTS:
            raise ValueError(f"variant must be one of {', '.join(map(repr, VARIANTS))}, got {variant!r}.")
        self.learning_rate = checked_rate(learning_rate)
        check_loss(objective.loss)
        m, n = (side.n_rows for side in objective.rows)
        stored = len(objective.rows[LEFT].indices)
        if updates is None:
            updates = min(m * n, UPDATES_PER_STORED_PAIR * stored)
        updates = integer("updates", updates)
        if variant == "dense" and 4 * m * n > MAX_DENSE_BYTES:
            raise ValueError(
                f'variant="dense" needs an array of {m} × {n} numbers, {4 * m * n / 2**30:.1f} GiB, and at most '
                f'{MAX_DENSE_BYTES / 2**30:g} GiB is allowed; choose "reform" or "bsearch" instead.'
            )
        self.objective = objective
        self.variant = variant
        self.updates = updates
        left = objective.rows[LEFT]
        self._only_stored = variant == "reform" and not (left.this_weights.any() and left.other_weights.any())
        self.n_terms = (0 if self._only_stored else m * n) + (stored if variant == "reform" else 0)
        self._counter = np.random.default_rng(random_state).integers(2**64, dtype=np.uint64)
        self._lookup = self._rows_or_positions()
        self.slow_share = number("slow_share", slow_share, least=0, below=1)
        self.first_sum = number("first_sum", first_sum, least=0)
        self._wait = stored
        self._begin_anew()
        self._last: Factors | None = None

    def terms(self, rank: int) -> SampledTerms:
        """Return what the terms of F are made of, for factors of ``rank`` columns."""
        left, right = self.objective.rows
        m, n = left.n_rows, right.n_rows
        more: tuple[Any, Any] = (0, 0)
        if self.variant == "reform":  # a row's stored pairs are terms of it too
            more = np.diff(left.indptr), np.diff(right.indptr)
        constant, values = float(left.values[0]), (np.empty((m, 0), left.values.dtype),) * 2
        if left.this_values is not None and left.other_values is not None:
            constant, values = 0.0, (left.this_values, left.other_values)
        return SampledTerms(
            *self._lookup,
            indptr=left.indptr,
            indices=left.indices,
            c=left.every_weight,
            y=left.every_target,
            p=left.this_weights,
            q=left.other_weights,
            constant=constant,
            left_values=values[LEFT],
            right_values=values[RIGHT],
            left_ridge=left.ridge / np.maximum((0 if self._only_stored else n) + more[LEFT], 1),
            right_ridge=right.ridge / np.maximum((0 if self._only_stored else m) + more[RIGHT], 1),
            left_free=left.free_columns(rank).astype(np.float64),
            right_free=right.free_columns(rank).astype(np.float64),
        )

    def step(self, state: Factors) -> Factors:
        """Take the stated number of random updates."""
        if state is not self._last:
            self._begin_anew()
        left, right = np.array(state.left, order="C"), np.array(state.right, order="C")
        self.move(left, right)
        self._last = Factors(left, right, self.objective.value(left, right))
        return self._last

    def move(self, left: Array, right: Array) -> None:
        """The stated number of random updates, in place."""
        rank = left.shape[1]
        slow = max(1, round(self.slow_share * rank)) if self.slow_share > 0 and rank > 1 else 0
        wait = max(0, self._wait - self._taken) if slow else 0
        self._counter = np.uint64(
            random_updates(
                VARIANTS[self.variant], self.objective.loss.code, self.terms(rank), self.n_terms, self.updates,
                self.learning_rate, slow, wait, self._counter, left, right, *self.sums,
            )
        )  # fmt: skip
        self._taken += self.updates

    def memory(self) -> dict[str, Any]:
        """The rows' sums G, how many updates they are of, and the random numbers."""
        return {"sums": self.sums, "taken": self._taken, "counter": int(self._counter)}

    def recall(self, memory: dict[str, Any], state: Factors) -> None:
        """Go on from what :meth:`memory` said, at the state it was said of."""
        self.sums, self._taken = memory["sums"], memory["taken"]
        self._counter, self._last = np.uint64(memory["counter"]), state

    def _begin_anew(self) -> None:
        """No update was taken."""
        self.sums = tuple(np.full((side.n_rows, 2), self.first_sum) for side in self.objective.rows)
        self._taken = 0

    def _rows_or_positions(self) -> tuple[Array, Array]:
        """Return the row of every stored pair and the m × n array of their positions, each only where it is used."""
        left = self.objective.rows[LEFT]
        rows, positions = np.empty(0, left.indices.dtype), np.empty((0, 0), np.int32)
        if self.variant != "bsearch":
            every_row = np.repeat(np.arange(left.n_rows, dtype=left.indices.dtype), np.diff(left.indptr))
            if self.variant == "reform":
                rows = every_row
            else:
                positions = np.zeros((left.n_rows, self.objective.rows[RIGHT].n_rows), np.int32)
                positions[every_row, left.indices] = np.arange(1, len(every_row) + 1)
        return rows, positions


def checked_rate(learning_rate: float) -> float:
    """Return a learning rate, or refuse what is none."""
    return number("learning_rate", learning_rate, above=0)


def check_loss(loss: Loss) -> None:
    """Refuse a loss of the user's own, which these kernels cannot call."""
    if loss.code == CUSTOM:
        raise ValueError(
            f"stochastic gradient knows the built-in losses only, not {loss.name!r}; "
            'choose the solver "newton" or "block" instead.'
        )
