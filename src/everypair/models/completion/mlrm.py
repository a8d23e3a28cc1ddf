"""MLRM: completion by ranking every pair of a row's columns (Li et al., "Multi-Label Ranking Loss Minimization")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from everypair import check
from everypair.data.observed import Observed
from everypair.models.completion.base import CompletionModel, Decomposition
from everypair.models.completion.correction import KINDS
from everypair.models.completion.data import CompletionData
from everypair.models.completion.parameters import FeatureOptions, NuclearNorm, SingularValues, SparseWeights
from everypair.models.completion.path import Regularisation
from everypair.models.parameters import estimator, number, one_of, or_none, parameter
from everypair.parallel import resolve_threads
from everypair.problem.completion.bilinear import Bilinear
from everypair.problem.completion.centring import Centring
from everypair.problem.completion.masked import MaskedProblem
from everypair.problem.completion.ranking import RankingProblem
from everypair.solvers.completion.accelerated import AcceleratedNuclear
from everypair.solvers.completion.feature_nuclear import FeatureNuclear, MaskedState
from everypair.solvers.completion.ranking import VARIANTS, RankingAlternation, RankingState
from everypair.solvers.completion.shrinkage import Shrinkage


@estimator
class PaperSwitches:
    """Variants of the paper and what its data become: the defaults are ours."""

    variant: str = parameter(
        "local",
        '``"local"``: Ŷ = M + A N Cᵀ (Algorithm 1); without features N is absent. ``"global"``: Ŷ = M, which A N '
        'Cᵀ approximates (15). ``"transductive"``: no features, one shrinkage (12). ``"noise"``: a part Z of Y₀ '
        'is noise (Algorithm 3); the same minimiser as ``"local"`` with λ1 and λ2 times (1 + λ3)/λ3.',
        one_of(*VARIANTS),
    )
    noise_reg: float | None = parameter(None, 'λ3 of ``variant="noise"``, 1 by default.', or_none(number(above=0)))
    accelerate: bool = parameter(
        True, "momentum; the optimum is the same, the iterates are those of the paper without it.", check.flag
    )
    coding: str | None = parameter(
        "centred",
        'what observed entries become in Y₀. ``"centred"``: values less the mean of those observed in their row, '
        "so that unobserved means average. ``None``: as they are, the paper's. For data of two values also "
        '``"01"``: the smaller one is 0, which the loss cannot tell from unobserved, and ``"±1"``: it is −1.',
        or_none(one_of("centred", "01", "±1")),
    )
    correct: str | None = parameter(
        "auto",
        '``"offset"`` or ``"offset-scale"`` learns an offset (and a scale) of every row at observed entries and '
        'keeps within their range; ``None`` leaves scores. ``"auto"``: ``None`` for two values, else '
        '``"offset-scale"``.',
        or_none(one_of("auto", *KINDS)),
    )
    mask: str = parameter(
        "all",
        '``"all"``: every pair of columns of Y₀, the paper\'s. ``"observed"``: the pairs of which both were observed, '
        "each row's divided by their number in the row; ``coding`` then says nothing.",
        one_of("all", "observed"),
    )
    pairs: str = parameter(
        "columns",
        '``"columns"`` compares the columns of a row, ``"rows"`` the rows of a column.',
        one_of("columns", "rows"),
    )


@dataclass(frozen=True)
class _Oriented:
    """The ranking problem over all pairs or over observed ones, and whether rows and columns were exchanged for it."""

    ranking: RankingProblem | MaskedProblem
    turned: bool


@estimator
class MLRM(
    NuclearNorm,
    SparseWeights,
    FeatureOptions,
    SingularValues,
    CompletionModel[_Oriented, RankingState | MaskedState],
    PaperSwitches,
):
    """Rank columns within rows: λ1‖M‖_* + λ2‖N‖₁ + ½ Σ_i Σ_{p<q} (ŷ_ip − ŷ_iq − (y_ip − y_iq))², Ŷ = M + A N Cᵀ.

    The loss runs over *all* pairs of columns of Y₀, which is 0 where nothing was observed; the m(m − 1)/2 pairs are
    never formed. Scores rank the columns of a row; they have no level of their own unless ``correct`` gives them one.
    By default the loss has no mask (``mask="observed"`` counts pairs of observed columns alone): prefer
    :class:`~everypair.models.completion.rivals.FNNM` where values are wanted and entries are missing at random.

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

    max_iter: int = parameter(300)

    def _check(self, data: CompletionData) -> None:
        if self.noise_reg is not None and self.variant != "noise":
            raise ValueError(f'noise_reg belongs to variant="noise", the variant here is {self.variant!r}.')
        featureless = data.left is None and data.right is None
        if self.mask == "observed" and self.variant != "local":
            raise ValueError(f'mask="observed" belongs to variant="local", the variant here is {self.variant!r}.')
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

    def _prepare(self, data: CompletionData) -> _Oriented:
        observed = self._coded(data.observed)
        left, right = data.matrices
        turned = self.pairs == "rows"
        if turned:
            observed, left, right = observed.transposed, right, left
        if self.mask == "observed":
            plain = Bilinear(observed.shape, left, right)
            centring = Centring(observed, "rows")
            return _Oriented(MaskedProblem(observed, plain, resolve_threads(self.n_threads), centring), turned)
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

    def _start(self, problem: _Oriented) -> RankingState | MaskedState:
        ranking = problem.ranking
        return MaskedState.zero(ranking) if isinstance(ranking, MaskedProblem) else RankingState.zero(ranking)

    def _solver(self, problem: _Oriented, regularisation: Regularisation) -> Any:
        if isinstance(problem.ranking, MaskedProblem):
            regs, shrink = (regularisation["nuclear_reg"], regularisation["l1_reg"]), Shrinkage(self.svd)
            if self.accelerate:
                return AcceleratedNuclear(problem.ranking, *regs, shrink)
            return FeatureNuclear(problem.ranking, *regs, 1.0, problem.ranking.side.longest_step, shrink)
        noise = None
        if self.variant == "noise":
            noise = 1.0 if self.noise_reg is None else float(self.noise_reg)
        return RankingAlternation(
            problem.ranking, self.variant, regularisation["nuclear_reg"], regularisation["l1_reg"], noise,
            self.accelerate, Shrinkage(self.svd),
        )  # fmt: skip

    def _decomposition(self, problem: _Oriented, state: RankingState | MaskedState) -> Decomposition:
        M, N = state.low_rank, state.weights
        if problem.turned:
            M, N = M.transposed, None if N is None else N.T
        return Decomposition(M, N, adds=self.variant != "global")

    def _strongest(self, problem: _Oriented) -> Regularisation:
        nuclear, l1 = problem.ranking.strongest()
        return {"nuclear_reg": nuclear, "l1_reg": l1}

    def _compared(self) -> str:
        return self.pairs

    def _correction(self, observed: Observed) -> str | None:
        if self.correct == "auto":
            return None if observed.levels is not None else "offset-scale"
        return self.correct
