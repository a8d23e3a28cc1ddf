"""How KernelCompletion learns: a first stage, and what may be built on it, chosen at held-out observed entries.

    first        F₀ = μ + K_r A K_c,  (P_Ω (K_r ⊗ K_c) P_Ω + λ) A = P_Ω(Y − μ)
    profiles     features on both sides, twice: K ← .46 K + .54 G on both, G how alike rows (columns) are of the matrix
                 that has Y on Ω and F elsewhere; rows and columns without an observed entry stay as in the first stage
    metric       features on one side: those count more that predict F₀ (:mod:`everypair.features.learned_metric`)
    covariance   a side without features: K_c is learnt (:mod:`everypair.solvers.kernel_ridge.covariance`)

λ has the least generalised cross-validation in the first stage; after it, and for two values, it has a floor, and for
two values with features on both sides a ceiling.
Hidden entries are never looked at: a fifth of Ω is held out, and what has the least squared error there (a metric:
by more than the error's standard error) is fitted to all of Ω.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from everypair.data.observed import Observed
from everypair.features.ridge_weights import choose_ridge, feature_norms
from everypair.models.completion.data import fifth_held_out
from everypair.models.completion.kernel_side import KernelSide
from everypair.models.completion.offsets import Offsets
from everypair.solvers.kernel_ridge.covariance import learn_covariance
from everypair.solvers.kernel_ridge.gcv import gcv_scores, random_signs
from everypair.solvers.kernel_ridge.masked import MaskedKernelRidge
from everypair.solvers.kernel_ridge.products import EXACT, DenseKernel, IdentityKernel, SideKernel, kernel_of
from everypair.solvers.kernel_ridge.profiles import mixed, profile_values
from everypair.types import Array64

RIDGES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
LEAST_CLASSES, LEAST_PROFILES, LEAST_COVARIANCE = 0.03, 0.24, 0.1  # λ of two values, and after the first stage
MOST_PAIRS = 0.3  # λ of two values with features on both sides, where few positives leave GCV undecided
PROFILE_SHARE, PROFILE_ROUNDS = 0.54, 2
TOL = 1e-3  # of the last solution
Watch = Callable[[int, str], None]
FIRST: tuple[str, ...] = ()


@dataclass(frozen=True)
class Learnt:
    """A completed matrix and what answers for new entities: a (at Ω), the sides it belongs to, a learnt K_c."""

    offsets: Offsets
    completed: Array64
    coefficients: Array64
    left: KernelSide | None
    right: KernelSide | None
    covariance: DenseKernel | None = None


@dataclass(frozen=True)
class MaskedKernelLearner:
    """Observed entries and sides, oriented so that a single side with features is the left one."""

    observed: Observed
    left: KernelSide | None
    right: KernelSide | None
    n_threads: int
    watch: Watch

    def recipes(self) -> list[tuple[str, ...]]:
        """What may be built on the first stage."""
        if self.left is not None and self.right is not None:
            return [FIRST, ("profiles",)]
        metric = self.left is not None and self.left.scale is not None
        covariance = self.observed.shape[1] <= EXACT
        steps = [("metric",)] * metric + [("covariance",)] * covariance
        return [FIRST, *steps] + [("metric", "covariance")] * (metric and covariance)

    def offsets(self) -> Offsets:
        """μ and the columns' deviations."""
        if self.observed.levels is None:
            return Offsets.of_both(self.observed)
        if self.left is not None and self.right is not None:
            return Offsets.mean(self.observed)
        return Offsets.of_columns(self.observed)

    def ridge(self) -> float:
        """λ of the least GCV."""
        self.watch(0, "choosing the ridge")
        system = self._system(0.0)
        targets = self.offsets().residual(self.observed)
        least, most = 0.0, math.inf
        if self.observed.levels is not None:
            least, most = LEAST_CLASSES, math.inf if self.left is None or self.right is None else MOST_PAIRS
        ridges = [ridge for ridge in RIDGES if least <= ridge <= most]
        scores = gcv_scores(system.product, targets, random_signs(self.observed.nnz), ridges)
        return ridges[int(np.argmin(scores))]

    def choose(self, ridge: float) -> tuple[tuple[str, ...], dict[str, float]]:
        """The recipe of the least squared error at held-out observed entries, and all errors, scaled."""
        recipes, split = self.recipes(), fifth_held_out(self.observed)
        if split is None or len(recipes) == 1:
            return FIRST, {}
        kept, held_out = split
        learner, squares = replace(self, observed=kept), []
        first = learner.first(ridge)
        for recipe in recipes:
            learnt = learner.built(recipe, ridge, first)
            rest = held_out.values - learnt.completed[held_out.rows, held_out.indices]
            squares.append(np.square(rest / first.offsets.scales(held_out)))
        errors = [float(one.mean()) for one in squares]
        best = int(np.argmin(errors))
        if "metric" in recipes[best]:  # a weight for every feature has to win by more than chance
            others = [place for place, recipe in enumerate(recipes) if "metric" not in recipe]
            plain = min(others, key=errors.__getitem__)
            gain = squares[plain] - squares[best]
            best = best if gain.mean() > gain.std() / math.sqrt(len(gain)) else plain
        return recipes[best], {" and ".join(recipe) or "first": error for recipe, error in zip(recipes, errors)}

    def built(self, recipe: tuple[str, ...], ridge: float, first: Learnt) -> Learnt:
        """The first stage and what the recipe builds on it."""
        learnt = first
        for step in recipe:
            self.watch(0, step)
            if step == "profiles":
                learnt = self._profiles(learnt, max(ridge, LEAST_PROFILES))
            elif step == "metric":
                learnt = self._metric(learnt).first(ridge)
            else:
                learnt = replace(self, left=learnt.left)._covariance(max(ridge, LEAST_COVARIANCE))
        return learnt

    def first(self, ridge: float) -> Learnt:
        """F₀."""
        self.watch(0, "first stage")
        offsets, system = self.offsets(), self._system(ridge)
        a = self._solve(system, offsets)
        return Learnt(offsets, offsets.values(system.completed(a)), a, self.left, self.right)

    def _kernels(self) -> tuple[SideKernel, SideKernel]:
        n, m = self.observed.shape
        left = IdentityKernel(n) if self.left is None else self.left.kernel(self.n_threads)
        right = IdentityKernel(m) if self.right is None else self.right.kernel(self.n_threads)
        return left, right

    def _system(self, ridge: float) -> MaskedKernelRidge:
        return MaskedKernelRidge(self.observed, *self._kernels(), ridge, self.n_threads)

    def _solve(self, system: MaskedKernelRidge, offsets: Offsets, start: Array64 | None = None) -> Array64:
        targets = offsets.residual(self.observed)[:, None]
        begin = None if start is None else start[:, None]
        values: Array64 = system.solve(targets, begin, TOL, watch=lambda done: self.watch(done, "")).values[:, 0]
        return values

    def _profiles(self, learnt: Learnt, ridge: float) -> Learnt:
        assert self.left is not None
        assert self.right is not None
        completed, offsets, a = learnt.completed, learnt.offsets, learnt.coefficients
        sides = self.left, self.right
        for _ in range(PROFILE_ROUNDS):
            filled = completed.copy()
            filled[self.observed.rows, self.observed.indices] = self.observed.values
            left, right = (
                kernel_of(
                    mixed(side.values, profile_values(profiles), PROFILE_SHARE), len(profiles),
                    side.own * (1 - PROFILE_SHARE), self.n_threads,
                )
                for side, profiles in zip(sides, (filled, filled.T.copy()))
            )  # fmt: skip
            system = MaskedKernelRidge(self.observed, left, right, ridge, self.n_threads)
            a = self._solve(system, offsets, a)
            completed = offsets.values(system.completed(a))
        unseen = [np.bincount(index, minlength=size) == 0 for index, size in self._index()]
        completed[unseen[0]] = learnt.completed[unseen[0]]
        completed[:, unseen[1]] = learnt.completed[:, unseen[1]]
        return replace(learnt, completed=completed)

    def _index(self) -> list[tuple[Any, int]]:
        return list(zip((self.observed.rows, self.observed.indices), self.observed.shape))

    def _metric(self, learnt: Learnt) -> MaskedKernelLearner:
        side, offsets = self.left, learnt.offsets
        assert side is not None
        targets = (learnt.completed - offsets.columns - offsets.rows[:, None]) / offsets.column_scale
        norms = feature_norms(side.known, targets, choose_ridge(side.known, targets))
        return replace(self, left=side.rescaled(norms))

    def _covariance(self, ridge: float) -> Learnt:
        offsets, system = self.offsets(), self._system(ridge)
        targets = offsets.residual(self.observed)
        covariance, a = learn_covariance(system, targets, watch=lambda done: self.watch(done, ""))
        system = replace(system, right=covariance)
        a = self._solve(system, offsets, a)
        return Learnt(offsets, offsets.values(system.completed(a)), a, self.left, self.right, covariance)
