"""Arrays among a task's arguments: well laid, the same numbers, in the same objects."""

from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp

from everypair.distribute.settle import run_settled, settled
from everypair.distribute.solving.work import Rows, Sums
from everypair.features.matrix import Features


def at_odd_address(array):
    buffer = np.empty(array.nbytes + 1, np.uint8)
    out = buffer[1:].view(array.dtype).reshape(array.shape)
    out[...] = array
    assert not out.flags.aligned
    return out


def well_laid(array):
    return array.flags.aligned and array.flags.c_contiguous


MATRIX = np.arange(12.0).reshape(4, 3)


@pytest.mark.parametrize("other", [at_odd_address, np.asfortranarray, lambda a: np.hstack([a, a])[:, :3]])
def test_arrays_are_settled_wherever_they_are(other):
    rows = Rows(other(MATRIX), Sums(gram={(0, 1): other(MATRIX)}))
    sparse = sp.csr_array(MATRIX)
    sparse.data = at_odd_address(sparse.data)
    closed = other(MATRIX)

    def closure():
        return closed

    for _ in range(2):
        (found,) = run_settled(
            lambda *values: values, [rows, sparse, closure, other(MATRIX), (other(MATRIX), "text", 3)]
        )
        assert found[0] is rows
        for array in (rows.factors, rows.sums.gram[0, 1], closure(), found[3], found[4][0]):
            assert well_laid(array)
            assert np.array_equal(array, MATRIX)
        assert well_laid(sparse.data)
        assert found[4][1:] == ("text", 3)


def test_what_lies_well_is_not_copied():
    assert settled(MATRIX) is MATRIX


def test_objects_of_others_are_left_alone():
    @dataclass
    class Foreign:
        array: object

    foreign = Foreign(at_odd_address(MATRIX))
    assert settled(foreign).array is foreign.array
    assert not foreign.array.flags.aligned


def test_features_at_odd_addresses_give_the_same_bits():
    """numpy hands BLAS a copy in another order otherwise, and some kernels round by it."""
    random = np.random.default_rng(0)
    X = random.standard_normal((1024, 12)).astype(np.float32)
    gradient, weights = (random.standard_normal((size, 4)).astype(np.float32) for size in X.shape)
    straight, odd = Features(X, np.float32), Features(at_odd_address(X), np.float32)
    assert np.array_equal(straight.adjoint(gradient), odd.adjoint(gradient))
    assert np.array_equal(straight.product(weights), odd.product(weights))
    assert np.array_equal(straight.gram(np.ones(1024)), odd.gram(np.ones(1024)))
