"""The tests every estimator passes: parameters, bits, parts, forms of the data and their owner. Families build on them.

Nothing here imports pytest: a subclass whose name begins with ``Test`` in a test file is collected by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from everypair.testing.journey import from_json_and_arrays
from everypair.testing.refusal import refused

FORMATS = ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")
STORED = ("data", "indices", "indptr", "row", "col", "offsets")  # arrays of a sparse matrix, whatever its format


class EstimatorContract:
    """Subclass it, give the methods that raise here, and every method named ``test_…`` is a test.

    ``make_model(**params)`` returns an unfitted model with a fixed seed. ``training_data()`` are the arguments of
    ``fit`` by name, ``forms()`` the same data in every form that must give the same bits, ``owned_data()`` in those
    that must stay as they were, ``other_data()`` data of another shape, ``large_data()`` data of several chunks of
    rows. ``questions(model)`` is what a fitted model is asked: each must be refused before ``fit``.

    ``optional`` names the methods and parameters that not every model of a family has, ``offers`` those of them that
    this one has: the kit tests these, and fails where one is lost or another has come.

    >>> from everypair.models.multilabel.rivals import PLST
    >>> class TestPLST(EstimatorContract):
    ...     def make_model(self, **params):
    ...         return PLST(**{"rank": 2, **params})
    ...     def training_data(self):
    ...         return {"X": np.eye(4), "y": np.eye(4, dtype=int)}
    ...     def questions(self, model):
    ...         return {"predict": lambda: model.predict(np.eye(4))}
    >>> TestPLST().test_same_seed_same_bits()
    """

    optional: frozenset[str] = frozenset({"n_threads"})
    offers: frozenset[str] = frozenset({"n_threads"})

    def make_model(self, **params: Any) -> Any:
        """Return an unfitted model."""
        raise NotImplementedError

    def training_data(self) -> dict[str, Any]:
        """Return the arguments of ``fit`` by name, new ones at every call."""
        raise NotImplementedError

    def questions(self, model: Any) -> dict[str, Callable[[], Any]]:
        """Return calls of a model's methods by name."""
        raise NotImplementedError

    def forms(self) -> Iterator[dict[str, Any]]:
        """Yield the same data in every form, the usual one first."""
        yield self.training_data()

    def owned_data(self) -> Iterator[dict[str, Any]]:
        """Yield data whose arrays are the caller's, dense and sparse."""
        yield from self.forms()

    def other_data(self) -> dict[str, Any]:
        """Return data of another shape."""
        return self.training_data()

    def large_data(self) -> dict[str, Any]:
        """Return data of several chunks of rows."""
        return self.training_data()

    def fitted(self, **params: Any) -> Any:
        """Return a model fitted on the training data."""
        return self.make_model(**params).fit(**self.training_data())

    def answers(self, model: Any) -> dict[str, Any]:
        """What a fitted model answers, by name; a family adds fitted attributes that must be equal too."""
        return {name: ask() for name, ask in self.questions(model).items()}

    # what the model has

    def test_it_offers_what_it_should(self) -> None:
        """Of what the models of its family may have, it has what ``offers`` names, no less and no more."""
        model = self.fitted()
        parameters = model.get_params()
        assert {
            name for name in self.optional if name in parameters or callable(getattr(model, name, None))
        } == self.offers

    # scikit-learn's contract

    def test_parameters_and_clone(self) -> None:
        """``get_params`` gives what ``set_params`` takes; a clone has the parameters and nothing that was learnt."""
        model = self.fitted()
        parameters = model.get_params()
        twin = clone(model)
        assert repr(twin) == repr(model)
        assert twin.get_params() == parameters
        assert not [name for name in vars(twin) if name.endswith("_")]
        assert type(model)().set_params(**parameters).get_params() == parameters
        assert_same(self.answers(twin.fit(**self.training_data())), self.answers(model))
        with refused(ValueError, match="no_such_parameter"):
            model.set_params(no_such_parameter=1)

    def test_parameters_are_named(self) -> None:
        """No parameter goes by its place."""
        with refused(TypeError, match="positional"):
            type(self.make_model())(1)

    def test_nothing_is_known_before_fit(self) -> None:
        """No fitted attribute before ``fit``, and every question is refused."""
        model = self.make_model()
        assert not [name for name in vars(model) if name.endswith("_")]
        for ask in self.questions(model).values():
            with refused(NotFittedError, match="not fitted yet"):
                ask()
        with refused(ValueError, match="not fitted yet"):
            model.to_parts()

    def test_refit_forgets(self) -> None:
        """A second ``fit`` gives what a fresh model gives, whatever the shape before."""
        model, fresh = self.make_model().fit(**self.other_data()), self.fitted()
        assert model.fit(**self.training_data()) is model
        assert_same(self.answers(model), self.answers(fresh))
        assert sorted(vars(model)) == sorted(vars(fresh))

    def test_a_model_is_its_parts(self) -> None:
        """Values that JSON can hold and named arrays make the same model again, to the last bit."""
        model = self.fitted()
        again = from_json_and_arrays(model)
        assert repr(again) == repr(model)
        assert again.get_params() == model.get_params()
        assert_same(self.answers(again), self.answers(model))
        assert from_json_and_arrays(again).to_parts().values == model.to_parts().values

    # same input, same bits

    def test_same_seed_same_bits(self) -> None:
        """Two models with the same parameters are equal to the last bit."""
        assert_same(self.answers(self.fitted()), self.answers(self.fitted()))

    def test_one_and_two_threads_give_the_same_bits(self) -> None:
        """The number of threads changes nothing, in training and in answers."""
        if "n_threads" in self.offers:
            one, two = (self.make_model(n_threads=threads).fit(**self.large_data()) for threads in (1, 2))
            assert_same(self.answers(one), self.answers(two))

    def test_every_form_of_the_data_gives_the_same_bits(self) -> None:
        """Dense and sparse, numbers of any type, whatever says the same."""
        usual, *others = self.forms()
        expected = self.answers(self.make_model().fit(**usual))
        for data in others:
            assert_same(self.answers(self.make_model().fit(**data)), expected, repr(data)[:100])

    def test_data_belong_to_the_caller(self) -> None:
        """``fit`` changes nothing in its data (dense ones may be read-only), and later changes reach no model."""
        for data in self.owned_data():
            arrays = [array for value in data.values() for array in arrays_of(value)]
            before = [array.copy() for array in arrays]
            dense = [value for value in data.values() if isinstance(value, np.ndarray)]
            for array in dense:
                array.setflags(write=False)
            model = self.make_model().fit(**data)
            for array, copy in zip(arrays, before):
                np.testing.assert_array_equal(array, copy, repr(data)[:100])
            answers = self.answers(model)
            for array in dense:
                array.setflags(write=True)
            for array in arrays:
                array[...] = 0
            assert_same(self.answers(model), answers, repr(data)[:100])


def arrays_of(value: Any) -> list[Any]:
    """Return the arrays that hold a dense or sparse matrix, none of what is neither.

    >>> [array.tolist() for array in arrays_of(sp.csr_array(np.eye(2)))]
    [[1.0, 1.0], [0, 1], [0, 1, 2]]
    """
    if isinstance(value, np.ndarray):
        return [value]
    parts = [getattr(value, name, None) for name in STORED] if sp.issparse(value) else []
    return [part for part in parts if isinstance(part, np.ndarray) and part.dtype != object]


def assert_same(answers: dict[str, Any], expected: dict[str, Any], source: str = "") -> None:
    """Check that two models answer the same, in types and to the last bit.

    >>> with refused(AssertionError, match="scores differ"):
    ...     assert_same({"scores": np.ones(2)}, {"scores": np.ones(2, np.float32)})
    """
    assert answers.keys() == expected.keys()
    for name, answer in answers.items():
        assert _same(answer, expected[name]), f"{name} differ {source}".rstrip()


def _same(answer: Any, expected: Any) -> bool:
    if isinstance(answer, tuple):
        return len(answer) == len(expected) and all(map(_same, answer, expected))
    if sp.issparse(answer):
        return sp.issparse(expected) and _same(answer.toarray(), expected.toarray())
    one, other = np.asarray(answer), np.asarray(expected)
    return one.dtype == other.dtype and np.array_equal(one, other)
