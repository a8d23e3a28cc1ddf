"""Which items a list may have: allowed and blocked ones, for everybody or by user, and conditions on their columns.

    ["a", "b"] or {"a", "b"}      for everybody
    [["a"], ["a", "b"]]           a list for each user that is asked for
    {"ann": ["a"]}                by user; others have none blocked, and must not be missing where items are allowed
    a sparse mask                 rows × items

Ids that the model does not know are left out: a catalogue always has items without events.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.data.ids import Ids, id_array
from everypair.models.recommend.fitted import ComparesItems
from everypair.models.recommend.positions import KINDS
from everypair.problem.layout import LEFT, RIGHT
from everypair.retrieve.rerank import Limits

LISTS = (list, tuple, set, frozenset)


class AskedUsers(NamedTuple):
    """The users of a question: how many, and their names as they were given, where they have some."""

    size: int
    names: Any = None


def chosen_items(value: Any, asked: AskedUsers, allow: Any, block: Any, where: Any) -> tuple[Any, Any]:
    """What may be shown and what may not, in positions, as :func:`everypair.retrieve.top_k` takes them."""
    allow, block = (_in_positions(value, asked, items, name) for items, name in ((allow, "allow"), (block, "block")))
    if where is None:
        return allow, block
    wanted = table_of(value, "where").allowed(where)
    if allow is None:
        return wanted, block
    if sp.issparse(allow) or np.ndim(allow) == 2:
        return sp.csr_array(sp.csr_array(allow).multiply(wanted[None, :])), block
    listed = np.asarray(allow)
    flags = listed if listed.dtype == bool else np.isin(np.arange(value.shape[RIGHT]), listed)
    return flags & wanted, block


def limits_of(value: Any, at_most: Any) -> Limits:
    """The groups of items by the columns of ``at_most``, and how many of each a list may have."""
    if at_most is None:
        return []
    if not isinstance(at_most, Mapping):
        raise TypeError(f'at_most must be a dict such as {{"brand": 2}}, got {at_most!r}.')
    for name, most in at_most.items():
        if isinstance(most, bool) or not isinstance(most, int) or most < 1:
            raise ValueError(f"at_most[{name!r}] must be an integer ≥ 1, got {most!r}.")
    return [(table_of(value, "at_most").groups(name), most) for name, most in at_most.items()]


def vectors_for(value: Any, diversity: float) -> Any:
    """What says which items are alike, None without diversity."""
    if not isinstance(diversity, int | float) or isinstance(diversity, bool) or not 0 <= diversity <= 1:
        raise ValueError(f"diversity must be a number from 0, the order of scores, to 1, got {diversity!r}.")
    if not diversity:
        return None
    if not isinstance(value, ComparesItems):
        raise ValueError("diversity needs a model that compares items, one that has similar_items.")
    return value.item_vectors()


def table_of(value: Any, name: str) -> Any:
    """The table of items of a model, or a sentence on how it gets one."""
    if value.item_table is None:
        raise ValueError(
            f"{name}= needs a table of items in the model: put one there by model.describe_items(table), or by "
            "`everypair fit --items`."
        )
    return value.item_table


def _in_positions(value: Any, asked: AskedUsers, items: Any, name: str) -> Any:
    if items is None or sp.issparse(items):
        return items
    if isinstance(items, set | frozenset):
        items = sorted(items)
    if isinstance(items, Mapping):
        return _rows(value, asked, _by_user(value, asked, items, name), name)
    if isinstance(items, list | tuple) and any(issubclass(kind, LISTS) for kind in set(map(type, items))):
        return _rows(value, asked, items, name)
    if value.item_ids is None:
        return items
    if not (isinstance(items, list) and items and isinstance(items[0], str)):
        array = np.asarray(items)
        if array.ndim == 2 or array.dtype == bool:
            return items
    return known_places(value.item_ids, items, name)


def known_places(ids: Ids, items: Any, name: str) -> Any:
    """Positions of the ids that are known; where all that are allowed are unknown, they are named."""
    places = ids.find(items)
    known = places[places >= 0]
    if name == "allow" and len(places) and not len(known):
        ids.index(items, KINDS[RIGHT])
    return known


def _by_user(value: Any, asked: AskedUsers, items: Mapping[Any, Any], name: str) -> list[Any]:
    if asked.names is None:
        raise TypeError(f"{name} as a dict goes by user, and these have no names: give a list for each.")
    names = np.atleast_1d(np.asarray(asked.names)).tolist()
    missing = [one for one in names if one not in items] if name == "allow" else []
    if missing:
        raise ValueError(f"allow must have a list for every user that is asked for; {missing[0]!r} has none.")
    return [items.get(one, ()) for one in names]


def _rows(value: Any, asked: AskedUsers, lists: Any, name: str) -> Any:
    """A mask with a row per user."""
    if len(lists) != asked.size:
        raise ValueError(f"{name} must have a list for each of the {asked.size} users, got {len(lists)}.")
    n_items = value.shape[RIGHT]
    own = [sorted(one) if isinstance(one, set | frozenset) else list(one) for one in lists]
    flat = [item for one in own for item in one]
    if value.item_ids is None:
        places = np.asarray(flat, np.int64)
        if places.size and not 0 <= places.min() <= places.max() < n_items:
            raise ValueError(f"{name} names an item outside the {n_items} items: indices go from 0 to {n_items - 1}.")
    else:
        places = value.item_ids.find(flat) if flat else np.empty(0, np.int64)
    rows = np.repeat(np.arange(len(own)), [len(one) for one in own])
    known = places >= 0
    mask = sp.csr_array((np.ones(int(known.sum()), np.float32), (rows[known], places[known])), (asked.size, n_items))
    mask.sum_duplicates()
    return mask


def known_users(value: Any, users: Any) -> tuple[Any, NDArray[np.int64]]:
    """The users that are known, and for each of ``users`` its place among them, −1 where it is not."""
    if value.user_ids is None:
        known = np.atleast_1d(np.asarray(users, np.int64))
        there = (known >= 0) & (known < value.shape[LEFT])
    else:
        known = id_array(users, "users")
        there = value.user_ids.find(known) >= 0
    places = np.where(there, np.cumsum(there) - 1, -1)
    return known[there], places


def rows_at(filtered: Any, places: NDArray[np.int64] | None) -> Any:
    """A filter with a row per user, for those who are known; others stay."""
    if places is None or filtered is None or not (sp.issparse(filtered) or np.ndim(filtered) == 2):
        return filtered
    return sp.csr_array(filtered)[np.flatnonzero(places >= 0)]


def spread(rows: Any, places: NDArray[np.int64], missing: Any) -> Any:
    """Rows of known users at the places of all that were asked for."""
    out = np.full((len(places), rows.shape[1]), missing, rows.dtype)
    out[places >= 0] = rows
    return out


def asked_users(value: Any, users: Any, new: Any, rows: int) -> AskedUsers:
    """Whom a question is about."""
    if users is not None:
        return AskedUsers(rows, users)
    if new is not None:
        return AskedUsers(rows, None if new.ids is None else new.ids.values)
    return AskedUsers(rows, np.arange(rows) if value.user_ids is None else value.user_ids.values)
