"""ContentItems: what is like the things a user has, by words, tags or any other features of items."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from everypair import check
from everypair.data.pairs import Pairs
from everypair.features.feature_map import FeatureMap
from everypair.features.rarity import RarityScaling, scaled_text
from everypair.models.estimator import FittedAttribute
from everypair.models.parameters import Threads, checked, estimator, number, or_none, parameter
from everypair.models.recommend.content_ridge import ContentRidge, choose_reg
from everypair.models.recommend.content_state import ContentState
from everypair.models.recommend.item_item_state import base_of, signs
from everypair.models.recommend.recommender import Recommender
from everypair.models.recommend.training_data import training_data
from everypair.parallel import resolve_threads

COSINE_IDF, RIDGE_IDF = 1.0, 0.5  # powers of idf


def _checked_reg(name: str, value: Any) -> float | str | None:
    """None, "auto", or a number above 0."""
    return value if value is None or (isinstance(value, str) and value == "auto") else number(above=0)(name, value)


@estimator
class ContentParameters(Threads):
    """How features are compared, of items and of users alike."""

    idf_exponent: float | None = parameter(
        None,
        "power of idf in the weight of a feature, 0 weighs all features alike; None is 1, and ½ with a ridge, which "
        "takes what is common out by itself.",
        or_none(number(least=0)),
    )
    reg: float | str | None = parameter(
        None,
        'ridge λ of a regression of events on features; None is the sum of cosines, "auto" takes the best by the lists '
        "of items (for ContentUsers, of users) that are held out.",
        _checked_reg,
    )
    dtype: str = parameter("float32", '"float32" or "float64".', lambda name, value: check.float_dtype(value))


class Content(NamedTuple):
    """Features of ``name`` read and scaled, and what reads later ones."""

    content: Any
    reader: FeatureMap
    scaling: RarityScaling

    @classmethod
    def read(cls, values: SimpleNamespace, features: Any, name: str, rows: int) -> Content:
        """Read a row for each of ``rows`` entities; ``values`` are checked parameters."""
        reader = FeatureMap.of(features, name)
        raw = reader(features, rows, values.dtype)
        exponent = values.idf_exponent
        if exponent is None:
            exponent = COSINE_IDF if values.reg is None else RIDGE_IDF
        scaling = RarityScaling.of(raw, exponent, scaled_text(reader))
        return cls(scaling(raw), reader, scaling)

    def ridge(
        self, values: SimpleNamespace, known: Any, choose: Callable[[Any, Any, int], float | None], likes: Any
    ) -> ContentRidge | None:
        """The ridge of the parameters, learnt from the ``known`` rows; ``choose`` finds λ where it is "auto"."""
        threads = resolve_threads(values.n_threads)
        reg = choose(self.content, likes, threads) if values.reg == "auto" else values.reg
        return None if reg is None else ContentRidge.of(self.content, known, reg, threads)


@estimator
class ContentItems(ContentParameters, Recommender):
    """Score s_uj = Σ_{i∈Ω_u} y_ui x_i·x_j: how like the items that a user has is an item, by the features of both.

    x_i are the features of item i, rare ones weighing more (idf^``idf_exponent``; counts become 1 + ln count first), in
    a row of length 1; y_ui is 1 for a like and −1 for a dislike. Nothing is trained and nothing is learnt of other
    users, so one event and an item nobody has seen are enough: the model for users with a single event, and a part for
    a :class:`~everypair.Blend` beside models that learn from events.

    With ``reg`` what many items have in common says less: scores are those of a ridge regression of a user's events on
    the features of all items that have events, every item predicted without itself
    (:mod:`everypair.models.recommend.content_ridge`). As reg grows it becomes the sum of cosines.

    A thousandth of an item's share of all users is added to its scores, as in :class:`~everypair.ItemItem`: it orders
    what content does not tell apart.

    Attributes
    ----------
    content_ : X (n × d), sparse or dense as the features are.
    reg_ : the ridge that was used, or ``None``.

    Examples
    --------
    >>> events = {"user": ["ann", "bob"], "item": ["lentil soup", "chess"]}
    >>> words = {"kitchen": [1, 0, 1, 0], "game": [0, 1, 0, 1]}
    >>> import pandas as pd
    >>> features = pd.DataFrame(words, index=["lentil soup", "chess", "bread", "cards"])
    >>> model = ContentItems().fit(events, item_features=features.iloc[:2])
    >>> model.add_items(features=features.iloc[2:]).tolist()  # nobody has seen these
    ['bread', 'cards']
    >>> model.recommend(["ann", "bob"], n=1)[0].tolist()
    [['bread'], ['cards']]
    >>> model.explain("ann", "bread").features.tolist()
    ['kitchen']
    """

    fitted_class: ClassVar[type] = ContentState
    reads_features: ClassVar[tuple[bool, bool]] = (False, True)
    content_ = FittedAttribute()
    reg_ = FittedAttribute()

    def fit(self, interactions: Any, *, item_features: Any = None) -> Self:
        """Read interactions, events or a matrix as :meth:`OneClassMF.fit` takes, and a row of features per item."""
        values = checked(self)
        if item_features is None:
            raise ValueError(
                "ContentItems compares items by their features: give fit(…, item_features=X), a row per item, or use "
                "ItemItem, which compares them by their users."
            )
        data = training_data(interactions, features=(None, item_features))
        matrix = Pairs.from_matrix(data.matrix, dtype=values.dtype).to_csr()
        content = Content.read(values, data.features[1], "item_features", matrix.shape[1])
        known = np.bincount(matrix.indices, minlength=matrix.shape[1]) > 0
        ridge = content.ridge(values, known, choose_reg, signs(matrix))
        self.state_ = data.named(
            ContentState(
                **content._asdict(), base=base_of(matrix, np.ones(matrix.shape[0])), interactions=matrix, ridge=ridge,
            )
        )  # fmt: skip
        return self
