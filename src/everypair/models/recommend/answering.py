"""Questions and answers by id, once for all recommenders, about whatever a model has learnt.

What was learnt, ``state_``, answers in positions (:mod:`everypair.models.recommend.fitted`). Here ids become positions
and positions ids, and answers take the form that was asked for. Nothing here knows how a model is fitted, nor imports
scikit-learn: a :class:`~everypair.models.recommend.recommender.Recommender` adds that, and a model that was read only
to answer (:mod:`everypair.models.recommend.answering_model`) does without.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from everypair.check import integer, one_of
from everypair.data.ids import Ids
from everypair.data.item_table import ItemTable
from everypair.models.output import DEFAULT, Output, ranked_table
from everypair.models.recommend.by_id import (
    Described,
    described,
    ids_of_value,
    position_of,
    positions_of,
)
from everypair.models.recommend.capability import only_where
from everypair.models.recommend.choice import (
    asked_users,
    chosen_items,
    known_users,
    limits_of,
    rows_at,
    spread,
    vectors_for,
)
from everypair.models.recommend.every_question import ask_everything
from everypair.models.recommend.explanation import Explanation, explained_table
from everypair.models.recommend.fitted import Answer, ComparesItems, ComparesUsers, Newcomers, Prepares
from everypair.models.recommend.positions import KINDS
from everypair.models.recommend.update import Update, further, updated, with_longer_table, with_newcomers
from everypair.parallel import resolve_threads
from everypair.problem.layout import LEFT, RIGHT
from everypair.retrieve.rerank import reranked
from everypair.retrieve.similar import cosines_of
from everypair.types import Array


class Answering(Output):
    """What a model with a fitted value ``state_`` answers."""

    state_: Any
    n_threads: int | None

    def _fitted(self) -> Any:
        """What was learnt."""
        return self.state_

    def recommend(
        self,
        users: ArrayLike | None = None,
        n: int = 10,
        exclude_seen: bool = True,
        allow: Any = None,
        block: Any = None,
        *,
        interactions: Any = None,
        features: Any = None,
        targets: Any = None,
        more: Any = None,
        where: Any = None,
        at_most: Mapping[str, int] | None = None,
        diversity: float = 0.0,
        unknown: Literal["error", "ignore"] = "error",
        output: str | None = None,
    ) -> tuple[NDArray[Any], Array]:
        """Return the ``n`` best items of each user and their scores, both of shape (users, n).

        ``users``: all of them by default, or describe users who were not there by ``interactions``, by ``features`` (of
        a model that was fitted with such), or by both; ``targets`` are those of the interactions, of a model that was
        fitted with such. ``more`` is what each of known ``users`` has besides, such as the events of a session, which
        are not stored: lists of items, or rows of a matrix. ``exclude_seen`` hides what a user already has, likes and
        dislikes. Equal scores rank by ascending item.

        ``allow`` and ``block`` are items for everybody, or a list of them for each user, or a dict by user, or a sparse
        mask with a row per user; those that the model does not know are left out. ``where`` are conditions on columns
        of the table that :meth:`describe_items` keeps, ``{"kind": "book", "price": ("<", 20)}``, and ``at_most`` how
        many items of one value a list may have, ``{"brand": 2}``. ``diversity`` from 0 to 1 ranks by maximal marginal
        relevance: less of what is like items further up. With ``unknown="ignore"`` users who are not known have empty
        lists, and items that are not known are left out of ``interactions`` and ``more``. ``output`` is the form of
        this answer, as :meth:`set_output` chooses it for all.

        A model fitted on events is asked by id and answers in ids, ``None`` with score −inf where fewer than ``n``
        items remain. Interactions are then lists of items, ``[["blue", "rain"]]`` or with weights ``[{"blue": 2.0}]``,
        a table of events, whose users come in ascending order, or a matrix in the order of ``item_ids_``. A model
        fitted on a matrix works in positions: interactions are rows (c × n), and −1 stands for none.

        >>> from everypair import OneClassMF
        >>> events = {"user": ["ann", "ann", "bob", "bob", "cem"], "item": ["blue", "rain", "blue", "iron", "dust"]}
        >>> model = OneClassMF(rank=2, random_state=0).fit(events)
        >>> model.recommend(["ann"], n=1)[0].tolist(), model.recommend(interactions=[["iron"]], n=1)[0].tolist()
        ([['iron']], [['blue']])
        """
        state = self._fitted()
        one_of("unknown", unknown, ("error", "ignore"))
        form = self._form(output)
        places, known = None, users
        if unknown == "ignore" and users is not None:
            known, places = known_users(state, users)
        (scores, seen), new = self._scores(known, Newcomers(interactions, features, targets), more, unknown)
        size = state.shape[LEFT] if users is None else np.size(users)
        asked = asked_users(state, users, new, size if new is None else scores.rows)
        allow, block = chosen_items(state, asked, allow, block, where)
        options = {
            "exclude": seen if exclude_seen else None,
            "allow": rows_at(allow, places),
            "block": rows_at(block, places),
            "n_threads": self.n_threads,
        }
        limits, vectors = limits_of(state, at_most), vectors_for(state, diversity)
        if limits or vectors is not None:
            items, values = reranked(scores, n, limits, diversity, vectors, **options)
        else:
            items, values = scores.top_k(n, **options)
        if places is not None:
            items, values = spread(items, places, -1), spread(values, places, -np.inf)
        return self._ranked((LEFT, users, new), RIGHT, items, values, form)

    def describe_items(self, table: Any, **text: Any) -> Self:
        """Keep a table of items in the model: columns to choose by and titles to show.

        ``table`` is a file or a data frame with a column of ids (``item`` or ``id``); a column ``title`` or ``name``
        has the titles, all columns may be named in ``where`` and ``at_most`` of :meth:`recommend`. Rows of items that
        the model does not know are left out, items without a row meet no condition. ``text`` are the options of text
        files of :func:`everypair.read_events`. The table is saved with the model; describe again what has come since.

        >>> from everypair import Popularity
        >>> model = Popularity().fit({"user": ["ann", "ann", "bob"], "item": ["blue", "rain", "blue"]})
        >>> table = {"item": ["blue", "rain"], "kind": ["colour", "weather"]}
        >>> model.describe_items(table).recommend(["bob"], n=1, where={"kind": "weather"})[0].tolist()
        [['rain']]
        """
        state = self._fitted()
        ids = Ids(range(state.shape[RIGHT])) if state.item_ids is None else state.item_ids
        self.state_ = replace(state, item_table=ItemTable.read(table, ids, **text))
        return self

    def score_users(
        self, users: ArrayLike | None = None, interactions: Any = None, features: Any = None, targets: Any = None
    ) -> Array:
        """Scores of every item for users of the training matrix, or for new ones as in :meth:`recommend`."""
        self._fitted()
        (scores, _), _ = self._scores(users, Newcomers(interactions, features, targets))
        return scores.dense(resolve_threads(self.n_threads))

    def score_pairs(self, users: ArrayLike, items: ArrayLike) -> Array:
        """Scores of the pairs (users[t], items[t]), by id or position."""
        state = self._fitted()
        rows, columns = positions_of(state, LEFT, users), positions_of(state, RIGHT, items)
        if rows.shape != columns.shape:
            raise ValueError(f"users and items must have one length, got {rows.size} and {columns.size}.")
        return state.pair_scores(rows, columns, resolve_threads(self.n_threads))

    def prepare(self, *, compile: bool = False) -> Self:
        """Make what belongs to the model and not to a question, before the first question: Gram matrix, lengths, axes.

        The first user or item that needs it would else wait for it, some tenths of a second at rank 256. Call it before
        a server forks its workers, who then share it. It is not written into files. With ``compile`` every kernel that
        questions need is compiled too, or read from numba's cache, by asking each once: nobody waits for that either.
        Several threads may call it at once.

        >>> from everypair import OneClassMF
        >>> model = OneClassMF(rank=2, random_state=0).fit({"user": ["ann", "bob"], "item": ["blue", "rain"]}).prepare()
        >>> model.recommend(interactions=[["rain"]], n=1)[0].tolist()
        [['blue']]
        """
        state = self._fitted()
        if isinstance(state, Prepares):
            state.prepare(resolve_threads(self.n_threads))
        if compile:
            ask_everything(self._in_positions())
        return self

    def _in_positions(self) -> Any:
        """The same without ids, with answers as arrays."""
        view: Any = copy.copy(self)
        view.__dict__.pop("_sklearn_output_config", None)
        view.state_ = self.state_.without_ids()
        return view

    @only_where("similar_items")
    def similar_items(self, items: ArrayLike, n: int = 10, *, output: str | None = None) -> tuple[NDArray[Any], Array]:
        """Return the ``n`` items nearest to each of ``items`` by cosine, itself left out, and the cosines."""
        state: ComparesItems = self._fitted()
        return self._nearest(state, RIGHT, items, n, self._form(output))

    @only_where("similar_users")
    def similar_users(self, users: ArrayLike, n: int = 10, *, output: str | None = None) -> tuple[NDArray[Any], Array]:
        """Return the ``n`` users nearest to each of ``users`` by cosine, itself left out, and the cosines."""
        state: ComparesUsers = self._fitted()
        return self._nearest(state, LEFT, users, n, self._form(output))

    @only_where("explain")
    def explain(self, user: Any, item: Any, n: int | None = None, *, output: str | None = None) -> Explanation:
        """Split the score of a pair into contributions of what the user has and a base term.

        ``n`` keeps only the largest contributions. Where a model has factors, the pair with item j contributes
        −r_j vᵀA⁻¹v_j, with A = p VᵀQV + λ I and r_j the slope of its loss, less the negative it replaces; the base is
        what would be left without the user's pairs, and also holds the item's bias and what training left unsolved.
        As a table (``output``) each contribution is a line, and the last one is the base, because of nothing.
        """
        state, form = self._fitted(), self._form(output)
        row, column = position_of(state, LEFT, user), position_of(state, RIGHT, item)
        why: Explanation = state.explain(row, column, None if n is None else integer("n", n))
        ids = ids_of_value(state)
        if form != DEFAULT:
            asked = (row, column) if ids is None else (ids[LEFT].values[row], ids[RIGHT].values[column])
            table: Any = explained_table(form, asked, why, None if ids is None else ids[RIGHT])
            return table
        return why if ids is None else why._replace(items=ids[RIGHT].names(why.items))

    @only_where("fold_in_users")
    def fold_in_users(
        self, rows: Any = None, weights: Any = None, values: Any = None, *, features: Any = None, targets: Any = None
    ) -> Array:
        """Factors (c, k) of new users from their interactions (c × n), their features, or both.

        From interactions they are the optimum of the training sub-problem; from features alone they are XW. With both,
        features say where a user starts and interactions correct it: the own vector t that minimises the sub-problem of
        u = xW + t (in a model without own vectors it has the ridge such vectors would have).
        ``weights`` are their p_i where ``negative_scheme`` is arrays (its mean by default), ``values`` their rows of Ũ
        where ``negative_value`` is low rank (the mean row by default). ``targets`` (of the rows' pattern) are needed
        where the model was fitted with explicit ones, and override the usual ones everywhere.
        """
        state = self._fitted()
        new = described(state, LEFT, Newcomers(rows, features, targets, weights, values), name="rows")
        return state.folded_users(new.newcomers, resolve_threads(self.n_threads))

    @only_where("fold_in_items")
    def fold_in_items(
        self, columns: Any = None, weights: Any = None, values: Any = None, *, features: Any = None, targets: Any = None
    ) -> Array:
        """Factors (c, k) of new items from their interactions (m × c), their features, or both; see fold_in_users."""
        state = self._fitted()
        new = described(state, RIGHT, Newcomers(columns, features, targets, weights, values), name="columns")
        return state.folded_items(new.newcomers, resolve_threads(self.n_threads))

    @only_where("add_users")
    def add_users(
        self, *, interactions: Any = None, features: Any = None, targets: Any = None, ids: Any = None
    ) -> NDArray[Any]:
        """Append users and return their ids, or positions in a model without ids; nothing that was learnt changes.

        ``interactions`` and ``features`` describe them as in :meth:`recommend`. ``ids`` are theirs; tables of events or
        features have them already.

        >>> from everypair import OneClassMF
        >>> model = OneClassMF(rank=1, random_state=0).fit({"user": ["ann", "bob"], "item": ["blue", "rain"]})
        >>> model.add_users(ids=["cem"], interactions=[["rain"]]).tolist()
        ['cem']
        >>> model.recommend("cem", n=1)[0].tolist()
        [['blue']]
        """
        return self._add(LEFT, Newcomers(interactions, features, targets), ids)

    @only_where("add_items")
    def add_items(
        self, *, interactions: Any = None, features: Any = None, targets: Any = None, ids: Any = None
    ) -> NDArray[Any]:
        """Append items and return their ids, or positions in a model without ids.

        ``interactions`` are lists of users, a table of events, or columns (m × c); ``features`` a row each. ``ids`` are
        theirs; tables of events or features have them already.
        """
        return self._add(RIGHT, Newcomers(interactions, features, targets), ids)

    @only_where("update")
    def update(
        self,
        events: Any = None,
        *,
        user_features: Any = None,
        item_features: Any = None,
        known: Literal["fold-in", "ignore"] = "fold-in",
    ) -> Update:
        """Bring later events into the model, without fitting it again, and say how much of them was new.

        ``events`` are a file, a table or what :func:`everypair.read_events` returns; what is not read yet is read as
        the events of training were. New items are folded in by the known users who have them, known users anew by all
        that they have now (``known="ignore"`` leaves that out), new users by all of their events. Tables of features
        describe them besides, as training's did, and what a table alone has is added by its features. Items that were
        there do not change: fit again from time to time. The same events again are refused.

        >>> from everypair import OneClassMF
        >>> model = OneClassMF(rank=1, random_state=0).fit({"user": ["ann", "bob"], "item": ["blue", "rain"]})
        >>> model.update({"user": ["bob", "cem"], "item": ["blue", "rain"]})
        Update(new_users=1, new_items=0, folded_in=1, not_later=0)
        """
        state, counts = updated(
            self._fitted(), events, (user_features, item_features), known, resolve_threads(self.n_threads)
        )
        self.state_ = state
        return counts

    def _scores(
        self, users: ArrayLike | None, new: Newcomers, more: Any = None, unknown: str = "error"
    ) -> tuple[Answer, Described | None]:
        """Scores and seen items of known users, or of the new users that are described, and these."""
        state: Any = self.state_
        if more is not None:
            if new.events is not None or new.features is not None:
                raise ValueError("more= is what known users have besides: describe new ones by interactions alone.")
            if users is None:
                raise ValueError("more= is what known users have besides: say of which users.")
            known = positions_of(state, LEFT, users)
            return further(state, known, more, resolve_threads(self.n_threads), unknown), None
        if new.events is None and new.targets is not None:
            raise ValueError("targets are those of new users' interactions: give the interactions as well.")
        if new.events is None and new.features is None:
            return state.known(None if users is None else positions_of(state, LEFT, users)), None
        if users is not None:
            raise ValueError(
                "give either users (known ones) or a description of new ones, not both; more= is what known ones have "
                "besides."
            )
        newcomers = described(state, LEFT, new, unknown=unknown)
        return state.described(newcomers.newcomers, resolve_threads(self.n_threads)), newcomers

    def _nearest(self, state: Any, side: int, entities: ArrayLike, n: int, form: str) -> tuple[NDArray[Any], Array]:
        own = positions_of(state, side, entities)
        vectors = state.item_vectors() if side else state.user_vectors()
        nearest, cosines = cosines_of(vectors, own).nearest(own, n, n_threads=self.n_threads)
        return self._ranked((side, entities, None), side, nearest, cosines, form)

    def _ranked(
        self,
        subject: tuple[int, Any, Described | None],
        side: int,
        positions: Array,
        scores: Array,
        form: str,
    ) -> tuple[NDArray[Any], Array]:
        """Positions of a side as ids, in a form; ``subject`` are those whom the lists are for."""
        ids = ids_of_value(self.state_)
        answer = positions if ids is None else ids[side].names(positions)
        if form == DEFAULT:
            return answer, scores
        who, entities, new = subject
        if entities is not None:
            entities = np.atleast_1d(np.asarray(entities))
        elif new is not None and new.ids is not None:
            entities = new.ids.values
        else:
            entities = np.arange(len(positions)) if ids is None or new is not None else ids[who].values
        column = f"similar_{KINDS[side]}" if who == side else KINDS[side]
        table: Any = ranked_table(form, (KINDS[who], entities), (column, answer), scores)
        return table

    def _add(self, side: int, new: Newcomers, ids: Any) -> NDArray[Any]:
        state = self._fitted()
        known = ids_of_value(state)
        newcomers = described(state, side, new, ids)
        if known is None:
            before = state.shape[side]
            grown = state.grown(side, newcomers.newcomers, resolve_threads(self.n_threads))
            self.state_ = with_longer_table(grown, side, grown.shape[side] - before)
            return np.arange(before, self.state_.shape[side])
        if newcomers.ids is None:
            raise ValueError(
                f"the new {KINDS[side]}s need ids: ids=[…], or a table of their events or features that has them."
            )
        threads = resolve_threads(self.n_threads)
        self.state_ = with_newcomers(state, side, newcomers.newcomers, newcomers.ids, threads)
        return newcomers.ids.values
