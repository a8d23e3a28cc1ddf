"""The tests every recommender passes, for subclasses to run: known answers, filters, fold-in, same bits, bad input.

Nothing here imports pytest: a subclass whose name begins with ``Test`` in a test file is collected by it. Call
``pytest.register_assert_rewrite("everypair.testing")`` before the import to see the values of a failed assertion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from everypair.models.recommend.fitted import CAPABILITIES
from everypair.testing.blocks import block_matrix, group_of
from everypair.testing.by_id import IdContract
from everypair.testing.contract import FORMATS, EstimatorContract
from everypair.testing.refusal import refused


class RecommenderContract(IdContract, EstimatorContract):
    """Subclass it, return the model from ``make_model``, set the floor and what the model ``offers``.

    ``make_model(**params)`` returns an unfitted model with a fixed seed, small enough for 44 × 21 interactions.
    ``quality_floor`` is the share of users whose held-out item comes first. ``personal`` says whether the answer
    depends on the user. ``fold_in_tolerance`` bounds how far a folded-in training row's scores may be from the trained
    ones, as a share of their range, ``alone_tolerance`` how far, relatively, scores of somebody new may be from those
    that are told among others: 0 is to the bit. ``offers`` names the methods and parameters that not every recommender
    has; a model that loses one of them, or gains another, fails.

    >>> from everypair import Popularity
    >>> class TestPopularity(RecommenderContract):
    ...     quality_floor, personal, offers = 0.45, False, frozenset({"fold_in_users", "n_threads"})
    ...     def make_model(self, **params):
    ...         return Popularity(**params)
    >>> TestPopularity().test_held_out_items_come_first()
    """

    optional = frozenset({*CAPABILITIES, "n_threads", "dtype"})
    offers = optional
    quality_floor: float = 1.0
    personal: bool = True
    fold_in_tolerance: float = 0.05
    alone_tolerance: float = 0.0

    def training_data(self) -> dict[str, Any]:
        """The block matrix."""
        return {"interactions": block_matrix()[0]}

    def other_data(self) -> dict[str, Any]:
        """Everybody has one item of his own."""
        return {"interactions": np.eye(30)}

    def large_data(self) -> dict[str, Any]:
        """Several chunks of rows everywhere."""
        return {"interactions": np.vstack([block_matrix()[0]] * 12)}

    def forms(self) -> Iterator[dict[str, Any]]:
        """Every sparse format, dense arrays and lists, integers and booleans, unsorted and repeated entries."""
        matrix, _ = block_matrix()
        csr = sp.csr_array(matrix)
        coo = csr.tocoo()
        order = np.random.default_rng(0).permutation(coo.nnz)
        halves = (np.tile(coo.data[order] / 2, 2), (np.tile(coo.row[order], 2), np.tile(coo.col[order], 2)))
        wide = csr.copy()
        wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
        same = [matrix, *(csr.asformat(name) for name in FORMATS), sp.csr_matrix(csr), wide]
        same += [sp.coo_array(halves, csr.shape), *(matrix.astype(kind) for kind in (np.int8, bool, np.float32))]
        same += [np.asfortranarray(matrix), csr.astype(np.int64), matrix.astype(int).tolist()]
        for interactions in same:
            yield {"interactions": interactions}

    def owned_data(self) -> Iterator[dict[str, Any]]:
        """Matrices whose arrays ``fit`` might keep."""
        dense, _ = block_matrix()
        for matrix in (dense, sp.csr_array(dense.astype(np.float32)), sp.coo_array(dense), sp.csc_array(dense)):
            yield {"interactions": matrix}

    def questions(self, model: Any) -> dict[str, Callable[[], Any]]:
        """What every recommender is asked, and what this one offers besides."""
        matrix, _ = block_matrix()
        asked: dict[str, Callable[[], Any]] = {
            "recommend": lambda: model.recommend(n=5),
            "recommend new users": lambda: model.recommend(interactions=matrix, n=3),
            "score_users": model.score_users,
            "score new users": lambda: model.score_users(interactions=matrix),
            "score_pairs": lambda: model.score_pairs([0, 3], [1, 2]),
        }
        optional: dict[str, Callable[[], Any]] = {
            "similar_items": lambda: model.similar_items([0, 20], n=3),
            "similar_users": lambda: model.similar_users([0, 40], n=3),
            "explain": lambda: model.explain(0, 0),
            "fold_in_users": lambda: model.fold_in_users(matrix),
            "fold_in_items": lambda: model.fold_in_items(np.zeros((len(model.score_users()), 2))),
        }
        offered = self.offers - (set() if self.explains else {"explain"})
        return {**asked, **{name: ask for name, ask in optional.items() if name in offered}}

    def fitted(self, interactions: Any = None, **params: Any) -> Any:
        """Return a model fitted on ``interactions``, the block matrix by default."""
        return self.make_model(**params).fit(block_matrix()[0] if interactions is None else interactions)

    # what is recommended

    def test_held_out_items_come_first(self) -> None:
        """The one item of the group that a user has not shown is recommended first."""
        matrix, held_out = block_matrix()
        items, _ = self.fitted(matrix).recommend(n=1)
        assert np.mean(items[:, 0] == held_out) >= self.quality_floor

    def test_recommend_shapes_types_and_order(self) -> None:
        """Two (users, n) arrays, distinct items by descending score, every user by default."""
        items, scores = self.fitted().recommend([3, 0, 3], n=5, exclude_seen=False)
        assert items.shape == scores.shape == (3, 5)
        assert (items.dtype, scores.dtype.kind) == (np.int32, "f")
        assert np.isfinite(scores).all()
        assert (np.diff(scores, axis=1) <= 0).all()
        assert all(len(set(row)) == 5 for row in items.tolist())
        assert np.array_equal(items[0], items[2])
        assert self.fitted().recommend()[0].shape == (44, 10)

    def test_one_user_is_a_list_of_one(self) -> None:
        """A single position gives one row."""
        model = self.fitted()
        assert np.array_equal(model.recommend(7, n=4)[0], model.recommend([7], n=4)[0])
        assert model.recommend(7, n=4)[0].shape == (1, 4)
        assert model.recommend([], n=4)[0].shape == (0, 4)

    def test_a_list_has_the_same_bits_alone_and_among_others(self) -> None:
        """Known users and new ones, 1, 7 or 64 at a time, on one thread and on two."""
        data = self.large_data()
        model = self.make_model().fit(**data)
        new = np.asarray(data["interactions"])[:64]
        for threads in (1, 2):
            if "n_threads" in self.offers:
                model.n_threads = threads
            lists = [model.recommend(np.arange(64), n=5), model.recommend(interactions=new, n=5)]
            for rows in (slice(9, 10), slice(20, 27), slice(0, 64)):
                parts = model.recommend(np.arange(64)[rows], n=5), model.recommend(interactions=new[rows], n=5)
                for (items, scores), (some, own), tolerance in zip(lists, parts, (0, self.alone_tolerance)):
                    assert np.array_equal(items[rows], some)
                    np.testing.assert_allclose(scores[rows], own, rtol=tolerance)

    def test_ties_rank_by_ascending_item(self) -> None:
        """Equal scores rank by item: all of them where a model by factors has zeros for all items."""
        model = self.fitted()
        items, scores = model.recommend(n=21, exclude_seen=False)
        tied = np.diff(scores, axis=1) == 0
        assert (np.diff(items, axis=1)[tied] > 0).all()
        if not hasattr(model, "item_factors_"):
            return
        model.state_ = replace(model.state_, item_factors=0 * model.item_factors_)
        assert np.array_equal(model.recommend([0], n=21, exclude_seen=False)[0][0], np.arange(21))

    def test_scores_agree_with_each_other(self) -> None:
        """``recommend``, ``score_users`` and ``score_pairs`` tell the same scores."""
        model = self.fitted()
        users = np.array([40, 2])
        items, scores = model.recommend(users, n=21, exclude_seen=False)
        table = model.score_users(users)
        assert table.shape == (2, 21)
        np.testing.assert_allclose(np.take_along_axis(table, items, axis=1), scores, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(
            model.score_pairs(np.repeat(users, 21), items.ravel()), scores.ravel(), rtol=1e-5, atol=1e-5
        )
        np.testing.assert_allclose(model.score_users()[users], table, rtol=1e-5, atol=1e-5)
        assert model.score_pairs(2, 5).shape == (1,)

    # filters

    def test_exclude_seen_hides_likes_and_dislikes(self) -> None:
        """Whatever is stored of a user is hidden from him, and only if asked."""
        matrix, _ = block_matrix()
        matrix[0, 20] = matrix[43, 0] = -1
        model = self.fitted(matrix)
        unseen = [row.tolist() for row in map(np.flatnonzero, matrix == 0)]
        items, _ = model.recommend(n=21)
        assert [sorted(row[row >= 0].tolist()) for row in items] == unseen
        items, _ = model.recommend(n=21, exclude_seen=False)
        assert (np.sort(items, axis=1) == np.arange(21)).all()

    def test_allow_and_block_as_arrays(self) -> None:
        """Items that everybody may, or may not, be shown: positions or booleans."""
        model = self.fitted()
        chosen = np.array([20, 3, 9])
        flags = np.isin(np.arange(21), chosen)
        everything, _ = model.recommend(n=21, exclude_seen=False)
        for allow in (chosen, flags, chosen.tolist()):
            items, _ = model.recommend(n=3, exclude_seen=False, allow=allow)
            assert np.array_equal(items, everything[flags[everything]].reshape(44, 3))
        for block in (chosen, flags, chosen.tolist()):
            items, _ = model.recommend(n=18, exclude_seen=False, block=block)
            assert np.array_equal(items, everything[~flags[everything]].reshape(44, 18))
        items, _ = model.recommend(n=2, exclude_seen=False, allow=chosen, block=[3])
        assert (np.sort(items, axis=1) == [9, 20]).all()

    def test_allow_and_block_as_masks(self) -> None:
        """A sparse row of items for each user asked for."""
        model = self.fitted()
        users = np.array([5, 30, 5])
        mask = np.zeros((3, 21))
        mask[0, [1, 2]] = mask[1, [0, 20]] = mask[2, [7, 8]] = 1
        for kind in (sp.csr_array, sp.coo_matrix):
            items, _ = model.recommend(users, n=2, exclude_seen=False, allow=kind(mask))
            assert np.sort(items, axis=1).tolist() == [[1, 2], [0, 20], [7, 8]]
            items, _ = model.recommend(users, n=19, exclude_seen=False, block=kind(mask))
            assert [set(range(21)) - set(row) for row in items.tolist()] == [{1, 2}, {0, 20}, {7, 8}]

    def test_padding_only_where_items_run_out(self) -> None:
        """−1 with −inf after the last item that remains, nowhere else."""
        matrix, _ = block_matrix()
        model = self.fitted(matrix)
        left = np.sum(matrix == 0, axis=1)
        items, scores = model.recommend(n=25)
        padded = np.arange(25) >= left[:, None]
        assert np.array_equal(items == -1, padded)
        assert np.array_equal(np.isneginf(scores), padded)
        items, scores = model.recommend([0], n=2, allow=[])
        assert (items.tolist(), scores.tolist()) == ([[-1, -1]], [[-np.inf, -np.inf]])

    # users and items that were not in training

    def test_training_rows_fold_in_to_themselves(self) -> None:
        """A training row that comes again as a new user gets about the same scores and the same first item."""
        matrix, held_out = block_matrix()
        model = self.fitted(matrix)
        trained, folded = model.score_users(), model.score_users(interactions=matrix)
        assert np.abs(trained - folded).max() <= self.fold_in_tolerance * np.ptp(trained)
        items, _ = model.recommend(interactions=sp.csr_array(matrix), n=1)
        assert np.mean(items[:, 0] == held_out) >= self.quality_floor
        if "fold_in_users" in self.offers:
            assert model.fold_in_users(matrix).shape == model.user_factors_.shape

    def test_new_users_are_understood(self) -> None:
        """Three items of a group are enough to be recommended the rest of it, and what was given is hidden."""
        rows = np.zeros((3, 21))
        rows[0, [0, 1, 2]] = rows[1, [8, 9, 10]] = rows[2, [15, 16, 17]] = 1
        items, _ = self.fitted().recommend(interactions=rows, n=3)
        assert items.min() >= 0
        assert not np.take_along_axis(rows, items.astype(np.int64), axis=1).any()
        if self.personal:
            assert group_of(items, side=1).tolist() == [[0] * 3, [1] * 3, [2] * 3]

    def test_empty_rows_and_columns(self) -> None:
        """Users without events and items never seen: finite answers, and the rest is as good as without them."""
        matrix, held_out = block_matrix()
        model = self.fitted(np.pad(matrix, ((1, 2), (0, 2))))
        assert np.isfinite(model.score_users()).all()
        items, _ = model.recommend(n=1)
        assert np.mean(items[1:-2, 0] == held_out) >= self.quality_floor
        first, last = model.score_users([0, 46])
        np.testing.assert_allclose(first, last, rtol=1e-3, atol=1e-3)
        assert np.isfinite(model.recommend(interactions=np.zeros((1, 23)), n=23)[1]).all()

    # similarity

    def test_similar_items(self) -> None:
        """Cosines in [−1, 1], descending, without the item itself; the nearest are of its group."""
        if "similar_items" in self.offers:
            self._check_similar(self.fitted().similar_items, 21, side=1)

    def test_similar_users(self) -> None:
        """Cosines in [−1, 1], descending, without the user himself; the nearest are of his group."""
        if "similar_users" in self.offers:
            self._check_similar(self.fitted().similar_users, 44, side=0)

    def _check_similar(self, similar: Any, size: int, side: int) -> None:
        nearest, cosines = similar(np.arange(size), n=4)
        assert nearest.shape == cosines.shape == (size, 4)
        assert (nearest != np.arange(size)[:, None]).all()
        assert (np.abs(cosines) <= 1 + 1e-6).all()
        assert (np.diff(cosines, axis=1) <= 0).all()
        if self.personal:
            assert (group_of(nearest, side) == group_of(np.arange(size), side)[:, None]).all()
        everything, cosines = similar([1], n=size)
        assert sorted(everything[0, :-1].tolist()) == [other for other in range(size) if other != 1]
        assert (everything[0, -1], cosines[0, -1]) == (-1, -np.inf)

    # precision

    def test_float32_and_float64(self) -> None:
        """Factors and scores have the type that was asked for, and say about the same."""
        if "dtype" not in self.offers:
            return
        single, double = (self.fitted(dtype=dtype) for dtype in ("float32", "float64"))
        for model, dtype in ((single, np.float32), (double, np.float64)):
            if "fold_in_users" in self.offers:
                assert {model.user_factors_.dtype, model.item_factors_.dtype} == {np.dtype(dtype)}
            assert model.score_users([0]).dtype == model.recommend([0])[1].dtype == dtype
        spread = np.ptp(double.score_users())
        assert np.abs(single.score_users() - double.score_users()).max() <= 0.01 * spread

    # what is refused

    def test_unknown_users_and_items_are_refused(self) -> None:
        """Positions out of range, of another type or shape, and numbers of items that make no sense."""
        model = self.fitted()
        for users in ([44], [-1], [0, 99]):
            with refused(ValueError, match="unknown"):
                model.recommend(users)
        for other in ([0.5], ["anna"], [[0, 1]], [True]):
            with refused(TypeError, match="integer positions"):
                model.recommend(other)
        with refused(ValueError, match="item 21 is unknown"):
            model.score_pairs([0], [21])
        with refused(ValueError, match="one length"):
            model.score_pairs([0, 1], [0, 1, 2])
        if "similar_items" in self.offers:
            with refused(ValueError, match="item -1 is unknown"):
                model.similar_items([-1])
        if "similar_users" in self.offers:
            with refused(ValueError, match="user 44 is unknown"):
                model.similar_users([44])
        with refused(ValueError, match="at least 1"):
            model.recommend([0], n=0)
        with refused(TypeError, match="integer"):
            model.recommend([0], n=2.5)
        with refused(ValueError, match="21"):
            model.recommend([0], allow=[21])
        with refused(ValueError, match="2 × 21"):
            model.recommend([0, 1], block=sp.csr_array((3, 21)))
        with refused(ValueError, match="not both"):
            model.recommend([0], interactions=np.ones((1, 21)))

    def test_bad_interactions_are_refused(self) -> None:
        """In ``fit`` and for new users: shapes, types and values that cannot be meant; a failed fit keeps the model."""
        matrix, _ = block_matrix()
        model = self.fitted(matrix)
        before = model.score_users()
        zeros = sp.csr_array((np.zeros(1), ([0], [0])), shape=matrix.shape)
        for ask in (model.fit, lambda rows: model.score_users(interactions=rows)):
            for bad in (np.nan, np.inf):
                with refused(ValueError, match="NaN or infinite"):
                    ask(np.where(np.arange(21) == 5, bad, matrix))
            with refused(ValueError, match="eliminate_zeros"):
                ask(zeros)
            with refused(ValueError, match="two-dimensional"):
                ask(matrix[0])
            with refused(ValueError, match="is empty"):
                ask(sp.csr_array((0, 21)))
            with refused(TypeError, match="sparse matrix or a numeric 2-D array"):
                ask([["anna", "bread"]])
        with refused(ValueError, match="no positive entry"):
            model.fit(-matrix)
        with refused(ValueError, match=r"one column per training item \(21\)"):
            model.recommend(interactions=matrix.T)
        assert np.array_equal(model.score_users(), before)
