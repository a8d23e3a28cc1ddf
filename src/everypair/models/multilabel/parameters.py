"""Which parameters ``MultiLabelMF`` takes, and which of them go together."""

from __future__ import annotations

from typing import Any

import numpy as np

from everypair import check
from everypair.problem.losses import Loss, get_loss
from everypair.solvers.alternating import SIDE_METHODS
from everypair.solvers.loop import StopRules
from everypair.types import Array

SOLVERS = ("auto", *SIDE_METHODS, "svd")
KERNEL_PENALTIES = ("rkhs", "weights")


def check_parameters(model: Any) -> None:
    """Refuse parameters of a ``MultiLabelMF`` that are none, or that do not go together."""
    StopRules.checked(model.max_iter, model.tol, model.patience, model.time_limit)
    check.float_dtype(model.dtype)
    loss = get_loss(model.loss)
    if model.rank != "auto":
        check.integer("rank", model.rank)
    _check_number("reg", model.reg)
    _check_number("negative_weight", model.negative_weight)
    if model.negative_value != "auto" and not (
        check.is_number(model.negative_value) and np.isfinite(model.negative_value)
    ):
        raise ValueError(f'negative_value must be a finite number or "auto", got {model.negative_value!r}.')
    if model.negative_loss not in ("auto", "squared", "same"):
        raise ValueError(f'negative_loss must be "auto", "squared" or "same", got {model.negative_loss!r}.')
    if model.unlabeled == "missing" and (model.negative_loss == "squared" or model.negative_value != "auto"):
        raise ValueError(
            'with unlabeled="missing" a known negative has the loss itself and its target: leave negative_loss and '
            "negative_value alone (negative_weight weighs known negatives)."
        )
    if not isinstance(model.solver, str) or model.solver not in SOLVERS:
        raise ValueError(f"solver must be one of {', '.join(map(repr, SOLVERS))}, got {model.solver!r}.")
    if model.kernel is not None and model.kernel not in ("rbf", "linear") and not callable(model.kernel):
        raise ValueError(f'kernel must be None, "rbf", "linear" or a function, got {model.kernel!r}.')
    check.integer("n_landmarks", model.n_landmarks)
    _check_number("gamma", model.gamma)
    if model.gamma != "auto" and (model.gamma == 0 or model.kernel != "rbf"):
        raise ValueError(f'gamma must be "auto", or positive with kernel="rbf", got {model.gamma!r}.')
    if not isinstance(model.kernel_penalty, str) or model.kernel_penalty not in KERNEL_PENALTIES:
        raise ValueError(f'kernel_penalty must be "rkhs" or "weights", got {model.kernel_penalty!r}.')
    if model.kernel is None and model.kernel_penalty != "rkhs":
        raise ValueError('kernel_penalty="weights" needs a kernel: give kernel="rbf", "linear" or a function.')
    if model.solver == "svd":
        _check_closed_form(model, loss)


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


def _check_closed_form(model: Any, loss: Loss) -> None:
    plain = {"reg": 0, "negative_weight": 1, "negative_value": 0}
    for name, value in plain.items():
        given = getattr(model, name)
        if given != "auto" and given != value:
            raise ValueError(f'solver="svd" needs {name}={value} (or "auto"), got {given!r}: use solver="auto".')
    if not loss.quadratic or model.label_weight is not None:
        raise ValueError('solver="svd" is for loss="squared" without label_weight: use solver="auto".')


def _check_number(name: str, value: Any) -> None:
    if value != "auto" and not (check.is_number(value) and 0 <= value < np.inf):
        raise ValueError(f'{name} must be a finite number ≥ 0 or "auto", got {value!r}.')
