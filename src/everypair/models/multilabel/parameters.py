"""What the parameters of ``MultiLabelMF`` say once they are checked, and which of them go together."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from everypair import check
from everypair.features.nystrom import KernelFunction
from everypair.models.codec import storable
from everypair.models.parameters import number, one_of, or_auto, stop_rules
from everypair.problem.losses import Loss
from everypair.solvers.alternating import SIDE_METHODS
from everypair.solvers.loop import StopRules
from everypair.types import Array

SOLVERS = ("auto", *SIDE_METHODS, "svd")
KINDS = ("rbf", "linear")


@storable
@dataclass(frozen=True)
class Kernel:
    """Kernel features k(x) of a row over landmarks, to be learnt from instead of x, and the ridge they have.

    Parameters
    ----------
    kind : ``"rbf"``, ``"linear"`` or a function, see :class:`~everypair.features.NystromFeatures`.
    landmarks : how many; exact where X has no more distinct rows than that.
    gamma : γ of ``"rbf"`` in units of 1/σ², ``"auto"`` for 1/d.
    penalty : the ridge of scores k(x)ᵀA h_l, K the kernel values among landmarks: ``"rkhs"`` is ½ λ tr(AᵀKA), that of
        the functions the kernel makes; ``"weights"`` is ½ λ ‖A‖², LEML's kernel extension (its remark on kernels takes
        k(x) as features).

    Examples
    --------
    >>> from everypair import MultiLabelMF
    >>> X = np.array([[-1.0], [0.0], [1.0]])  # the label of what lies between: no line has it
    >>> Y = np.array([[0, 1], [1, 0], [0, 1]])
    >>> model = MultiLabelMF(kernel=Kernel("rbf", gamma=2.0), reg=0.01, threshold=0.0, random_state=0).fit(X, Y)
    >>> model.predict(X).tolist()
    [[0, 1], [1, 0], [0, 1]]
    """

    kind: KernelFunction = "rbf"
    _: KW_ONLY
    landmarks: int = 1000
    gamma: float | str = "auto"
    penalty: str = "rkhs"

    def __post_init__(self) -> None:
        if not callable(self.kind):
            one_of(*KINDS)("kernel", self.kind)
        check.integer("landmarks", self.landmarks)
        if or_auto(number(above=0))("gamma", self.gamma) is not None and self.kind != "rbf":
            raise ValueError(f'gamma belongs to the kernel "rbf": leave it out, got {self.gamma!r}.')
        one_of("rkhs", "weights")("penalty", self.penalty)

    @classmethod
    def of(cls, name: str, value: Any) -> Kernel | None:
        """The kernel that a parameter names: itself, its kind, or none.

        >>> Kernel.of("kernel", "linear")
        Kernel(kind='linear', landmarks=1000, gamma='auto', penalty='rkhs')
        """
        if value is None or isinstance(value, cls):
            return value
        if callable(value) or value in KINDS:
            return cls(value)
        raise ValueError(f'{name} must be None, "rbf", "linear", a function or a Kernel, got {value!r}.')


@dataclass(frozen=True)
class LabelSettings:
    """What is to be learnt and how; ``None`` leaves a number to the data."""

    rank: int | None
    loss: Loss
    only_known: bool
    negative_loss: str
    negative_weight: float | None
    negative_value: float | None
    reg: float | None
    solver: str
    threshold: float | None
    rules: StopRules
    dtype: np.dtype[Any]
    n_threads: int
    verbose: bool

    @classmethod
    def of(cls, parameters: SimpleNamespace) -> LabelSettings:
        """Settings of checked parameters, or refuse those that do not go together."""
        settings = cls(
            parameters.rank, parameters.loss, parameters.unlabeled == "missing", parameters.negative_loss,
            parameters.negative_weight, parameters.negative_value, parameters.reg, parameters.solver,
            parameters.threshold, stop_rules(parameters), parameters.dtype, parameters.n_threads, parameters.verbose,
        )  # fmt: skip
        squared = settings.negative_loss == "squared" or settings.negative_value is not None
        if settings.only_known and squared:
            raise ValueError(
                'with unlabeled="missing" a known negative has the loss itself and its target: leave negative_loss '
                "and negative_value alone (negative_weight weighs known negatives)."
            )
        if settings.solver == "svd":
            settings._check_closed_form(parameters.label_weight)
        return settings

    def _check_closed_form(self, label_weight: Any) -> None:
        plain = {"reg": 0, "negative_weight": 1, "negative_value": 0}
        for name, value in plain.items():
            if getattr(self, name) not in (None, value):
                raise ValueError(
                    f'solver="svd" needs {name}={value} (or "auto"), got {getattr(self, name)!r}: use solver="auto".'
                )
        if not self.loss.quadratic or label_weight is not None:
            raise ValueError('solver="svd" is for loss="squared" without label_weight: use solver="auto".')

    @property
    def natural_threshold(self) -> float:
        """The cut that the loss itself suggests: half-way between its targets."""
        return 0.5 * (1.0 + self.loss.dislike_target)


def checked_label_weight(label_weight: Any, n_labels: int) -> Array | None:
    """Return one positive weight per label, or None where none are given."""
    if label_weight is None:
        return None
    weights = np.asarray(label_weight, np.float64)
    if weights.shape != (n_labels,):
        raise ValueError(
            f"label_weight must have one weight per label, shape ({n_labels},), got shape {weights.shape}."
        )
    if not np.isfinite(weights).all() or weights.min() <= 0:
        raise ValueError("label_weight must be finite and positive; leave out labels that should not count.")
    return weights
