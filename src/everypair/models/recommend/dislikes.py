"""How much a dislike should weigh: 0.3 times as much as a pair about which nothing is known.

Whoever gives two stars has chosen to watch: such a film is closer to a user's taste than a thousand others that were
never watched. ``experiments/dislikes`` has the study: dislikes of weight 1, many times that of an unknown pair, made
held-out likes harder to find on all five data sets.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from everypair.data.matching import as_events
from everypair.data.pairs import Pairs
from everypair.models.recommend.defaults import auto_negative_weight
from everypair.problem.losses import Loss, get_loss

DISLIKE_SHARE = 0.3  # of the weight of an unknown pair


def weigh_dislikes(interactions: Any, loss: str | Loss = "logistic", negative_weight: float | str = "auto") -> Any:
    """Return interactions whose dislikes weigh 0.3 times an unknown pair, for :class:`~everypair.OneClassMF`.

    Negative values say which pairs are dislikes, and how they weigh among each other: −1 becomes −0.3 w, w being the
    ``negative_weight`` that the model will use for ``loss``. Likes stay as they are. Of events come events.

    >>> ratings = np.array([[1, -1, 0, 0], [1, 0, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1]], dtype=float)
    >>> weigh_dislikes(ratings, negative_weight=0.1).toarray()[0].astype(float).round(4).tolist()
    [1.0, -0.03, 0.0, 0.0]
    """
    events = as_events(interactions, "interactions")
    if events is not None:
        return replace(events, matrix=weigh_dislikes(events.matrix, loss, negative_weight))
    pairs = Pairs.from_matrix(interactions)
    weight = auto_negative_weight(negative_weight, pairs, get_loss(loss))
    if weight == 0:
        raise ValueError("negative_weight is 0: unknown pairs do not count, and dislikes are weighed by them.")
    weighed = pairs.to_csr()
    weighed.data = np.where(weighed.data > 0, weighed.data, DISLIKE_SHARE * weight * weighed.data)
    return weighed
