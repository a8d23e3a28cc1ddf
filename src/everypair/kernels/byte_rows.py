"""Products of rows with rows that were rounded to bytes: a quarter of the memory to read, and a bound on what is lost.

    v_j ≈ v̂_j = unit_j b_j,    u_i ≈ û_i = unit_i w_i,    u_i · v_j ≤ û_i · v̂_j + ‖u_i‖ lost_j + ‖u_i − û_i‖ ‖v̂_j‖

with b_j in bytes, w_i in 16 bits and lost_j ≥ ‖v_j − unit_j b_j‖. Products of integers are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

MOST = 127  # of a byte
WORD = 2**15 - 1  # the most of 16 bits
MOST_OF_A_SUM = 2**31 - 1
LANES = 32  # bytes that are multiplied at once


def _byte_dots_of(count: int) -> Any:
    """Return the instructions of totals[to + e] = b_j · w for j = at + e, 0 ≤ e < count, in 32 bits.

    Products of neighbours are added in pairs, for which processors have one instruction; numba's own loop has none.
    """
    number, wide = ir.IntType(32), ir.IntType(64)

    def choose(builder: Any, a: Any, b: Any, lanes: Sequence[int]) -> Any:
        return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(number, len(lanes)), list(lanes)))

    def halved(builder: Any, a: Any, b: Any) -> Any:
        """The sums of neighbours in a, then those in b."""
        lanes = a.type.count + b.type.count
        return builder.add(choose(builder, a, b, range(0, lanes, 2)), choose(builder, a, b, range(1, lanes, 2)))

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        rows, word, out = (
            context.make_array(signature.args[place])(context, builder, arguments[place]) for place in (0, 2, 3)
        )
        columns = cgutils.unpack_tuple(builder, rows.shape)[1]
        whole = builder.and_(columns, wide(-LANES))
        sums_of = ir.VectorType(number, LANES // 2)
        starts = [builder.mul(builder.add(arguments[1], wide(e)), columns) for e in range(count)]
        totals = [cgutils.alloca_once(builder, sums_of) for _ in range(count)]
        for total in totals:
            builder.store(ir.Constant(sums_of, [0] * sums_of.count), total)

        def read(data: Any, at: Any, lanes: int) -> Any:
            place = builder.gep(data, [at], inbounds=True)
            if lanes == 1:
                return builder.sext(builder.load(place), number)
            vector = ir.VectorType(data.type.pointee, lanes)
            loaded = builder.load(
                builder.bitcast(place, vector.as_pointer()), align=1 if vector.element.width == 8 else 2
            )
            return builder.sext(loaded, ir.VectorType(number, lanes))

        with cgutils.for_range_slice(builder, wide(0), whole, wide(LANES), wide) as (l, _):
            factor = read(word.data, l, LANES)
            for start, total in zip(starts, totals):
                product = builder.mul(read(rows.data, builder.add(start, l), LANES), factor)
                even, odd = (choose(builder, product, product, range(first, LANES, 2)) for first in (0, 1))
                builder.store(builder.add(builder.load(total), builder.add(even, odd)), total)
        with cgutils.for_range_slice(builder, whole, columns, wide(1), wide) as (l, _):
            factor = read(word.data, l, 1)
            for start, total in zip(starts, totals):
                vector = builder.load(total)
                product = builder.mul(read(rows.data, builder.add(start, l), 1), factor)
                sum_ = builder.add(builder.extract_element(vector, number(0)), product)
                builder.store(builder.insert_element(vector, sum_, number(0)), total)
        vectors = [builder.load(total) for total in totals]
        while len(vectors) > 1:
            vectors = [halved(builder, a, b) for a, b in zip(vectors[::2], vectors[1::2])]
        (vector,) = vectors
        while vector.type.count > count:
            lanes = vector.type.count
            vector = builder.add(*(choose(builder, vector, vector, range(first, lanes, 2)) for first in (0, 1)))
        place = builder.gep(out.data, [arguments[4]], inbounds=True)
        builder.store(vector, builder.bitcast(place, vector.type.as_pointer()), align=4)
        return context.get_dummy_value()

    @intrinsic
    def dots(typing: Any, rounded: Any, at: Any, word: Any, totals: Any, to: Any) -> Any:
        return types.void(rounded, types.int64, word, totals, types.int64), generate

    return dots


byte_dots_of_8, byte_dots_of_1 = map(_byte_dots_of, (8, 1))


@njit(nogil=True, cache=True, error_model="numpy")
def round_rows(rows: Any, out: Any, units: Any, lost: Any) -> None:
    """Round rows to bytes: unit_j = max_l |v_jl| / 127, and lost_j is ‖v_j − unit_j b_j‖ or a little more."""
    slack = 1.0 + 8.0 * np.finfo(lost.dtype).eps
    for j in range(len(rows)):
        peak = 0.0
        for l in range(rows.shape[1]):
            peak = max(peak, abs(np.float64(rows[j, l])))
        units[j] = peak / MOST
        unit = np.float64(units[j])
        inverse = 1.0 / unit if unit > 0 else 0.0
        total = 0.0
        for l in range(rows.shape[1]):
            value = np.float64(rows[j, l])
            whole = min(max(np.rint(value * inverse), -MOST), MOST) if np.isfinite(inverse) else 0.0
            out[j, l] = np.int8(whole)
            gap = value - unit * whole
            total += gap * gap
        lost[j] = np.sqrt(total) * slack + np.finfo(lost.dtype).tiny


@njit(nogil=True, cache=True, error_model="numpy")
def round_word(row: Any, word: Any) -> Any:
    """Round a row to 16 bits, fewer where sums would not fit 32, and return unit_i, ‖u_i‖ and ‖u_i − û_i‖."""
    most = min(WORD, MOST_OF_A_SUM // (MOST * len(row)))
    peak = size = lost = 0.0
    for l in range(len(row)):
        peak = max(peak, abs(np.float64(row[l])))
    unit = peak / most if peak > 0 else 1.0
    for l in range(len(row)):
        value = np.float64(row[l])
        whole = min(max(np.rint(value / unit), -most), most)
        word[l] = np.int16(whole)
        size += value * value
        lost += (value - whole * unit) ** 2
    return unit, np.sqrt(size), np.sqrt(lost)


@njit(nogil=True, cache=True, error_model="numpy")
def bound_run(
    word: Any, word_unit: Any, size: Any, rounded: Any, units: Any, lost: Any, first: Any, beyond: Any, totals: Any,
    out: Any,
) -> None:  # fmt: skip
    """out[j − first] = unit_i unit_j (w_i · b_j) + ‖u_i‖ lost_j for first ≤ j < beyond; ``totals`` is as long."""
    j = first
    while j + 8 <= beyond:
        byte_dots_of_8(rounded, j, word, totals, j - first)
        j += 8
    while j < beyond:
        byte_dots_of_1(rounded, j, word, totals, j - first)
        j += 1
    own_units, own_lost = units[first:beyond], lost[first:beyond]  # of which the compiler knows that e is a place
    for e in range(beyond - first):
        out[e] = np.float64(totals[e]) * (word_unit * own_units[e]) + size * own_lost[e]
