"""A b = h by A = UᵀU for small dense systems inside a kernel, several times as fast as LAPACK at a few hundred rows.

    U_ab = (A_ab − Σ_{k<a} U_ka U_kb) / U_aa,   a ≤ b

Four rows are finished at a time, a few vector registers of columns at a time: their sums stay in registers from the
first k to the last, and h is one more column, so that Uᵀy = h is solved on the way. The two inner steps are written in
LLVM's own language, as in :mod:`everypair.kernels.vectors`, because numba's compiler would keep those sums in memory.
Everything is in place, in an array of :func:`room_for` that has room for whole vectors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

ROWS = 4
VECTORS = 2
VECTOR_BYTES = 64  # LLVM splits such vectors where the processor's own are shorter
_FLAGS = ("reassoc", "contract", "nsz")
_INT = ir.IntType(64)


def room_for(width: int, dtype: Any) -> NDArray[Any]:
    """An array for systems of up to ``width`` rows: rows in fours, columns in whole blocks, each row at a cache line.

    >>> room_for(5, "float32").shape
    (8, 48)
    """
    itemsize = np.dtype(dtype).itemsize
    lanes = VECTOR_BYTES // itemsize
    rows = -(-width // ROWS) * ROWS
    columns = (rows // lanes + VECTORS) * lanes + lanes
    memory = np.zeros(rows * columns * itemsize + VECTOR_BYTES, np.uint8)
    start = -memory.ctypes.data % VECTOR_BYTES
    return memory[start : start + rows * columns * itemsize].view(dtype).reshape(rows, columns)


@njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz", "arcp"})
def solve(A: Any, size: Any, h: Any) -> bool:
    """Replace h by A⁻¹h, given A's upper triangle of ``size`` rows; False where A is not positive definite.

    A is overwritten, and what lies below its diagonal and right of ``size`` is not read.
    """
    lanes = VECTOR_BYTES // A.itemsize
    one, zero = A.dtype.type(1.0), A.dtype.type(0.0)
    padded = (size + ROWS - 1) // ROWS * ROWS
    # padded to whole groups of rows by an identity; h is one more column
    for a in range(size):
        for b in range(size, padded):
            A[a, b] = zero
        A[a, padded] = h[a]
    for a in range(size, padded):
        for b in range(a, padded + 1):
            A[a, b] = one if a == b else zero
    # a group of rows at a time: take off the rows above, factorise its corner, finish the rows
    for i in range(0, padded, ROWS):
        for b in range(i // lanes * lanes, padded + 1, VECTORS * lanes):
            _reduce(A, i, b)
        d0 = A[i, i]
        r0 = one / np.sqrt(d0)
        u01, u02, u03 = A[i, i + 1] * r0, A[i, i + 2] * r0, A[i, i + 3] * r0
        d1 = A[i + 1, i + 1] - u01 * u01
        r1 = one / np.sqrt(d1)
        u12, u13 = (A[i + 1, i + 2] - u01 * u02) * r1, (A[i + 1, i + 3] - u01 * u03) * r1
        d2 = A[i + 2, i + 2] - u02 * u02 - u12 * u12
        r2 = one / np.sqrt(d2)
        u23 = (A[i + 2, i + 3] - u02 * u03 - u12 * u13) * r2
        d3 = A[i + 3, i + 3] - u03 * u03 - u13 * u13 - u23 * u23
        r3 = one / np.sqrt(d3)
        if not (d0 > zero and d1 > zero and d2 > zero and d3 > zero):
            return False
        for b in range(i // lanes * lanes, padded + 1, VECTORS * lanes):
            _finish(A, i, b, r0, r1, r2, r3, u01, u02, u03, u12, u13, u23)
    # back substitution
    for a in range(size - 1, -1, -1):
        total = A[a, padded]
        for b in range(a + 1, size):
            total -= A[a, b] * h[b]
        h[a] = total / A[a, a]
    return True


class _Block:
    """Instructions on a block of A: ROWS rows from i on, VECTORS vectors of columns from b on."""

    def __init__(self, context: Any, builder: Any, signature: Any, arguments: Any) -> None:
        self.builder, self.arguments = builder, arguments
        dtype = signature.args[0].dtype
        self.size = dtype.bitwidth // 8
        self.lanes = VECTOR_BYTES // self.size
        self.vector = ir.VectorType(context.get_value_type(dtype), self.lanes)
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        self.data, self.columns = array.data, cgutils.unpack_tuple(builder, array.shape)[1]
        self.i, self.b = arguments[1], arguments[2]

    def place(self, row: Any, column: Any, step: int = 0) -> Any:
        """Where A[row, column + step] lies."""
        at = self.builder.add(self.builder.add(self.builder.mul(row, self.columns), column), _INT(step))
        return self.builder.gep(self.data, [at], inbounds=True)

    def vectors(self, row: Any) -> list[Any]:
        """Where the block's vectors of a row lie."""
        places = [self.place(row, self.b, v * self.lanes) for v in range(VECTORS)]
        return [self.builder.bitcast(place, self.vector.as_pointer()) for place in places]

    def own(self) -> list[list[Any]]:
        """The same for every row of the block."""
        return [self.vectors(self.builder.add(self.i, _INT(r))) for r in range(ROWS)]

    def load(self, place: Any) -> Any:
        return self.builder.load(place, align=self.size)

    def store(self, value: Any, place: Any) -> None:
        self.builder.store(value, place, align=self.size)

    def spread(self, number: Any) -> Any:
        """Return the vector that holds ``number`` in every lane."""
        nothing = ir.Constant(self.vector, ir.Undefined)
        first = self.builder.insert_element(nothing, number, ir.IntType(32)(0))
        lanes = ir.Constant(ir.VectorType(ir.IntType(32), self.lanes), [0] * self.lanes)
        return self.builder.shuffle_vector(first, nothing, lanes)

    def less(self, value: Any, a: Any, b: Any) -> Any:
        """value − a b"""
        return self.builder.fsub(value, self.builder.fmul(a, b, flags=_FLAGS), flags=_FLAGS)


def _generate_reduce(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    block = _Block(context, builder, signature, arguments)
    own = block.own()
    sums = [[cgutils.alloca_once_value(builder, block.load(place)) for place in row] for row in own]
    with cgutils.for_range(builder, block.i) as loop:
        finished = [block.load(place) for place in block.vectors(loop.index)]
        for r, row in enumerate(sums):
            factor = block.spread(block.load(block.place(loop.index, block.i, r)))
            for total, vector in zip(row, finished):
                builder.store(block.less(builder.load(total), factor, vector), total)
    for places, row in zip(own, sums):
        for place, total in zip(places, row):
            block.store(builder.load(total), place)
    return context.get_dummy_value()


def _generate_finish(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    block = _Block(context, builder, signature, arguments)
    inverses = [block.spread(number) for number in arguments[3:7]]
    u01, u02, u03, u12, u13, u23 = (block.spread(number) for number in arguments[7:])
    before: list[list[Any]] = [[], [u01], [u02, u12], [u03, u13, u23]]
    for places in zip(*block.own()):
        finished: list[Any] = []
        for place, inverse, factors in zip(places, inverses, before):
            value = block.load(place)
            for factor, vector in zip(factors, finished):
                value = block.less(value, factor, vector)
            finished.append(builder.fmul(value, inverse, flags=_FLAGS))
            block.store(finished[-1], place)
    return context.get_dummy_value()


@intrinsic
def _reduce(typing: Any, A: Any, i: Any, b: Any) -> Any:
    """A_ab −= Σ_{k<i} U_ka U_kb in the block of rows i and columns b."""
    return types.void(A, types.int64, types.int64), _generate_reduce


@intrinsic
def _finish(
    typing: Any, A: Any, i: Any, b: Any, r0: Any, r1: Any, r2: Any, r3: Any, u01: Any, u02: Any, u03: Any, u12: Any,
    u13: Any, u23: Any,
) -> Any:  # fmt: skip
    """U of the block of rows i and columns b, given 1 / U_aa and U_ab of its rows among themselves."""
    return types.void(A, types.int64, types.int64, *([A.dtype] * 10)), _generate_finish
