"""A b = h by A = UᵀU in place, beside numpy."""

import numpy as np
import pytest

from everypair.kernels.cholesky import room_for, solve


def in_room(system, dtype, width=None, rest=np.nan):
    """The upper triangle where the kernel wants it, and ``rest`` everywhere else."""
    size = len(system)
    room = room_for(width or size, dtype)
    room[:] = rest
    upper = np.triu_indices(size)
    room[upper] = system[upper]
    return room


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 64, 129, 200])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-11), (np.float32, 2e-4)])
def test_solve(size, dtype, tolerance):
    random = np.random.default_rng(size)
    roots = random.standard_normal((size, size + 3))
    system, h = roots @ roots.T + np.eye(size), random.standard_normal(size)
    room = in_room(system, dtype)
    solved = h.astype(dtype)
    assert solve(room, size, solved)
    factor = np.linalg.cholesky(system).T
    scale = np.abs(factor).max()
    np.testing.assert_allclose(np.triu(room[:size, :size]), factor, rtol=tolerance, atol=tolerance * scale)
    expected = np.linalg.solve(system, h)
    np.testing.assert_allclose(solved, expected, rtol=10 * tolerance, atol=10 * tolerance * np.abs(expected).max())


def test_what_was_in_the_room_before_changes_no_bit():
    random = np.random.default_rng(0)
    roots, h = random.standard_normal((21, 30)), random.standard_normal(21).astype(np.float32)
    system = roots @ roots.T + np.eye(21)
    solutions = []
    for rest in (0.0, 7.0, np.nan, np.inf):
        for width in (21, 40):
            solutions.append(h.copy())
            assert solve(in_room(system, np.float32, width, rest), 21, solutions[-1])
    assert all(np.array_equal(solutions[0], other) for other in solutions)


@pytest.mark.parametrize("place", [0, 1, 2, 3, 4, 8])
@pytest.mark.parametrize("pivot", [0.0, -1.0, np.nan])
def test_refuses_what_is_not_positive_definite(place, pivot):
    system = np.eye(9)
    system[place, place] = pivot
    assert not solve(in_room(system, np.float64), 9, np.ones(9))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_begin_at_cache_lines(dtype):
    for width in (1, 5, 200, 255):
        room = room_for(width, dtype)
        assert room.ctypes.data % 64 == 0
        assert room.strides[0] % 64 == 0
        assert room.shape[0] >= width
