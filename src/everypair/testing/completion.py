"""The tests every completion model passes, for subclasses to run: a planted answer, forms of input, same bits, parts.

Nothing here imports pytest: a subclass whose name begins with ``Test`` in a test file is collected by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.metrics import completion_metrics
from everypair.testing.contract import EstimatorContract
from everypair.testing.refusal import refused
from everypair.types import Array64

OBSERVED = 0.6
FORMATS = ("csr", "csc", "coo")  # others do not keep stored zeros


class Planted(NamedTuple):
    """A matrix with a known answer, which of its entries are shown, and features of both sides that explain it."""

    truth: Array64
    mask: NDArray[np.bool_]
    left: Array64
    right: Array64


def planted(n: int = 40, m: int = 30, seed: int = 0) -> Planted:
    """Return A N Cᵀ with 4 and 3 features, a row and a column of which nothing is shown, 60 % of the rest shown.

    >>> planted().truth.shape, planted().mask[5].any()
    ((40, 30), np.False_)
    """
    random = np.random.default_rng(seed)
    left, right = random.standard_normal((n, 4)), random.standard_normal((m, 3))
    mask = random.random((n, m)) < OBSERVED
    mask[5], mask[:, 7] = False, False
    return Planted(left @ random.standard_normal((4, 3)) @ right.T, mask, left, right)


class CompletionContract(EstimatorContract):
    """Subclass it and return the model from ``make_model``; every method named ``test_…`` is a test.

    ``make_model(**params)`` returns an unfitted model that suits the planted matrix. ``takes_features`` says whether it
    uses features; ``new_entities`` whether features then tell of rows and columns never seen. ``worst_error`` bounds
    ‖completed − truth‖/‖truth‖ at hidden entries of rows and columns of which something was shown; ``worst_order`` is
    the least share of their pairs within a row that are in the right order. ``compared`` are the ``"columns"`` or
    ``"rows"`` that have no level of their own under a ranking loss, None where both have one that features do not tell.
    ``classes``: the model is for two values, so that the planted matrix becomes whether its entries are above 1.
    ``iterates`` says whether there is a training to
    watch, with validation data and callbacks.

    >>> from everypair.models.completion.rivals import FPCA
    >>> class TestFPCA(CompletionContract):
    ...     takes_features = False
    ...     def make_model(self, **params):
    ...         return FPCA(**{"nuclear_reg": 0.1, "tol": 1e-6, **params})
    >>> TestFPCA().test_the_planted_matrix_is_found()
    """

    takes_features: bool = True
    new_entities: bool = True
    worst_error: float | None = 0.05
    worst_order: float = 0.95
    compared: str | None = "columns"
    classes: bool = False
    iterates: bool = True

    def case(self, n: int = 40, m: int = 30, seed: int = 0) -> Planted:
        """The planted matrix."""
        case = planted(n, m, seed)
        return case._replace(truth=(case.truth > 1).astype(float)) if self.classes else case

    def features(self, case: Planted) -> dict[str, Array64]:
        """Arguments of ``fit`` that describe both sides."""
        return {"left_features": case.left, "right_features": case.right} if self.takes_features else {}

    def training_data(self) -> dict[str, Any]:
        """The planted matrix, what is shown of it, and features."""
        case = self.case()
        return {"Y": case.truth, "mask": case.mask, **self.features(case)}

    def forms(self) -> Iterator[dict[str, Any]]:
        """NaN, a mask, sparse matrices, numbers that a mask hides; zeros are observed too."""
        case = self.case()
        truth = np.where(np.arange(30) == 2, 0.0, case.truth)
        rows, columns = np.nonzero(case.mask)
        stored = sp.csr_array((truth[rows, columns], (rows, columns)), shape=truth.shape)
        pairs: list[tuple[Any, Any]] = [(truth, case.mask), (np.where(case.mask, truth, np.nan), None)]
        pairs += [(np.where(case.mask, truth, 99.0), case.mask), (truth, sp.csr_array(case.mask))]
        pairs += [(stored.asformat(name), None) for name in FORMATS] + [(sp.csr_array(truth), case.mask)]
        for Y, mask in pairs:
            yield {"Y": Y.copy(), "mask": None if mask is None else mask.copy(), **self.features(self.case())}

    def other_data(self) -> dict[str, Any]:
        """A smaller matrix."""
        case = self.case(20, 25, seed=1)
        return {"Y": case.truth, "mask": case.mask, **self.features(case)}

    def questions(self, model: Any) -> dict[str, Callable[[], Any]]:
        """All that is asked about known and new entities."""
        case = self.case()
        calls: dict[str, Callable[[], Any]] = {
            "complete": model.complete,
            "predict": lambda: model.predict([0, 5], [7, 1]),
            "recommend": lambda: model.recommend(n=4),
            "score": lambda: model.score(case.truth, ~case.mask),
        }
        if self.takes_features:
            calls["complete new rows"] = lambda: model.complete(left_features=case.left[:2] + 1)
            calls["complete new columns"] = lambda: model.complete(right_features=case.right[:2] + 1)
            calls["recommend to new rows"] = lambda: model.recommend(features=case.left[:2] + 1)
        return calls

    def answers(self, model: Any) -> dict[str, Any]:
        """How training went and what features say too."""
        if not self.iterates:
            return super().answers(model)
        history = [entry["objective"] for entry in model.history_]
        terms = str(getattr(model, "side_terms_", None))
        return {**super().answers(model), "history_": history, "status_": str(model.status_), "side_terms_": terms}

    def fitted(self, Y: Any = None, mask: Any = None, **params: Any) -> Any:
        """Return a model fitted on the planted matrix, or on another one of its shape."""
        case = self.case()
        if Y is None:
            Y, mask = case.truth, case.mask
        return self.make_model(**params).fit(Y, mask, **self.features(case))

    # the answer

    def test_the_planted_matrix_is_found(self) -> None:
        """Hidden entries come close to the truth, and in the right order within a row."""
        case = self.case()
        completed = self.fitted().complete()
        assert completed.shape == case.truth.shape
        hidden = ~case.mask
        hidden[5], hidden[:, 7] = False, False
        if self.worst_error is not None:
            gap = (completed - case.truth)[hidden]
            error = np.linalg.norm(gap) / np.linalg.norm(case.truth[hidden])
            assert error < self.worst_error, error
        right = pairs = 0
        for row in range(len(hidden)):
            columns = np.flatnonzero(hidden[row])
            order = np.sign(np.subtract.outer(case.truth[row, columns], case.truth[row, columns]))
            found = np.sign(np.subtract.outer(completed[row, columns], completed[row, columns]))
            right, pairs = right + np.sum(order * found > 0), pairs + np.sum(order != 0)
        assert right / pairs > self.worst_order, right / pairs

    def test_rows_and_columns_never_observed_are_legal(self) -> None:
        """They get finite values; where features tell of them, these are good."""
        case = self.case()
        completed = self.fitted().complete()
        assert np.isfinite(completed).all()
        if self.takes_features and self.new_entities and self.worst_error is not None:
            error = np.linalg.norm(completed[5] - case.truth[5]) / np.linalg.norm(case.truth[5])
            assert error < 3 * self.worst_error, error

    def test_new_rows_and_columns_from_their_features(self) -> None:
        """New entities with the features of known ones are told what features tell of these; else they are refused."""
        case, model = self.case(), self.fitted()
        if not self.takes_features:
            with refused(ValueError, match="without left_features"):
                model.complete(left_features=case.left[:2])
            return
        rows = model.complete(left_features=case.left[:3])
        columns = model.complete(right_features=case.right[:4])
        both = model.complete(case.left[:3], case.right[:4])
        assert (rows.shape, columns.shape, both.shape) == ((3, 30), (40, 4), (3, 4))
        assert np.isfinite(rows).all()
        assert np.isfinite(columns).all()
        by_column = self.compared == "rows"  # then known columns have a level of their own
        if self.compared is not None:
            np.testing.assert_allclose(columns[:3] if by_column else rows[:, :4], both, rtol=1e-8, atol=1e-8)
        _, values = model.recommend(features=case.left[:3], n=2)
        np.testing.assert_allclose(values, np.sort(rows, axis=1)[:, ::-1][:, :2], rtol=1e-8, atol=1e-8)
        if self.new_entities and self.worst_error is not None:
            assert np.linalg.norm(both - case.truth[:3, :4]) < 3 * self.worst_error * np.linalg.norm(case.truth[:3, :4])
        with refused(ValueError, match="4 columns"):
            model.complete(left_features=case.left[:, :3])

    def test_predict_and_recommend_agree_with_complete(self) -> None:
        """Single entries and top lists are those of the completed matrix; seen entries are hidden on request."""
        case, model = self.case(), self.fitted()
        completed = model.complete()
        rows, columns = np.divmod(np.arange(completed.size), completed.shape[1])
        np.testing.assert_allclose(model.predict(rows, columns), completed.ravel(), rtol=1e-8, atol=1e-8)
        assert model.predict(3, 4).shape == (1,)
        assert model.predict([], []).shape == (0,)
        best, values = model.recommend([7, 2], n=3, exclude_seen=False)
        np.testing.assert_allclose(values, np.take_along_axis(completed[[7, 2]], best.astype(int), 1), atol=1e-8)
        np.testing.assert_allclose(values, np.sort(completed[[7, 2]], axis=1)[:, ::-1][:, :3], atol=1e-8)
        best, _ = model.recommend(n=30)
        assert best.shape == (40, 30)
        assert all(not case.mask[row, shown[shown >= 0]].any() for row, shown in enumerate(best))
        assert (np.count_nonzero(best >= 0, axis=1) == np.count_nonzero(~case.mask, axis=1)).all()
        assert set(model.recommend([0], n=2, exclude_seen=False, allow=[3, 4])[0][0].tolist()) == {3, 4}

    def test_answers_as_tables(self) -> None:
        """``output`` and ``set_output`` give the numbers of the arrays, a column for each column of Y."""
        model = self.fitted()
        completed, (best, values) = model.complete(), model.recommend([7, 2], n=3)
        table, listed = model.complete(output="arrow"), model.recommend([7, 2], n=3, output="arrow")
        assert table.column_names == [str(column) for column in range(30)]
        assert np.array_equal(np.column_stack(table.columns), completed)
        assert listed["row"].to_pylist() == [7] * 3 + [2] * 3
        assert listed["column"].to_pylist() == best.ravel().tolist()
        assert listed["score"].to_pylist() == values.ravel().tolist()
        model.set_output(transform="arrow")
        assert (model.complete(), model.recommend([7, 2], n=3)) == (table, listed)
        assert np.array_equal(model.complete(output="default"), completed)
        with refused(ValueError, match="output must be one of 'default', 'pandas'"):
            model.complete(output="excel")

    def test_score_is_r2_or_auc_at_other_entries(self) -> None:
        """As :func:`~everypair.metrics.completion_metrics` measures it; a matrix of another shape is refused."""
        case, model = self.case(), self.fitted()
        expected = completion_metrics(model.complete(), case.truth, ~case.mask)["auc" if self.classes else "r2"]
        np.testing.assert_allclose(model.score(case.truth, ~case.mask), expected, rtol=1e-9)
        held_out = np.where(case.mask, np.nan, case.truth)
        assert model.score(held_out) == model.score(case.truth, ~case.mask)
        with refused(ValueError, match="shape of the training matrix"):
            model.score(held_out[:-1])

    # training

    def test_training_tells_how_it_went(self) -> None:
        """History, status, time limit, callbacks, and validation with patience."""
        if not self.iterates:
            return
        case = self.case()
        shown = case.mask & (np.random.default_rng(1).random(case.mask.shape) < 0.9)
        held_out = np.where(case.mask & ~shown, case.truth, np.nan)
        model = self.make_model(patience=3).fit(case.truth, shown, **self.features(case), validation=held_out)
        assert model.n_iter_ == len(model.history_) > 0
        metrics = {"auc", "aupr"} if self.classes else {"mae", "rmse", "r2"}
        assert {"iteration", "objective", "seconds"} | metrics <= set(model.history_[-1])
        assert str(model.status_).endswith(".")
        calls: list[int] = []

        def enough(sweep: Any) -> bool:
            calls.append(sweep.iteration)
            return True

        self.make_model().fit(case.truth, shown, **self.features(case), callbacks=[enough])
        assert calls == [1]
        assert self.make_model(time_limit=1e-9).fit(case.truth, shown, **self.features(case)).n_iter_ == 1

    # what is refused

    def test_bad_input_is_refused(self) -> None:
        """Before any work, with a sentence; a failed fit keeps the model."""
        case, model = self.case(), self.fitted()
        before = model.complete()
        features = self.features(case)
        holes = np.where(case.mask, case.truth, np.nan)
        with refused(ValueError, match="no observed entry"):
            model.fit(np.full((3, 4), np.nan))
        with refused(ValueError, match="no observed entry"):
            model.fit(sp.csr_array((3, 4)))
        with refused(ValueError, match="let the mask be False there"):
            model.fit(holes, np.ones_like(case.mask), **features)
        with refused(ValueError, match="shape of Y"):
            model.fit(case.truth, case.mask.T, **features)
        with refused(ValueError, match="infinite"):
            model.fit(np.where(case.mask, np.inf, np.nan), **features)
        with refused(ValueError, match="must be a matrix"):
            model.fit(case.truth[0])
        with refused(TypeError, match="must hold numbers"):
            model.fit([["a", "b"]])
        if self.iterates:
            self._refuses_what_training_cannot_use(model, case, features)
        if self.takes_features:
            with refused(ValueError, match=r"one row per entity of that side \(40\)"):
                model.fit(case.truth, case.mask, left_features=case.left[:-1], right_features=case.right)
            with refused(ValueError, match=r"one row per entity of that side \(30\)"):
                model.fit(case.truth, case.mask, left_features=case.left, right_features=case.left)
            with refused(ValueError, match="NaN or infinite"):
                holed = np.where(case.left > 1, np.nan, case.left)
                model.fit(case.truth, case.mask, left_features=holed, right_features=case.right)
        else:
            with refused(ValueError, match="no place for features"):
                model.fit(case.truth, case.mask, left_features=case.left)
        for name in model.regularisers:
            for value in (-1.0, np.inf, np.nan, "much", None):
                with refused(ValueError, match=f"{name} must be"):
                    self.make_model(**{name: value}).fit(case.truth, case.mask, **features)
        with refused(ValueError, match="rows 40 is unknown"):
            model.predict([40], [0])
        with refused(TypeError, match="integer positions"):
            model.recommend([0.5])
        with refused(ValueError, match="one length"):
            model.predict([0, 1], [0])
        assert np.array_equal(model.complete(), before)

    def _refuses_what_training_cannot_use(self, model: Any, case: Planted, features: dict[str, Array64]) -> None:
        holes = np.where(case.mask, case.truth, np.nan)
        with refused(ValueError, match="validation"):
            model.fit(case.truth, case.mask, **features, validation=holes)
        with refused(ValueError, match="shape of Y"):
            model.fit(case.truth, case.mask, **features, validation=holes.T)
        with refused(TypeError, match="callbacks"):
            model.fit(case.truth, case.mask, **features, callbacks=[3])
        with refused(ValueError, match="patience needs validation"):
            self.make_model(patience=2).fit(case.truth, case.mask, **features)
