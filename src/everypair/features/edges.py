"""A list of edges → a similarity graph aligned to ids: S_ij = S_ji = the weight of the edge between i and j.

An edge counts once however often and in whichever direction it is listed; of several weights the largest is taken.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Sequence
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.data.ids import Ids
from everypair.data.tables import Problems, Table, TextOptions, open_table, resolve_names
from everypair.features.matching import check_extra, positions_of
from everypair.words import listed

USUAL = (
    *(("source", "target"), ("from", "to"), ("src", "dst"), ("left", "right"), ("follower", "followee")),
    *(("trustor", "trustee"), ("citing", "cited"), ("user", "friend"), ("id1", "id2"), ("a", "b")),
)


def edge_graph(
    source: Any,
    ids: Ids,
    *,
    left: Hashable = "auto",
    right: Hashable = "auto",
    weight: Hashable | None = None,
    extra: Literal["error", "drop"] = "error",
    delimiter: str | None = None,
    header: bool | Sequence[str] | None = None,
    quote: str | None = '"',
    encoding: str = "utf-8",
    verbose: bool = True,
) -> Any:
    """Return the graph of a list of edges as a symmetric csr array (float32) without self-loops.

    ``source`` is a file, data frame, mapping of columns or rows of tuples, as for
    :func:`everypair.data.read_events`; ``left`` and ``right`` name the columns of the two ends, by default those of
    usual names or the only two; ``weight`` names a column of similarities ≥ 0, else every edge weighs 1. Row and
    column t of the graph are ``ids[t]``; ends that are not among them are refused by name, or left out with their
    edges by ``extra="drop"``.

    >>> edge_graph([("ann", "bob"), ("bob", "ann"), ("cem", "bob")], Ids(["ann", "bob", "cem"])).toarray().tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    """
    if not isinstance(ids, Ids):
        raise TypeError(f"ids must be Ids, such as events.user_ids, got {type(ids).__name__}: wrap them in Ids(…).")
    check_extra(extra)
    table = open_table(source, TextOptions(delimiter, header, quote, encoding), [left, right, weight])
    named = {name: value for name, value in (("left", left), ("right", right)) if value != "auto"}
    ends = resolve_names(table, named | ({} if weight is None else {"weight": weight})) if named or weight else {}
    ends = _guessed_ends(table, ends, verbose) | ends
    problems = Problems(table.source_name)
    wanted = {ends[name]: "number" if name == "weight" else "id" for name in ends}
    columns = table.read(wanted, problems, "string" if ids.are_strings else "auto")
    i, j = (positions_of(columns[ends[end]], ends[end], table, ids, extra, problems) for end in ("left", "right"))
    weights = np.ones(len(i)) if weight is None else columns[ends["weight"]].values
    if np.isnan(weights).any():
        where = table.where(int(np.argmax(np.isnan(weights))))
        problems.add(f"Column {ends['weight']!r} has missing weights, the first in {where}: drop those edges.")
    if len(i) != len(j) or len(weights) != len(i):
        raise ValueError(
            f"{table.source_name}The columns of edges differ in length: {len(i)}, {len(j)} and {len(weights)}."
        )
    if len(weights) and weights.min() < 0:
        where = table.where(int(np.argmin(weights)))
        problems.add(f"Column {ends['weight']!r} has negative similarities, the least in {where}: cut them to 0.")
    problems.report()
    kept = (i >= 0) & (j >= 0) & (i != j) & (weights > 0)
    return _symmetric(i[kept], j[kept], weights[kept], len(ids))


def _guessed_ends(table: Table, ends: dict[str, Hashable], verbose: bool) -> dict[str, Hashable]:
    """Return the columns of the ends that are not named."""
    if {"left", "right"} <= set(ends):
        return {}
    free = [name for name in table.names if name not in ends.values()]
    if not ends.keys() & {"left", "right"}:
        spelled = {str(name).casefold().removesuffix("_id").removesuffix("id"): name for name in free}
        for left, right in USUAL:
            if left in spelled and right in spelled:
                return _say(table, {"left": spelled[left], "right": spelled[right]}, verbose)
        if len(free) == 2 or (table.positional and len(free) > 2):
            return {"left": free[0], "right": free[1]}
    raise ValueError(
        f"{table.source_name}Which columns are the ends of an edge: {listed(free, 20)}? Name both with left= and "
        "right=."
    )


def _say(table: Table, ends: dict[str, Hashable], verbose: bool) -> dict[str, Hashable]:
    if verbose and table.names[:2] != list(ends.values()):
        print(f"{table.source_name}edges from {ends['left']!r} to {ends['right']!r}.", file=sys.stderr)
    return ends


def _symmetric(i: NDArray[Any], j: NDArray[Any], weights: NDArray[Any], size: int) -> Any:
    first, second = np.minimum(i, j), np.maximum(i, j)
    keys, place = np.unique(first * size + second, return_inverse=True)
    largest = np.zeros(len(keys))
    np.maximum.at(largest, place, weights)
    half = sp.csr_array((largest.astype(np.float32), np.divmod(keys, size)), shape=(size, size))
    graph = sp.csr_array(half + half.T)
    graph.sort_indices()
    return graph
