"""Estimators whose whole fitted state is one frozen value, ``state_``: replaced as a whole, written down as parts."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from everypair.models.parts import Arrays, Parts, decode, encode

SEEN_IN_FIT = ("n_features_in_", "feature_names_in_")  # what scikit-learn itself notes about X


class Learnt:
    """A fitted attribute: ``name_`` of a model reads ``state_.name``, and does not exist before ``fit``.

    ``Learnt("model")`` reads ``state_.model.name``.

    >>> from dataclasses import make_dataclass
    >>> class Model(Stateful):
    ...     size_ = Learnt()
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
        return getattr(model.state_ if self.inside is None else getattr(model.state_, self.inside), self.field)

    def __set__(self, model: Any, value: Any) -> None:
        raise AttributeError(f"{self.field}_ is a part of the fitted state: replace state_ as a whole.")


class Stateful(BaseEstimator):
    """Base of estimators that keep what they learnt in ``state_``, a frozen dataclass marked as a part.

    ``fit`` sets it once, as its last act; methods that change a fitted model replace it.
    """

    state_: Any

    def to_parts(self) -> Parts:
        """Return the fitted model as JSON-able values and named arrays; :meth:`from_parts` reads them.

        A loss or a kernel of the user's own is refused: it is code. A random generator becomes ``None``.
        """
        if "state_" not in vars(self):
            raise ValueError(f"this {type(self).__name__} is not fitted yet: there is nothing to write down.")
        arrays: Arrays = {}
        parameters = {
            name: None if isinstance(value, np.random.Generator) else value
            for name, value in self.get_params(deep=False).items()
        }
        seen = {name: getattr(self, name) for name in SEEN_IN_FIT if name in vars(self)}
        values = {
            "class": type(self).__name__,
            "parameters": encode(parameters, "parameters", arrays)["dict"],
            "seen": encode(seen, "seen", arrays)["dict"],
            "state": encode(self.state_, "state", arrays),
        }
        return Parts(values, arrays)

    @classmethod
    def from_parts(cls, values: dict[str, Any], arrays: Arrays) -> Self:
        """Return the model that :meth:`to_parts` wrote down."""
        if set(values) != {"class", "parameters", "seen", "state"}:
            raise ValueError(f"these are not the parts of a model: {', '.join(map(str, values))}.")
        if values["class"] != cls.__name__:
            raise ValueError(f"these are the parts of a {values['class']}, not of a {cls.__name__}.")
        parameters = decode({"dict": values["parameters"]}, arrays)
        unknown = set(parameters) - set(cls._get_param_names())
        if unknown:
            raise ValueError(f"{cls.__name__} has no parameter {', '.join(sorted(unknown))} in this version.")
        model = cls(**parameters)
        for name, value in decode({"dict": values["seen"]}, arrays).items():
            if name in SEEN_IN_FIT:
                setattr(model, name, value)
        model.state_ = decode(values["state"], arrays)
        return model
