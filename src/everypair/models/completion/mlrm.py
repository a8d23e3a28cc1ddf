"""MLRM: completion by ranking every pair of a row's columns (Li et al., "Multi-Label Ranking Loss Minimization")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from everypair.check import is_number
from everypair.data.observed import Observed
from everypair.models.completion.base import CompletionModel, Data, Estimate
from everypair.models.completion.correction import KINDS
from everypair.parallel import resolve_threads
from everypair.problem.completion.bilinear import Bilinear
from everypair.problem.completion.ranking import RankingProblem
from everypair.solvers.completion.ranking import VARIANTS, RankingAlternation, RankingState
from everypair.solvers.completion.shrinkage import Shrinkage

CODINGS = ("centred", "01", "±1", None)


@dataclass(frozen=True)
class _Oriented:
    """The ranking problem, and whether rows and columns were exchanged for it."""

    ranking: RankingProblem
    turned: bool


class MLRM(CompletionModel):
    """Rank columns within rows: λ1‖M‖_* + λ2‖N‖₁ + ½ Σ_i Σ_{p<q} (ŷ_ip − ŷ_iq − (y_ip − y_iq))², Ŷ = M + A N Cᵀ.

    The loss runs over *all* pairs of columns of Y₀, which is 0 where nothing was observed; the m(m − 1)/2 pairs are
    never formed. Scores rank the columns of a row; they have no level of their own unless ``correct`` gives them one.
    The loss has no mask: prefer :class:`FNNM` where values are wanted and entries are missing at random.

    Parameters
    ----------
    nuclear_reg, l1_reg : λ1 and λ2 in the paper's units, or ``"auto"``: chosen at a held-out fifth of the observed
        entries by a path with warm starts (``path_``), then fitted on all of them.
    noise_reg : λ3 of ``variant="noise"``, 1 by default.
    variant : ``"local"``: Ŷ = M + A N Cᵀ (Algorithm 1); without features N is absent. ``"global"``: Ŷ = M, which A N Cᵀ
        approximates (15). ``"transductive"``: no features, one shrinkage (12). ``"noise"``: a part Z of Y₀ is noise
        (Algorithm 3); the same minimiser as ``"local"`` with λ1 and λ2 times (1 + λ3)/λ3.
    accelerate : momentum; the optimum is the same, the iterates are those of the paper without it.
    coding : what observed entries become in Y₀. ``"centred"``: values less the mean of their row's observed ones, so
        that unobserved means average. ``None``: as they are, the paper's. For data of two values also ``"01"``: the
        smaller one is 0, which the loss cannot tell from unobserved, and ``"±1"``: it is −1.
    correct : ``"offset"`` or ``"offset-scale"`` learns an offset (and a scale) of every row at observed entries and
        keeps within their range; ``None`` leaves scores. ``"auto"``: ``None`` for two values, else ``"offset-scale"``.
    pairs : ``"columns"`` compares the columns of a row, ``"rows"`` the rows of a column.
    orthonormal : make the columns of each side's features orthonormal by QR, which takes fewer iterations but gives
        every direction the same weight; features that add nothing are left out.
    svd : ``"exact"``, ``"truncated"`` or ``"auto"`` by size (truncated where both sides exceed 500).
    max_iter, tol, patience, time_limit : when to stop, see :class:`~everypair.solvers.loop.StopRules`.
    n_threads, verbose : threads (``None``: all cores; the result does not depend on it), a progress bar.

    Examples
    --------
    >>> import numpy as np
    >>> blocks = np.kron(np.eye(2), np.ones((6, 5)))   # two groups of rows, two of columns
    >>> blocks[0, 0] = blocks[7, 6] = np.nan           # two entries are unknown
    >>> model = MLRM(nuclear_reg=5.0, l1_reg=1.0).fit(blocks)
    >>> columns, scores = model.recommend([0, 7], n=1)
    >>> columns.ravel().tolist()
    [0, 6]
    """

    def __init__(
        self,
        nuclear_reg: float | str = "auto",
        l1_reg: float | str = "auto",
        noise_reg: float | None = None,
        variant: str = "local",
        accelerate: bool = True,
        coding: str | None = "centred",
        correct: str | None = "auto",
        pairs: str = "columns",
        orthonormal: bool = False,
        svd: str = "auto",
        max_iter: int = 300,
        tol: float = 1e-5,
        patience: int | None = None,
        time_limit: float | None = None,
        n_threads: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.nuclear_reg = nuclear_reg
        self.l1_reg = l1_reg
        self.noise_reg = noise_reg
        self.variant = variant
        self.accelerate = accelerate
        self.coding = coding
        self.correct = correct
        self.pairs = pairs
        self.orthonormal = orthonormal
        self.svd = svd
        self.max_iter = max_iter
        self.tol = tol
        self.patience = patience
        self.time_limit = time_limit
        self.n_threads = n_threads
        self.verbose = verbose

    def _checked(self, data: Data) -> None:
        _one_of("variant", self.variant, VARIANTS)
        _one_of("coding", self.coding, CODINGS)
        _one_of("correct", self.correct, ("auto", None, *KINDS))
        _one_of("pairs", self.pairs, ("columns", "rows"))
        Shrinkage(self.svd)
        if self.variant == "noise":
            if self.noise_reg is not None and not (is_number(self.noise_reg) and 0 < self.noise_reg < np.inf):
                raise ValueError(f"noise_reg must be a finite number > 0, got {self.noise_reg!r}.")
        elif self.noise_reg is not None:
            raise ValueError(f'noise_reg belongs to variant="noise", the variant here is {self.variant!r}.')
        featureless = data.left is None and data.right is None
        if self.variant == "transductive" and not featureless:
            raise ValueError('variant="transductive" uses no features: leave them out, or take variant="local".')
        if self.variant == "global" and featureless:
            raise ValueError('variant="global" explains M by features: give some, or take variant="transductive".')
        if self.coding in ("01", "±1") and data.observed.levels is None:
            raise ValueError(f'coding={self.coding!r} is for data of two values; use "centred" or None here.')
        if data.observed.shape[1 if self.pairs == "columns" else 0] < 2:
            raise ValueError(f"there are no pairs of {self.pairs} to rank in a matrix of shape {data.observed.shape}.")
        scores_only = self.correct is None and data.observed.levels is None
        if scores_only and "auto" in (self.nuclear_reg, self.l1_reg):
            raise ValueError(
                "scores without a level cannot be judged against values: give nuclear_reg and l1_reg, or "
                'correct="offset" (which ranks the same).'
            )

    def _prepare(self, data: Data) -> _Oriented:
        observed = self._coded(data.observed)
        left, right = data.matrices
        turned = self.pairs == "rows"
        if turned:
            observed, left, right = observed.transposed, right, left
        side = Bilinear(observed.shape, left, right, centred=True)
        return _Oriented(RankingProblem(observed, side, resolve_threads(self.n_threads)), turned)

    def _coded(self, observed: Observed) -> Observed:
        coding = self.coding
        if coding is None:
            return observed
        if coding == "centred":
            if self.pairs == "rows":
                return observed.with_values(observed.values - observed.transposed.row_means()[observed.indices])
            return observed.with_values(observed.values - observed.row_means()[observed.rows])
        assert observed.levels is not None
        low = 0.0 if coding == "01" else -1.0
        return observed.with_values(np.where(observed.values == observed.levels[1], 1.0, low))

    def _start(self, problem: _Oriented) -> RankingState:
        return RankingState.zero(problem.ranking)

    def _solver(self, problem: _Oriented, regularisation: dict[str, float]) -> RankingAlternation:
        noise = None
        if self.variant == "noise":
            noise = 1.0 if self.noise_reg is None else float(self.noise_reg)
        return RankingAlternation(
            problem.ranking, self.variant, regularisation["nuclear_reg"], regularisation["l1_reg"], noise,
            self.accelerate, Shrinkage(self.svd),
        )  # fmt: skip

    def _estimate(self, problem: _Oriented, state: RankingState) -> Estimate:
        M, N = state.low_rank, state.weights
        if problem.turned:
            M, N = M.transposed, None if N is None else N.T
        return Estimate(M, N, adds=self.variant != "global")

    def _strongest(self, problem: _Oriented) -> dict[str, float]:
        nuclear, l1 = problem.ranking.strongest()
        return {"nuclear_reg": nuclear, "l1_reg": l1}

    def _compared(self) -> str:
        return self.pairs

    def _correction(self, observed: Observed) -> str | None:
        if self.correct == "auto":
            return None if observed.levels is not None else "offset-scale"
        return self.correct


def _one_of(name: str, value: Any, known: tuple[Any, ...]) -> None:
    if not any(value is option or (isinstance(value, str) and value == option) for option in known):
        raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}, got {value!r}.")
