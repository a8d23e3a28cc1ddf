"""Degree weights on pairs that workers hold, to the bit those of one machine: see :mod:`everypair.data.weighting`.

Degrees of the other side, one number per row of it, travel to every worker once.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from everypair.data.weighting import DegreeWeighting
from everypair.distribute.pieces import Piece
from everypair.distribute.sharded_pairs import PairsOfSide, ShardedPairs, as_it_is, large_tasks, weight_of
from everypair.distribute.solving.work import Nodes, total
from everypair.parallel import BLOCK_ROWS, block_parts, even_chunks, tree_nodes
from everypair.problem.layout import LEFT, RIGHT
from everypair.types import Array


def degree_weighted(pairs: ShardedPairs, exponent: float) -> tuple[ShardedPairs, DegreeWeighting]:
    """The same pairs with their weights multiplied, and the weighting."""
    tasks = pairs.tasks
    with large_tasks():
        degrees = tasks.start([tasks.task("degrees", as_it_is, stored.astype(np.int32)) for stored in pairs.stored])
    left = pairs.sides[LEFT]
    sums = tasks.get([
        tasks.task("degree-sums", _sums, piece, degrees[RIGHT], exponent, place=place)
        for piece, place in zip(left.pieces, left.places)
    ])  # fmt: skip
    weighting = DegreeWeighting(exponent, pairs.nnz / total(sums, len(even_chunks(pairs.shape[LEFT], BLOCK_ROWS))))
    weighted = []
    for side, other in zip(pairs.sides, degrees[::-1]):
        pieces = [
            tasks.task("degree-weights", _weighted, piece, other, weighting, place=place)
            for piece, place in zip(side.pieces, side.places)
        ]
        weighted.append(PairsOfSide(side.borders, side.places, tasks.start(pieces)))
    pairs.sides[RIGHT].pieces.clear()  # nobody else asks for them
    weights = tasks.get([tasks.task("weight", _weight, piece) for piece in weighted[LEFT].pieces])
    return replace(pairs, sides=(weighted[LEFT], weighted[RIGHT]), stored_weight=sum(weights)), weighting


def _sums(piece: Piece, degrees: Array, exponent: float) -> Nodes:
    parts = block_parts(DegreeWeighting(exponent, 1.0).row_sums(piece.stored, degrees))
    return tree_nodes(parts, piece.start // BLOCK_ROWS)


def _weighted(piece: Piece, degrees: Array, weighting: DegreeWeighting) -> Piece:
    return replace(piece, stored=weighting.weighted_run(piece.stored, degrees))


def _weight(piece: Piece) -> float:
    return weight_of(piece.stored)
