"""The tests that every recommender passes by id: known answers by name, and the bits of the matrix underneath."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone

from everypair.data.events import Events, read_events
from everypair.testing.blocks import block_matrix, group_of
from everypair.testing.journey import from_json_and_arrays
from everypair.testing.refusal import refused

Name = Callable[[int], Any]
NAMES: dict[str, tuple[Name, Name]] = {  # of user i and item j: none is in the order of the positions
    "text": (lambda i: f"Ünal {97 - i}", lambda j: f"пісня\t{j * 8 % 21}"),
    "integers": (lambda i: 10**12 - 7 * i, lambda j: -5 + j * 8 % 21),
    "both": (lambda i: f"{i * 5 % 44}", lambda j: 1000 - j),
}


def named_blocks(kind: str = "text") -> tuple[Events, list[Any], list[Any]]:
    """Return the block matrix as events, the users' ids and the id of the item that each did not show yet.

    >>> events, users, held_out = named_blocks("both")
    >>> events.matrix.shape, users[:2], held_out[:2]
    ((44, 21), ['0', '5'], [1000, 999])
    """
    user, item = NAMES[kind]
    matrix, held_out = block_matrix()
    rows, columns = (axis.tolist() for axis in matrix.nonzero())
    events = read_events([(user(i), item(j)) for i, j in zip(rows, columns)])
    return events, [user(i) for i in range(len(matrix))], [item(j) for j in held_out.tolist()]


class IdContract:
    """Tests by id; a part of :class:`~everypair.testing.RecommenderContract`.

    ``luck`` is how far below its floor a model that draws random pairs may fall for another order of users and items.
    ``explains`` and ``grows`` are false where a model offers that in general, but not with these parameters.
    """

    quality_floor: float
    luck: float = 0.0
    personal: bool
    offers: frozenset[str]
    explains: bool = True
    grows: bool = True

    def make_model(self, **params: Any) -> Any:
        """Return an unfitted model."""
        raise NotImplementedError

    def make_converging_model(self) -> Any:
        """Return one whose training ends at its optimum, or None where there is no such end.

        Every user's answer is that of the sub-problem of their events then.
        """
        return None

    def test_known_answers_by_id(self) -> None:
        """The one item of the group that a user has not shown comes first, by name: text, integers and both."""
        for kind in NAMES:
            events, users, held_out = named_blocks(kind)
            items, scores = self.make_model().fit(events).recommend(users, n=1)
            assert items.shape == scores.shape == (44, 1)
            share = np.mean([mine == other for mine, other in zip(items[:, 0], held_out)])
            assert share >= self.quality_floor - self.luck

    def test_ids_are_names_of_positions(self) -> None:
        """A model fitted on events answers as one fitted on their matrix, to the last bit."""
        events, users, _ = named_blocks()
        model, plain = self.make_model().fit(events), self.make_model().fit(events.matrix)
        assert (model.user_ids_, model.item_ids_) == (events.user_ids, events.item_ids)
        assert plain.user_ids_ is plain.item_ids_ is None
        who, what = users[3:6], [events.item_ids[2], events.item_ids[20], events.item_ids[2]]
        i, j = events.user_ids.index(who), events.item_ids.index(what)
        for mine, other in (
            (model.recommend(who, n=25), plain.recommend(i, n=25)),
            (model.recommend(who[0], n=3), plain.recommend(i[:1], n=3)),
            (model.recommend(n=3), plain.recommend(n=3)),
            (model.recommend(who, n=2, allow=what), plain.recommend(i, n=2, allow=j)),
            (model.recommend(who, n=9, block=what), plain.recommend(i, n=9, block=j)),
            (model.recommend(who, n=2, allow=np.arange(21) > 9), plain.recommend(i, n=2, allow=np.arange(21) > 9)),
        ):
            assert np.array_equal(mine[0], events.item_ids.names(other[0]))
            assert np.array_equal(mine[1], other[1])
        assert np.array_equal(model.score_users(who), plain.score_users(i))
        assert np.array_equal(model.score_pairs(who, what), plain.score_pairs(i, j))
        for name, ids, asked, places in (
            ("similar_items", events.item_ids, what, j),
            ("similar_users", events.user_ids, who, i),
        ):
            if name in self.offers:
                mine, other = getattr(model, name)(asked, n=4), getattr(plain, name)(places, n=4)
                assert np.array_equal(mine[0], ids.names(other[0]))
                assert np.array_equal(mine[1], other[1])

    def test_answers_as_tables(self) -> None:
        """``output`` and ``set_output`` give a line for each answer, with the ids and numbers of the arrays."""
        events, users, held_out = named_blocks()
        model, n = self.make_model().fit(events), 3
        questions: dict[str, tuple[list[str], list[Any], Any]] = {
            "recommend": (["user", "item"], users[:2], model.recommend),
            "similar_users": (["user", "similar_user"], users[:2], getattr(model, "similar_users", None)),
            "similar_items": (["item", "similar_item"], held_out[:2], getattr(model, "similar_items", None)),
        }
        for question, (columns, ids, ask) in questions.items():
            if question != "recommend" and question not in self.offers:
                continue
            names, scores = ask(ids, n=n)
            table = ask(ids, n=n, output="arrow")
            assert table.column_names == [*columns, "score", "rank"]
            assert table[columns[0]].to_pylist() == np.repeat(ids, n).tolist()
            assert table[columns[1]].to_pylist() == names.ravel().tolist()
            assert table["score"].to_pylist() == scores.ravel().tolist()
            assert table["rank"].to_pylist() == [1, 2, 3] * 2
            model.set_output(transform="arrow")
            assert ask(ids, n=n) == table
            assert np.array_equal(ask(ids, n=n, output="default")[0], names)
            model.set_output(transform="default")
        with refused(ValueError, match="output must be one of 'default', 'pandas'"):
            model.recommend(users, output="excel")
        if "explain" in self.offers and self.explains:
            why, table = (model.explain(users[0], held_out[0], output=form) for form in (None, "arrow"))
            assert table["because"].to_pylist() == [*why.items, None]
            assert table["contribution"].to_pylist() == [*why.contributions, why.base]
            assert set(zip(table["user"].to_pylist(), table["item"].to_pylist())) == {(users[0], held_out[0])}

    def test_reasons_by_id(self) -> None:
        """``explain`` names the items that speak for a score."""
        events, users, held_out = named_blocks()
        model = self.make_model().fit(events)
        if "explain" not in self.offers or not self.explains:
            return
        why = model.explain(users[0], held_out[0], n=3)
        assert len(why.items) == len(why.contributions)
        assert set(why.items) <= set(events.item_ids)
        np.testing.assert_allclose(model.score_pairs(users[0], held_out[0]), why.score, rtol=1e-4, atol=1e-4)

    def test_new_users_by_item_ids(self) -> None:
        """Lists, weights, tables and rows of a matrix describe the same users, and what they have is hidden."""
        events, _, _ = named_blocks()
        model = self.make_model().fit(events)
        item = NAMES["text"][1]
        chosen = [[item(0), item(1), item(2)], [item(15), item(17)]]
        rows = np.zeros((2, 21))
        for row, one in zip(rows, chosen):
            row[events.item_ids.index(one)] = 1
        expected = model.recommend(interactions=rows, n=3)
        table = [("a", one) for one in chosen[0]] + [("b", one) for one in chosen[1]]
        for source in (
            chosen,
            [dict.fromkeys(one, 1.0) for one in chosen],
            {"user": [user for user, _ in table], "item": [one for _, one in table]},
            read_events(table),
        ):
            for mine, other in zip(model.recommend(interactions=source, n=3), expected):
                assert np.array_equal(mine, other)
        assert np.array_equal(model.score_users(interactions=chosen), model.score_users(interactions=rows))
        if "fold_in_users" in self.offers:
            assert np.array_equal(model.fold_in_users(chosen), model.fold_in_users(rows))
        if self.personal:
            place = {item(j): j for j in range(21)}
            groups = [group_of([place[one] for one in row], side=1).tolist() for row in expected[0]]
            assert groups == [[0] * 3, [2] * 3]

    def test_a_model_keeps_its_ids(self) -> None:
        """In its parts, through growth, and not in a clone or after another fit on a matrix."""
        events, users, _ = named_blocks()
        model = self.make_model().fit(events)
        again = from_json_and_arrays(model)
        assert (again.user_ids_, again.item_ids_) == (events.user_ids, events.item_ids)
        assert np.array_equal(again.recommend(users[:3])[0], model.recommend(users[:3])[0])
        assert not hasattr(clone(model), "user_ids_")
        if "add_users" in self.offers:
            listed = [events.item_ids[0], events.item_ids[1]]
            assert model.add_users(ids=["нова"], interactions=[listed]).tolist() == ["нова"]
            assert model.user_ids_[-1:] == type(model.user_ids_)(["нова"])
            (first,), _ = model.recommend("нова", n=21)
            assert not set(first) & set(listed)
            with refused(ValueError, match="among the ids already"):
                model.add_users(ids=[users[0]], interactions=[listed])
            with refused(ValueError, match="need ids"):
                model.add_users(interactions=[listed])
        if "add_items" in self.offers and self.grows:
            assert model.add_items(interactions={"user": users[:15], "item": ["neu"] * 15}).tolist() == ["neu"]
            assert "neu" in model.item_ids_
        model.fit(events.matrix)
        assert model.user_ids_ is None
        assert model.recommend([0], n=1)[0].dtype == np.int32

    def test_an_update_is_fold_in(self) -> None:
        """Known users are as new ones with all that they have now; the rest is as it was; the same twice is refused."""
        if "update" not in self.offers:
            return
        events, users, _ = named_blocks()
        items = [str(one) for one in events.item_ids]
        model = self.make_model().fit(events)
        asked = [users[0], users[30]]
        more = [[items[3], items[7]], [items[3]]]
        table = [(user, item) for user, listed in zip(asked, more) for item in listed]
        rows = events.matrix.toarray()[events.user_ids.index(asked)]
        for user, item in table:
            rows[asked.index(user), events.item_ids.index(item)] += 1
        expected, before = model.score_users(interactions=rows), model.score_users(users[1:5])
        at_once, _ = model.recommend(asked, n=4, more=more)
        assert tuple(model.update(table)) == (0, 0, 2, 0)
        np.testing.assert_allclose(model.score_users(asked), expected, rtol=1e-5, atol=1e-5)
        assert np.array_equal(model.score_users(users[1:5]), before)
        assert np.array_equal(model.recommend(asked, n=4)[0], at_once)
        with refused(ValueError, match="read already"):
            model.update(table)
        with refused(ValueError, match="swapped"):
            model.update([(item, user) for user, item in zip(users, items)])
        with refused(ValueError, match="no ids"):
            self.make_model().fit(events.matrix).update(table)
        with refused(ValueError, match="each of the 1 users, got 2"):
            model.recommend(users[:1], more=more)

    def test_fold_in_is_the_sub_problem_of_a_fit(self) -> None:
        """Users whom training saw, folded in by the same events, get the scores that it left, to 1e-5 of their range.

        An update folds in, see above, so that an update equals a fit's sub-problem.
        """
        model = self.make_converging_model()
        if model is None:
            assert "update" not in self.offers, "make_converging_model: what an update equals is tested at the optimum"
            return
        events, users, _ = named_blocks()
        model.fit(events)
        trained, folded = model.score_users(users), model.score_users(interactions=events)
        assert np.abs(trained - folded[events.user_ids.index(users)]).max() <= 1e-5 * np.ptp(trained)

    def test_an_update_goes_on_after_a_file(self) -> None:
        """New users and items; update, write down, read, update: the bits of one process."""
        if "update" not in self.offers:
            return
        events, users, _ = named_blocks()
        items = [str(one) for one in events.item_ids]
        days = [[(users[2], items[9]), (users[5], items[0])], [("нова", items[0]), ("нова", items[1])]]
        if self.grows:
            days[1] += [(user, "neu") for user in users[:5]] + [("нова", "neu")]
        model, twin = (self.make_model().fit(events) for _ in range(2))
        for day in days:
            told = model.update(day)
            twin = from_json_and_arrays(twin)
            assert twin.update(day) == told
        assert tuple(told) == (1, int(self.grows), 5 * self.grows, 0)
        assert np.array_equal(twin.score_users(), model.score_users())
        assert twin.state_.log == model.state_.log
        (first,), _ = model.recommend("нова", n=21)
        assert not set(first) & {items[0], items[1], "neu"}

    def test_unknown_ids_are_named(self) -> None:
        """An unknown id is refused with those it is like; ids of another kind and flat lists with what to do."""
        events, users, held_out = named_blocks()
        model = self.make_model().fit(events)
        with refused(ValueError, match="1 unknown user: 'Ünal 9'.*Did you mean 'Ünal [5-9]9'"):
            model.recommend(["Ünal 9", users[0]])
        with refused(ValueError, match="1 unknown item: .*Did you mean"):
            model.score_pairs(users[0], held_out[0].upper())
        with refused(ValueError, match="1 unknown item: 'пісня'"):
            model.recommend(interactions=[["пісня"]])
        with refused(ValueError, match="2 unknown items"):
            model.recommend(interactions={"user": ["a", "b"], "item": ["x", "y"]})
        with refused(TypeError, match="users are integers, but the known ones are strings"):
            model.recommend([0])
        with refused(TypeError, match="list of items for every new user"):
            model.recommend(interactions=[held_out[0]])
        with refused(ValueError, match="1 unknown item"):
            model.recommend(users[:1], allow=["x"])
        with refused(ValueError, match="not both"):
            model.recommend(users[:1], interactions=[[held_out[0]]])
