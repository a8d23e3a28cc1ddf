"""The ridge of MultiLabelMF, found on held-out rows: the multiple of the unit ridge that ranks them best.

½, 1, 2 and 4 are tried, then what lies beyond the best of them as long as that ranks better still (nDCG@5); with it, 2w
is tried for the weight w of negatives. Each is learnt on the same rows from where the nearest ridge ended, with one
decomposition of XᵀPX for all. The scores of held-out rows are kept: the threshold is found on them too. Where time is
over, or Ctrl-C comes, the best of those tried is taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair.data.labels import Labels
from everypair.metrics.multilabel import multilabel_metrics
from everypair.models.multilabel.problem import LabelProblem
from everypair.models.multilabel.threshold import best_threshold
from everypair.solvers.preconditioner import Spectrum
from everypair.solvers.state import Factors
from everypair.training.clock import Clock
from everypair.types import Array

Rows = NDArray[np.int64]
MULTIPLES = (0.5, 1.0, 2.0, 4.0)
SMALLER, LARGER = 0.25, 2.0  # steps beyond these,
SMALLEST, LARGEST = 2.0**-11, 2.0**6  # and how far they go
TOP = 5  # labels of a row whose ranking counts
TIE = 0.001  # a larger ridge is taken if it ranks worse by less than this
FEWEST_ROWS = 50  # with fewer, nothing is held out
FOLDED_ROWS = 2000  # with fewer, every row is held out once
FOLDS = 3
HELD_OUT_SHARE = 5  # otherwise every fifth row,
MOST_ROWS = 20_000  # of at most so many,
MOST_SCORES = 2**22  # and at most so many scores


class Choice(NamedTuple):
    """Multiples of the unit ridge and of the weight of negatives."""

    ridge: float = 1.0
    weight: float = 1.0


Learn = Callable[[LabelProblem, Choice, Factors | None, Spectrum | None], Factors]


class Fold:
    """Rows to learn from, rows to rank, and what was learnt so far."""

    def __init__(
        self, problem: LabelProblem, spectrum: Spectrum | None, kept: Rows, held: Rows, learn: Learn, dtype: Any
    ) -> None:
        self.part, self.truth, self.learn = problem.rows(kept), problem.labels.rows(held), learn
        self.weights = problem.row_weights[held]
        self.others = problem.X[held].astype(dtype, copy=False)
        share = float(self.part.row_weights.sum() / problem.row_weights.sum())
        self.spectrum = None if spectrum is None else spectrum.scaled(share)
        self.counted = int(np.count_nonzero(np.diff(self.truth.positives.indptr)))
        self.states: dict[Choice, Factors] = {}

    def scores(self, choice: Choice) -> Array:
        """Scores of the rows to rank, learnt from where the nearest ridge ended."""
        nearest = min(self.states, key=lambda other: abs(math.log(other.ridge / choice.ridge)), default=None)
        start = None if nearest is None else self.states[nearest]
        state = self.states[choice] = self.learn(self.part, choice, start, self.spectrum)
        return np.asarray((self.others @ state.parameters(0)) @ state.right.T)


class RidgeSearch:
    """Finds the choice that ranks held-out rows best; ``learn`` trains on a part of the problem with a choice.

    ``spectrum`` is that of all rows, in the problem's own coordinates.
    """

    def __init__(self, problem: LabelProblem, learn: Learn, dtype: Any, clock: Clock) -> None:
        self.clock, self.interrupted = clock, False
        compact = problem.compact()
        spectrum = compact.spectrum(dtype)
        self.spectrum = spectrum if compact is problem else None
        self.folds = [Fold(compact, spectrum, kept, held, learn, dtype) for kept, held in held_out(problem.labels)]
        self.seen: dict[Choice, tuple[float, list[Array]]] = {}

    def best(self, weighted: bool) -> Choice:
        """The best multiple of the ridge and, if ``weighted``, whether negatives should weigh twice as much."""
        if not self.folds:
            return Choice()
        try:
            chosen = Choice(best_multiple(lambda multiple: self.quality(Choice(multiple))))
            twice = Choice(chosen.ridge, 2.0)
            return twice if weighted and self.quality(twice) > self.quality(chosen) else chosen
        except TimeoutError:
            pass
        except KeyboardInterrupt:
            if not self.seen:
                raise
            self.interrupted = True
        return max(self.seen, key=self.quality)

    def learnt(self, choice: Choice) -> Factors | None:
        """What the first fold learnt with a choice."""
        return self.folds[0].states.get(choice) if self.folds else None

    def quality(self, choice: Choice) -> float:
        """How well a choice ranks the held-out rows that have a label."""
        if choice not in self.seen:
            if self.seen and self.clock.left() <= 0:
                raise TimeoutError
            scores = [fold.scores(choice) for fold in self.folds]
            total = sum(fold.counted * ranking_quality(s, fold.truth) for fold, s in zip(self.folds, scores))
            self.seen[choice] = (total / sum(fold.counted for fold in self.folds), scores)
        return self.seen[choice][0]

    def threshold(self, choice: Choice) -> float | None:
        """The threshold with the best micro F1 on the held-out rows; ``None`` where none are held out."""
        if not self.folds:
            return None
        self.quality(choice)
        truth = [fold.truth for fold in self.folds]
        scores, weights = np.concatenate(self.seen[choice][1]), np.concatenate([fold.weights for fold in self.folds])
        return best_threshold(scores, Labels.stacked(truth), weights)


def held_out(labels: Labels) -> Iterator[tuple[Rows, Rows]]:
    """Yield (rows to learn from, rows to rank): all rows in three folds, or a fifth of them once where there are many.

    The same data give the same rows, whatever ``random_state``.
    """
    n, n_labels = labels.shape
    if n < FEWEST_ROWS:
        return
    order = np.random.default_rng(0).permutation(n)[:MOST_ROWS]
    if n < FOLDED_ROWS:
        parts = [order[fold::FOLDS] for fold in range(FOLDS)]
    else:
        parts = [order[: max(1, min(len(order) // HELD_OUT_SHARE, MOST_SCORES // n_labels))]]
    for held in parts:
        kept = np.setdiff1d(order, held)
        if labels.rows(kept).positives.nnz and labels.rows(held).positives.nnz:
            yield kept, np.sort(held)


def best_multiple(quality: Callable[[float], float]) -> float:
    """Return the multiple with the best quality, the largest of those that nearly equal it.

    >>> best_multiple(lambda multiple: -abs(multiple - 0.03))
    0.03125
    """
    first = [quality(multiple) for multiple in MULTIPLES]
    near = [number for number, reached in enumerate(first) if reached >= max(first) - TIE]
    best, reached = MULTIPLES[near[-1]], first[near[-1]]
    for factor, end in ((SMALLER, MULTIPLES[0]), (LARGER, MULTIPLES[-1])):
        if best != end:
            continue
        while SMALLEST <= factor * best <= LARGEST:
            beyond = quality(factor * best)
            if beyond <= reached:
                break
            best, reached = factor * best, beyond
    return best


def ranking_quality(scores: Array, labels: Labels) -> float:
    """Return nDCG@5 of the known labels, mean over rows with a label.

    >>> ranking_quality(np.array([[0.3, 0.2], [0.3, 0.2]]), Labels.from_y([[1, 0], [0, 1]])).__round__(3)
    0.815
    """
    length = min(TOP, labels.shape[1])
    return multilabel_metrics(known_alone(scores, labels), labels.positives, [length], n_threads=1)[f"ndcg@{length}"]


def known_alone(scores: Array, labels: Labels) -> Array:
    """Scores in which labels that are not known come last.

    >>> known_alone(np.array([[0.3, 0.2]]), Labels.from_y([[np.nan, 1.0]], "missing")).tolist()
    [[-inf, 0.2]]
    """
    if labels.known is None:
        return scores
    hidden = np.full_like(scores, -np.inf)
    rows = np.repeat(np.arange(len(scores)), np.diff(labels.known.indptr))
    hidden[rows, labels.known.indices] = scores[rows, labels.known.indices]
    return hidden
