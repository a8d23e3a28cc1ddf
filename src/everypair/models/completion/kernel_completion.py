"""KernelCompletion: kernel ridge regression with a mask over both sides' kernels, and nothing to tune."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from everypair import check
from everypair.data.observed import Observed
from everypair.models.completion.answering import Completion, read_source
from everypair.models.completion.kernel_learner import FIRST, Learnt, MaskedKernelLearner
from everypair.models.completion.kernel_side import checked_kernel, read_sides
from everypair.models.completion.kernel_state import KernelCompleted
from everypair.models.estimator import FittedAttribute
from everypair.models.parameters import checked, estimator, number, or_auto, parameter
from everypair.parallel import resolve_threads, single_threaded_blas
from everypair.progress import Progress

LARGEST = 2**28  # entries of the completed matrix, 2 GB
STAGES = 10


@estimator
class KernelCompletion(Completion):
    """Kernel ridge regression of the observed entries: F = μ + K_r A K_c, (P_Ω(K_r ⊗ K_c)P_Ω + λ) A = P_Ω(Y − μ).

    The model to begin with where a matrix has holes and features: similar rows have similar entries in similar columns.
    λ has the least generalised cross-validation. What is built on that first stage is chosen at a fifth of the observed
    entries: with features on both sides kernels that also compare what rows and columns hold; with features on one
    side a metric in which features count that predict, and a learnt covariance of the side without.

    It takes 2nm(n + m) floating-point operations some hundred times and keeps n² + m² + 3nm numbers; a side of more
    than 4,096 entities is seen through 1,024 landmarks. Without any features it is ridge regression with a learnt
    covariance of the columns.

    Attributes after ``fit``
    ------------------------
    reg_ : λ. refinements_ : what was built on the first stage. errors_ : mean squared errors at held-out entries.
    row_ids_, column_ids_ : names of rows and columns where Y was a data frame, else ``None``.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> drugs, targets = random.standard_normal((40, 3)), random.standard_normal((30, 3))
    >>> binds = (drugs @ targets.T > 1).astype(float)
    >>> tested = random.random(binds.shape) < 0.5
    >>> model = KernelCompletion().fit(binds, tested, left_features=drugs, right_features=targets)
    >>> round(model.score(binds, ~tested), 2)  # AUC at pairs that were not tested
    0.98
    """

    kernel: str | tuple[str, str] = parameter(
        "rbf",
        '``"rbf"``: features are scaled and rows compared by exp(−‖x − y‖²). ``"similarity"``: ``left_features`` are '
        "a matrix of similarities of all rows with all, ``right_features`` of columns; those of new entities are "
        "their similarities with the known ones. A pair says it for each side.",
        checked_kernel,
    )
    reg: float | str = parameter("auto", 'λ, or ``"auto"`` for the least GCV.', or_auto(number(above=0)))
    refine: bool | str = parameter(
        "auto",
        'build on the first stage: ``"auto"`` what has the least error at held-out observed entries, True all there '
        "is, False nothing.",
        or_auto(check.flag),
    )
    verbose: bool = parameter(False, "show progress.", check.flag)

    fitted_class: ClassVar[type] = KernelCompleted
    regularisers: ClassVar[tuple[str, ...]] = ("reg",)

    reg_ = FittedAttribute()
    refinements_ = FittedAttribute()
    errors_ = FittedAttribute()

    def fit(self, Y: Any, mask: Any = None, *, left_features: Any = None, right_features: Any = None) -> Self:
        """Complete Y (rows × columns) from its observed entries.

        Parameters
        ----------
        Y : dense, NaN where unknown or with a ``mask``; or sparse, where stored entries are observed, zeros included.
            In a data frame rows are named by the index and columns by their names: ``predict`` and ``recommend`` take
            these, and frames of features or mask are matched by name.
        mask : True where an entry of Y is observed.
        left_features, right_features : one row per row (column) of Y, sparse, dense, a data frame or a dict of groups;
            or similarities, see ``kernel``.
        """
        parameters = checked(self)
        source = read_source(Y, mask, left_features, right_features)
        observed = source.observed
        if observed.shape[0] * observed.shape[1] > LARGEST:
            raise ValueError(
                f"KernelCompletion keeps the completed matrix, and one of shape {observed.shape} has more than "
                f"{LARGEST:,} entries: take MLRM or FNNM, which keep factors."
            )
        with single_threaded_blas():
            left, right = read_sides(source, parameters.kernel)
            turned = left is None and right is not None
            with Progress(STAGES, "stages", quiet=not parameters.verbose, at_most=True) as progress:
                learner = MaskedKernelLearner(
                    observed.transposed if turned else observed, right if turned else left,
                    left if turned else right, resolve_threads(self.n_threads), _watch(progress),
                )  # fmt: skip
                ridge = learner.ridge() if parameters.reg is None else float(parameters.reg)
                recipe, errors = FIRST, None
                if parameters.refine is None:
                    recipe, errors = learner.choose(ridge)
                elif parameters.refine:
                    recipe = learner.recipes()[-1]
                learnt = learner.built(recipe, ridge, learner.first(ridge))
        self.state_ = source.named(_state(observed, learnt, turned, ridge, recipe, errors))
        return self


def _state(
    observed: Observed, learnt: Learnt, turned: bool, ridge: float, recipe: tuple[str, ...],
    errors: dict[str, float] | None,
) -> KernelCompleted:  # fmt: skip
    """What was learnt of the matrix as it came."""
    pattern = observed.transposed if turned else observed
    coefficients = pattern.with_values(learnt.coefficients).to_csr()
    return KernelCompleted(
        observed=observed.to_csr(),
        completed=np.ascontiguousarray(learnt.completed.T) if turned else learnt.completed,
        coefficients=sp.csr_array(coefficients.T) if turned else coefficients,
        offsets=learnt.offsets.transposed if turned else learnt.offsets,
        left_side=learnt.right if turned else learnt.left,
        right_side=learnt.left if turned else learnt.right,
        covariance=None if learnt.covariance is None else learnt.covariance.matrix,
        reg=ridge, refinements=recipe, errors=errors,
    )  # fmt: skip


def _watch(progress: Progress) -> Callable[[int, str], None]:
    """What a learner tells the progress: a word begins a stage, a number counts its products."""
    begun: list[str] = []

    def watch(products: int, stage: str) -> None:
        if stage:
            begun.append(stage)
        progress.reach(len(begun), f"{begun[-1]}, {products} products" if products else begun[-1])

    return watch
