"""Multi-label classifiers against sorting, plain objectives, gradients and closed forms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from estimators import FAMILIES, fitted, refusal
from trials import Case, Room

from everypair.problem.losses import get_loss
from models.multilabel import test_kernel_labels as plain_kernels


def trial(case: Case, folder: Path) -> str:
    name = case["model"]
    more = {
        "reg": case["reg"], "loss": case["loss"], "normalize": False, "threshold": 0.25, "tol": 1e-10,
        "dtype": "float64", "negative_loss": case["negative_loss"],
        "max_iter": 1000 if name == "BinaryRelevance" else 3,
    }  # fmt: skip
    try:
        model, data = fitted(name, case, **more)
    except ValueError as failure:
        return f"{name}: {refusal(failure)}"
    X, Y = (part.toarray() if sp.issparse(part) else part for part in data.values())
    scores = model.predict_scores(data["X"])
    assert np.isfinite(scores).all(), "scores that are no numbers"
    top, best = model.predict_topk(data["X"], 5)
    for row, (labels, shown) in enumerate(zip(top, best)):
        order = np.lexsort((np.arange(Y.shape[1]), -scores[row]))
        assert labels.tolist() == [*order.tolist(), -1, -1], "the order of labels"
        assert np.array_equal(shown[:3], scores[row, order]), "the scores of labels"
    predicted = model.predict(data["X"])
    assert sp.issparse(predicted) == case["sparse"], "another form than that of the training labels"
    assert np.array_equal(sp.csr_array(predicted).toarray() > 0, scores > model.threshold_), "the cut"
    one = model.predict_scores(data["X"][-1:])
    np.testing.assert_allclose(one[0], scores[-1], atol=1e-6 * (np.ptp(scores) + 1e-12), err_msg="a row alone")
    if model.get_params().get("dtype", "float64") == "float64" and name in CHECKS:
        CHECKS[name](model, X, Y, scores)
    return name


def extended(model: Any, X: np.ndarray) -> np.ndarray:
    """Features with the constant that an intercept is learnt of."""
    return np.hstack([X, np.ones((len(X), 1))]) if model.fit_intercept else X


def stationary(model: Any, X: np.ndarray, Y: np.ndarray, scores: np.ndarray) -> None:
    """BinaryRelevance: the gradient of the whole objective is zero."""
    loss, features = get_loss(model.loss), extended(model, X)
    W = np.vstack([model.coef_.T, model.intercept_]) if model.fit_intercept else model.coef_.T
    np.testing.assert_allclose(features @ W, scores, atol=1e-8 * (np.abs(scores).max() + 1), err_msg="XW")
    y = Y if model.loss == "squared" else 2 * Y - 1
    slope = features.T @ loss.slope(y, scores) + model.reg * W
    start = np.abs(features.T @ loss.slope(y, np.zeros(Y.shape))).max() + 1e-9
    assert np.abs(slope).max() < 1e-6 * start, f"slope {np.abs(slope).max()}"


def written_out(model: Any, X: np.ndarray, Y: np.ndarray, scores: np.ndarray) -> None:
    """MultiLabelMF: F over all entries, and scores that are its factors' product."""
    loss = get_loss(model.loss)
    found = extended(model, X) @ model.feature_weights_ @ model.label_factors_.T
    np.testing.assert_allclose(found, scores, atol=1e-8 * (np.abs(scores).max() + 1), err_msg="XWHᵀ")
    if model.negative_loss_ == "same":
        apart = model.negative_weight_ * loss.value(loss.dislike_target, found)
    else:
        apart = 0.5 * model.negative_weight_ * (model.negative_value_ - found) ** 2
    norms = np.sum(model.feature_weights_**2) + np.sum(model.label_factors_**2)
    total = np.where(Y == 1, loss.value(1.0, found), apart).sum() + 0.5 * model.reg_ * norms
    np.testing.assert_allclose(model.objective_, total, rtol=1e-7, err_msg="F")


def ridge_in_a_label_space(model: Any, X: np.ndarray, Y: np.ndarray, scores: np.ndarray) -> None:
    """PLST: ridge regression of the labels' leading principal components, decoded."""
    features, mean = extended(model, X), Y.mean(axis=0)
    V = np.linalg.svd(Y - mean)[2][: model.rank].T
    values = np.linalg.svd(Y - mean, compute_uv=False)
    if len(values) > model.rank and values[model.rank - 1] - values[model.rank] < 1e-3:
        return  # the space is not unique
    W = np.linalg.solve(features.T @ features + model.reg * np.eye(features.shape[1]), features.T @ (Y - mean) @ V)
    np.testing.assert_allclose(scores, features @ W @ V.T + mean, atol=1e-6, err_msg="ridge of components")


def two_stages(model: Any, X: np.ndarray, Y: np.ndarray, scores: np.ndarray) -> None:
    """KernelLabels: kernel ridge with leave-one-out scores, then the same beside those scores."""
    x, reg = plain_kernels.as_array(model.state_.model.scale(X)), np.full(len(X), model.reg_)
    K = plain_kernels.kernel(x, x, gamma=model.gamma)
    first = K @ np.linalg.solve(K + np.diag(reg), Y)
    p, q = plain_kernels.unit(first), plain_kernels.unit(plain_kernels.left_out(K, Y, reg))
    K2 = plain_kernels.kernel(x, x, q, q, model.gamma)
    second = plain_kernels.kernel(x, x, p, q, model.gamma) @ np.linalg.solve(K2 + np.diag(reg), Y)
    np.testing.assert_allclose(scores, (first + second) / 2, atol=1e-6, err_msg="two stages")


CHECKS = {
    "BinaryRelevance": stationary,
    "MultiLabelMF": written_out,
    "PLST": ridge_in_a_label_space,
    "KernelLabels": two_stages,
}
ROOM = Room(
    "labels",
    "Labels are ranked by their scores and cut at the threshold; classifiers minimise what their papers print.",
    "every classifier on random rows against sorting; BinaryRelevance's gradient, MultiLabelMF's objective, PLST and "
    "KernelLabels in closed form, in plain numpy",
    {
        "model": FAMILIES["classifier"],
        "shape": ([20, 1], [8, 1], [60, 1], [130, 1]),
        "reg": (0.5, 0.01, 5.0),
        "loss": ("squared", "logistic", "squared_hinge"),
        "negative_loss": ("squared", "same"),
        "features": (False, True),
        "sparse": (False, True),
        "seed": range(100_000),
    },
    trial,
)
