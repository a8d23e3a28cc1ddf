"""What ``"auto"`` stands for: rank, negative weight and ridge by the shape of the data.

Over the data sets of ``experiments/defaults`` (0.8 to 140 events per entity, 50 to 4,000 times more unknown pairs than
events) the best negative weight is a few times the density, and fewer times where the matrix is sparser; the best
ridge at ν = ¾ falls with the number of entities. Both rules count only entities that have a positive, so padding a
matrix with empty rows changes nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from everypair import check
from everypair.data.pairs import Counted
from everypair.parallel import even_chunks
from everypair.problem.losses import Loss

FEWEST = 0.25  # the smallest multiple, as a share of the largest
DENSE = 0.005  # density from which the largest multiple holds
MOST_WEIGHT = 0.5  # a negative never weighs more than half a positive
SMALL = 4000  # entities up to which the ridge constant holds
MARKED_PAIRS = 2**20  # at a time: numpy widens what it indexes by
FEWEST_FACTORS, MOST_FACTORS = 16, 256
DEGREE_EXPONENT, DEGREE_ENTITIES = 0.25, 50_000  # weights of stored pairs, up to so many users and items


def checked_rank(rank: Any) -> int | None:
    """Return a number of factors, or ``None`` for ``"auto"``.

    >>> checked_rank(8), checked_rank("auto")
    (8, None)
    """
    if isinstance(rank, str):
        if rank != "auto":
            raise ValueError(f'rank must be an integer ≥ 1 or "auto", got {rank!r}.')
        return None
    return check.integer("rank", rank)


def auto_rank(interactions: Any) -> int:
    """The power of 2 at or below √(m + n) of the users and items that have events, from 16 to 256.

    >>> import scipy.sparse as sp
    >>> auto_rank(sp.csr_array(np.eye(2500)))
    64
    """
    return rank_for(_entities(interactions), interactions.shape)


def rank_for(entities: int, shape: tuple[int, int]) -> int:
    """The rank of a matrix of that shape where so many users and items have events."""
    return min(max(2 ** int(np.log2(np.sqrt(entities))), FEWEST_FACTORS), MOST_FACTORS, max(shape))


def auto_weighting(interactions: Any) -> tuple[str, float] | None:
    """Weights (d_i d_j)^−¼ on the stored pairs of data sets of up to 50,000 users and items that have events.

    >>> import scipy.sparse as sp
    >>> auto_weighting(sp.csr_array(np.eye(2500)))
    ('degree', 0.25)
    """
    return ("degree", DEGREE_EXPONENT) if _entities(interactions) <= DEGREE_ENTITIES else None


def _entities(interactions: Any) -> int:
    columns = np.zeros(interactions.shape[1], bool)
    for start, stop in even_chunks(interactions.nnz, MARKED_PAIRS):
        columns[interactions.indices[start:stop]] = True
    return int(np.count_nonzero(np.diff(interactions.indptr))) + int(np.count_nonzero(columns))


def _active(pairs: Counted) -> tuple[int, int]:
    return int(np.count_nonzero(pairs.left_counts)), int(np.count_nonzero(pairs.right_counts))


def auto_negative_weight(weight: Any, pairs: Counted, loss: Loss) -> float:
    """Resolve ``"auto"``: c · density with c = c_max · clip((density/0.005)^⅔, ¼, 1), and at most ½.

    >>> from everypair.data import Pairs
    >>> from everypair.problem import get_loss
    >>> auto_negative_weight("auto", Pairs.from_matrix(np.eye(100)), get_loss("logistic"))
    0.04
    """
    if check.is_number(weight):
        return float(weight)
    if not isinstance(weight, str) or weight != "auto":
        raise ValueError(f'negative_weight must be a finite number ≥ 0 or "auto", got {weight!r}.')
    left, right = _active(pairs)
    density = pairs.n_positives / (left * right)
    multiple = loss.constants.density_multiple * float(np.clip((density / DENSE) ** (2 / 3), FEWEST, 1))
    return min(multiple * density, MOST_WEIGHT)


def auto_reg(reg: Any, pairs: Counted, loss: Loss) -> Any:
    """Resolve ``"auto"``: λ = λ₀ · min(1, 4000/(m + n))^0.6; anything else is checked elsewhere.

    >>> from everypair.data import Pairs
    >>> from everypair.problem import get_loss
    >>> auto_reg("auto", Pairs.from_matrix(np.eye(100)), get_loss("logistic"))
    0.075
    """
    if not isinstance(reg, str) or reg != "auto":
        return reg
    return loss.constants.reg * min(1.0, SMALL / sum(_active(pairs))) ** 0.6
