"""The stored pairs of one row: value, slopes and curvatures at its scores, by a compiled loop for each loss.

    value = Σ_t [c_t ℓ(y_t, s_t) − ½ w_t (z_t − s_t)²],   r_t = c_t ℓ' − w_t (s_t − z_t),   τ_t = c_t ℓ'' − w_t

The loops are C functions, and row-wise kernels call them by their addresses: one compiled kernel serves every loss, the
user's own included, and a loss compiles only its two loops. z holds one number per stored pair, or a single one for
all; c and y one per stored pair, or, where all are the same, as many as the longest row has pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba import carray, cfunc, from_dtype, types
from numba.core.errors import TypingError
from numba.extending import intrinsic

from everypair.kernels.indexed import FAST
from everypair.kernels.losses import loss_terms, loss_value

CustomLoss = tuple[Any, Any, Any]  # jitted value, slope, curvature of (y, s)
Loops = tuple[int, int]  # addresses: of the loop that fills slopes and curvatures, and of the one along a direction
_DOUBLE, _INT = ir.DoubleType(), ir.IntType(64)


def loss_loops(code: int, custom: CustomLoss | None, pairs: Any, scores: Any) -> Loops:
    """Return the loops of a loss for c, y, z of the dtype ``pairs`` and the rest of the dtype ``scores``.

    They come from numba's disk cache or are compiled; those of a custom loss are compiled in every process.
    """
    terms, value = _compiled(code, custom, np.dtype(pairs), np.dtype(scores))
    return terms.address, value.address


@cache
def _compiled(code: int, custom: CustomLoss | None, pairs: Any, scores: Any) -> tuple[Any, Any]:
    own_value: Any
    own_slope: Any
    own_curvature: Any
    own_value, own_slope, own_curvature = custom or (None, None, None)
    pair, score_of = types.CPointer(from_dtype(pairs)), types.CPointer(from_dtype(scores))
    options = {"nopython": True, "cache": custom is None, "error_model": "numpy", "fastmath": FAST}
    per_pair = [types.int64, types.int64, pair, pair, pair, score_of]

    @cfunc(types.float64(*per_pair, score_of, score_of, score_of), **options)
    def terms(count, imputed, c_at, y_at, z_at, weight_at, score_at, slope_at, curve_at):  # type: ignore[no-untyped-def]
        c, y, z = carray(c_at, count), carray(y_at, count), carray(z_at, count)
        weight, score = carray(weight_at, count), carray(score_at, count)
        slope, curve = carray(slope_at, count), carray(curve_at, count)
        value = 0.0
        for t in range(np.uint64(count)):  # unsigned positions need no check for counting from the end
            target, s, cost, w = np.float64(y[t]), np.float64(score[t]), np.float64(c[t]), np.float64(weight[t])
            if own_value is None:
                height, slant, bend = loss_terms(code, target, s)
            else:
                height, slant, bend = own_value(target, s), own_slope(target, s), own_curvature(target, s)
            gap = s - (z[t] if imputed else z[0])
            value += cost * height - 0.5 * w * gap * gap
            slope[t] = cost * slant - w * gap
            curve[t] = cost * bend - w
        return value

    @cfunc(types.float64(*per_pair, score_of, score_of, types.float64), **options)
    def value_along(count, imputed, c_at, y_at, z_at, weight_at, score_at, delta_at, length):  # type: ignore[no-untyped-def]
        c, y, z = carray(c_at, count), carray(y_at, count), carray(z_at, count)
        weight, score, delta = carray(weight_at, count), carray(score_at, count), carray(delta_at, count)
        value = 0.0
        for t in range(np.uint64(count)):
            target, s = np.float64(y[t]), np.float64(score[t]) + length * np.float64(delta[t])
            height = loss_value(code, target, s) if own_value is None else own_value(target, s)
            gap = s - (z[t] if imputed else z[0])
            value += np.float64(c[t]) * height - 0.5 * np.float64(weight[t]) * gap * gap
        return value

    return terms, value_along


class _Call:
    """Instructions that call a loop for the pairs begin ≤ t < end of a row, whose first of ``pairs`` is ``first``."""

    def __init__(self, context: Any, builder: Any, kinds: Any, arguments: Any) -> None:
        self.context, self.builder, self.kinds, self.arguments = context, builder, kinds, arguments

    def pointer(self, argument: int, *offsets: Any) -> Any:
        """Where an array among the arguments begins, so many entries on."""
        kind, value = self.kinds[argument], self.arguments[argument]
        pointer = self.context.make_array(kind)(self.context, self.builder, value).data
        for offset in offsets:
            pointer = self.builder.gep(pointer, [offset], inbounds=True)
        return pointer

    def length(self, argument: int) -> Any:
        """Number of entries of an array among the arguments."""
        return self.context.make_array(self.kinds[argument])(
            self.context, self.builder, self.arguments[argument]
        ).nitems

    def __call__(self, last: Callable[[Any], list[Any]]) -> Any:
        builder, (address, pairs, first, begin, end) = self.builder, self.arguments[:5]

        def own(argument: int) -> Any:
            each = builder.icmp_signed("==", self.length(argument), pairs)
            return self.pointer(argument, builder.select(each, first, _INT(0)), begin)

        imputed = builder.icmp_signed(">", self.length(7), _INT(1))
        z = self.pointer(7)
        there = builder.gep(z, [builder.add(first, begin)], inbounds=True)
        passed = [
            builder.sub(end, begin), builder.zext(imputed, _INT), own(5), own(6), builder.select(imputed, there, z),
            self.pointer(8, begin), self.pointer(9, begin), *last(begin),
        ]  # fmt: skip
        kind = ir.FunctionType(_DOUBLE, [value.type for value in passed])
        return builder.call(builder.inttoptr(address, kind.as_pointer()), passed)


def _typed(kinds: tuple[Any, ...], scalars: int) -> Any:
    """The signature: an address and four positions, arrays, and so many numbers at the end."""
    arrays = kinds[5 : len(kinds) - scalars]
    plain = all(isinstance(kind, types.Array) and kind.layout == "C" for kind in arrays)
    if not plain or len({kind.dtype for kind in arrays[:3]}) > 1 or len({kind.dtype for kind in arrays[3:]}) > 1:
        raise TypingError("c, y, z must be contiguous arrays of one dtype, and so must weights, scores and the rest")
    return types.float64(*[types.int64] * 5, *arrays, *[types.float64] * scalars)


@intrinsic
def row_terms(
    context: Any, address: Any, pairs: Any, first: Any, begin: Any, end: Any, c: Any, y: Any, z: Any, weight: Any,
    score: Any, slope: Any, curve: Any,
) -> Any:  # fmt: skip
    """Fill slopes and curvatures at ``score`` for the pairs begin ≤ t < end and return their value there."""
    kinds = (address, pairs, first, begin, end, c, y, z, weight, score, slope, curve)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        call = _Call(context, builder, signature.args, arguments)
        return call(lambda begin: [call.pointer(10, begin), call.pointer(11, begin)])

    return _typed(kinds, 0), generate


@intrinsic
def row_value(
    context: Any, address: Any, pairs: Any, first: Any, begin: Any, end: Any, c: Any, y: Any, z: Any, weight: Any,
    score: Any, delta: Any, length: Any,
) -> Any:  # fmt: skip
    """Return the value at score + length · delta."""
    kinds = (address, pairs, first, begin, end, c, y, z, weight, score, delta, length)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        call = _Call(context, builder, signature.args, arguments)
        return call(lambda begin: [call.pointer(10, begin), arguments[11]])

    return _typed(kinds, 1), generate
