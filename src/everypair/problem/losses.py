"""Convex losses ℓ(y, s) on stored pairs: value, slope and curvature in the score, and what a dislike's target is."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
from numba import njit, vectorize
from numba.core.errors import NumbaError
from numpy.typing import ArrayLike, NDArray

from everypair.kernels import losses as codes
from everypair.kernels.terms import CustomLoss, Loops, loss_loops

Scalar = Callable[[float, float], float]
PROBES = (0.5, 0.0, -0.5, 1.0, -1.0, 2.0, -2.0, 5.0, -5.0)  # scores at which a new loss is tried


class Constants(NamedTuple):
    """What automatic choices start from under a loss, from the studies in ``experiments/``."""

    density_multiple: float = 4.0  # negative_weight="auto": the largest multiple of the density
    reg: float = 0.075  # reg="auto" of a recommender: the ridge of a small problem
    label_reg: float = 0.25  # reg="auto" of a classifier: in units of √(mπ(1 − π))


class Loss:
    """A convex loss on stored pairs, by its pointwise value, slope ∂ℓ/∂s and curvature ∂²ℓ/∂s² ≥ 0.

    The built-in ones are those of :data:`LOSSES`. To add another, give three plain functions of two floats (target y,
    score s); they are compiled once per process (numba cannot keep them on disk), and the same kernels call them.
    ``dislike_target`` is the target of an observed dislike, ``negative_value`` what ``negative_value="auto"`` is.
    The built-in names are taken. Where a loss is not twice differentiable give a generalised curvature; where it grows
    without bound keep the functions free of overflow.

    What a loss can do is said by its attributes: ``quadratic`` (closed forms hold), ``probabilistic`` (1/(1 + e^{−s})
    is the probability of a positive) and ``constants`` (what automatic choices start from).

    >>> import math
    >>> huber = Loss(
    ...     "pseudo_huber",
    ...     value=lambda y, s: math.sqrt(1.0 + (y - s) ** 2) - 1.0,
    ...     slope=lambda y, s: (s - y) / math.sqrt(1.0 + (y - s) ** 2),
    ...     curvature=lambda y, s: (1.0 + (y - s) ** 2) ** -1.5,
    ...     dislike_target=0.0,
    ...     negative_value=0.0,
    ... )
    >>> huber.value(1.0, [1.0, 1e4]).round(3).tolist()
    [0.0, 9998.0]
    """

    quadratic = False
    probabilistic = False
    constants = Constants()

    def __init__(
        self,
        name: str,
        value: Scalar,
        slope: Scalar,
        curvature: Scalar,
        *,
        dislike_target: float = -1.0,
        negative_value: float = -1.0,
    ) -> None:
        self.name = str(name)
        if self.name in LOSSES:
            raise ValueError(f"{name!r} is the name of a built-in loss: give yours another one.")
        self.code = codes.CUSTOM
        self.dislike_target = float(dislike_target)
        self.negative_value = float(negative_value)
        parts = _compiled("value", value), _compiled("slope", slope), _compiled("curvature", curvature)
        self.custom: CustomLoss | None = parts
        self._ufuncs = tuple(vectorize(nopython=True)(jitted.py_func) for jitted in parts)

    @classmethod
    def _built_in(cls, name: str, code: int, negative: float, **can: Any) -> Loss:
        loss = cls.__new__(cls)
        loss.name, loss.code, loss.custom = name, code, None
        loss.dislike_target = loss.negative_value = negative
        vars(loss).update(can)
        return loss

    def loops(self, pairs: Any, scores: Any) -> Loops:
        """Its compiled loops over pairs, for kernels; the arguments are dtypes."""
        return loss_loops(self.code, self.custom, pairs, scores)

    def _part(self, part: int, y: ArrayLike, s: ArrayLike) -> NDArray[np.float64]:
        y, s = np.asarray(y, np.float64), np.asarray(s, np.float64)
        if self.custom is not None:
            return np.asarray(self._ufuncs[part](y, s))
        y, s = np.broadcast_arrays(y, s)
        out = np.empty((3, y.size))
        codes.evaluate(self.code, y.ravel(), s.ravel(), out)
        return out[part].reshape(y.shape)

    def value(self, y: ArrayLike, s: ArrayLike) -> NDArray[np.float64]:
        """ℓ(y, s), elementwise."""
        return self._part(0, y, s)

    def slope(self, y: ArrayLike, s: ArrayLike) -> NDArray[np.float64]:
        """∂ℓ/∂s, elementwise."""
        return self._part(1, y, s)

    def curvature(self, y: ArrayLike, s: ArrayLike) -> NDArray[np.float64]:
        """∂²ℓ/∂s², elementwise."""
        return self._part(2, y, s)

    def __repr__(self) -> str:
        return f"Loss({self.name!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Travels to other processes by its name, or by the functions it was made of."""
        if self.custom is None:
            return get_loss, (self.name,)
        parts = (part.py_func for part in self.custom)
        return _rebuilt, (self.name, *parts, self.dislike_target, self.negative_value)

    def __copy__(self) -> Loss:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Loss:
        return self


def _rebuilt(name: str, value: Any, slope: Any, curvature: Any, dislike_target: float, negative_value: float) -> Loss:
    return Loss(name, value, slope, curvature, dislike_target=dislike_target, negative_value=negative_value)


def _compiled(part: str, function: Scalar) -> Any:
    """Compile one part of a user-written loss, or say what is wrong with it before any training starts."""
    function = getattr(function, "py_func", function)  # one that numba has compiled already
    if not isinstance(function, FunctionType):
        raise TypeError(
            f"the loss's {part} must be a plain function of (y, s), as def or lambda makes it, got "
            f"{type(function).__name__}: write a function that does what it does."
        )
    try:
        signature(function).bind(1.0, 0.5)
    except TypeError as failure:
        raise TypeError(f"the loss's {part} must take two numbers, target y and score s: {failure}.") from failure
    jitted = njit(nogil=True, error_model="numpy", fastmath=False)(function)
    try:
        results = {s: jitted(1.0, s) for s in PROBES}
    except NumbaError as failure:
        raise ValueError(
            f"the loss's {part} does not compile: write it with plain arithmetic and the math module, on two floats. "
            f"numba says: {str(failure).strip().splitlines()[-1]}"
        ) from failure
    for s, result in results.items():
        if not isinstance(result, int | float) or not np.isfinite(result):
            raise ValueError(f"the loss's {part} must return a finite number, got {result!r} at y = 1, s = {s:g}.")
    return jitted


def check_slopes(loss: Loss, targets: ArrayLike, scores: ArrayLike) -> None:
    """Refuse a loss of one's own whose slope is not finite somewhere: rows with such a pair cannot move.

    >>> check_slopes(get_loss("squared"), 1.0, [0.0, 2.0])
    """
    if loss.custom is None:
        return
    slopes = loss.slope(targets, scores)
    if not np.isfinite(slopes).all():
        at = int(np.argmin(np.isfinite(slopes)))
        y, s = (np.broadcast_to(part, slopes.shape).ravel()[at] for part in (targets, scores))
        raise ValueError(
            f"the slope of the loss {loss.name!r} is {slopes.ravel()[at]} at the target {y:g} and the score {s:g}: it "
            "must be finite for every target and score."
        )


LOSSES: dict[str, Loss] = {
    "squared": Loss._built_in("squared", codes.SQUARED, 0.0, quadratic=True, constants=Constants(32.0, 0.06, 0.06)),
    "logistic": Loss._built_in("logistic", codes.LOGISTIC, -1.0, probabilistic=True),
    "squared_hinge": Loss._built_in("squared_hinge", codes.SQUARED_HINGE, -1.0),
}


def get_loss(loss: str | Loss) -> Loss:
    """Return the loss of that name, or the loss itself.

    >>> get_loss("logistic").value(1.0, [0.0, 1e4, -1e4]).round(4).tolist()
    [0.6931, 0.0, 10000.0]
    """
    if isinstance(loss, Loss):
        return loss
    if not isinstance(loss, str) or loss not in LOSSES:
        raise ValueError(f"loss must be one of {', '.join(map(repr, LOSSES))} or a Loss, got {loss!r}.")
    return LOSSES[loss]
