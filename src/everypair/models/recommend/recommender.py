"""The only base of recommenders: an estimator, with parameters and ``fit``, that answers by id."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import version
from typing import Any, ClassVar, Self

from everypair.data.matching import IdPair
from everypair.data.record import Record
from everypair.models.estimator import Estimator, FittedAttribute
from everypair.models.recommend.answering import Answering
from everypair.models.recommend.by_id import ids_of_value
from everypair.models.recommend.held_out import held_out_ndcg


class Recommender(Estimator, Answering):
    """Base of recommenders; ``fitted_class`` is the class of their fitted value, which says what they can do."""

    fitted_class: ClassVar[type]
    reads_features: ClassVar[tuple[bool, bool]] = (False, False)  # of users and of items, by fit
    user_ids_ = FittedAttribute()
    item_ids_ = FittedAttribute()
    interactions_ = FittedAttribute()

    def record(self, metrics: Any = None, *, held_out: str | None = None, commit: str | None = None) -> Self:
        """Note where the fitted model comes from: now, this version, your ``commit``, ``metrics`` of held-out events.

        It is saved with the model; ``everypair card model.ep`` prints it beside the files that were read. The command
        ``fit`` does this by itself.

        >>> from everypair import Popularity
        >>> Popularity().fit({"user": ["ann"], "item": ["blue"]}).record(commit="4f2a").state_.record.commit
        '4f2a'
        """
        self.state_ = replace(self._fitted(), record=Record.now(version("everypair"), metrics, held_out, commit))
        return self

    def score(self, interactions: Any, y: None = None) -> float:
        """Mean nDCG@10 of held-out positives, which scikit-learn's searches take.

        A matrix with as many rows as training had holds held-out entries of the same users, as
        :class:`everypair.data.Entries` cuts them. Other rows are users whom training has not seen, as ``cv=3`` cuts
        them: a fifth of each one's entries is hidden and the rest folded in.
        :func:`everypair.evaluate.ranking_metrics` has all metrics.

        >>> import numpy as np
        >>> from sklearn.model_selection import cross_val_score
        >>> from everypair import OneClassMF
        >>> X = np.tile([[1, 1, 1, 1, 1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]], (9, 1))
        >>> cross_val_score(OneClassMF(rank=2, random_state=0), X, cv=3).round(2).tolist()
        [1.0, 1.0, 1.0]
        """
        return held_out_ndcg(self._fitted(), interactions, self.n_threads)

    def __sklearn_tags__(self) -> Any:
        """Sparse interactions are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def known_ids(model: Any) -> IdPair | None:
    """Return the ids of a fitted model, None where it has none."""
    state = vars(model).get("state_") if isinstance(model, Recommender) else None
    return None if state is None else ids_of_value(state)


def in_positions(model: Any) -> Any:
    """Return the same model, which shares everything it has learnt, without ids and with answers as arrays."""
    if not isinstance(model, Recommender) or "state_" not in vars(model):
        return model
    return model._in_positions()
