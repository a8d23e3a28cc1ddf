"""Charts for a notebook: on axes of one's own, or on new ones."""

from __future__ import annotations

import math
from typing import Any

from sklearn.utils.validation import check_is_fitted

from everypair.plots import charts
from everypair.plots.canvas import import_matplotlib
from everypair.tuning.result import Tuning


def plot_history(model: Any, metric: str | None = None, ax: Any = None) -> Any:
    """Draw the objective of a fitted model after each sweep, and a validation metric beside it; returns the axes.

    ``metric`` is one that ``fit(…, validation=…)`` has measured, by default its nDCG if there is one.

    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from everypair import OneClassMF
    >>> model = OneClassMF(rank=2, random_state=0).fit(np.kron(np.eye(2), np.ones((6, 5))))
    >>> plot_history(model, ax=Figure().subplots()).get_xlabel()
    'sweep'
    """
    check_is_fitted(model)
    history = getattr(model, "history_", None)
    if not history:
        raise ValueError(f"{type(model).__name__} has no sweeps, so there is no history to draw.")
    if metric is not None and metric not in history[0]:
        others = ", ".join(name for name in history[0] if name not in ("iteration", "seconds"))
        raise ValueError(f"history_ has no {metric!r} but {others}: fit(…, validation=…) measures more.")
    if metric is None:
        metric = next((name for name in history[0] if name.startswith("ndcg@")), None)
    axes = _axes(ax)
    charts.draw_history(axes, history, metric)
    return axes


def plot_sensitivity(tuning: Tuning, parameter: str | None = None, ax: Any = None) -> Any:
    """Draw what :func:`everypair.tune` has tried over one parameter, or over each; returns the axes.

    With ``parameter`` it draws on ``ax`` (or on new axes) and returns that; without, on a row of new axes.

    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from everypair import OneClassMF, tune
    >>> likes = np.kron(np.eye(3), np.ones((20, 10))) * (np.random.default_rng(0).random((60, 30)) < 0.5)
    >>> result = tune(OneClassMF(rank=4), likes, trials=2)
    >>> plot_sensitivity(result, "reg", ax=Figure().subplots()).get_ylabel()
    'ndcg@10'
    """
    if not isinstance(tuning, Tuning):
        raise TypeError(f"plot_sensitivity takes what everypair.tune returned, got {type(tuning).__name__}.")
    if parameter is not None:
        if parameter not in tuning.space:
            raise ValueError(f"{parameter!r} was not searched but {', '.join(tuning.space)}.")
        axes = _axes(ax)
        charts.draw_sensitivity(axes, tuning, parameter)
        return axes
    if ax is not None:
        raise ValueError("ax takes one parameter: name it.")
    import_matplotlib()
    import matplotlib.pyplot as plt

    columns = min(len(tuning.space), 2)
    rows = math.ceil(len(tuning.space) / columns)
    _, grid = plt.subplots(rows, columns, figsize=(5.2 * columns, 3.3 * rows), layout="constrained", squeeze=False)
    for one in grid.flat[len(tuning.space) :]:
        one.set_visible(False)
    for one, name in zip(grid.flat, tuning.space):
        charts.draw_sensitivity(one, tuning, name)
    return grid


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    import_matplotlib()
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained")[1]
