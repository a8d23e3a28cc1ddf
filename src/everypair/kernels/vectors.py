"""A few rows of a factor matrix against one vector, in the processor's vector registers, for any number of columns.

    dots_of_r(V, indices, at, x, out, to)                  out[to + e] = v_j · x,                j = indices[at + e]
    add_of_r(V, indices, at, c, to, total)                 total += Σ_e c[to + e] v_j
    add_product_of_r(V, indices, at, c, s, to, total)      total += Σ_e c[to + e] s[to + e] v_j,     0 ≤ e < r

    ordered_dots_of_r(V, indices, at, x, out, to)          r = 8 or 1: a row has the same bits alone and among eight

Written in LLVM's own language, because numba's compiler vectorises such loops well only where the number of columns is
a constant: otherwise it asks for a multiple of 32 and checks at every call whether the arrays overlap. Here r sums run
side by side, one vector register each; what is left of the columns after whole vectors is added one by one. Each array
is contiguous, the vectors have the factors' dtype, and positions are not checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic

GROUPS = (8, 4, 2, 1)  # rows at a time: eight sums hide the latency of a multiply-add
VECTOR_BYTES = 32  # LLVM splits or pairs such vectors where the processor's own are shorter or longer
FLAGS = ("reassoc", "contract", "nsz")
IN_ORDER = ("contract",)  # sums stay in the order in which they are written
_INT = ir.IntType(64)


class _Rows:
    """Instructions on ``count`` rows of V, those at indices[at:at + count]."""

    def __init__(
        self, context: Any, builder: Any, kinds: Sequence[Any], arguments: Sequence[Any], count: int,
        flags: Sequence[str] = FLAGS,
    ) -> None:  # fmt: skip
        self.context, self.builder, self.kinds, self.arguments, self.flags = context, builder, kinds, arguments, flags
        dtype = kinds[0].dtype
        self.size = dtype.bitwidth // 8
        self.lanes = VECTOR_BYTES // self.size
        self.vector = ir.VectorType(context.get_value_type(dtype), self.lanes)
        V = context.make_array(kinds[0])(context, builder, arguments[0])
        self.columns = cgutils.unpack_tuple(builder, V.shape)[1]
        self.whole = builder.and_(self.columns, _INT(-self.lanes))
        indices = self.pointer(1)
        self.rows = []
        for e in range(count):
            j = builder.load(builder.gep(indices, [builder.add(arguments[2], _INT(e))], inbounds=True))
            j = builder.zext(j, _INT) if j.type.width < _INT.width else j
            self.rows.append(builder.gep(V.data, [builder.mul(j, self.columns)], inbounds=True))

    def pointer(self, argument: int) -> Any:
        """Where the data of an array among the arguments lie."""
        kind, value = self.kinds[argument], self.arguments[argument]
        return self.context.make_array(kind)(self.context, self.builder, value).data

    def whole_vectors(self) -> Any:
        """Loop over the columns, a vector at a time."""
        return cgutils.for_range_slice(self.builder, _INT(0), self.whole, _INT(self.lanes), _INT)

    def rest(self) -> Any:
        """Loop over the columns after the last whole vector."""
        return cgutils.for_range_slice(self.builder, self.whole, self.columns, _INT(1), _INT)

    def is_rest(self) -> Any:
        """Whether there are such columns."""
        return self.builder.if_then(self.builder.icmp_signed("<", self.whole, self.columns), likely=False)

    def place(self, pointer: Any, at: Any, shape: Any = None) -> Any:
        """Where one number, or the ``shape`` that starts with it, lies."""
        place = self.builder.gep(pointer, [at], inbounds=True)
        return place if shape is None else self.builder.bitcast(place, shape.as_pointer())

    def load(self, pointer: Any, at: Any, shape: Any = None) -> Any:
        return self.builder.load(self.place(pointer, at, shape), align=self.size)

    def store(self, value: Any, pointer: Any, at: Any, shape: Any = None) -> None:
        self.builder.store(value, self.place(pointer, at, shape), align=self.size)

    def add(self, a: Any, b: Any) -> Any:
        return self.builder.fadd(a, b, flags=self.flags)

    def multiply(self, a: Any, b: Any) -> Any:
        return self.builder.fmul(a, b, flags=self.flags)

    def choose(self, a: Any, b: Any, lanes: Sequence[int]) -> Any:
        """Return the vector of those lanes of (a, b), numbered through."""
        return self.builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), list(lanes)))

    def spread(self, number: Any) -> Any:
        """Return the vector that holds ``number`` in every lane."""
        nothing = ir.Constant(self.vector, ir.Undefined)
        first = self.builder.insert_element(nothing, number, ir.IntType(32)(0))
        return self.choose(first, nothing, [0] * self.lanes)

    def sum_of_neighbours(self, vector: Any) -> Any:
        """Return the sum over the lanes, added in the order in which :meth:`sums` adds those of eight vectors."""
        while vector.type.count > 2:
            even = range(0, vector.type.count, 2)
            odd = range(1, vector.type.count, 2)
            vector = self.add(self.choose(vector, vector, even), self.choose(vector, vector, odd))
        return self.add(self.choose(vector, vector, [0]), self.choose(vector, vector, [1]))

    def sums(self, vectors: list[Any]) -> list[Any]:
        """Return the sums over the lanes of each vector: side by side in one vector, or single numbers if they are few.

        Neighbours are added inside the halves of two vectors at once, because a processor's shuffles reach no further.
        """
        half = self.lanes // 2
        if len(vectors) < half:
            for width in (half >> step for step in range(half.bit_length())):
                low, high = range(width), range(width, 2 * width)
                vectors = [self.add(self.choose(v, v, low), self.choose(v, v, high)) for v in vectors]
            return vectors
        even = [side + vector + e for side in (0, half) for vector in (0, self.lanes) for e in range(0, half, 2)]
        odd = [lane + 1 for lane in even]
        for _ in range(half.bit_length() - 1):
            pairs = zip(vectors[0::2], vectors[1::2])
            vectors = [self.add(self.choose(a, b, even), self.choose(a, b, odd)) for a, b in pairs]
        low, high = range(half), range(half, self.lanes)
        vectors = [self.add(self.choose(v, v, low), self.choose(v, v, high)) for v in vectors]
        while len(vectors) > 1:
            lanes = range(2 * vectors[0].type.count)
            vectors = [self.choose(a, b, lanes) for a, b in zip(vectors[0::2], vectors[1::2])]
        return vectors


def _checked(V: Any, indices: Any, *vectors: Any) -> None:
    """Refuse what the instructions would misread."""
    if V.layout != "C" or any(array.layout != "C" for array in (indices, *vectors)):
        raise TypingError("rows and vectors must be C-contiguous.")
    if any(array.dtype != V.dtype for array in vectors):
        raise TypingError(f"vectors must have the factors' dtype {V.dtype}, got {[array.dtype for array in vectors]}.")


def _dots_of(count: int, in_order: bool = False) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        rows = _Rows(context, builder, signature.args, arguments, count, IN_ORDER if in_order else FLAGS)
        x, out, to = rows.pointer(3), rows.pointer(4), arguments[5]
        sums = [cgutils.alloca_once(builder, rows.vector) for _ in range(count)]
        for total in sums:
            builder.store(ir.Constant(rows.vector, [0.0] * rows.lanes), total)
        with rows.whole_vectors() as (l, _):
            factor = rows.load(x, l, rows.vector)
            for row, total in zip(rows.rows, sums):
                product = rows.multiply(rows.load(row, l, rows.vector), factor)
                builder.store(rows.add(builder.load(total), product), total)
        with rows.is_rest(), rows.rest() as (l, _):
            factor, first = rows.load(x, l), ir.IntType(32)(0)
            for row, total in zip(rows.rows, sums):
                vector = builder.load(total)
                number = rows.add(builder.extract_element(vector, first), rows.multiply(rows.load(row, l), factor))
                builder.store(builder.insert_element(vector, number, first), total)
        vectors = [builder.load(total) for total in sums]
        numbers = [rows.sum_of_neighbours(vectors[0])] if in_order and count == 1 else rows.sums(vectors)
        for e, total in enumerate(numbers):
            rows.store(total, out, builder.add(to, _INT(e)), total.type)
        return context.get_dummy_value()

    @intrinsic
    def dots(typing: Any, V: Any, indices: Any, at: Any, x: Any, out: Any, to: Any) -> Any:
        _checked(V, indices, x, out)
        return types.void(V, indices, types.int64, x, out, types.int64), generate

    return dots


def _add(count: int, factors: int) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        rows = _Rows(context, builder, signature.args, arguments, count)
        to, total = arguments[3 + factors], rows.pointer(4 + factors)
        coefficients = []
        for e in range(count):
            coefficient = None
            for argument in range(3, 3 + factors):
                factor = rows.load(rows.pointer(argument), builder.add(to, _INT(e)))
                coefficient = factor if coefficient is None else rows.multiply(coefficient, factor)
            coefficients.append(coefficient)
        spread = [rows.spread(coefficient) for coefficient in coefficients]
        with rows.whole_vectors() as (l, _):
            sums = [rows.load(total, l, rows.vector), ir.Constant(rows.vector, [0.0] * rows.lanes)]
            for e, (row, coefficient) in enumerate(zip(rows.rows, spread)):  # two chains run side by side
                sums[e % 2] = rows.add(sums[e % 2], rows.multiply(coefficient, rows.load(row, l, rows.vector)))
            rows.store(rows.add(*sums), total, l, rows.vector)
        with rows.is_rest(), rows.rest() as (l, _):
            number = rows.load(total, l)
            for row, coefficient in zip(rows.rows, coefficients):
                number = rows.add(number, rows.multiply(coefficient, rows.load(row, l)))
            rows.store(number, total, l)
        return context.get_dummy_value()

    return generate


def _add_of(count: int) -> Any:
    generate = _add(count, 1)

    @intrinsic
    def add(typing: Any, V: Any, indices: Any, at: Any, c: Any, to: Any, total: Any) -> Any:
        _checked(V, indices, c, total)
        return types.void(V, indices, types.int64, c, types.int64, total), generate

    return add


def _add_product_of(count: int) -> Any:
    generate = _add(count, 2)

    @intrinsic
    def add_product(typing: Any, V: Any, indices: Any, at: Any, c: Any, s: Any, to: Any, total: Any) -> Any:
        _checked(V, indices, c, s, total)
        return types.void(V, indices, types.int64, c, s, types.int64, total), generate

    return add_product


dots_of_8, dots_of_4, dots_of_2, dots_of_1 = (_dots_of(count) for count in GROUPS)
ordered_dots_of_8, ordered_dots_of_1 = (_dots_of(count, in_order=True) for count in (8, 1))
add_of_8, add_of_4, add_of_2, add_of_1 = (_add_of(count) for count in GROUPS)
add_product_of_8, add_product_of_4, add_product_of_2, add_product_of_1 = (_add_product_of(count) for count in GROUPS)
