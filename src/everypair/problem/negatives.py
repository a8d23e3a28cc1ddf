"""Every pair outside Ω is a negative of weight p_i q_j and value ỹ_ij.

p has mean 1 and q has mean ``negative_weight``, so that the mean of p_i q_j over all m·n pairs is ``negative_weight``
whatever the scheme:

    "uniform"          p_i = 1                q_j = w
    "user-count"       p_i ∝ max(1, |Ω_i⁺|)   q_j = w          active users vouch more for what they left out
    "item-rarity"      p_i = 1                q_j ∝ m − |Ω_j⁺|  popular items are less likely to be negative
    ("item-count", β)  p_i = 1                q_j ∝ max(1, |Ω_j⁺|)^β   popular items were more likely to be seen
    (p, q)             the given arrays, rescaled

An entity without positives counts as if it had one: without any weight its score would be 0, above everybody's
negatives.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from everypair.check import is_number
from everypair.data.pairs import Counted
from everypair.problem.losses import Loss

Scheme = str | tuple[Any, Any]
Value = float | tuple[ArrayLike, ArrayLike]
SCHEMES = ("uniform", "user-count", "item-rarity")
STEEPEST = 4  # power of an item's count


@dataclass(frozen=True)
class Negatives:
    """Weights p_i q_j and values ỹ of all pairs outside Ω; build it with :meth:`from_scheme`.

    ``value`` is one number, or a pair (Ũ, Ṽ) of matrices with ỹ_ij = ũ_i · ṽ_j.

    >>> from everypair.data import Pairs
    >>> pairs = Pairs.from_matrix([[1, 1, 0], [1, 0, 0]])
    >>> negatives = Negatives.from_scheme(pairs, weight=0.5, scheme="user-count")
    >>> negatives.left.round(2).tolist(), negatives.right.tolist()
    ([1.33, 0.67], [0.5, 0.5, 0.5])
    >>> negatives.left_weights(np.array([3])).tolist()  # a new user with three positives
    [2.0]
    """

    left: NDArray[np.float64]
    right: NDArray[np.float64]
    value: float | tuple[NDArray[Any], NDArray[Any]]
    scheme: Scheme = "uniform"
    _norms: tuple[float, float] = field(default=(1.0, 1.0), repr=False)

    @classmethod
    def from_scheme(cls, pairs: Counted, weight: float, scheme: Scheme = "uniform", value: Value = 0.0) -> Negatives:
        """Weights of mean ``weight`` in the shape of ``scheme``, and values ``value``, all checked."""
        weight = float(weight)
        if not np.isfinite(weight) or weight < 0:
            raise ValueError(f"negative_weight must be a finite number ≥ 0, got {weight!r}.")
        m, n = pairs.shape
        check_scheme(scheme)
        if _is_arrays(scheme):
            left = _checked_weights(scheme[0], m, "p", "left")
            right = _checked_weights(scheme[1], n, "q", "right")
        else:
            left = _left_shape(scheme, pairs.left_counts)
            right = _right_shape(scheme, pairs.right_counts, m)
        left_norm, right_norm = left.mean(), right.mean()
        if left_norm == 0 or right_norm == 0:
            raise ValueError(
                "the negative weights are zero everywhere; set negative_weight=0 if that is what you mean."
            )
        norms = (1 / left_norm, weight / right_norm)
        return cls(left * norms[0], right * norms[1], _checked_value(value, m, n), scheme, norms)

    def left_weights(self, counts: NDArray[Any]) -> NDArray[np.float64]:
        """p of new rows with ``counts`` positives, by the training normaliser; array weights: their mean."""
        if _is_arrays(self.scheme):
            return np.full(len(counts), self.left.mean())
        return _left_shape(self.scheme, counts) * self._norms[0]

    def left_weights_again(self, rows: NDArray[Any], counts: NDArray[Any]) -> NDArray[np.float64]:
        """p of rows that were there, with ``counts`` positives now; array weights stay."""
        return self.left[rows] if _is_arrays(self.scheme) else self.left_weights(counts)

    def right_weights(self, counts: NDArray[Any]) -> NDArray[np.float64]:
        """q of new columns with ``counts`` positives, by the training normaliser; array weights: their mean."""
        if _is_arrays(self.scheme):
            return np.full(len(counts), self.right.mean())
        return _right_shape(self.scheme, counts, len(self.left)) * self._norms[1]


def resolve_value(value: Any, loss: Loss) -> Value:
    """Replace ``"auto"`` by the loss's own value of a negative."""
    if isinstance(value, str) and value == "auto":
        return loss.negative_value
    if isinstance(value, tuple | list) or is_number(value):
        return value
    raise ValueError(f'negative_value must be a number, (Ũ, Ṽ) or "auto", got {value!r}.')


def check_scheme(scheme: Any) -> Any:
    """Return a negative scheme, or refuse what is none."""
    if isinstance(scheme, str):
        if scheme in SCHEMES:
            return scheme
    elif isinstance(scheme, tuple | list) and len(scheme) == 2:
        if not isinstance(scheme[0], str):
            return scheme
        if scheme[0] == "item-count":
            if is_number(scheme[1]) and abs(scheme[1]) <= STEEPEST:
                return scheme
            if is_number(scheme[1]) and np.isfinite(scheme[1]):
                raise ValueError(
                    f'β = {scheme[1]!r} of ("item-count", β) is too large: a few items would have all the weight. '
                    f"0 to 1 is usual, −{STEEPEST} to {STEEPEST} allowed."
                )
            raise ValueError(f'("item-count", β) needs a finite number β, got {scheme[1]!r}.')
    raise ValueError(
        f'negative_scheme must be one of {", ".join(map(repr, SCHEMES))}, ("item-count", β) or arrays (p, q); '
        f"got {scheme!r}."
    )


def _is_arrays(scheme: Scheme) -> bool:
    return not isinstance(scheme, str) and not isinstance(scheme[0], str)


def _left_shape(scheme: Scheme, counts: NDArray[Any]) -> NDArray[np.float64]:
    if scheme == "user-count":
        return np.maximum(counts, 1).astype(np.float64)
    return np.ones(len(counts))


def _right_shape(scheme: Scheme, counts: NDArray[Any], n_left: int) -> NDArray[np.float64]:
    if scheme == "item-rarity":
        return np.maximum(n_left - counts, 0).astype(np.float64)
    if not isinstance(scheme, str) and scheme[0] == "item-count":
        return np.asarray(np.maximum(counts, 1).astype(np.float64) ** float(scheme[1]))
    return np.ones(len(counts))


def _checked_weights(weights: Any, size: int, letter: str, side: str) -> NDArray[np.float64]:
    array = np.asarray(weights, np.float64)
    if array.shape != (size,):
        raise ValueError(
            f"{letter} of negative_scheme=(p, q) must have one weight per {side} entity ({size},), got {array.shape}."
        )
    if not np.isfinite(array).all() or (array < 0).any():
        raise ValueError(f"{letter} of negative_scheme=(p, q) must be finite and ≥ 0.")
    return array / (array.max() or 1)  # only their shape counts, and the sum of the largest numbers is infinite


def _checked_value(value: Any, m: int, n: int) -> float | tuple[NDArray[Any], NDArray[Any]]:
    if isinstance(value, tuple | list):
        if len(value) != 2:
            raise ValueError("negative_value must be a number or a pair (Ũ, Ṽ) of matrices.")
        left, right = np.asarray(value[0], np.float64), np.asarray(value[1], np.float64)
        if (
            left.ndim != 2
            or right.ndim != 2
            or left.shape[0] != m
            or right.shape[0] != n
            or left.shape[1] != right.shape[1]
        ):
            raise ValueError(
                f"negative_value=(Ũ, Ṽ) must have shapes ({m}, r) and ({n}, r), got {left.shape} and {right.shape}."
            )
        if not (np.isfinite(left).all() and np.isfinite(right).all()):
            raise ValueError("negative_value=(Ũ, Ṽ) must be finite.")
        return left, right
    number = float(value)
    if not np.isfinite(number):
        raise ValueError(f"negative_value must be finite, got {value!r}.")
    return number
