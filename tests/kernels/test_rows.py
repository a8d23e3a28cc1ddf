"""What both kernels of a half-step keep to, Newton–CG on rows and exact steps on blocks of their coordinates."""

from typing import NamedTuple

import numpy as np
import pytest

from . import test_row_blocks as blocks
from . import test_row_newton as newton
from .test_row_newton import M, rows_of


class Kind(NamedTuple):
    """A kernel's tests, a rank, steps of a short run and of one to the end, and how close to its twin it stays."""

    module: object
    rank: int
    short: tuple
    one: tuple
    to_the_end: tuple
    again: tuple
    rtol: float


NEWTON = Kind(newton, 5, (3, 3), (1, 4), (60, 60, 1e-12, 1e-6), (5, 5), 1e-8)
BLOCKS = Kind(blocks, blocks.RANK, (3, 3), (3, 1), (3, 500, 1e-13), (3, 5), 1e-7)
ROWS = [(NEWTON, loss, imputed) for loss in newton.PLAIN_LOSSES for imputed in (False, True)]
ROWS += [(BLOCKS, *kind) for kind in blocks.KINDS]
kinds = pytest.mark.parametrize(
    ("kind", "loss", "imputed"), ROWS, ids=lambda one: one.module.__name__[-6:] if isinstance(one, Kind) else str(one)
)


@kinds
def test_line_search_like_the_twin(kind, loss, imputed):
    """From far away a full Newton step overshoots where the curvature of the loss vanishes."""
    cut = 0
    for scale in (3.0, 10.0, 30.0):
        rows = rows_of(loss, imputed, rank=kind.rank, scale=scale, ridge=0.02, seed=1)
        U, values = kind.module.solve(loss, imputed, rows, *kind.one)
        expected, expected_values, lengths = kind.module.solve_twin(loss, imputed, rows, *kind.one)
        np.testing.assert_allclose(U, expected, rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(values, expected_values, rtol=1e-7, atol=1e-8)
        cut += sum(length < 1 for row in lengths for length in row)
    assert (cut > 0) == (loss in ("logistic", "pseudo_huber"))


@kinds
@pytest.mark.parametrize("column", [0, 4])
def test_coordinates_that_are_not_free_stay(kind, loss, imputed, column):
    rows = rows_of(loss, imputed, rank=kind.rank)
    rows["free"][column] = 0
    U, _ = kind.module.solve(loss, imputed, rows, *kind.short)
    assert np.array_equal(U[:, column], rows["U"][:, column])
    expected, _, _ = kind.module.solve_twin(loss, imputed, rows, *kind.short)
    np.testing.assert_allclose(U, expected, rtol=1e-9, atol=1e-10)


@kinds
def test_single_precision_follows_the_twin(kind, loss, imputed):
    rows = rows_of(loss, imputed, rank=kind.rank, dtype=np.float32)
    U, values = kind.module.solve(loss, imputed, rows, *kind.short[:1], 2)
    assert U.dtype == np.float32
    expected, expected_values, _ = kind.module.solve_twin(loss, imputed, rows, *kind.short[:1], 2)
    np.testing.assert_allclose(U, expected, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(values, expected_values, rtol=1e-3, atol=1e-4)


@kinds
def test_chunks_do_not_change_a_bit(kind, loss, imputed):
    rows = rows_of(loss, imputed, rank=kind.rank)
    one = kind.module.solve(loss, imputed, rows, *kind.short, chunks=[(0, M)])
    many = kind.module.solve(loss, imputed, rows, *kind.short, chunks=[(i, i + 1) for i in range(M)])
    for left, right in zip(one, many):
        assert np.array_equal(left, right)


@kinds
def test_no_step_where_there_is_nothing_to_gain(kind, loss, imputed):
    rows = rows_of(loss, imputed, rank=kind.rank)
    rows["U"], values = kind.module.solve(loss, imputed, rows, *kind.to_the_end)
    again, same_values = kind.module.solve(loss, imputed, rows, *kind.again)
    np.testing.assert_allclose(again, rows["U"], rtol=kind.rtol, atol=kind.rtol / 10)
    np.testing.assert_allclose(same_values, values, rtol=1e-9, atol=kind.rtol / 10)
