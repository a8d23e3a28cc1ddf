"""Methods that only some recommenders have: a model without one says in a sentence which models have it.

hasattr(BPR(), "explain")  →  False
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from types import MethodType
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from everypair.models.recommend.fitted import CAPABILITIES
from everypair.models.registry import ESTIMATORS

P = ParamSpec("P")
R = TypeVar("R")


def able(cls: Any, method: str) -> bool:
    """Whether recommenders of a class have a method: what they learn must be able to.

    >>> from everypair import BPR, OneClassMF
    >>> able(OneClassMF, "explain"), able(BPR, "explain")
    (True, False)
    """
    return issubclass(cls.fitted_class, CAPABILITIES[method])


def only_where(name: str) -> Callable[[Callable[Concatenate[Any, P], R]], Capability[P, R]]:
    """Mark a method of :data:`~everypair.models.recommend.fitted.CAPABILITIES`."""

    def mark(method: Callable[Concatenate[Any, P], R]) -> Capability[P, R]:
        return Capability(name, method)

    return mark


class Capability(Generic[P, R]):
    """A method that exists where the class of the fitted value has what it takes."""

    def __init__(self, name: str, method: Callable[..., R]) -> None:
        self.name, self.method = name, method
        update_wrapper(self, method)  # type: ignore[arg-type]

    @overload
    def __get__(self, model: None, owner: type) -> Callable[..., R]: ...

    @overload
    def __get__(self, model: object, owner: type) -> Callable[P, R]: ...

    def __get__(self, model: Any, owner: type) -> Any:
        """The method itself, or a sentence."""
        learnt = getattr(owner if model is None else model, "fitted_class", None)
        if isinstance(learnt, type) and not issubclass(learnt, CAPABILITIES[self.name]):
            others = ", ".join(name for name, entry in ESTIMATORS.items() if self.name in entry.offers)
            raise AttributeError(f"{getattr(model, 'kind', owner.__name__)} has no {self.name}: {others} have it.")
        return self.method if model is None else MethodType(self.method, model)
