"""Models that only answer: fitted values read from files, without the estimators that learnt them.

    file → store → codec → fitted value, which answers

An estimator needs scikit-learn, whose import takes longer than reading a model and answering from it. Commands that ask
one question, and services, read a file this way. Of models whose fitted value cannot stand without its estimator the
latter is imported after all: the answers are the same, it takes longer.
"""

from __future__ import annotations

from typing import Any

from everypair.models.codec import Arrays, decode
from everypair.models.files import read_model
from everypair.models.recommend.answering import Answering
from everypair.models.registry import RECOMMENDERS, import_state
from everypair.store import ModelFileError


class AnsweringModel(Answering):
    """A fitted value with the questions of a recommender: ``recommend``, ``similar_items``, ``explain`` and so on.

    It has the ids and the answers of the model that was saved, to the bit, and can neither be fitted nor saved.
    ``kind`` is the name of the estimator, ``state_`` the fitted value, which answers in positions
    (:mod:`everypair.models.recommend.fitted` has its Protocols); ``n_threads`` may be set.
    """

    def __init__(self, kind: str, state: Any, n_threads: int | None = None) -> None:
        self.kind, self.state_, self.n_threads = kind, state, n_threads

    def __repr__(self) -> str:
        users, items = self.shape
        return f"AnsweringModel({self.kind}: {users:,} users × {items:,} items)"

    @property
    def fitted_class(self) -> type:
        """The class of the fitted value, which says what the model can do."""
        return type(self.state_)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of users and of items."""
        users, items = self.state_.shape
        return users, items

    @property
    def user_ids_(self) -> Any:
        """Ids of the users, None of a model that was fitted on a matrix."""
        return self.state_.user_ids

    @property
    def item_ids_(self) -> Any:
        """Ids of the items, None of a model that was fitted on a matrix."""
        return self.state_.item_ids


def load_answering(path: Any, *, mmap: bool = True, verify: bool = True) -> AnsweringModel:
    """Return the recommender of a file to ask, not to train: what a service or a command loads.

    The arguments are those of :func:`everypair.load`, and so are the answers and the errors; what is no recommender is
    refused.

    >>> import tempfile
    >>> from everypair import Popularity
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Popularity().fit({"user": ["ann", "bob"], "item": ["blue", "rain"]}).save(f"{folder}/model.ep")
    ...     model = load_answering(f"{folder}/model.ep", mmap=False)
    >>> model, model.prepare().recommend(["ann"], n=1)[0].tolist()
    (AnsweringModel(Popularity: 2 users × 2 items), [['rain']])
    """
    model: AnsweringModel = read_model(path, _build, mmap, verify)
    return model


def _build(name: str, values: dict[str, Any], arrays: Arrays) -> AnsweringModel:
    if name not in RECOMMENDERS:
        raise ModelFileError(f"it holds a {name}, which is no recommender: everypair.load reads it.")
    if values.get("state") is None:
        raise ValueError(f"these are the parts of a {name} that was never fitted.")
    import_state(name)
    state = decode(values["state"], arrays, lambda inner, own: _build(inner["class"], inner, own))
    state.check()
    n_threads = values.get("parameters", {}).get("n_threads")
    return AnsweringModel(name, state, n_threads if isinstance(n_threads, int) else None)
