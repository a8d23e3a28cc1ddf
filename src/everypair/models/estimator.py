"""Estimators whose whole fitted state is one frozen value, ``state_``: replaced as a whole, written down as parts."""

from __future__ import annotations

import copy
from typing import Any, ClassVar, Self, get_type_hints

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from everypair.models.codec import Arrays, Parts, decode, encode
from everypair.models.files import save_model
from everypair.models.serve_only import Dropped, without_training

SEEN_IN_FIT = ("n_features_in_", "feature_names_in_")  # what scikit-learn itself notes about X


class FittedAttribute:
    """A fitted attribute: ``name_`` of a model reads ``state_.name``, and does not exist before ``fit``.

    ``FittedAttribute("model")`` reads ``state_.model.name``.

    >>> from dataclasses import make_dataclass
    >>> class Model(Estimator):
    ...     size_ = FittedAttribute()
    >>> model = Model()
    >>> hasattr(model, "size_")
    False
    >>> model.state_ = make_dataclass("State", ["size"])(3)
    >>> model.size_
    3
    """

    def __init__(self, inside: str | None = None) -> None:
        self.inside = inside

    def __set_name__(self, owner: type, name: str) -> None:
        self.field = name.removesuffix("_")

    def __get__(self, model: Any, owner: type | None = None) -> Any:
        if model is None:
            return self
        if "state_" not in vars(model):
            raise AttributeError(f"{type(model).__name__} has no {self.field}_ before fit.")
        value = getattr(model.state_ if self.inside is None else getattr(model.state_, self.inside), self.field)
        return value.refuse() if isinstance(value, Dropped) else value

    def __set__(self, model: Any, value: Any) -> None:
        raise AttributeError(f"{self.field}_ is a part of the fitted state: replace state_ as a whole.")


def _state_class(cls: type[Estimator]) -> type:
    """The class of what an estimator learns: ``fitted_class``, or what ``state_`` is annotated with."""
    if cls.fitted_class is not object:
        return cls.fitted_class
    wanted = get_type_hints(cls)["state_"]
    return wanted if isinstance(wanted, type) else object


class Estimator(BaseEstimator):
    """Base of estimators that keep what they learnt in ``state_``, a frozen dataclass marked as a part.

    ``fit`` sets it once, as its last act; methods that change a fitted model replace it. A state may have ``check()``,
    which refuses what does not fit together; it is called on what is read. ``fitted_class`` is its class.
    """

    fitted_class: ClassVar[type] = object
    state_: Any

    def save(self, path: Any, *, serve_only: bool = False) -> None:
        """Write the fitted model to one file, which :func:`everypair.load` reads.

        The file at ``path`` is replaced once all is on disk; a save that fails or is killed leaves it as it was. With
        ``serve_only`` the file lacks what only training, explaining or growing the model needs; it answers the same.
        A loss or a kernel of the user's own is refused: it is code. A random generator becomes ``None``.
        """
        save_model(self, path, serve_only)

    def to_parts(self, *, serve_only: bool = False) -> Parts:
        """Return the fitted model as JSON-able values and named arrays; :meth:`from_parts` reads them."""
        if "state_" not in vars(self):
            raise ValueError(f"this {type(self).__name__} is not fitted yet: there is nothing to write down.")
        arrays: Arrays = {}
        model = serve_only_model(self) if serve_only else self
        return Parts(model.written("", arrays), arrays)

    @classmethod
    def from_parts(cls, values: dict[str, Any], arrays: Arrays) -> Self:
        """Return the model that :meth:`to_parts` wrote down."""
        if values.get("class") != cls.__name__:
            raise ValueError(f"these are the parts of a {values.get('class')}, not of a {cls.__name__}.")
        model = cls.read(values, arrays)
        if "state_" not in vars(model):
            raise ValueError(f"these are the parts of a {cls.__name__} that was never fitted.")
        return model

    def written(self, name: str, arrays: Arrays) -> dict[str, Any]:
        """This estimator, fitted or not, as JSON; its arrays are put into ``arrays`` under ``name``."""
        prefix = f"{name}." if name else ""
        parameters = {
            key: None if isinstance(value, np.random.Generator) else value
            for key, value in self.get_params(deep=False).items()
        }
        seen = {key: getattr(self, key) for key in SEEN_IN_FIT if key in vars(self)}
        return {
            "class": type(self).__name__,
            "parameters": encode(parameters, f"{prefix}parameters", arrays)["dict"],
            "seen": encode(seen, f"{prefix}seen", arrays)["dict"],
            "state": encode(vars(self).get("state_"), f"{prefix}state", arrays),
        }

    @classmethod
    def read(cls, values: dict[str, Any], arrays: Arrays) -> Self:
        """The estimator that :meth:`written` wrote down."""
        if set(values) != {"class", "parameters", "seen", "state"}:
            raise ValueError(f"these are not the parts of a model: {', '.join(map(str, values))}.")
        parameters = decode({"dict": values["parameters"]}, arrays)
        unknown = set(parameters) - set(cls._get_param_names())
        if unknown:
            raise ValueError(f"{cls.__name__} has no parameter {', '.join(sorted(unknown))} in this version.")
        model = cls(**parameters)
        for name, value in decode({"dict": values["seen"]}, arrays).items():
            if name in SEEN_IN_FIT:
                setattr(model, name, value)
        state, wanted = decode(values["state"], arrays), _state_class(cls)
        if state is None:
            return model
        if not isinstance(state, wanted):
            raise ValueError(f"the state of a {cls.__name__} is a {wanted.__name__}, not a {type(state).__name__}.")
        model.state_ = state
        model.state_.check()
        return model

    def _fitted(self) -> Any:
        """What was learnt, or a sentence before ``fit``."""
        state = vars(self).get("state_")
        if state is None:
            check_is_fitted(self)
        return state


def serve_only_model(model: Any) -> Any:
    """The same model without what only training, explaining or growing it needs, in models inside it too."""
    smaller = copy.copy(model)
    smaller.state_ = without_training(model.state_, inside=serve_only_model)
    return smaller
